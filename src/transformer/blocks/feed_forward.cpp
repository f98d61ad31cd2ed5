#include "transformer/blocks/feed_forward.h"

#include <algorithm>

#include "recurrence/token_shift.h"
#include "vectors/row_work.h"

namespace ropewalk {

bool FeedForward::allocate(const Weights& weights, int count) {
  const ModelConfig& c = weights.config();
  bool has_shift = false;
  for (int i = 0; i < c.layers; ++i) has_shift |= weights.layer(i)[LayerVector::feed_forward_shift] != nullptr;
  const std::uint64_t shifted = has_shift ? static_cast<std::uint64_t>(count) * c.hidden_size : 0;
  return mlp_.allocate(c, c.experts > 0 ? count : std::min(count, kForwardTokens)) && (c.experts == 0 || experts_.allocate(c, count)) &&
         resize({{&shifted_, shifted}});
}

void FeedForward::run(const ForwardPass& pass, int layer, const float* unshifted, const float* residual, float* out) {
  const LayerConfig& l = pass.weights.layer_config(layer);
  const float* input = shifted(pass, layer, unshifted);
  if (l.has_experts) return experts_.run(pass, layer, input, residual, mlp_, out);
  const FeedForwardWeights weights = pass.weights.layer(layer).feed_forward();
  const int size = pass.config().hidden_size;
  for (int first = 0; first < pass.count; first += kForwardTokens) {  // the inner rows of a long sequence would need much memory
    const int rows = std::min(kForwardTokens, pass.count - first);
    mlp_.run(pass, weights, l, input + elements(first, size), rows, out + elements(first, size));
  }
}

const float* FeedForward::shifted(const ForwardPass& pass, int layer, const float* input) {
  const float* share = pass.weights.layer(layer)[LayerVector::feed_forward_shift];
  if (share == nullptr) return input;
  const int size = pass.config().hidden_size;
  const std::size_t state_size = pass.weights.state_size(layer), last = state_size - size;  // after the part of the token mixer
  std::span<const StateRows> states;
  pass.multiply.keep(pass.sequences.states(layer, state_size, states));
  for (const StateRows& state : states) {
    const float* rows = input + elements(state.first, size);
    shift_tokens(rows, state.count, size, share, state.from + last, shifted_.data() + elements(state.first, size));
    std::copy_n(rows + elements(state.count - 1, size), size, state.to + last);
  }
  return shifted_.data();
}

}  // namespace ropewalk
