// The weights of a model, in memory of their own, in the format of the file.
#pragma once

#include <memory>

#include "base/buffer.h"
#include "base/status.h"
#include "matmul/matmul.h"
#include "transformer/model_config.h"

namespace ropewalk {

// The order of all four is the bindings'.
enum class ModelMatrix : int { embedding, head };  // [vocabulary_size][hidden_size]; without a head the embedding serves
enum class ModelVector : int { final_norm, final_norm_bias, head_bias };
enum class LayerMatrix : int { query, key, value, output, router, gate, up, down };  // the last three once for each expert
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
};
constexpr int kModelMatrices = 2, kModelVectors = 3, kLayerMatrices = 8, kLayerVectors = 15;

struct Matrix {
  WeightMatrix weights;
  Buffer<unsigned char> memory;
  bool is_there() const { return weights.data != nullptr; }
};

class LayerWeights {
 public:
  const WeightMatrix& operator[](LayerMatrix slot) const { return matrices_[static_cast<int>(slot)].weights; }
  // Null where the layer has none.
  const float* operator[](LayerVector slot) const { return vectors_[static_cast<int>(slot)].data(); }
  const WeightMatrix& expert(LayerMatrix slot, int index) const;

 private:
  friend class Weights;
  Matrix matrices_[kLayerMatrices];
  Buffer<float> vectors_[kLayerVectors];
  std::unique_ptr<Matrix[]> experts_;  // [experts][gate, up, down]
};

constexpr int kWholeModel = -1;

class Weights {
 public:
  // Forgets what was there. Checks ranges, and leaves all as it was on failure: model_shape_out_of_range, head_dim_out_of_range,
  // query_shape_out_of_range, heads_not_grouped, window_out_of_range; out_of_memory.
  Status configure(const ModelConfig& config, const LayerConfig* layers);

  const ModelConfig& config() const { return config_; }
  const LayerConfig& layer_config(int layer) const { return layer_configs_[layer]; }
  const LayerWeights& layer(int index) const { return layers_[index]; }
  const WeightMatrix& embedding() const { return matrices_[static_cast<int>(ModelMatrix::embedding)].weights; }
  const WeightMatrix& head() const;
  const float* operator[](ModelVector slot) const { return vectors_[static_cast<int>(slot)].data(); }

  // Takes memory for a matrix, to be written by the caller, row after row. `layer` is kWholeModel for a ModelMatrix; `expert` counts where
  // the layer has experts and the matrix is one of theirs. Refuses a shape that is not the config's: layer_out_of_range,
  // weight_format_unknown, weight_slot_unknown, weight_shape; out_of_memory, with what was there before still there.
  Status reserve(int layer, int slot, int expert, WeightFormat format, int rows, int columns, unsigned char*& memory);

  // Keeps a vector as floats, `added` to each (Gemma's files hold a norm's weight less 1).
  Status set_vector(int layer, int slot, WeightFormat format, const void* stored, int size, float added);

  // Packs a matrix that has been written, where the kernels are faster for it: finish() does the same for the others. So it can be done
  // while they are still on their way. layer_out_of_range, weight_slot_unknown, weight_missing; out_of_memory.
  Status pack(int layer, int slot, int expert);

  // Called when all is written: refuses what cannot run (weight_missing), and packs rows where the kernels are faster for it
  // (out_of_memory). After a refusal it may be called again.
  Status finish();
  bool is_finished() const { return is_finished_; }

 private:
  Matrix* matrix_at(int layer, int slot, int expert);
  Buffer<float>* vector_at(int layer, int slot);
  Status check_layer(int layer) const;

  ModelConfig config_;
  Buffer<LayerConfig> layer_configs_;
  Matrix matrices_[kModelMatrices];
  Buffer<float> vectors_[kModelVectors];
  std::unique_ptr<LayerWeights[]> layers_;
  bool is_finished_ = false;
};

}  // namespace ropewalk
