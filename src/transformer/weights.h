// The weights of a model, kept in the format of the file.
#pragma once

#include <cstdint>
#include <memory>

#include "base/buffer.h"
#include "base/status.h"
#include "cache/recurrent_state.h"
#include "matmul/matmul.h"
#include "transformer/model_config.h"
#include "transformer/weight_slots.h"

namespace ropewalk {

struct Matrix {
  WeightMatrix weights;
  Buffer<unsigned char> memory;
  bool exists() const { return weights.data != nullptr; }
};

// The weights of a feed-forward block, or of one expert, with `size` elements between its products. Biases and the norm are null if it has
// none.
struct FeedForwardWeights {
  const WeightMatrix &gate, &up, &down;
  const float* gate_bias;  // [size]
  const float* up_bias;    // [size]
  const float* down_bias;  // [hidden_size]
  const float* sub_norm;   // [size]
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
  // Makes the recurrent states of an empty text, which keep at most `checkpoints` checkpoints; null if no layer is recurrent. Returns
  // out_of_memory or ok.
  Status make_states(int checkpoints, std::unique_ptr<RecurrentState>& states) const;
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
  // layer_out_of_range, weight_slot_unknown, weight_missing, weight_shape if the matrix has fewer rows, out_of_memory, thread_lost, after
  // which the matrix is useless, or ok.
  Status pack(int layer, int slot, int expert, int rows);

  // To be called when all weights are written: checks that none is missing, and packs rows. Returns weight_missing, out_of_memory,
  // thread_lost or ok. May be called again after the first two.
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
