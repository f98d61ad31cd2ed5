// The weights of a model, kept in the format of the file.
#pragma once

#include <cstdint>
#include <memory>

#include "base/buffer.h"
#include "base/status.h"
#include "matmul/matmul.h"
#include "transformer/model_config.h"

namespace ropewalk {

// The bindings pass these enumerators as numbers, so TypeScript has the same order.
//
// Without a head the embedding is used.
enum class ModelMatrix : int {
  embedding,
  head,
  per_layer_embedding,  // this and the next three: PerLayerConfig; the last two have a part for each stream but the first
  per_layer_projection,
  streams_in,
  streams_out,
  positions,
  token_types,
  dense_1,
  dense_2,
  dense_3,
};
enum class ModelVector : int {
  final_norm,
  final_norm_bias,
  head_bias,
  per_layer_projection_norm,
  embedding_norm,  // of the sum of embeddings
  embedding_norm_bias,
  dense_1_bias,
  dense_2_bias,
  dense_3_bias,
  dense_norm,  // of the output of the first dense layer
  dense_norm_bias,
};
enum class LayerMatrix : int {
  query,
  key,
  value,
  output,
  router,
  gate,  // this and the next two exist once per expert; those of the shared one are last
  up,
  down,
  query_latent,  // this and the next three: LatentConfig
  latent,        // [latent | rotated] rows
  key_up,        // this and the next exist once per head: [latent][plain], and [value][latent]
  value_up,
  per_layer_gate,  // the rest: PerLayerConfig
  per_layer_output,
  laurel_down,
  laurel_up,
  stream_router,
  stream_prediction,
  stream_correction,
  attention_gate,  // ModelConfig::gates_attention
  recurrent_in,    // the rest: Recurrence. [b | c | u], [q | k | v], [u | B | C] or [u]
  recurrent_gate,
  recurrent_step,      // Δ of heads; mamba: of channels, from step_rank elements
  recurrent_strength,  // delta: how much a new value counts
  recurrent_select,    // mamba: [Δ | B | C]
  recurrent_out,
  recurrent_query,  // this and the rest: rwkv7
  recurrent_key,
  recurrent_value,
  decay_down,  // this and the rest: W_up activation(W_down x) + bias, of the ranks in RecurrenceConfig
  decay_up,
  rate_down,
  rate_up,
  share_down,
  share_up,
  recurrent_gate_down,
  recurrent_gate_up,
};
enum class LayerVector : int {
  attention_norm,
  attention_norm_bias,
  query_bias,
  key_bias,
  value_bias,
  output_bias,
  query_norm,
  key_norm,
  attention_post_norm,
  feed_forward_norm,
  feed_forward_norm_bias,
  gate_bias,
  up_bias,
  down_bias,
  feed_forward_post_norm,
  attention_sub_norm,     // of the heads' outputs together
  feed_forward_sub_norm,  // of the inner row
  router_bias,
  shared_expert_gate,  // the sigmoid of its product with the input multiplies the shared expert's output
  xielu_alpha_p,       // [1], as the next three
  xielu_alpha_n,
  xielu_beta,
  xielu_eps,
  sinks,              // as AttentionOptions::sinks
  router_logit_bias,  // added to the router's scores before they become weights
  expert_gate_bias,   // this and the next two: [experts][rows of their matrix]
  expert_up_bias,
  expert_down_bias,
  query_latent_norm,
  latent_norm,
  per_layer_norm,
  layer_scale,  // a factor of the whole hidden state after the layer
  laurel_norm,
  stream_norm,
  stream_scale,
  router_norm,  // this and the next: of the residual, which the router and the experts read instead of the block's input
  expert_norm,
  expert_post_norm,  // of the sum of the experts that the router chose
  shared_expert_post_norm,
  expert_scales,  // as Router::choose()
  attention_post_norm_bias,
  feed_forward_post_norm_bias,
  recurrent_in_bias,  // the rest: Recurrence
  recurrent_gate_bias,
  recurrent_step_bias,  // of recurrent_step's product, as the next; mamba has only the next
  recurrent_step_offset,
  recurrent_out_bias,
  convolution,  // [kernel][channels]; set_vector() takes [channels][kernel]
  convolution_bias,
  decay,  // A: negative, [heads]; mamba: [inner][key_size]
  skip,   // D: [heads]; mamba: [inner]
  recurrent_norm,
  decay_log,  // sets decay: A = -e^x
  attention_gate_bias,
  recurrent_select_norm,  // mamba: weights of the norms of [Δ | B | C]
  token_shift,            // this and the rest: rwkv7. The share of the previous token in the inputs of q, w, k, v, a, g: [6][hidden_size]
  decay_bias,
  rate_bias,
  share_bias,
  removal_scale,  // of the keys that are removed
  rate_scale,     // how far the rate changes the keys that are added
  bonus,          // ρ
  recurrent_norm_bias,
  feed_forward_shift,  // as token_shift, of the input of the feed-forward block
};
// Inputs of an rwkv7 layer's products: x mixed with the previous token's, with a share for each.
constexpr int kShiftedInputs = 6;
constexpr int kModelMatrices = 11, kModelVectors = 11, kLayerMatrices = 37, kLayerVectors = 64;
// A slot for Weights::find(), after those of matrices: the shared expert's gate as a matrix of one row, for the terms of adapters.
constexpr int kSharedExpertGate = kLayerMatrices;

struct Matrix {
  WeightMatrix weights;
  Buffer<unsigned char> memory;
  bool exists() const { return weights.data != nullptr; }
};

// The weights of a feed-forward block, or of one expert. Biases and the norm are null if it has none.
struct FeedForwardWeights {
  const WeightMatrix &gate, &up, &down;
  const float *gate_bias, *up_bias, *down_bias, *sub_norm;
  XieluParameters xielu;
};

class LayerWeights {
 public:
  const WeightMatrix& operator[](LayerMatrix slot) const { return matrices_[static_cast<int>(slot)].weights; }
  // Null if the layer doesn't have it.
  const float* operator[](LayerVector slot) const { return vectors_[static_cast<int>(slot)].data(); }
  FeedForwardWeights feed_forward() const;
  FeedForwardWeights expert(int index) const;
  const WeightMatrix& of_head(LayerMatrix slot, int head) const;
  // LayerVector::shared_expert_gate by the name that terms of adapters have for it.
  const WeightMatrix& shared_expert_gate() const { return shared_expert_gate_; }

