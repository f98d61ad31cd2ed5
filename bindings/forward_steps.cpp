// Embind declarations for the forward pass in steps (Forward::begin()), for traces and hooks.
#include "bindings/model.h"

using namespace emscripten;
using namespace ropewalk;
using namespace ropewalk::bindings;

namespace {

int forward_begin(Address model, Address cache, int sequence, Address states, Address tokens, int count) {
  Model& m = model_at(model);
  return static_cast<int>(m.forward.begin(m.weights, {*at<KvCache>(cache), sequence, at<RecurrentState>(states)}, at<int>(tokens), count));
}
int forward_layer(Address model) { return static_cast<int>(model_at(model).forward.run_next_layer()); }
int forward_end(Address model) { return static_cast<int>(model_at(model).forward.end()); }
void forward_cancel(Address model) { model_at(model).forward.cancel(); }
Address residual(Address model) { return reinterpret_cast<Address>(model_at(model).forward.residual()); }
Address queries(Address model) { return reinterpret_cast<Address>(model_at(model).forward.queries()); }
int row_attention(Address model, int token, Address out) {
  return static_cast<int>(model_at(model).forward.attention_weights(token, at<float>(out)));
}

}  // namespace

EMSCRIPTEN_BINDINGS(ropewalk_forward_steps) {
  function("model_forward_begin", &forward_begin);
  function("model_forward_layer", &forward_layer);
  function("model_forward_end", &forward_end);
  function("model_forward_cancel", &forward_cancel);
  function("model_residual", &residual);
  function("model_queries", &queries);
  function("model_row_attention", &row_attention);
}
