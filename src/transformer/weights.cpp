#include "transformer/weights.h"

#include <new>

namespace ropewalk {
namespace {

constexpr int kExpertMatrices = 3;

struct MatrixShape {
  int rows;
  int columns;
};

bool is_of_expert(LayerMatrix slot) { return slot >= LayerMatrix::gate; }

int expert_index(LayerMatrix slot) { return static_cast<int>(slot) - static_cast<int>(LayerMatrix::gate); }

int experts_of(const ModelConfig& c) { return c.experts + (c.shared_expert_size > 0 ? 1 : 0); }

// `inner` is the inner size of the block or expert that the matrix belongs to.
MatrixShape shape_of(LayerMatrix slot, const ModelConfig& c, int inner) {
  const int queries = c.heads * c.head_dim, keys = c.kv_heads * c.head_dim;
  switch (slot) {
    case LayerMatrix::query: return {queries, c.hidden_size};
    case LayerMatrix::key:
    case LayerMatrix::value: return {keys, c.hidden_size};
    case LayerMatrix::output: return {c.hidden_size, queries};
    case LayerMatrix::router: return {c.experts, c.hidden_size};
    case LayerMatrix::gate:
    case LayerMatrix::up: return {inner, c.hidden_size};
    case LayerMatrix::down: return {c.hidden_size, inner};
  }
  return {0, 0};
}

int normed_elements(const ModelConfig& c, int heads) {
  const bool has_one_weight = c.query_key_norm == QueryKeyNorm::head || c.query_key_norm == QueryKeyNorm::rotated;
  return has_one_weight ? c.head_dim : heads * c.head_dim;
}

int size_of(LayerVector slot, const ModelConfig& c) {
  switch (slot) {
    case LayerVector::query_bias:
    case LayerVector::attention_sub_norm: return c.heads * c.head_dim;
    case LayerVector::key_bias:
    case LayerVector::value_bias: return c.kv_heads * c.head_dim;
    case LayerVector::query_norm: return normed_elements(c, c.heads);
    case LayerVector::key_norm: return normed_elements(c, c.kv_heads);
    case LayerVector::gate_bias:
    case LayerVector::up_bias:
    case LayerVector::feed_forward_sub_norm: return c.feed_forward_size;
    case LayerVector::router_bias: return c.experts;
    case LayerVector::xielu_alpha_p:
    case LayerVector::xielu_alpha_n:
    case LayerVector::xielu_beta:
    case LayerVector::xielu_eps: return 1;
    default: return c.hidden_size;
  }
}

bool is_of_xielu(LayerVector slot) { return slot >= LayerVector::xielu_alpha_p && slot <= LayerVector::xielu_eps; }

bool has_vector(LayerVector slot, const ModelConfig& c) {
  if (slot == LayerVector::query_norm || slot == LayerVector::key_norm) return c.query_key_norm != QueryKeyNorm::none;
  if (is_of_xielu(slot)) return c.activation == Activation::xielu;
  if (slot == LayerVector::shared_expert_gate) return c.shared_expert_size > 0;
  return slot != LayerVector::router_bias || c.experts > 0;
}

bool is_within(int value, int least, int most) { return value >= least && value <= most; }

Status check_config(const ModelConfig& c) {
  if (!is_within(c.layers, 1, kMaxLayers) || !is_within(c.vocabulary_size, 1, kMaxVocabulary)) return Status::model_shape_out_of_range;
  if (!is_within(c.hidden_size, 1, kMaxWidth) || !is_within(c.feed_forward_size, 1, kMaxWidth)) return Status::model_shape_out_of_range;
  if (!is_within(c.head_dim, 1, kMaxHeadDim)) return Status::head_dim_out_of_range;
  if (!is_within(c.heads, 1, kMaxWidth / c.head_dim)) return Status::query_shape_out_of_range;
  if (c.kv_heads < 1 || c.heads % c.kv_heads != 0) return Status::heads_not_grouped;
  if (c.activation == Activation::xielu && (c.is_gated || c.experts > 0)) return Status::model_shape_out_of_range;
  if (!is_within(c.experts, 0, kMaxExperts)) return Status::model_shape_out_of_range;
  if (!is_within(c.shared_expert_size, 0, c.experts > 0 ? kMaxWidth : 0)) return Status::model_shape_out_of_range;
  if (c.experts > 0 && (!is_within(c.routing.used, 1, c.experts) || !is_within(c.expert_size, 1, kMaxWidth)))
    return Status::model_shape_out_of_range;
  return Status::ok;
}

Status finish_matrix(Matrix& matrix) {
  return matrix.exists() ? pack_rows(matrix.weights, matrix.memory.data(), matrix.weights.rows) : Status::weight_missing;
}

}  // namespace

FeedForwardWeights LayerWeights::feed_forward() const {
  const LayerWeights& w = *this;
  return {w[LayerMatrix::gate],
          w[LayerMatrix::up],
          w[LayerMatrix::down],
          w[LayerVector::gate_bias],
          w[LayerVector::up_bias],
          w[LayerVector::down_bias],
          w[LayerVector::feed_forward_sub_norm],
          {w[LayerVector::xielu_alpha_p], w[LayerVector::xielu_alpha_n], w[LayerVector::xielu_beta], w[LayerVector::xielu_eps]}};
}

FeedForwardWeights LayerWeights::expert(int index) const {
  const Matrix* matrices = &experts_[index * kExpertMatrices];
  return {matrices[0].weights, matrices[1].weights, matrices[2].weights, nullptr, nullptr, nullptr, nullptr, {}};
}

const WeightMatrix& Weights::head() const {
  const Matrix& head = matrices_[static_cast<int>(ModelMatrix::head)];
  return head.exists() ? head.weights : embedding();
}

Status Weights::configure(const ModelConfig& config, const LayerConfig* layers) {
  if (const Status status = check_config(config); status != Status::ok) return status;
  std::unique_ptr<LayerWeights[]> weights(new (std::nothrow) LayerWeights[config.layers]);
  Buffer<LayerConfig> configs;
  if (weights == nullptr || !configs.resize(config.layers)) return Status::out_of_memory;
  for (int i = 0; i < config.layers; ++i) {
    if (layers[i].window < 1) return Status::window_out_of_range;
    if (layers[i].has_experts && config.experts == 0) return Status::model_shape_out_of_range;
    configs[i] = layers[i];
    if (!layers[i].has_experts) continue;
    weights[i].experts_.reset(new (std::nothrow) Matrix[experts_of(config) * kExpertMatrices]);
    if (weights[i].experts_ == nullptr) return Status::out_of_memory;
  }
  is_finished_ = false;
  config_ = config;
  layer_configs_ = std::move(configs);
  layers_ = std::move(weights);
  for (Matrix& matrix : matrices_) matrix = Matrix();
  for (Buffer<float>& vector : vectors_) vector = Buffer<float>();
  return Status::ok;
}

Status Weights::check_layer(int layer) const {
  return is_within(layer, kWholeModel, config_.layers - 1) ? Status::ok : Status::layer_out_of_range;
}

Matrix* Weights::matrix_at(int layer, int slot, int expert) {
  if (layer == kWholeModel) return is_within(slot, 0, kModelMatrices - 1) ? &matrices_[slot] : nullptr;
  if (!is_within(slot, 0, kLayerMatrices - 1)) return nullptr;
  LayerWeights& weights = layers_[layer];
  if (weights.experts_ == nullptr || !is_of_expert(static_cast<LayerMatrix>(slot))) return &weights.matrices_[slot];
  if (!is_within(expert, 0, experts_of(config_) - 1)) return nullptr;
  return &weights.experts_[expert * kExpertMatrices + expert_index(static_cast<LayerMatrix>(slot))];
}

Buffer<float>* Weights::vector_at(int layer, int slot) {
  if (layer == kWholeModel) return is_within(slot, 0, kModelVectors - 1) ? &vectors_[slot] : nullptr;
  return is_within(slot, 0, kLayerVectors - 1) ? &layers_[layer].vectors_[slot] : nullptr;
}

Status Weights::reserve(int layer, int slot, int expert, WeightFormat format, int rows, int columns, std::uint64_t bytes,
                        unsigned char*& memory) {
  if (const Status status = check_layer(layer); status != Status::ok) return status;
  if (!is_within(static_cast<int>(format), 0, kWeightFormats - 1)) return Status::weight_format_unknown;
  Matrix* matrix = matrix_at(layer, slot, expert);
  if (matrix == nullptr) return Status::weight_slot_unknown;
  const auto inner_size = [&] {
    if (!layer_configs_[layer].has_experts) return config_.feed_forward_size;
    return expert < config_.experts ? config_.expert_size : config_.shared_expert_size;
  };
  const MatrixShape shape = layer == kWholeModel ? MatrixShape{config_.vocabulary_size, config_.hidden_size}
                                                 : shape_of(static_cast<LayerMatrix>(slot), config_, inner_size());
  if (rows != shape.rows || columns != shape.columns || columns % block_elements(format) != 0) return Status::weight_shape;
  if (bytes != weight_bytes(format, rows, columns)) return Status::weight_shape;
  if (!matrix->memory.resize(bytes)) return Status::out_of_memory;
  is_finished_ = false;
  memory = matrix->memory.data();
  matrix->weights = {format, rows, columns, memory, 0};
  return Status::ok;
}

Status Weights::set_vector(int layer, int slot, WeightFormat format, const void* stored, std::uint64_t bytes, float added) {
  if (const Status status = check_layer(layer); status != Status::ok) return status;
  if (!is_within(static_cast<int>(format), 0, kWeightFormats - 1)) return Status::weight_format_unknown;
  Buffer<float>* vector = vector_at(layer, slot);
  if (vector == nullptr || (layer != kWholeModel && !has_vector(static_cast<LayerVector>(slot), config_)))
    return Status::weight_slot_unknown;
  const bool is_head_bias = layer == kWholeModel && static_cast<ModelVector>(slot) == ModelVector::head_bias;
  const int of_model = is_head_bias ? config_.vocabulary_size : config_.hidden_size;
  const int size = layer == kWholeModel ? of_model : size_of(static_cast<LayerVector>(slot), config_);
  if (size % block_elements(format) != 0 || bytes != weight_bytes(format, 1, size)) return Status::weight_shape;
  if (!vector->resize(size)) return Status::out_of_memory;
  read_row({format, 1, size, stored, false}, 0, vector->data());
  for (int i = 0; i < size; ++i) (*vector)[i] += added;
  return Status::ok;
}

Status Weights::pack(int layer, int slot, int expert, int rows) {
  if (const Status status = check_layer(layer); status != Status::ok) return status;
  Matrix* matrix = matrix_at(layer, slot, expert);
  if (matrix == nullptr) return Status::weight_slot_unknown;
  if (!matrix->exists()) return Status::weight_missing;
  if (!is_within(rows, 0, matrix->weights.rows)) return Status::weight_shape;
  return pack_rows(matrix->weights, matrix->memory.data(), rows);
}

Status Weights::finish() {
  const auto is_needed = [this](LayerMatrix slot, bool has_experts) {
    if (slot == LayerMatrix::router) return has_experts;
    if (slot == LayerMatrix::gate) return config_.is_gated && !has_experts;
    return !(is_of_expert(slot) && has_experts);
  };
  if (vectors_[static_cast<int>(ModelVector::final_norm)].empty()) return Status::weight_missing;
  for (Matrix& matrix : matrices_) {
    if (&matrix != &matrices_[static_cast<int>(ModelMatrix::embedding)] && !matrix.exists()) continue;
    if (const Status status = finish_matrix(matrix); status != Status::ok) return status;
  }
  for (int i = 0; i < config_.layers; ++i) {
    LayerWeights& layer = layers_[i];
    const bool has_experts = layer_configs_[i].has_experts;
    if (config_.query_key_norm != QueryKeyNorm::none &&
        (layer[LayerVector::query_norm] == nullptr || layer[LayerVector::key_norm] == nullptr))
      return Status::weight_missing;
    for (int slot = 0; slot < kLayerVectors; ++slot) {
      if (config_.activation == Activation::xielu && is_of_xielu(static_cast<LayerVector>(slot)) && layer.vectors_[slot].empty())
        return Status::weight_missing;
    }
    for (int slot = 0; slot < kLayerMatrices; ++slot) {
      if (!is_needed(static_cast<LayerMatrix>(slot), has_experts)) continue;
      if (const Status status = finish_matrix(layer.matrices_[slot]); status != Status::ok) return status;
    }
    for (int index = 0; has_experts && index < experts_of(config_) * kExpertMatrices; ++index) {
      if (index % kExpertMatrices == 0 && !config_.is_gated) continue;
      if (const Status status = finish_matrix(layer.experts_[index]); status != Status::ok) return status;
    }
  }
  is_finished_ = true;
  return Status::ok;
}

}  // namespace ropewalk
