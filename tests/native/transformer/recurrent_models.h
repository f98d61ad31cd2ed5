// Small models with recurrent layers.
#pragma once

#include "native/transformer/transformer_model.h"

namespace ropewalk {

// Layers of one recurrence, except one with attention, with all vectors that the kind needs.
inline Description hybrid(const std::string& name, Recurrence kind, const RecurrenceConfig& sizes, LayerVector decay) {
  Description d;
  ModelConfig& c = d.config;
  c.layers = 3, c.vocabulary_size = 29, c.hidden_size = 20, c.heads = 4, c.kv_heads = 2, c.head_dim = 6, c.feed_forward_size = 27;
  c.recurrence = sizes;
  d.name = name, d.rope = plain_config(6), d.layers.resize(3);
  d.layers[0].recurrence = d.layers[1].recurrence = kind;
  d.layers[0].has_attention = d.layers[1].has_attention = false;
  d.vectors = {LayerVector::attention_norm, LayerVector::feed_forward_norm, LayerVector::convolution,          decay,
               LayerVector::skip,           LayerVector::recurrent_norm,    LayerVector::recurrent_step_offset};
  return d;
}

// Gated delta networks, and attention whose outputs are gated: Qwen3-Next. With tiled keys, as llama.cpp orders those of Qwen3.5.
inline Description delta_hybrid(bool is_tiled) {
  const RecurrenceConfig sizes = {.kernel = 4, .inner = 28, .heads = 4, .key_heads = 2, .key_size = 6, .is_tiled = is_tiled};
  Description d = hybrid(is_tiled ? "gated delta networks, tiled" : "gated delta networks", Recurrence::delta, sizes,
                         is_tiled ? LayerVector::decay : LayerVector::decay_log);
  d.config.attention_gate = AttentionGate::elements, d.config.query_key_norm = QueryKeyNorm::head;
  d.vectors.insert(d.vectors.end(), {LayerVector::query_norm, LayerVector::key_norm});
  if (is_tiled) d.vectors.push_back(LayerVector::attention_gate_bias);
  return d;
}

// Mamba-2 with all biases, limited steps and several groups, a layer without feed-forward, and experts after attention: Bamba, Granite 4.
inline Description mamba2_hybrid() {
  Description d =
      hybrid("Mamba-2", Recurrence::mamba2,
             {.kernel = 3, .inner = 30, .heads = 6, .key_heads = 3, .key_size = 5, .norm_groups = 2, .least_step = 0.5f, .largest_step = 1},
             LayerVector::decay_log);
  d.config.experts = 3, d.config.expert_size = 11, d.config.routing.used = 2, d.config.residual_scale = 0.7f;
  d.layers[1].has_feed_forward = false, d.layers[2].has_experts = true;
  d.vectors.insert(d.vectors.end(), {LayerVector::recurrent_in_bias, LayerVector::recurrent_gate_bias, LayerVector::recurrent_step_bias,
                                     LayerVector::recurrent_out_bias, LayerVector::convolution_bias});
  return d;
}

// Without attention or feed-forward, so without a cache: Mamba. With norms of what the input selects: Falcon Mamba.
inline Description pure_mamba(bool has_norms) {
  RecurrenceConfig sizes = {.kernel = 4, .inner = 33, .heads = 1, .key_heads = 1, .key_size = 7, .step_rank = 3};
  sizes.select_norm_epsilon = has_norms ? 1e-2f : 0;
  Description d = hybrid(has_norms ? "Falcon Mamba" : "Mamba", Recurrence::mamba, sizes, LayerVector::decay_log);
  d.vectors.push_back(LayerVector::convolution_bias);
  for (LayerConfig& layer : d.layers) layer.recurrence = Recurrence::mamba, layer.has_attention = layer.has_feed_forward = false;
  return d;
}

// Mamba with weighted norms of what the input selects, and attention without RoPE: Jamba.
inline Description mamba_hybrid() {
  RecurrenceConfig sizes = {.kernel = 3, .inner = 34, .heads = 1, .key_heads = 1, .key_size = 5, .step_rank = 4};
  sizes.select_norm_epsilon = 1e-2f;
  Description d = hybrid("Jamba", Recurrence::mamba, sizes, LayerVector::decay_log);
  d.rope_of = {kNoRope, kNoRope, kNoRope};
  d.vectors.push_back(LayerVector::recurrent_select_norm);
  return d;
}

// Attention and Mamba-2 beside each other, with all multipliers and biases: Falcon-H1.
inline Description parallel_mixers() {
  Description d = hybrid("attention and Mamba-2", Recurrence::mamba2,
                         {.kernel = 4, .inner = 24, .heads = 4, .key_heads = 2, .key_size = 7, .has_norm = false}, LayerVector::decay_log);
  for (LayerConfig& layer : d.layers) layer.has_attention = true;
  d.config.multipliers = {0.8f, 1.7f, 0.6f, 1.3f, 0.7f, 1.2f, 0.6f, 1.4f, 0.7f, 1.5f, 0.5f, 0.9f};
  d.vectors.insert(d.vectors.end(), {LayerVector::recurrent_in_bias, LayerVector::recurrent_gate_bias, LayerVector::recurrent_step_bias,
                                     LayerVector::recurrent_out_bias, LayerVector::query_bias, LayerVector::key_bias,
                                     LayerVector::value_bias, LayerVector::output_bias, LayerVector::gate_bias, LayerVector::down_bias});
  return d;
}

// Layers with one thing each: Mamba-2, feed-forward, attention. Nemotron-H. The norm of Mamba-2 is before its gate.
inline Description single_blocks() {
  Description d = hybrid("one block in each layer", Recurrence::mamba2,
                         {.kernel = 4, .inner = 24, .heads = 4, .key_heads = 2, .key_size = 6, .norm_groups = 2, .norms_before_gate = true},
                         LayerVector::decay);
  d.config.is_gated = false, d.config.activation = Activation::relu2;
  d.layers[1].recurrence = Recurrence::none;
  d.layers[0].has_feed_forward = d.layers[2].has_feed_forward = false;
  return d;
}

// Short convolutions, and norms of queries and keys: LFM2.
inline Description short_convolutions() {
  Description d =
      hybrid("short convolutions", Recurrence::convolution, {.kernel = 3, .inner = 20, .heads = 1, .key_heads = 1}, LayerVector::decay);
  std::swap(d.layers[1], d.layers[2]);
  d.config.query_key_norm = QueryKeyNorm::head;
  d.vectors.insert(d.vectors.end(), {LayerVector::query_norm, LayerVector::key_norm, LayerVector::convolution_bias,
                                     LayerVector::recurrent_in_bias, LayerVector::recurrent_out_bias});
  return d;
}

// Mixed with the token before in both blocks, and a norm of embeddings: RWKV-7. With attention, layers have it alone, the recurrence alone,
// and both, and the second has no feed-forward.
inline Description rwkv(bool has_attention) {
  RecurrenceConfig sizes = {.kernel = 2, .inner = 21, .heads = 3, .key_heads = 3, .key_size = 7};
  sizes.decay_rank = 4, sizes.rate_rank = 2, sizes.share_rank = 5, sizes.gate_rank = 3;
  sizes.removal_epsilon = has_attention ? 1e-2f : 1e-24f, sizes.head_norm_epsilon = 1e-3f;
  Description d = hybrid(has_attention ? "RWKV and attention" : "RWKV", Recurrence::rwkv7, sizes, LayerVector::decay);
  d.config.norm.kind = NormKind::layer, d.config.is_gated = false, d.config.activation = Activation::relu2;
  d.vectors = {LayerVector::attention_norm, LayerVector::attention_norm_bias, LayerVector::feed_forward_norm,
               LayerVector::feed_forward_norm_bias};
  d.vectors.insert(d.vectors.end(), std::begin(kRwkvVectors), std::end(kRwkvVectors));
  d.model_vectors = {ModelVector::final_norm, ModelVector::embedding_norm, ModelVector::embedding_norm_bias};
  for (LayerConfig& layer : d.layers) layer.recurrence = Recurrence::rwkv7, layer.has_attention = false;
  if (!has_attention) return d;
  d.layers[0] = LayerConfig(), d.layers[1].has_feed_forward = false, d.layers[2].has_attention = true;
  d.vectors.push_back(LayerVector::recurrent_out_bias);
  return d;
}

inline std::vector<Description> every_recurrent_model() {
  return {delta_hybrid(false), delta_hybrid(true), mamba2_hybrid(),      pure_mamba(false), pure_mamba(true), mamba_hybrid(),
          parallel_mixers(),   single_blocks(),    short_convolutions(), rwkv(false),       rwkv(true)};
}

}  // namespace ropewalk
