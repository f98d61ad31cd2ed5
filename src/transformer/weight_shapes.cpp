#include "transformer/weight_shapes.h"

#include "recurrence/causal_convolution.h"
#include "recurrence/state_scan.h"

namespace ropewalk {
namespace {

bool is_of_attention(LayerMatrix slot) {
  return slot <= LayerMatrix::output || (slot >= LayerMatrix::query_latent && slot <= LayerMatrix::value_up) ||
         slot == LayerMatrix::attention_gate;
}

bool is_of_attention(LayerVector slot) {
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

bool is_of_feed_forward(LayerVector slot) {
  switch (slot) {
    case LayerVector::attention_sub_norm:
    case LayerVector::sinks: return false;
    case LayerVector::router_norm:
    case LayerVector::expert_norm:
    case LayerVector::expert_post_norm:
    case LayerVector::shared_expert_post_norm:
    case LayerVector::expert_scales: return true;
    default: return slot >= LayerVector::feed_forward_norm && slot <= LayerVector::expert_down_bias;
  }
}

// Norms before and after what lets tokens see others.
bool is_around_mixer(LayerVector slot) {
  switch (slot) {
    case LayerVector::attention_norm:
    case LayerVector::attention_norm_bias:
    case LayerVector::attention_post_norm:
    case LayerVector::attention_post_norm_bias: return true;
    default: return false;
  }
}

int normed_elements(const ModelConfig& c, int heads, int head_dim) {
  const bool has_one_weight = c.query_key_norm == QueryKeyNorm::head || c.query_key_norm == QueryKeyNorm::rotated;
  return has_one_weight ? head_dim : heads * head_dim;
}

int rwkv7_size_of(LayerVector slot, const ModelConfig& c, const LayerConfig& l) {
  const int inner = c.recurrence.inner;
  switch (slot) {
    case LayerVector::token_shift: return kShiftedInputs * c.hidden_size;
    case LayerVector::decay_bias:
    case LayerVector::rate_bias:
    case LayerVector::removal_scale:
    case LayerVector::rate_scale:
    case LayerVector::bonus:
    case LayerVector::recurrent_norm:
    case LayerVector::recurrent_norm_bias: return inner;
    case LayerVector::share_bias: return l.shares_values ? inner : 0;
    case LayerVector::feed_forward_shift: return l.has_feed_forward ? c.hidden_size : 0;
    case LayerVector::recurrent_out_bias: return c.hidden_size;
    default: return 0;
  }
}

int recurrent_size_of(LayerVector slot, const ModelConfig& c, Recurrence kind) {
  const RecurrenceConfig& r = c.recurrence;
  const bool is_convolution = kind == Recurrence::convolution, is_mamba = kind == Recurrence::mamba;
  const int steps = is_convolution ? 0 : is_mamba ? r.inner : r.heads;
  switch (slot) {
    case LayerVector::recurrent_in_bias: return is_convolution ? 3 * r.inner : convolution_channels(r, kind);
    case LayerVector::recurrent_gate_bias: return is_convolution ? 0 : r.inner;
    case LayerVector::recurrent_step_bias: return is_mamba ? 0 : steps;
    case LayerVector::recurrent_step_offset: return steps;
    case LayerVector::recurrent_out_bias: return c.hidden_size;
    case LayerVector::convolution: return r.kernel * convolution_channels(r, kind);
    case LayerVector::convolution_bias: return convolution_channels(r, kind);
    case LayerVector::decay:
    case LayerVector::decay_log: return is_mamba ? r.inner * r.key_size : steps;
    case LayerVector::skip: return kind == Recurrence::delta ? 0 : steps;
    case LayerVector::recurrent_norm:
      if (kind == Recurrence::delta) return value_size(r);
      return kind == Recurrence::mamba2 && r.has_norm ? r.inner : 0;
    case LayerVector::recurrent_select_norm: return is_mamba && r.select_norm_epsilon != 0 ? r.step_rank + 2 * r.key_size : 0;
    default: return 0;
  }
}

}  // namespace

MatrixShape shape_of(ModelMatrix slot, const ModelConfig& c) {
  const int per_layer = c.layers * c.per_layer.size;
  const auto dense = [&](int index) {
    const int columns = index == 0 ? c.hidden_size : c.dense[index - 1].size;
    return c.dense[index].size > 0 ? MatrixShape{c.dense[index].size, columns} : MatrixShape{0, 0};
  };
  switch (slot) {
    case ModelMatrix::embedding:
    case ModelMatrix::head: return {c.vocabulary_size, c.hidden_size};
    case ModelMatrix::per_layer_embedding: return {c.per_layer.vocabulary_size, c.per_layer.vocabulary_size > 0 ? per_layer : 0};
    case ModelMatrix::per_layer_projection: return {per_layer, per_layer > 0 ? c.hidden_size : 0};
    case ModelMatrix::streams_in:
    case ModelMatrix::streams_out: return {c.hidden_size, c.hidden_size};
    case ModelMatrix::positions: return {c.positions, c.positions > 0 ? c.hidden_size : 0};
    case ModelMatrix::token_types: return {c.token_types, c.token_types > 0 ? c.hidden_size : 0};
    case ModelMatrix::dense_1: return dense(0);
    case ModelMatrix::dense_2: return dense(1);
    case ModelMatrix::dense_3: return dense(2);
  }
  return {0, 0};
}

MatrixShape rwkv7_shape_of(LayerMatrix slot, const ModelConfig& c, const LayerConfig& l) {
  const RecurrenceConfig& r = c.recurrence;
  const int share_rank = l.shares_values ? r.share_rank : 0;
  const auto down = [&](int rank) { return MatrixShape{rank, rank > 0 ? c.hidden_size : 0}; };
  const auto up = [&](int rank) { return MatrixShape{rank > 0 ? r.inner : 0, rank}; };
  switch (slot) {
    case LayerMatrix::recurrent_query:
    case LayerMatrix::recurrent_key:
    case LayerMatrix::recurrent_value: return {r.inner, c.hidden_size};
    case LayerMatrix::decay_down: return down(r.decay_rank);
    case LayerMatrix::decay_up: return up(r.decay_rank);
    case LayerMatrix::rate_down: return down(r.rate_rank);
    case LayerMatrix::rate_up: return up(r.rate_rank);
    case LayerMatrix::share_down: return down(share_rank);
    case LayerMatrix::share_up: return up(share_rank);
    case LayerMatrix::recurrent_gate_down: return down(r.gate_rank);
    case LayerMatrix::recurrent_gate_up: return up(r.gate_rank);
    case LayerMatrix::recurrent_out: return {c.hidden_size, r.inner};
    default: return {0, 0};
  }
}

MatrixShape shape_of(LayerMatrix slot, const ModelConfig& c, const LayerConfig& l, int inner) {
  const LatentConfig& latent = c.latent;
  const PerLayerConfig& per_layer = c.per_layer;
  const bool has_keys = l.keys_of == kOwnKeys && !has_latent(c);
  const auto if_any = [](bool exists, MatrixShape shape) { return exists ? shape : MatrixShape{0, 0}; };
  const RecurrenceConfig& recurrence = c.recurrence;
  const Recurrence kind = l.recurrence;
  if (!l.has_attention && is_of_attention(slot)) return {0, 0};
  if (kind == Recurrence::none && slot >= LayerMatrix::recurrent_in) return {0, 0};
  if (kind == Recurrence::rwkv7 && slot >= LayerMatrix::recurrent_in) return rwkv7_shape_of(slot, c, l);
  if (!l.has_feed_forward && slot >= LayerMatrix::router && slot <= LayerMatrix::down) return {0, 0};
  switch (slot) {
    case LayerMatrix::query:
      if (has_latent(c)) return {c.heads * (latent.plain + latent.rotated), latent.query > 0 ? latent.query : c.hidden_size};
      return {c.heads * l.head_dim, c.hidden_size};
    case LayerMatrix::key: return if_any(has_keys, {l.kv_heads * l.head_dim, c.hidden_size});
    case LayerMatrix::value: return if_any(has_keys && !l.values_are_keys, {l.kv_heads * l.head_dim, c.hidden_size});
    case LayerMatrix::output: return {c.hidden_size, c.heads * (has_latent(c) ? latent.value : l.head_dim)};
    case LayerMatrix::router: return if_any(l.has_experts, {c.experts, c.hidden_size});
    case LayerMatrix::gate: return if_any(c.is_gated, {inner, c.hidden_size});
    case LayerMatrix::up: return {inner, c.hidden_size};
    case LayerMatrix::down: return {c.hidden_size, inner};
    case LayerMatrix::query_latent: return if_any(latent.query > 0, {latent.query, c.hidden_size});
    case LayerMatrix::latent: return if_any(has_latent(c), {row_size(latent), c.hidden_size});
    case LayerMatrix::key_up: return if_any(has_latent(c), {latent.latent, latent.plain});
    case LayerMatrix::value_up: return if_any(has_latent(c), {latent.value, latent.latent});
    case LayerMatrix::per_layer_gate: return if_any(per_layer.size > 0, {per_layer.size, c.hidden_size});
    case LayerMatrix::per_layer_output: return if_any(per_layer.size > 0, {c.hidden_size, per_layer.size});
    case LayerMatrix::laurel_down: return if_any(per_layer.laurel > 0, {per_layer.laurel, c.hidden_size});
    case LayerMatrix::laurel_up: return if_any(per_layer.laurel > 0, {c.hidden_size, per_layer.laurel});
    case LayerMatrix::stream_router: return if_any(per_layer.streams > 0, {per_layer.streams, c.hidden_size});
    case LayerMatrix::stream_prediction: return if_any(per_layer.streams > 0, {per_layer.streams * per_layer.streams, per_layer.streams});
    case LayerMatrix::stream_correction: return if_any(per_layer.streams > 0, {per_layer.streams, per_layer.streams});
    case LayerMatrix::attention_gate:
      return if_any(c.attention_gate != AttentionGate::none, {gate_size(c.attention_gate, c.heads, l.head_dim), c.hidden_size});
    case LayerMatrix::recurrent_in:
      return {kind == Recurrence::convolution ? 3 * recurrence.inner : convolution_channels(recurrence, kind), c.hidden_size};
    case LayerMatrix::recurrent_gate: return if_any(kind != Recurrence::convolution, {recurrence.inner, c.hidden_size});
    case LayerMatrix::recurrent_step:
      if (kind == Recurrence::mamba) return {recurrence.inner, recurrence.step_rank};
      return if_any(kind != Recurrence::convolution, {recurrence.heads, c.hidden_size});
    case LayerMatrix::recurrent_strength: return if_any(kind == Recurrence::delta, {recurrence.heads, c.hidden_size});
    case LayerMatrix::recurrent_select:
      return if_any(kind == Recurrence::mamba, {recurrence.step_rank + 2 * recurrence.key_size, recurrence.inner});
    case LayerMatrix::recurrent_out: return {c.hidden_size, recurrence.inner};
    default: return {0, 0};  // rwkv7_shape_of()
  }
}

int size_of(LayerVector slot, const ModelConfig& c, const LayerConfig& l) {
  const bool is_recurrent = l.recurrence != Recurrence::none;
  const bool has_keys = l.keys_of == kOwnKeys;
  const bool has_norms = c.query_key_norm != QueryKeyNorm::none;
  if ((!l.has_attention && is_of_attention(slot)) || (!l.has_feed_forward && is_of_feed_forward(slot))) return 0;
  if (!mixes_tokens(l) && is_around_mixer(slot)) return 0;
  if (slot == LayerVector::attention_gate_bias) return gate_size(c.attention_gate, c.heads, l.head_dim);
  if (slot >= LayerVector::recurrent_in_bias && l.recurrence == Recurrence::rwkv7) return rwkv7_size_of(slot, c, l);
  if (slot >= LayerVector::recurrent_in_bias) return is_recurrent ? recurrent_size_of(slot, c, l.recurrence) : 0;
  switch (slot) {
    case LayerVector::query_bias:
    case LayerVector::attention_sub_norm: return c.heads * l.head_dim;
    case LayerVector::key_bias:
    case LayerVector::value_bias: return has_keys ? l.kv_heads * l.head_dim : 0;
    case LayerVector::query_norm: return has_norms ? normed_elements(c, c.heads, l.head_dim) : 0;
    case LayerVector::key_norm: return has_norms && has_keys ? normed_elements(c, l.kv_heads, l.head_dim) : 0;
    case LayerVector::gate_bias:
    case LayerVector::up_bias:
    case LayerVector::feed_forward_sub_norm: return l.feed_forward_size;
    case LayerVector::router_bias:
    case LayerVector::router_logit_bias:
    case LayerVector::expert_scales: return c.experts;
    case LayerVector::router_norm:
    case LayerVector::expert_norm:
    case LayerVector::expert_post_norm: return c.experts > 0 ? c.hidden_size : 0;
    case LayerVector::shared_expert_post_norm:
    case LayerVector::shared_expert_gate: return c.shared_expert_size > 0 ? c.hidden_size : 0;
    case LayerVector::sinks: return c.heads;
    case LayerVector::expert_gate_bias:
    case LayerVector::expert_up_bias: return c.experts * c.expert_size;
    case LayerVector::expert_down_bias: return c.experts * c.hidden_size;
    case LayerVector::query_latent_norm: return c.latent.query;
    case LayerVector::latent_norm: return c.latent.latent;
    case LayerVector::per_layer_norm: return c.per_layer.size > 0 ? c.hidden_size : 0;
    case LayerVector::layer_scale: return 1;
    case LayerVector::xielu_alpha_p:
    case LayerVector::xielu_alpha_n:
    case LayerVector::xielu_beta:
    case LayerVector::xielu_eps: return c.activation == Activation::xielu ? 1 : 0;
    case LayerVector::laurel_norm: return c.per_layer.laurel > 0 ? c.hidden_size : 0;
    case LayerVector::stream_norm:
    case LayerVector::stream_scale: return c.per_layer.streams > 0 ? c.hidden_size : 0;
    default: return c.hidden_size;
  }
}

int size_of(ModelVector slot, const ModelConfig& c) {
  switch (slot) {
    case ModelVector::head_bias: return c.vocabulary_size;
    case ModelVector::per_layer_projection_norm: return c.per_layer.size;
    case ModelVector::relative_bias: return c.relative_buckets * c.heads;
    case ModelVector::dense_1_bias:
    case ModelVector::dense_norm:
    case ModelVector::dense_norm_bias: return c.dense[0].size;
    case ModelVector::dense_2_bias: return c.dense[1].size;
    case ModelVector::dense_3_bias: return c.dense[2].size;
    default: return c.hidden_size;
  }
}

std::size_t recurrent_state_size(const ModelConfig& config, const LayerConfig& layer) {
  const RecurrenceConfig& c = config.recurrence;
  const Recurrence kind = layer.recurrence;
  if (kind == Recurrence::none) return 0;
  const std::size_t convolution = convolution_state(c.kernel, convolution_channels(c, kind));
  switch (kind) {
    case Recurrence::none: break;
    case Recurrence::convolution: return convolution;
    case Recurrence::mamba: return convolution + static_cast<std::size_t>(c.inner) * c.key_size;
    case Recurrence::delta:
    case Recurrence::mamba2: return convolution + scan_state(c.heads, c.key_size, value_size(c));
    case Recurrence::rwkv7: {
      const std::size_t inputs = static_cast<std::size_t>(config.hidden_size) * (layer.has_feed_forward ? 2 : 1);
      return inputs + scan_state(c.heads, c.key_size, value_size(c));
    }
  }
  return 0;
}

}  // namespace ropewalk