 private:
  friend class Weights;
  Matrix matrices_[kLayerMatrices];
  Buffer<float> vectors_[kLayerVectors];
  WeightMatrix shared_expert_gate_;
  std::unique_ptr<Matrix[]> experts_;  // [experts, then the shared one][gate, up, down]
  std::unique_ptr<Matrix[]> heads_;    // [heads][key_up, value_up]
};

constexpr int kWholeModel = -1;

class Weights {
 public:
  // Sets the shape of the model and removes all weights. Returns model_shape_out_of_range, head_dim_out_of_range, query_shape_out_of_range,
  // heads_not_grouped, window_out_of_range, out_of_memory or ok. Changes nothing on failure.
  Status configure(const ModelConfig& config, const LayerConfig* layers);

  const ModelConfig& config() const { return config_; }
  const LayerConfig& layer_config(int layer) const { return layer_configs_[layer]; }
  const LayerWeights& layer(int index) const { return layers_[index]; }
  const WeightMatrix& embedding() const { return matrices_[static_cast<int>(ModelMatrix::embedding)].weights; }
  const WeightMatrix& head() const;
  const WeightMatrix& operator[](ModelMatrix slot) const { return matrices_[static_cast<int>(slot)].weights; }
  // `part` of streams_in or streams_out.
  const WeightMatrix& stream(ModelMatrix slot, int part) const;
  // Layers of the cache: those with their own keys. An encoder has none, nor has a model without attention.
  int cache_layers() const { return cache_layers_; }
  // Whether a later layer reads the keys of a layer.
  bool is_read_later(int layer) const;
  // Floats of a layer's recurrent state; 0 if it has none.
  std::size_t state_size(int layer) const;
  const float* operator[](ModelVector slot) const { return vectors_[static_cast<int>(slot)].data(); }

  // Finds a matrix that products read, by the names of reserve(), or kSharedExpertGate. The head may be the embedding. Returns
  // layer_out_of_range, weight_slot_unknown if there is none or only its rows are read, weight_missing or ok.
  Status find(int layer, int slot, int expert, const WeightMatrix*& matrix);

  // Allocates memory for a matrix, which the caller fills row by row. `layer` is kWholeModel for a ModelMatrix. `expert` is ignored unless
  // the matrix belongs to an expert. `bytes` is what the caller will write. Returns layer_out_of_range, weight_format_unknown,
  // weight_slot_unknown, weight_shape if the shape isn't the config's or doesn't take `bytes` bytes, out_of_memory or ok. On failure an
  // earlier matrix stays.
  Status reserve(int layer, int slot, int expert, WeightFormat format, int rows, int columns, std::uint64_t bytes, unsigned char*& memory);

  // Copies a vector of `bytes` bytes as floats, with `added` added to each (Gemma's files store norm weights minus 1). Returns the same
  // statuses as reserve().
  Status set_vector(int layer, int slot, WeightFormat format, const void* stored, std::uint64_t bytes, float added);

  // Packs the first `rows` rows of a matrix, which are written, while they are still in a cache; finish() packs the rest. Returns
  // layer_out_of_range, weight_slot_unknown, weight_missing, weight_shape if the matrix has fewer rows, out_of_memory or ok.
  Status pack(int layer, int slot, int expert, int rows);

  // To be called when all weights are written: checks that none is missing, and packs rows. Returns weight_missing, out_of_memory or ok.
  // May be called again after a failure.
  Status finish();
  bool is_finished() const { return is_finished_; }

 private:
  Matrix* matrix_at(int layer, int slot, int part);
  static Status rearrange(LayerWeights& layer, LayerVector slot, int kernel);
  Status finish_layer(LayerWeights& layer, const LayerConfig& config);
  Buffer<float>* vector_at(int layer, int slot);
  Status check_layer(int layer) const;

  ModelConfig config_;
  Buffer<LayerConfig> layer_configs_;
  int cache_layers_ = 0;
  Matrix matrices_[kModelMatrices];
  std::unique_ptr<Matrix[]> streams_;  // [streams - 1][in, out]
  Buffer<float> vectors_[kModelVectors];
  std::unique_ptr<LayerWeights[]> layers_;
  bool is_finished_ = false;
};

}  // namespace ropewalk
