// Small models, one for each way in which architectures differ.
#pragma once

#include "native/transformer/recurrent_models.h"

namespace ropewalk {

inline ModelConfig small_config(int layers = 2) {
  ModelConfig c;
  c.layers = layers, c.vocabulary_size = 29, c.hidden_size = 20;
  c.heads = 4, c.kv_heads = 2, c.head_dim = 6, c.feed_forward_size = 27;
  return c;
}

inline Description llama() {
  return {"Llama",
          small_config(3),
          std::vector<LayerConfig>(3),
          with_pairing(plain_config(6), Pairing::interleaved),
          {LayerVector::attention_norm, LayerVector::feed_forward_norm}};
}

// Parallel with one norm, biases, no gate, partial rotation and a separate head: GPT-J.
inline Description gpt_j() {
  Description d = llama();
  d.name = "GPT-J", d.config = small_config(), d.layers.resize(2);
  d.config.kv_heads = 4, d.config.is_parallel = true, d.config.is_gated = false, d.config.activation = Activation::gelu;
  d.config.norm = {NormKind::layer, 1e-5f};
  d.rope.rotary_dim = 4;
  d.vectors = {LayerVector::attention_norm, LayerVector::attention_norm_bias, LayerVector::up_bias, LayerVector::down_bias};
  d.model_vectors = {ModelVector::final_norm, ModelVector::final_norm_bias, ModelVector::head_bias};
  d.has_head = true;
  return d;
}

// Parallel with two norms and all biases: GPT-NeoX with a gate.
inline Description neox() {
  Description d = gpt_j();
  d.name = "GPT-NeoX", d.config.is_gated = true, d.rope = plain_config(6);
  d.vectors = {LayerVector::attention_norm,    LayerVector::attention_norm_bias,
               LayerVector::query_bias,        LayerVector::key_bias,
               LayerVector::value_bias,        LayerVector::output_bias,
               LayerVector::feed_forward_norm, LayerVector::feed_forward_norm_bias,
               LayerVector::gate_bias,         LayerVector::up_bias,
               LayerVector::down_bias};
  return d;
}

// Pre-norms and post-norms, caps, windows, scales: Gemma 2, with the head norms of Gemma 3.
inline Description gemma() {
  Description d = llama();
  d.name = "Gemma", d.rope = plain_config(6);
  d.config.activation = Activation::gelu_tanh, d.config.query_key_norm = QueryKeyNorm::head;
  d.config.attention_scale = 0.3, d.config.attention_soft_cap = 2, d.config.logit_soft_cap = 3;
  d.config.embedding_scale = std::sqrt(20.0f);
  d.layers[0].window = 4, d.layers[2].window = 1;
  d.vectors = {LayerVector::attention_norm,         LayerVector::attention_post_norm, LayerVector::feed_forward_norm,
               LayerVector::feed_forward_post_norm, LayerVector::query_norm,          LayerVector::key_norm};
  return d;
}

// Post-norms only, and a norm over all heads: OLMo 2.
inline Description olmo() {
  Description d = llama();
  d.name = "OLMo 2", d.config.query_key_norm = QueryKeyNorm::all_heads;
  d.vectors = {LayerVector::attention_post_norm, LayerVector::feed_forward_post_norm, LayerVector::query_norm, LayerVector::key_norm};
  return d;
}

// A separate norm weight for each head: StableLM 2.
inline Description stable_lm() {
  Description d = llama();
  d.name = "StableLM 2", d.config.query_key_norm = QueryKeyNorm::each_head, d.config.norm.kind = NormKind::layer;
  d.vectors.insert(d.vectors.end(), {LayerVector::query_norm, LayerVector::key_norm});
  return d;
}

// A layer without experts, then layers with experts: Qwen3-MoE, with Granite's scales.
inline Description experts(bool normalizes, bool is_gated = true) {
  Description d = llama();
  d.name = std::string("experts") + (normalizes ? ", normalized" : "") + (is_gated ? "" : ", without a gate");
  d.config.experts = 6, d.config.expert_size = 17, d.config.routing = {.used = 2, .normalizes = normalizes}, d.config.is_gated = is_gated;
  d.config.residual_scale = 0.4f, d.config.logit_scale = 0.25f;
  d.layers[1].has_experts = d.layers[2].has_experts = true;
  return d;
}

// An expert that every token uses, weighed by a gate, and a bias that chooses experts by their sigmoids: Qwen2-MoE, DeepSeek-V3.
inline Description shared_expert() {
  Description d = experts(true);
  d.name = "shared expert", d.config.shared_expert_size = 9;
  d.config.routing.weight = ExpertWeight::sigmoid, d.config.routing.scale = 1.5f;
  d.layers[0].has_experts = true;
  d.vectors.insert(d.vectors.end(), {LayerVector::router_bias, LayerVector::shared_expert_gate});
  return d;
}

// Norms of what the router and the experts read and of what they give, and a factor of each expert: Gemma 4.
inline Description normed_experts() {
  Description d = experts(true);
  d.name = "experts with norms", d.config.shared_expert_size = 9, d.config.routing.score_scale = 0.7f;
  d.layers[0].has_experts = true;
  d.vectors.insert(d.vectors.end(), {LayerVector::router_norm, LayerVector::expert_norm, LayerVector::expert_post_norm,
                                     LayerVector::shared_expert_post_norm, LayerVector::expert_scales});
  return d;
}

// Norms of the heads' outputs and of the inner row, and a squared ReLU: BitNet. Norms of rotated q and k: HunYuan.
inline Description sub_norms() {
  Description d = llama();
  d.name = "sub-norms", d.config.activation = Activation::relu2, d.config.query_key_norm = QueryKeyNorm::rotated;
  d.rope.compat = Compat::llama_cpp, d.rope.attn_factor = 1.3;
  d.vectors.insert(d.vectors.end(),
                   {LayerVector::attention_sub_norm, LayerVector::feed_forward_sub_norm, LayerVector::query_norm, LayerVector::key_norm});
  return d;
}

// An activation with parameters: Apertus.
inline Description xielu() {
  Description d = llama();
  d.name = "xIELU", d.config.activation = Activation::xielu, d.config.is_gated = false;
  d.vectors.insert(d.vectors.end(),
                   {LayerVector::xielu_alpha_p, LayerVector::xielu_alpha_n, LayerVector::xielu_beta, LayerVector::xielu_eps});
  return d;
}

// Widths that are multiples of a block.
inline Description stored(const std::string& name, const std::vector<WeightFormat>& formats) {
  Description d = llama();
  d.name = name, d.formats = formats;
  d.config.hidden_size = 64, d.config.heads = 2, d.config.kv_heads = 1, d.config.head_dim = 16, d.config.feed_forward_size = 96;
  d.rope = plain_config(16);
  return d;
}

// Sinks in the softmax, experts with biases, a bias of the router, and a clamped gate: gpt-oss.
inline Description gpt_oss() {
  Description d = experts(true);
  d.name = "gpt-oss", d.config.activation = Activation::clamped_silu, d.config.gate_slope = 1.702f, d.config.gate_limit = 0.6f;
  d.layers[0].has_experts = true, d.layers[1].window = 5;
  d.vectors.insert(d.vectors.end(), {LayerVector::sinks, LayerVector::router_logit_bias, LayerVector::expert_gate_bias,
                                     LayerVector::expert_up_bias, LayerVector::expert_down_bias});
  return d;
}

// Chunks, then a layer without RoPE whose queries have a temperature, heads of unit length, and weights of experts on their input: Llama 4.
inline Description llama4() {
  Description d = llama();
  d.name = "Llama 4";
  d.config.temperature = {0.4, 3, 1};
  d.config.experts = 4, d.config.expert_size = 11, d.config.shared_expert_size = 9;
  d.config.routing = {.used = 1, .weight = ExpertWeight::sigmoid, .scales_input = true};
  d.layers[0].chunk = 5, d.layers[1].chunk = 8, d.layers[2].has_temperature = true;
  d.layers[0].has_unit_heads = d.layers[1].has_unit_heads = d.layers[1].has_experts = true;
  d.rope_of = {0, 0, kNoRope};
  d.rope.compat = Compat::llama_cpp, d.rope.attn_factor = 1.3;
  return d;
}

// A latent for each token instead of keys and values, and perhaps one for queries: DeepSeek-V2 and V3.
inline Description latent(int query_latent) {
  Description d = llama();
  d.name = query_latent > 0 ? "latent attention" : "latent attention without a latent of queries";
  d.config.latent = {.latent = 9, .rotated = 4, .plain = 7, .value = 5, .query = query_latent};
  d.config.head_dim = 13, d.config.kv_heads = 1, d.config.latent_norm = {NormKind::rms, 1e-3f};
  d.config.attention_scale = 0.37;
  d.rope = with_pairing(plain_config(13), Pairing::interleaved), d.rope.rotary_dim = 4;
  d.vectors.push_back(LayerVector::latent_norm);
  if (query_latent > 0) d.vectors.push_back(LayerVector::query_latent_norm);
  return d;
}

// Embeddings of each layer, keys and values of earlier layers, and layers of two shapes: Gemma 4.
inline Description gemma4() {
  Description d = gemma();
  d.name = "Gemma 4", d.config.layers = 5, d.layers = std::vector<LayerConfig>(5);
  d.config.head_dim = 8, d.config.normalizes_values = true, d.config.attention_scale = 1, d.config.attention_soft_cap = 0;
  d.config.per_layer = {.size = 5, .vocabulary_size = 21};
  for (const int sliding : {0, 1, 3}) d.layers[sliding].window = 4, d.layers[sliding].head_dim = 6;
  for (const int full : {2, 4}) d.layers[full].kv_heads = 1, d.layers[full].feed_forward_size = 13;
  d.layers[2].values_are_keys = true, d.layers[3].keys_of = 1, d.layers[4].keys_of = 2;
  d.more_ropes = {plain_config(8, 500)};
  d.rope_of = {0, 0, 1, 0, 1};
  d.model_vectors.push_back(ModelVector::per_layer_projection_norm);
  d.vectors.insert(d.vectors.end(), {LayerVector::per_layer_norm, LayerVector::layer_scale});
  return d;
}

// Several residual streams, a learned residual, and inner rows of which only the largest elements are kept: Gemma 3n.
inline Description gemma3n(int active_stream) {
  Description d = gemma();
  d.name = "Gemma 3n, stream " + std::to_string(active_stream);
  d.config.attention_scale = 1, d.config.attention_soft_cap = 0, d.config.normalizes_values = true;
  d.config.per_layer = {.size = 5, .vocabulary_size = 29, .streams = 3, .active_stream = active_stream, .laurel = 4};
  d.layers[0].gate_deviations = 0.3f, d.layers[1].window = 4, d.layers[2].keys_of = 0;
  d.model_vectors.push_back(ModelVector::per_layer_projection_norm);
  d.vectors.insert(d.vectors.end(),
                   {LayerVector::per_layer_norm, LayerVector::laurel_norm, LayerVector::stream_norm, LayerVector::stream_scale});
  return d;
}

// Embeddings of positions instead of RoPE, in a decoder: GPT-2.
inline Description gpt2() {
  Description d = neox();
  d.name = "GPT-2", d.config.is_parallel = d.config.is_gated = false, d.config.positions = 60;
  d.rope_of = {kNoRope, kNoRope};
  d.vectors.erase(std::find(d.vectors.begin(), d.vectors.end(), LayerVector::gate_bias));
  return d;
}

// Norms before and after each block, long convolutions, a window, and a gate for each head: LFM3.
inline Description lfm3() {
  Description d = gemma();
  const int hidden = d.config.hidden_size;
  d.name = "LFM3", d.config.attention_soft_cap = d.config.logit_soft_cap = 0, d.config.attention_gate = AttentionGate::heads;
  d.config.recurrence = {.kernel = 7, .inner = hidden, .heads = 1, .key_heads = 1};
  d.layers[1].recurrence = Recurrence::convolution, d.layers[1].has_attention = false;
  d.vectors.push_back(LayerVector::convolution);
  return d;
}

// Norms of the sum with all biases, positions, types, and dense layers after pooling: BERT.
inline Description bert() {
  Description d = gpt_j();
  d.name = "BERT", d.config.is_parallel = false, d.config.is_causal = false, d.config.normalizes_residual = true;
  d.config.positions = 40, d.config.token_types = 2;
  d.config.dense[0] = {9, true, Activation::tanh}, d.config.dense[1] = {5, false, {}};
  d.layers[1].window = 4;
  d.vectors = {LayerVector::query_bias,
               LayerVector::key_bias,
               LayerVector::value_bias,
               LayerVector::output_bias,
               LayerVector::up_bias,
               LayerVector::down_bias,
               LayerVector::attention_post_norm,
               LayerVector::attention_post_norm_bias,
               LayerVector::feed_forward_post_norm,
               LayerVector::feed_forward_post_norm_bias};
  d.model_vectors = {ModelVector::embedding_norm, ModelVector::embedding_norm_bias, ModelVector::dense_1_bias, ModelVector::dense_2_bias};
  d.has_head = false;
  return d;
}

// Biases of distances beside embeddings of positions: MPNet.
inline Description mpnet() {
  Description d = bert();
  d.name = "MPNet", d.config.token_types = 0, d.config.relative_buckets = 10, d.config.relative_max_distance = 12;
  d.model_vectors.push_back(ModelVector::relative_bias);
  return d;
}

// Embeddings of each layer that are only a projection, read in both directions, and a map of each token: EmbeddingGemma 2.
inline Description embedding_gemma2() {
  Description d = gemma4();
  d.name = "EmbeddingGemma 2", d.config.is_causal = false, d.config.per_layer.vocabulary_size = 0;
  d.config.dense[0] = {9, false, {}}, d.config.projects_tokens = true;
  d.has_head = false;
  return d;
}

inline std::vector<Description> every_float_model() {
  std::vector<Description> all = {llama(),
                                  gpt_j(),
                                  neox(),
                                  gemma(),
                                  olmo(),
                                  stable_lm(),
                                  experts(true),
                                  experts(false),
                                  experts(true, false),
                                  shared_expert(),
                                  normed_experts(),
                                  sub_norms(),
                                  xielu(),
                                  gpt_oss(),
                                  llama4(),
                                  latent(0),
                                  latent(6),
                                  gemma4(),
                                  gemma3n(0),
                                  gemma3n(2),
                                  gpt2(),
                                  lfm3(),
                                  stored("16 bits", {WeightFormat::f16, WeightFormat::bf16})};
  for (const Description& description : every_recurrent_model()) all.push_back(description);
  return all;
}

inline std::vector<Description> every_model() {
  std::vector<Description> all = every_float_model();
  all.push_back(stored("quantized", {WeightFormat::q8_0, WeightFormat::q4_0, WeightFormat::f32}));
  return all;
}

}  // namespace ropewalk
