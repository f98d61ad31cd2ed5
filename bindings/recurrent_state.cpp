// Embind declarations for the states of recurrent layers: functions, without logic. model_states() in transformer.cpp makes them.
#include "cache/recurrent_image.h"

#include "bindings/embind.h"

using namespace emscripten;
using namespace ropewalk;
using namespace ropewalk::bindings;

namespace {

void states_destroy(Address states) { delete at<RecurrentState>(states); }
double states_bytes(Address states) { return at<RecurrentState>(states)->bytes(); }
StatusCode states_keep(Address states) { return static_cast<int>(at<RecurrentState>(states)->keep()); }
int states_rewind(Address states, int tokens) { return at<RecurrentState>(states)->rewind(tokens); }
void states_shift(Address states, int keep, int discard) { at<RecurrentState>(states)->shift(keep, discard); }
void states_share(Address from, Address to) { at<RecurrentState>(to)->share_checkpoints(*at<RecurrentState>(from)); }
double states_image_bytes(Address states) { return static_cast<double>(RecurrentImage::bytes(*at<RecurrentState>(states))); }
void states_save(Address states, Address target) { RecurrentImage::save(*at<RecurrentState>(states), at<void>(target)); }
StatusCode states_restore(Address states, Address source, double size) {
  return static_cast<int>(RecurrentImage::restore(*at<RecurrentState>(states), at<void>(source), static_cast<std::size_t>(size)));
}
int states_tokens(Address states) { return at<RecurrentState>(states)->tokens(); }

}  // namespace

EMSCRIPTEN_BINDINGS(ropewalk_recurrent_state) {
  function("states_destroy", &states_destroy);
  function("states_bytes", &states_bytes);
  function("states_tokens", &states_tokens);
  function("states_keep", &states_keep);
  function("states_rewind", &states_rewind);
  function("states_shift", &states_shift);
  function("states_share", &states_share);
  function("states_image_bytes", &states_image_bytes);
  function("states_save", &states_save);
  function("states_restore", &states_restore);
}
