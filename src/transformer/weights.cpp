#include "transformer/weights.h"

#include <new>

#include "base/reproducible_math.h"
#include "transformer/weight_shapes.h"

namespace ropewalk {
namespace {

// Vectors that a layer must have if it can have them.
constexpr LayerVector kNeeded[] = {
    LayerVector::query_norm,     LayerVector::key_norm,    LayerVector::query_latent_norm,   LayerVector::latent_norm,
    LayerVector::per_layer_norm, LayerVector::laurel_norm, LayerVector::stream_norm,         LayerVector::xielu_alpha_p,
    LayerVector::xielu_alpha_n,  LayerVector::xielu_beta,  LayerVector::xielu_eps,           LayerVector::convolution,
    LayerVector::decay,          LayerVector::skip,        LayerVector::recurrent_norm,      LayerVector::token_shift,
    LayerVector::decay_bias,     LayerVector::rate_bias,   LayerVector::share_bias,          LayerVector::removal_scale,
    LayerVector::rate_scale,     LayerVector::bonus,       LayerVector::recurrent_norm_bias, LayerVector::feed_forward_shift};

// Whether a matrix is looked up row by row, or read only after the layers (text_vectors.h).
bool has_only_rows(ModelMatrix slot) {
  return slot == ModelMatrix::embedding || slot == ModelMatrix::per_layer_embedding || slot >= ModelMatrix::positions;
}

// Whether rows of a matrix are only looked up. Packed ones take longer to read. The head may be the embedding, but encoders have none.
bool is_looked_up(ModelMatrix slot, const ModelConfig& config) {
  return slot == ModelMatrix::per_layer_embedding || slot == ModelMatrix::positions || slot == ModelMatrix::token_types ||
         (slot == ModelMatrix::embedding && !config.is_causal);
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
  const auto bias_of = [&](LayerVector slot, int matrix) -> const float* {  // the shared expert, which may have other rows, has none
    const Buffer<float>& biases = vectors_[static_cast<int>(slot)];
    const std::size_t first = static_cast<std::size_t>(index) * experts_[matrix].weights.rows;
    return first < biases.size() ? biases.data() + first : nullptr;
  };
  const WeightMatrix &gate = matrices[0].weights, &up = matrices[1].weights, &down = matrices[2].weights;
  return {gate,
          up,
          down,
          bias_of(LayerVector::expert_gate_bias, 0),
          bias_of(LayerVector::expert_up_bias, 1),
          bias_of(LayerVector::expert_down_bias, 2),
          nullptr,
          {}};
}

const WeightMatrix& LayerWeights::of_head(LayerMatrix slot, int head) const {
  return heads_[head * kHeadMatrices + head_index(slot)].weights;
}

const WeightMatrix& Weights::stream(ModelMatrix slot, int part) const {
  return streams_[part * kStreamMatrices + stream_index(slot)].weights;
}

std::size_t Weights::state_size(int layer) const { return recurrent_state_size(config_, layer_configs_[layer]); }

Status Weights::make_states(int checkpoints, std::unique_ptr<RecurrentState>& states) const {
  states.reset();
  Buffer<std::size_t> sizes;
  if (!sizes.resize(config_.layers)) return Status::out_of_memory;
  bool is_recurrent = false;
  for (int i = 0; i < config_.layers; ++i) {
    sizes[i] = state_size(i);
    is_recurrent |= layer_configs_[i].recurrence != Recurrence::none;
  }
  if (!is_recurrent) return Status::ok;
  states.reset(new (std::nothrow) RecurrentState);
  if (states == nullptr) return Status::out_of_memory;
  const Status status = states->configure({sizes.data(), sizes.size()}, checkpoints);
  if (status != Status::ok) states.reset();
  return status;
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
  int cache_layers = 0;
  for (int i = 0; i < config.layers; ++i) {
    configs[i] = layers[i];
    if (const Status status = resolve_layer(config, configs.data(), i, cache_layers, configs[i]); status != Status::ok) return status;
    if (configs[i].has_experts) {
      weights[i].experts_.reset(new (std::nothrow) Matrix[experts_of(config) * kExpertMatrices]);
      if (weights[i].experts_ == nullptr) return Status::out_of_memory;
    }
    if (has_latent(config) && configs[i].has_attention) {
      weights[i].heads_.reset(new (std::nothrow) Matrix[config.heads * kHeadMatrices]);
      if (weights[i].heads_ == nullptr) return Status::out_of_memory;
    }
  }
  std::unique_ptr<Matrix[]> streams;
  if (config.per_layer.streams > 1) {
    streams.reset(new (std::nothrow) Matrix[(config.per_layer.streams - 1) * kStreamMatrices]);
    if (streams == nullptr) return Status::out_of_memory;
  }
  is_finished_ = false;
  config_ = config;
  layer_configs_ = std::move(configs);
  layers_ = std::move(weights);
  streams_ = std::move(streams);
  cache_layers_ = config.is_causal ? cache_layers : 0;
  for (Matrix& matrix : matrices_) matrix = Matrix();
  for (Buffer<float>& vector : vectors_) vector = Buffer<float>();
  return Status::ok;
}

bool Weights::is_read_later(int layer) const {
  for (int later = layer + 1; later < config_.layers; ++later) {
    if (layer_configs_[later].keys_of == layer) return true;
  }
  return false;
}

Status Weights::check_layer(int layer) const {
  return is_within(layer, kWholeModel, config_.layers - 1) ? Status::ok : Status::layer_out_of_range;
}

// `part` is the index of an expert, a head or a stream.
Matrix* Weights::matrix_at(int layer, int slot, int part) {
  if (layer == kWholeModel) {
    if (!is_within(slot, 0, kModelMatrices - 1)) return nullptr;
    const ModelMatrix matrix = static_cast<ModelMatrix>(slot);
    if (!is_of_stream(matrix)) return &matrices_[slot];
    return is_within(part, 0, config_.per_layer.streams - 2) ? &streams_[part * kStreamMatrices + stream_index(matrix)] : nullptr;
  }
  if (!is_within(slot, 0, kLayerMatrices - 1)) return nullptr;
  LayerWeights& weights = layers_[layer];
  const LayerMatrix matrix = static_cast<LayerMatrix>(slot);
  if (is_of_head(matrix)) {
    if (weights.heads_ == nullptr || !is_within(part, 0, config_.heads - 1)) return nullptr;
    return &weights.heads_[part * kHeadMatrices + head_index(matrix)];
  }
  if (weights.experts_ == nullptr || !is_of_expert(matrix)) return &weights.matrices_[slot];
  if (!is_within(part, 0, experts_of(config_) - 1)) return nullptr;
  return &weights.experts_[part * kExpertMatrices + expert_index(matrix)];
}

Status Weights::find(int layer, int slot, int expert, const WeightMatrix*& matrix) {
  if (const Status status = check_layer(layer); status != Status::ok) return status;
  if (layer != kWholeModel && slot == kSharedExpertGate) {
    matrix = &layers_[layer].shared_expert_gate_;
    return matrix->data != nullptr ? Status::ok : Status::weight_missing;
  }
  const Matrix* found = matrix_at(layer, slot, expert);
  if (found == nullptr || (layer == kWholeModel && has_only_rows(static_cast<ModelMatrix>(slot)))) return Status::weight_slot_unknown;
  const bool is_head = layer == kWholeModel && static_cast<ModelMatrix>(slot) == ModelMatrix::head;
  matrix = is_head ? &head() : &found->weights;
  return matrix->data != nullptr ? Status::ok : Status::weight_missing;
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
    if (!layer_configs_[layer].has_experts) return layer_configs_[layer].feed_forward_size;
    return expert < config_.experts ? config_.expert_size : config_.shared_expert_size;
  };
  const MatrixShape shape = layer == kWholeModel ? shape_of(static_cast<ModelMatrix>(slot), config_)
                                                 : shape_of(static_cast<LayerMatrix>(slot), config_, layer_configs_[layer], inner_size());
  const bool is_of_all = layer == kWholeModel && slot <= static_cast<int>(ModelMatrix::head);  // every model has them
  if (shape.rows == 0 && !is_of_all) return Status::weight_slot_unknown;
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
  if (vector == nullptr) return Status::weight_slot_unknown;
  const int size = layer == kWholeModel ? size_of(static_cast<ModelVector>(slot), config_)
                                        : size_of(static_cast<LayerVector>(slot), config_, layer_configs_[layer]);
  if (size == 0 && (layer != kWholeModel || slot > static_cast<int>(ModelVector::head_bias))) return Status::weight_slot_unknown;
  if (size % block_elements(format) != 0 || bytes != weight_bytes(format, 1, size)) return Status::weight_shape;
  if (!vector->resize(size)) return Status::out_of_memory;
  read_row({format, 1, size, stored, false}, 0, vector->data());
  for (int i = 0; i < size; ++i) (*vector)[i] += added;
  return layer == kWholeModel ? Status::ok : rearrange(layers_[layer], static_cast<LayerVector>(slot), config_.recurrence.kernel);
}

// Brings vectors of recurrent layers into the form in which they are used.
Status Weights::rearrange(LayerWeights& layer, LayerVector slot, int kernel) {
  Buffer<float>& vector = layer.vectors_[static_cast<int>(slot)];
  if (slot == LayerVector::decay_log) {
    for (std::size_t i = 0; i < vector.size(); ++i) vector[i] = static_cast<float>(-reproducible_exp(vector[i]));
    layer.vectors_[static_cast<int>(LayerVector::decay)] = std::move(vector);
    vector = Buffer<float>();
  } else if (slot == LayerVector::convolution) {
    Buffer<float> by_tap;
    if (!by_tap.resize(vector.size())) {
      vector = Buffer<float>();  // not in the order of the file, which finish() couldn't tell
      return Status::out_of_memory;
    }
    const std::size_t channels = vector.size() / kernel;
    for (std::size_t i = 0; i < vector.size(); ++i) by_tap[i % kernel * channels + i / kernel] = vector[i];
    vector = std::move(by_tap);
  }
  return Status::ok;
}

Status Weights::pack(int layer, int slot, int expert, int rows) {
  if (const Status status = check_layer(layer); status != Status::ok) return status;
  Matrix* matrix = matrix_at(layer, slot, expert);
  if (matrix == nullptr) return Status::weight_slot_unknown;
  if (!matrix->exists()) return Status::weight_missing;
  if (!is_within(rows, 0, matrix->weights.rows)) return Status::weight_shape;
  if (layer == kWholeModel && is_looked_up(static_cast<ModelMatrix>(slot), config_)) return Status::ok;
  return pack_rows(matrix->weights, matrix->memory.data(), rows);
}

Status Weights::finish() {
  const auto is_missing = [this](ModelVector slot) { return vectors_[static_cast<int>(slot)].empty(); };
  if (!config_.normalizes_residual && is_missing(ModelVector::final_norm)) return Status::weight_missing;
  if (config_.per_layer.size > 0 && is_missing(ModelVector::per_layer_projection_norm)) return Status::weight_missing;
  if (config_.relative_buckets > 0 && is_missing(ModelVector::relative_bias)) return Status::weight_missing;
  for (int slot = 0; slot < kModelMatrices; ++slot) {
    const ModelMatrix matrix = static_cast<ModelMatrix>(slot);
    if (is_of_stream(matrix) || shape_of(matrix, config_).rows == 0) continue;
    if (matrix == ModelMatrix::head && !matrices_[slot].exists()) continue;
    if (is_looked_up(matrix, config_)) {
      if (!matrices_[slot].exists()) return Status::weight_missing;
    } else if (const Status status = finish_matrix(matrices_[slot]); status != Status::ok) {
      return status;
    }
  }
  for (int part = 0; part < (config_.per_layer.streams - 1) * kStreamMatrices; ++part) {
    if (const Status status = finish_matrix(streams_[part]); status != Status::ok) return status;
  }
  for (int i = 0; i < config_.layers; ++i) {
    if (const Status status = finish_layer(layers_[i], layer_configs_[i]); status != Status::ok) return status;
  }
  is_finished_ = true;
  return Status::ok;
}

Status Weights::finish_layer(LayerWeights& layer, const LayerConfig& l) {
  layer.shared_expert_gate_ = {WeightFormat::f32, 1, config_.hidden_size, layer[LayerVector::shared_expert_gate], 0};
  for (const LayerVector slot : kNeeded) {
    if (size_of(slot, config_, l) > 0 && layer[slot] == nullptr) return Status::weight_missing;
  }
  for (int slot = 0; slot < kLayerMatrices; ++slot) {
    const LayerMatrix matrix = static_cast<LayerMatrix>(slot);
    if (is_of_head(matrix) || (is_of_expert(matrix) && l.has_experts)) continue;
    if (shape_of(matrix, config_, l, l.feed_forward_size).rows == 0) continue;
    if (const Status status = finish_matrix(layer.matrices_[slot]); status != Status::ok) return status;
  }
  for (int index = 0; l.has_experts && index < experts_of(config_) * kExpertMatrices; ++index) {
    if (index % kExpertMatrices == 0 && !config_.is_gated) continue;
    if (const Status status = finish_matrix(layer.experts_[index]); status != Status::ok) return status;
  }
  for (int index = 0; layer.heads_ != nullptr && index < config_.heads * kHeadMatrices; ++index) {
    if (const Status status = finish_matrix(layer.heads_[index]); status != Status::ok) return status;
  }
  return Status::ok;
}

}  // namespace ropewalk
