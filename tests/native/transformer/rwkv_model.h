// The weights and states of RWKV-7 layers, as model_config.h describes them, without their numbers.
#pragma once

#include "native/transformer/recurrent_model.h"

namespace ropewalk {

// `shares`: the layer takes a share of the values of an earlier one.
inline std::vector<MatrixSize> rwkv_matrices(const ModelConfig& c, bool shares) {
  const RecurrenceConfig& r = c.recurrence;
  const int hidden = c.hidden_size, inner = r.inner;
  using enum LayerMatrix;
  std::vector<MatrixSize> all = {{recurrent_query, inner, hidden},           {recurrent_key, inner, hidden},
                                 {recurrent_value, inner, hidden},           {recurrent_out, hidden, inner},
                                 {decay_down, r.decay_rank, hidden},         {decay_up, inner, r.decay_rank},
                                 {rate_down, r.rate_rank, hidden},           {rate_up, inner, r.rate_rank},
                                 {recurrent_gate_down, r.gate_rank, hidden}, {recurrent_gate_up, inner, r.gate_rank}};
  if (shares) all.insert(all.end(), {{share_down, r.share_rank, hidden}, {share_up, inner, r.share_rank}});
  return all;
}

// All vectors of such layers, without those of other recurrences.
constexpr LayerVector kRwkvVectors[] = {
    LayerVector::token_shift,         LayerVector::decay_bias,        LayerVector::rate_bias, LayerVector::share_bias,
    LayerVector::removal_scale,       LayerVector::rate_scale,        LayerVector::bonus,     LayerVector::recurrent_norm,
    LayerVector::recurrent_norm_bias, LayerVector::feed_forward_shift};

// Elements of a vector; 0 for one that the layer doesn't have.
inline int rwkv_elements(const ModelConfig& c, const LayerConfig& l, LayerVector slot, bool shares) {
  switch (slot) {
    case LayerVector::token_shift: return 6 * c.hidden_size;
    case LayerVector::share_bias: return shares ? c.recurrence.inner : 0;
    case LayerVector::feed_forward_shift: return l.has_feed_forward ? c.hidden_size : 0;
    case LayerVector::recurrent_out_bias: return c.hidden_size;
    default: return std::find(std::begin(kRwkvVectors), std::end(kRwkvVectors), slot) == std::end(kRwkvVectors) ? 0 : c.recurrence.inner;
  }
}

// Floats of a layer's state: the last input of the mixer, the state of the scan, and the last input of feed-forward if there is one.
inline std::size_t rwkv_floats(const ModelConfig& c, const LayerConfig& l) {
  return static_cast<std::size_t>(c.hidden_size) * (l.has_feed_forward ? 2 : 1) +
         static_cast<std::size_t>(c.recurrence.inner) * ((c.recurrence.key_size + 3) / 4 * 4);
}

}  // namespace ropewalk
