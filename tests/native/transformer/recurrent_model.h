// The weights and states of recurrent layers, as model_config.h describes them, without their numbers.
#pragma once

#include <algorithm>
#include <vector>

#include "transformer/weights.h"

namespace ropewalk {

struct MatrixSize {
  LayerMatrix slot;
  int rows, columns;
};

inline std::vector<MatrixSize> recurrent_matrices(const ModelConfig& c, Recurrence kind) {
  const RecurrenceConfig& r = c.recurrence;
  const int hidden = c.hidden_size, keys = r.key_heads * r.key_size, selected = r.step_rank + 2 * r.key_size;
  using enum LayerMatrix;
  switch (kind) {
    case Recurrence::none: return {};
    case Recurrence::convolution: return {{recurrent_in, 3 * hidden, hidden}, {recurrent_out, hidden, hidden}};
    case Recurrence::delta:
      return {{recurrent_in, 2 * keys + r.inner, hidden},
              {recurrent_gate, r.inner, hidden},
              {recurrent_step, r.heads, hidden},
              {recurrent_strength, r.heads, hidden},
              {recurrent_out, hidden, r.inner}};
    case Recurrence::mamba2:
      return {{recurrent_in, r.inner + 2 * keys, hidden},
              {recurrent_gate, r.inner, hidden},
              {recurrent_step, r.heads, hidden},
              {recurrent_out, hidden, r.inner}};
    case Recurrence::mamba:
      return {{recurrent_in, r.inner, hidden},
              {recurrent_gate, r.inner, hidden},
              {recurrent_select, selected, r.inner},
              {recurrent_step, r.inner, r.step_rank},
              {recurrent_out, hidden, r.inner}};
    case Recurrence::rwkv7: break;  // rwkv_model.h
  }
  return {};
}

// Channels that a layer convolves.
inline int convolved_channels(const ModelConfig& c, Recurrence kind) {
  const bool has_heads = kind == Recurrence::delta || kind == Recurrence::mamba2;
  return c.recurrence.inner + (has_heads ? 2 * c.recurrence.key_heads * c.recurrence.key_size : 0);
}

// Elements of a vector of a recurrent layer; 0 for one that it doesn't have.
inline int recurrent_elements(const ModelConfig& c, Recurrence kind, LayerVector slot) {
  const RecurrenceConfig& r = c.recurrence;
  const int channels = convolved_channels(c, kind);
  const bool is_convolution = kind == Recurrence::convolution, is_mamba = kind == Recurrence::mamba, is_delta = kind == Recurrence::delta;
  const int steps = is_convolution ? 0 : is_mamba ? r.inner : r.heads;
  switch (slot) {
    case LayerVector::recurrent_in_bias: return is_convolution ? 3 * channels : channels;
    case LayerVector::recurrent_gate_bias: return is_convolution ? 0 : r.inner;
    case LayerVector::recurrent_step_bias: return is_mamba ? 0 : steps;
    case LayerVector::recurrent_step_offset: return steps;
    case LayerVector::recurrent_out_bias: return c.hidden_size;
    case LayerVector::convolution: return channels * r.kernel;
    case LayerVector::convolution_bias: return channels;
    case LayerVector::decay:
    case LayerVector::decay_log: return is_mamba ? r.inner * r.key_size : steps;
    case LayerVector::skip: return is_delta ? 0 : steps;
    case LayerVector::recurrent_norm: return is_delta ? r.inner / r.heads : is_mamba || steps == 0 || !r.has_norm ? 0 : r.inner;
    case LayerVector::recurrent_select_norm: return is_mamba && r.select_norm_epsilon != 0 ? r.step_rank + 2 * r.key_size : 0;
    default: return 0;
  }
}

// Floats of a layer's state: the inputs of the convolution before a call, then the state of the scan, whose rows are padded to vectors.
inline std::size_t recurrent_floats(const ModelConfig& c, Recurrence kind) {
  const RecurrenceConfig& r = c.recurrence;
  if (kind == Recurrence::none) return 0;
  const std::size_t inputs = static_cast<std::size_t>(r.kernel - 1) * convolved_channels(c, kind);
  if (kind == Recurrence::convolution) return inputs;
  return inputs + static_cast<std::size_t>(r.inner) * (kind == Recurrence::mamba ? r.key_size : (r.key_size + 3) / 4 * 4);
}

// Vectors of attention, which a layer without it doesn't have.
inline bool is_of_attention_alone(LayerVector slot) {
  switch (slot) {
    case LayerVector::query_bias:
    case LayerVector::key_bias:
    case LayerVector::value_bias:
    case LayerVector::output_bias:
    case LayerVector::query_norm:
    case LayerVector::key_norm:
    case LayerVector::attention_sub_norm:
    case LayerVector::sinks:
    case LayerVector::query_latent_norm:
    case LayerVector::latent_norm:
    case LayerVector::attention_gate_bias: return true;
    default: return false;
  }
}

// Norms around attention or a recurrence, which a layer with feed-forward alone doesn't have.
inline bool is_around_mixer(LayerVector slot) {
  return slot == LayerVector::attention_norm || slot == LayerVector::attention_norm_bias || slot == LayerVector::attention_post_norm ||
         slot == LayerVector::attention_post_norm_bias;
}

// Vectors of feed-forward layers, which a layer without one doesn't have.
inline bool is_of_feed_forward(LayerVector slot) {
  switch (slot) {
    case LayerVector::feed_forward_norm:
    case LayerVector::feed_forward_norm_bias:
    case LayerVector::feed_forward_post_norm:
    case LayerVector::feed_forward_sub_norm:
    case LayerVector::gate_bias:
    case LayerVector::up_bias:
    case LayerVector::down_bias:
    case LayerVector::xielu_alpha_p:
    case LayerVector::xielu_alpha_n:
    case LayerVector::xielu_beta:
    case LayerVector::xielu_eps:
    case LayerVector::router_bias:
    case LayerVector::router_logit_bias:
    case LayerVector::router_norm:
    case LayerVector::shared_expert_gate:
    case LayerVector::shared_expert_post_norm:
    case LayerVector::expert_gate_bias:
    case LayerVector::expert_up_bias:
    case LayerVector::expert_down_bias:
    case LayerVector::expert_norm:
    case LayerVector::expert_post_norm:
    case LayerVector::expert_scales: return true;
    default: return false;
  }
}

}  // namespace ropewalk
