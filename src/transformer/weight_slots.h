// The weights that a model and its layers may have, by name, with their shapes in elements. A matrix is [rows][columns], and a vector has
// one shape. Names in shapes are those of model_config.h. Of which layers have which, weight_shapes.cpp tells.
//
// The bindings pass these enumerators as numbers, so TypeScript has the same order (tensor_names.ts).
#pragma once

namespace ropewalk {

enum class ModelMatrix : int {
  embedding,             // [vocabulary_size][hidden_size]
  head,                  // [vocabulary_size][hidden_size]; without it, the embedding is the head
  per_layer_embedding,   // [per_layer.vocabulary_size][layers · per_layer.size]
  per_layer_projection,  // [layers · per_layer.size][hidden_size]
  streams_in,            // [hidden_size][hidden_size] for each residual stream but the first
  streams_out,           // [hidden_size][hidden_size] for each residual stream but the first
  positions,             // [positions][hidden_size]: embeddings of positions
  token_types,           // [token_types][hidden_size]: embeddings of types of tokens
  dense_1,               // [dense[0].size][hidden_size]
  dense_2,               // [dense[1].size][dense[0].size]
  dense_3,               // [dense[2].size][dense[1].size]
};

enum class ModelVector : int {
  final_norm,                 // [hidden_size]
  final_norm_bias,            // [hidden_size]
  head_bias,                  // [vocabulary_size]
  per_layer_projection_norm,  // [per_layer.size]
  embedding_norm,             // [hidden_size]: of the sum of embeddings
  embedding_norm_bias,        // [hidden_size]
  dense_1_bias,               // [dense[0].size]
  dense_2_bias,               // [dense[1].size]
  dense_3_bias,               // [dense[2].size]
  dense_norm,                 // [dense[0].size]: of the output of the first dense layer
  dense_norm_bias,            // [dense[0].size]
  relative_bias,              // [relative_buckets][heads]
};

// `inner` is the size of a feed-forward block or of an expert between its products, and recurrence.inner in a recurrent layer.
enum class LayerMatrix : int {
  query,              // [heads · head_dim][hidden_size]; latent: [heads · (plain + rotated)][query, or hidden_size without query_latent]
  key,                // [kv_heads · head_dim][hidden_size]
  value,              // [kv_heads · head_dim][hidden_size]
  output,             // [hidden_size][heads · head_dim]; latent: [hidden_size][heads · value]
  router,             // [experts][hidden_size]
  gate,               // [inner][hidden_size], once for each expert, the shared one last
  up,                 // [inner][hidden_size], once for each expert, the shared one last
  down,               // [hidden_size][inner], once for each expert, the shared one last
  query_latent,       // [latent.query][hidden_size]
  latent,             // [latent.latent + latent.rotated][hidden_size]: the rows of the latent, then those of the rotated key
  key_up,             // [latent.latent][latent.plain], once for each head
  value_up,           // [latent.value][latent.latent], once for each head
  per_layer_gate,     // [per_layer.size][hidden_size]
  per_layer_output,   // [hidden_size][per_layer.size]
  laurel_down,        // [per_layer.laurel][hidden_size]
  laurel_up,          // [hidden_size][per_layer.laurel]
  stream_router,      // [per_layer.streams][hidden_size]
  stream_prediction,  // [streams · streams][streams]
  stream_correction,  // [streams][streams]
  attention_gate,     // [gate_size()][hidden_size]
  recurrent_in,    // [b | c | u] of convolution, [q | k | v] of delta, [u | B | C] of mamba2, or [u] of mamba: rows of each, [hidden_size]
  recurrent_gate,  // [inner][hidden_size]
  recurrent_step,  // Δ: [recurrence.heads][hidden_size]; mamba: [inner][step_rank]
  recurrent_strength,   // delta: [recurrence.heads][hidden_size], how much a new value counts
  recurrent_select,     // mamba: [Δ | B | C], [step_rank + 2 · key_size][inner]
  recurrent_out,        // [hidden_size][inner]
  recurrent_query,      // rwkv7: [inner][hidden_size]
  recurrent_key,        // rwkv7: [inner][hidden_size]
  recurrent_value,      // rwkv7: [inner][hidden_size]
  decay_down,           // rwkv7: [decay_rank][hidden_size], of the product of a low rank that gives w
  decay_up,             // rwkv7: [inner][decay_rank]
  rate_down,            // rwkv7: [rate_rank][hidden_size], of that which gives a
  rate_up,              // rwkv7: [inner][rate_rank]
  share_down,           // rwkv7: [share_rank][hidden_size], of that which gives the share of the first layer's v
  share_up,             // rwkv7: [inner][share_rank]
  recurrent_gate_down,  // rwkv7: [gate_rank][hidden_size], of that which gives g
  recurrent_gate_up,    // rwkv7: [inner][gate_rank]
};

enum class LayerVector : int {
  attention_norm,               // [hidden_size], also before a recurrence
  attention_norm_bias,          // [hidden_size]
  query_bias,                   // [heads · head_dim]
  key_bias,                     // [kv_heads · head_dim]
  value_bias,                   // [kv_heads · head_dim]
  output_bias,                  // [hidden_size]
  query_norm,                   // [head_dim], or [heads · head_dim]: QueryKeyNorm
  key_norm,                     // [head_dim], or [kv_heads · head_dim]: QueryKeyNorm
  attention_post_norm,          // [hidden_size], also after a recurrence
  feed_forward_norm,            // [hidden_size]
  feed_forward_norm_bias,       // [hidden_size]
  gate_bias,                    // [feed_forward_size]
  up_bias,                      // [feed_forward_size]
  down_bias,                    // [hidden_size]
  feed_forward_post_norm,       // [hidden_size]
  attention_sub_norm,           // [heads · head_dim]: of the heads' outputs together
  feed_forward_sub_norm,        // [feed_forward_size]: of the inner row
  router_bias,                  // [experts]: added to weights of experts when they are chosen
  shared_expert_gate,           // [hidden_size]: the sigmoid of its product with the input multiplies the shared expert's output
  xielu_alpha_p,                // [1]
  xielu_alpha_n,                // [1]
  xielu_beta,                   // [1]
  xielu_eps,                    // [1]
  sinks,                        // [heads]: AttentionOptions::sinks
  router_logit_bias,            // [experts]: added to the router's scores before they become weights
  expert_gate_bias,             // [experts][expert_size]
  expert_up_bias,               // [experts][expert_size]
  expert_down_bias,             // [experts][hidden_size]
  query_latent_norm,            // [latent.query]
  latent_norm,                  // [latent.latent]
  per_layer_norm,               // [hidden_size]
  layer_scale,                  // [1]: a factor of the whole hidden state after the layer
  laurel_norm,                  // [hidden_size]
  stream_norm,                  // [hidden_size]
  stream_scale,                 // [hidden_size]
  router_norm,                  // [hidden_size]: of the residual stream, which the router reads instead of the block's input
  expert_norm,                  // [hidden_size]: of the residual stream, which experts read instead of the block's input
  expert_post_norm,             // [hidden_size]: of the sum of the experts that the router chose
  shared_expert_post_norm,      // [hidden_size]
  expert_scales,                // [experts]: factors of the weights of experts (Router::choose())
  attention_post_norm_bias,     // [hidden_size]
  feed_forward_post_norm_bias,  // [hidden_size]
  recurrent_in_bias,            // [rows of recurrent_in]
  recurrent_gate_bias,          // [inner]
  recurrent_step_bias,          // [recurrence.heads]: added to recurrent_step's product; not of mamba
  recurrent_step_offset,        // [recurrence.heads]; mamba: [inner]: added to Δ before its softplus
  recurrent_out_bias,           // [hidden_size]
  convolution,                  // [kernel][channels]; set_vector() takes [channels][kernel]
  convolution_bias,             // [channels]
  decay,                        // A, negative: [recurrence.heads]; mamba: [inner][key_size]
  skip,                         // D: [recurrence.heads]; mamba: [inner]
  recurrent_norm,               // delta: [value size]; mamba2 and rwkv7: [inner]
  decay_log,                    // sets decay: A = -e^x
  attention_gate_bias,          // [gate_size()]
  recurrent_select_norm,        // mamba: [step_rank + 2 · key_size], of the norms of Δ, B and C
  token_shift,                  // rwkv7: [6][hidden_size], the share of the previous token in the inputs of q, w, k, v, a and g
  decay_bias,                   // rwkv7: [inner]
  rate_bias,                    // rwkv7: [inner]
  share_bias,                   // rwkv7: [inner]
  removal_scale,                // rwkv7: [inner], of the keys that are removed
  rate_scale,                   // rwkv7: [inner], how far the rate changes the keys that are added
  bonus,                        // rwkv7: [inner], ρ
  recurrent_norm_bias,          // rwkv7: [inner]
  feed_forward_shift,           // rwkv7: [hidden_size], the share of the previous token in the input of the feed-forward block
};

// Inputs of an rwkv7 layer's products: x mixed with the previous token's, with a share for each.
constexpr int kShiftedInputs = 6;

constexpr int kModelMatrices = static_cast<int>(ModelMatrix::dense_3) + 1;
constexpr int kModelVectors = static_cast<int>(ModelVector::relative_bias) + 1;
constexpr int kLayerMatrices = static_cast<int>(LayerMatrix::recurrent_gate_up) + 1;
constexpr int kLayerVectors = static_cast<int>(LayerVector::feed_forward_shift) + 1;
// A slot for Weights::find(), after those of matrices: the shared expert's gate as a matrix of one row, for the terms of adapters.
constexpr int kSharedExpertGate = kLayerMatrices;

}  // namespace ropewalk
