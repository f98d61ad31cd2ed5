#include "transformer/blocks/token_mixer.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "vectors/row_work.h"
#include "vectors/scale_rows.h"

namespace ropewalk {

bool TokenMixer::allocate(const Weights& weights, int count) {
  const ModelConfig& c = weights.config();
  bool has_rwkv = false, has_recurrence = false, has_both = false;
  for (int i = 0; i < c.layers; ++i) {
    const LayerConfig& l = weights.layer_config(i);
    has_rwkv |= l.recurrence == Recurrence::rwkv7;
    has_recurrence |= l.recurrence != Recurrence::none && l.recurrence != Recurrence::rwkv7;
    has_both |= l.recurrence != Recurrence::none && l.has_attention;
  }
  const std::uint64_t hidden = static_cast<std::uint64_t>(count) * c.hidden_size;
  const bool scales_inputs = c.multipliers.attention_in != 1 || c.multipliers.recurrent_in != 1;
  return attention_.allocate(c, count) && (!has_recurrence || recurrent_.allocate(c, count)) && (!has_rwkv || rwkv_.allocate(c, count)) &&
         resize({{&scaled_, scales_inputs ? hidden : 0}, {&recurrent_out_, has_both ? hidden : 0}});
}

void TokenMixer::run(const ForwardPass& pass, int layer, const float* input, float* out) {
  const Multipliers& multipliers = pass.config().multipliers;
  const LayerConfig& l = pass.weights.layer_config(layer);
  if (l.has_attention) attention_.run(pass, layer, scaled(pass, input, multipliers.attention_in), out);
  if (l.recurrence == Recurrence::none) return;
  input = scaled(pass, input, multipliers.recurrent_in);
  if (!l.has_attention) return recur(pass, layer, input, out);
  recur(pass, layer, input, recurrent_out_.data());
  const int size = pass.config().hidden_size;
  each_in_parallel(pass.count, kRowWork * size, [&](int t) {
    float* row = out + elements(t, size);
    const float* added = recurrent_out_.data() + elements(t, size);
    for (int i = 0; i < size; ++i) row[i] += added[i];
  });
}

void TokenMixer::recur(const ForwardPass& pass, int layer, const float* input, float* out) {
  std::span<const StateRows> states;
  pass.multiply.keep(pass.sequences.states(layer, pass.weights.state_size(layer), states));
  if (pass.multiply.has_failed()) return;
  if (pass.weights.layer_config(layer).recurrence == Recurrence::rwkv7) {
    rwkv_.run(pass, layer, input, states, out);
  } else {
    recurrent_.run(pass, layer, input, states, out);
  }
}

const float* TokenMixer::scaled(const ForwardPass& pass, const float* rows, float factor) {
  if (factor == 1) return rows;
  const int size = pass.config().hidden_size;
  std::copy_n(rows, elements(pass.count, size), scaled_.data());
  scale_rows(scaled_.data(), pass.count, size, factor);
  return scaled_.data();
}

}  // namespace ropewalk
