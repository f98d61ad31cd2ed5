// A model with random weights, of any shape that the core can have.
#pragma once

#include <cstring>
#include <map>

#include "matmul/dequantize.h"
#include "native/cache/kv_tokens.h"
#include "native/rope/ropes.h"
#include "native/transformer/rwkv_model.h"
#include "transformer/weights.h"

namespace ropewalk {

struct TestMatrix {
  WeightFormat format;
  int rows, columns;
  std::vector<unsigned char> bytes;
  std::vector<float> values;  // [rows][columns]
};

// Options and weights of a model by name.
struct Description {
  std::string name;
  ModelConfig config;
  std::vector<LayerConfig> layers;
  RopeConfig rope;
  std::vector<LayerVector> vectors;
  std::vector<ModelVector> model_vectors = {ModelVector::final_norm};
  bool has_head = false;
  std::vector<WeightFormat> formats = {WeightFormat::f32};  // used for the matrices in rotation
  std::vector<RopeConfig> more_ropes = {};
  std::vector<int> rope_of = {};  // of each layer: 0 for `rope`, 1 for the first of more_ropes, kNoRope; empty: `rope` for all
};

class TestModel {
 public:
  explicit TestModel(const Description& description, std::uint32_t seed = 1) : description_(description), random_(seed) {
    const ModelConfig& c = config();
    for (const ModelVector slot : description.model_vectors) add_vector(kWholeModel, static_cast<int>(slot), size_of(slot), is_norm(slot));
    add_model_matrices();
    for (int layer = 0; layer < c.layers; ++layer) {
      if (is_recurrent(layer)) add_recurrence(layer);
      if (layer_config(layer).has_attention) add_attention(layer);
      if (layer_config(layer).has_feed_forward) add_feed_forward(layer);
      add_per_layer(layer);
      for (const LayerVector slot : description.vectors) {
        if (size_of(slot, layer) > 0) add_vector(layer, static_cast<int>(slot), size_of(slot, layer), is_norm(slot));
      }
    }
  }

  const std::string& name() const { return description_.name; }
  const ModelConfig& config() const { return description_.config; }
  const LayerConfig& layer_config(int layer) const { return description_.layers[layer]; }
  int head_dim(int layer) const { return or_model(layer_config(layer).head_dim, config().head_dim); }
  int kv_heads(int layer) const { return or_model(layer_config(layer).kv_heads, config().kv_heads); }
  int inner_size(int layer) const { return or_model(layer_config(layer).feed_forward_size, config().feed_forward_size); }
  bool is_recurrent(int layer) const { return layer_config(layer).recurrence != Recurrence::none; }
  bool is_rwkv(int layer) const { return layer_config(layer).recurrence == Recurrence::rwkv7; }
  // Whether an RWKV layer takes a share of the values of an earlier one.
  bool shares_values(int layer) const {
    int first = 0;
    while (first < layer && !is_rwkv(first)) ++first;
    return is_rwkv(layer) && first < layer;
  }
  bool is_recurrent() const {
    return std::any_of(description_.layers.begin(), description_.layers.end(),
                       [](const auto& l) { return l.recurrence != Recurrence::none; });
  }
  bool has_own_keys(int layer) const { return layer_config(layer).keys_of == kOwnKeys && layer_config(layer).has_attention; }
  // Null for a layer without RoPE.
  const RopeConfig* rope(int layer) const {
    const int index = rope_index(layer);
    return index == kNoRope ? nullptr : index == 0 ? &description_.rope : &description_.more_ropes[index - 1];
  }

  const TestMatrix& matrix(int layer, int slot, int part = 0) const { return matrices_.at({layer, slot, part}); }
  const TestMatrix& matrix(int layer, LayerMatrix slot, int part = 0) const { return matrix(layer, static_cast<int>(slot), part); }
  const TestMatrix& matrix(ModelMatrix slot, int part = 0) const { return matrix(kWholeModel, static_cast<int>(slot), part); }
  bool has_head() const { return description_.has_head; }
  // Empty if there is none.
  const std::vector<float>& vector(int layer, int slot) const {
    static const std::vector<float> none;
    const auto found = vectors_.find({layer, slot, 0});
    return found == vectors_.end() ? none : found->second;
  }
  const std::vector<float>& vector(int layer, LayerVector slot) const { return vector(layer, static_cast<int>(slot)); }
  const std::vector<float>& vector(ModelVector slot) const { return vector(kWholeModel, static_cast<int>(slot)); }

  // Changes one number of an f32 matrix.
  void set(int layer, LayerMatrix slot, int index, float value) {
    TestMatrix& matrix = matrices_.at({layer, static_cast<int>(slot), 0});
    matrix.values[index] = value;
    std::memcpy(matrix.bytes.data() + index * sizeof(float), &value, sizeof value);
  }

  // Replaces the numbers of a matrix, which an oracle reads. `at` is layer, slot and part.
  void replace(const std::array<int, 3>& at, const std::vector<float>& values) { matrices_.at(at).values = values; }
  void replace(int layer, LayerVector slot, const std::vector<float>& values) { vectors_.at({layer, static_cast<int>(slot), 0}) = values; }

  // Loads everything, without finish(), except one matrix or vector, counted in the order of `all_parts()`.
  Status load(Weights& weights, int left_out = -1) const {
    if (const Status status = weights.configure(config(), description_.layers.data()); status != Status::ok) return status;
    int part = 0;
    for (const auto& [at, matrix] : matrices_) {
      if (part++ == left_out) continue;
      unsigned char* memory = nullptr;
      const Status status = weights.reserve(at[0], at[1], at[2], matrix.format, matrix.rows, matrix.columns, matrix.bytes.size(), memory);
      if (status != Status::ok) return status;
      std::memcpy(memory, matrix.bytes.data(), matrix.bytes.size());
    }
    for (const auto& [at, vector] : vectors_) {
      if (part++ == left_out) continue;
      const Status status = weights.set_vector(at[0], at[1], WeightFormat::f32, vector.data(), vector.size() * sizeof(float), 0);
      if (status != Status::ok) return status;
    }
    return Status::ok;
  }
  Status load_and_finish(Weights& weights) const {
    const Status status = load(weights);
    return status == Status::ok ? weights.finish() : status;
  }

  int matrices() const { return static_cast<int>(matrices_.size()); }
  // The names of all weights, matrices first: layer, slot, and the index of an expert, a head or a stream.
  std::vector<std::array<int, 3>> all_parts() const {
    std::vector<std::array<int, 3>> parts;
    for (const auto& [at, matrix] : matrices_) parts.push_back(at);
    for (const auto& [at, vector] : vectors_) parts.push_back(at);
    return parts;
  }

  // Floats of the recurrent state of each layer.
  std::vector<std::size_t> state_sizes() const {
    std::vector<std::size_t> sizes;
    for (int layer = 0; layer < config().layers; ++layer)
      sizes.push_back(is_rwkv(layer) ? rwkv_floats(config(), layer_config(layer))
                                     : recurrent_floats(config(), layer_config(layer).recurrence));
    return sizes;
  }

  CacheSetup cache_setup(int max_tokens = 200) const {
    CacheSetup setup = {{}, {description_.rope}, RowType::f32, KeyMode::rotated, 2, max_tokens};
    setup.ropes.insert(setup.ropes.end(), description_.more_ropes.begin(), description_.more_ropes.end());
    for (int layer = 0; layer < config().layers; ++layer) {
      if (has_own_keys(layer)) setup.layers.push_back({kv_heads(layer), head_dim(layer), rope_index(layer), config().latent.latent == 0});
    }
    return setup;
  }

 private:
  static int or_model(int own, int of_model) { return own == 0 ? of_model : own; }
  int rope_index(int layer) const { return description_.rope_of.empty() ? 0 : description_.rope_of[layer]; }

  static bool is_norm(ModelVector slot) {
    return slot == ModelVector::final_norm || slot == ModelVector::per_layer_projection_norm || slot == ModelVector::embedding_norm;
  }
  static bool is_norm(LayerVector slot) {
    switch (slot) {
      case LayerVector::attention_norm:
      case LayerVector::query_norm:
      case LayerVector::key_norm:
      case LayerVector::attention_post_norm:
      case LayerVector::feed_forward_norm:
      case LayerVector::feed_forward_post_norm:
      case LayerVector::attention_sub_norm:
      case LayerVector::feed_forward_sub_norm:
      case LayerVector::query_latent_norm:
      case LayerVector::latent_norm:
      case LayerVector::router_norm:
      case LayerVector::expert_norm:
      case LayerVector::expert_post_norm:
      case LayerVector::shared_expert_post_norm:
      case LayerVector::expert_scales:
      case LayerVector::per_layer_norm:
      case LayerVector::layer_scale:
      case LayerVector::laurel_norm:
      case LayerVector::stream_norm:
      case LayerVector::stream_scale:
      case LayerVector::recurrent_norm:
      case LayerVector::removal_scale:
      case LayerVector::rate_scale:
      case LayerVector::bonus:
      case LayerVector::recurrent_select_norm: return true;
      default: return false;
    }
  }

  int size_of(ModelVector slot) const {
    if (slot == ModelVector::relative_bias) return config().relative_buckets * config().heads;
    if (slot == ModelVector::head_bias) return config().vocabulary_size;
    if (slot == ModelVector::dense_1_bias) return config().dense[0].size;
    if (slot == ModelVector::dense_2_bias) return config().dense[1].size;
    return slot == ModelVector::per_layer_projection_norm ? config().per_layer.size : config().hidden_size;
  }

  // 0 for a vector of the model that this layer doesn't have.
  int size_of(LayerVector slot, int layer) const {
    const ModelConfig& c = config();
    const bool has_one_weight = c.query_key_norm == QueryKeyNorm::head || c.query_key_norm == QueryKeyNorm::rotated;
    const int keys = has_own_keys(layer) ? kv_heads(layer) * head_dim(layer) : 0;
    const bool has_experts = layer_config(layer).has_experts;
    const bool is_of_recurrence = slot >= LayerVector::recurrent_in_bias && slot <= LayerVector::decay_log;
    if (is_of_recurrence || slot >= LayerVector::recurrent_select_norm) {
      if (is_rwkv(layer)) return rwkv_elements(c, layer_config(layer), slot, shares_values(layer));
      return is_recurrent(layer) ? recurrent_elements(c, layer_config(layer).recurrence, slot) : 0;
    }
    if (!layer_config(layer).has_attention && is_of_attention_alone(slot)) return 0;
    if (!mixes_tokens(layer_config(layer)) && is_around_mixer(slot)) return 0;
    if (!layer_config(layer).has_feed_forward && is_of_feed_forward(slot)) return 0;
    switch (slot) {
      case LayerVector::attention_gate_bias: return gate_size(c.attention_gate, c.heads, head_dim(layer));
      case LayerVector::attention_sub_norm:
      case LayerVector::query_bias: return c.heads * head_dim(layer);
      case LayerVector::key_bias: return keys;
      case LayerVector::value_bias: return layer_config(layer).values_are_keys ? 0 : keys;
      case LayerVector::query_norm: return has_one_weight ? head_dim(layer) : c.heads * head_dim(layer);
      case LayerVector::key_norm: return has_one_weight ? std::min(keys, head_dim(layer)) : keys;
      case LayerVector::gate_bias:
      case LayerVector::feed_forward_sub_norm:
      case LayerVector::up_bias: return inner_size(layer);
      case LayerVector::router_bias:
      case LayerVector::expert_scales: return c.experts;
      case LayerVector::router_logit_bias: return has_experts ? c.experts : 0;
      case LayerVector::expert_gate_bias:
      case LayerVector::expert_up_bias: return has_experts ? c.experts * c.expert_size : 0;
      case LayerVector::expert_down_bias: return has_experts ? c.experts * c.hidden_size : 0;
      case LayerVector::sinks: return c.heads;
      case LayerVector::query_latent_norm: return c.latent.query;
      case LayerVector::latent_norm: return c.latent.latent;
      case LayerVector::layer_scale:
      case LayerVector::xielu_alpha_p:
      case LayerVector::xielu_alpha_n:
      case LayerVector::xielu_beta:
      case LayerVector::xielu_eps: return 1;
      default: return c.hidden_size;
    }
  }

  void add_model_matrices() {
    const ModelConfig& c = config();
    const PerLayerConfig& p = c.per_layer;
    add_matrix(ModelMatrix::embedding, 0, c.vocabulary_size, c.hidden_size);
    if (has_head()) add_matrix(ModelMatrix::head, 0, c.vocabulary_size, c.hidden_size);
    if (c.positions > 0) add_matrix(ModelMatrix::positions, 0, c.positions, c.hidden_size);
    if (c.token_types > 0) add_matrix(ModelMatrix::token_types, 0, c.token_types, c.hidden_size);
    for (int i = 0, columns = c.hidden_size; i < kMaxDense && c.dense[i].size > 0; columns = c.dense[i++].size)
      add_matrix(kWholeModel, static_cast<int>(ModelMatrix::dense_1) + i, 0, c.dense[i].size, columns);
    if (p.size == 0) return;
    if (p.vocabulary_size > 0) add_matrix(ModelMatrix::per_layer_embedding, 0, p.vocabulary_size, c.layers * p.size);
    add_matrix(ModelMatrix::per_layer_projection, 0, c.layers * p.size, c.hidden_size);
    for (int part = 0; part < p.streams - 1; ++part) {
      add_matrix(ModelMatrix::streams_in, part, c.hidden_size, c.hidden_size);
      add_matrix(ModelMatrix::streams_out, part, c.hidden_size, c.hidden_size);
    }
  }

  void add_attention(int layer) {
    const ModelConfig& c = config();
    if (c.latent.latent > 0) return add_latent_attention(layer);
    const int queries = c.heads * head_dim(layer), keys = kv_heads(layer) * head_dim(layer);
    add_matrix(layer, LayerMatrix::query, 0, queries, c.hidden_size);
    if (has_own_keys(layer)) add_matrix(layer, LayerMatrix::key, 0, keys, c.hidden_size);
    if (has_own_keys(layer) && !layer_config(layer).values_are_keys) add_matrix(layer, LayerMatrix::value, 0, keys, c.hidden_size);
    add_matrix(layer, LayerMatrix::output, 0, c.hidden_size, queries);
    if (const int gates = gate_size(c.attention_gate, c.heads, head_dim(layer)); gates > 0)
      add_matrix(layer, LayerMatrix::attention_gate, 0, gates, c.hidden_size);
  }

  void add_recurrence(int layer) {
    const Recurrence kind = layer_config(layer).recurrence;
    for (const auto& [slot, rows, columns] :
         is_rwkv(layer) ? rwkv_matrices(config(), shares_values(layer)) : recurrent_matrices(config(), kind))
      add_matrix(layer, slot, 0, rows, columns);
  }

  void add_latent_attention(int layer) {
    const ModelConfig& c = config();
    const LatentConfig& l = c.latent;
    const int input = l.query > 0 ? l.query : c.hidden_size;
    if (l.query > 0) add_matrix(layer, LayerMatrix::query_latent, 0, l.query, c.hidden_size);
    add_matrix(layer, LayerMatrix::query, 0, c.heads * (l.plain + l.rotated), input);
    add_matrix(layer, LayerMatrix::latent, 0, l.latent + l.rotated, c.hidden_size);
    for (int head = 0; head < c.heads; ++head) {
      add_matrix(layer, LayerMatrix::key_up, head, l.latent, l.plain);
      add_matrix(layer, LayerMatrix::value_up, head, l.value, l.latent);
    }
    add_matrix(layer, LayerMatrix::output, 0, c.hidden_size, c.heads * l.value);
  }

  void add_feed_forward(int layer) {
    const ModelConfig& c = config();
    const bool has_experts = layer_config(layer).has_experts;
    if (has_experts) add_matrix(layer, LayerMatrix::router, 0, c.experts, c.hidden_size);
    const int experts = c.experts + (c.shared_expert_size > 0 ? 1 : 0);
    for (int expert = 0; expert < (has_experts ? experts : 1); ++expert) {
      const int of_expert = expert < c.experts ? c.expert_size : c.shared_expert_size;
      const int inner = has_experts ? of_expert : inner_size(layer);
      if (c.is_gated) add_matrix(layer, LayerMatrix::gate, expert, inner, c.hidden_size);
      add_matrix(layer, LayerMatrix::up, expert, inner, c.hidden_size);
      add_matrix(layer, LayerMatrix::down, expert, c.hidden_size, inner);
    }
  }

  void add_per_layer(int layer) {
    const ModelConfig& c = config();
    const PerLayerConfig& p = c.per_layer;
    if (p.size > 0) {
      add_matrix(layer, LayerMatrix::per_layer_gate, 0, p.size, c.hidden_size);
      add_matrix(layer, LayerMatrix::per_layer_output, 0, c.hidden_size, p.size);
    }
    if (p.laurel > 0) {
      add_matrix(layer, LayerMatrix::laurel_down, 0, p.laurel, c.hidden_size);
      add_matrix(layer, LayerMatrix::laurel_up, 0, c.hidden_size, p.laurel);
    }
    if (p.streams > 0) {
      add_matrix(layer, LayerMatrix::stream_router, 0, p.streams, c.hidden_size);
      add_matrix(layer, LayerMatrix::stream_prediction, 0, p.streams * p.streams, p.streams);
      add_matrix(layer, LayerMatrix::stream_correction, 0, p.streams, p.streams);
    }
  }

  void add_vector(int layer, int slot, int size, bool is_norm) {
    std::vector<float>& vector = vectors_[{layer, slot, 0}];
    const bool is_decay = layer != kWholeModel && slot == static_cast<int>(LayerVector::decay);  // negative
    for (int i = 0; i < size; ++i) vector.push_back(static_cast<float>((is_norm ? 1 : is_decay ? -1 : 0) + 0.2 * random_.next()));
  }

  void add_matrix(ModelMatrix slot, int part, int rows, int columns) {
    add_matrix(kWholeModel, static_cast<int>(slot), part, rows, columns);
  }
  void add_matrix(int layer, LayerMatrix slot, int part, int rows, int columns) {
    add_matrix(layer, static_cast<int>(slot), part, rows, columns);
  }
  // Elements of about 1/sqrt(columns), so that products stay about 1.
  void add_matrix(int layer, int slot, int part, int rows, int columns) {
    const WeightFormat format = description_.formats[matrices_.size() % description_.formats.size()];
    TestMatrix matrix = {format, rows, columns, std::vector<unsigned char>(rows * weight_row_bytes(format, columns)), {}};
    matrix.values.resize(rows * columns);
    const double scale = 1 / std::sqrt(static_cast<double>(columns));
    const auto put = [&](std::size_t at, double value) {
      const float element = static_cast<float>(value);
      if (format == WeightFormat::f32) return static_cast<void>(std::memcpy(&matrix.bytes[at], &element, sizeof element));
      const std::uint32_t bits = oracle::encode(element, format == WeightFormat::bf16 ? DType::bf16 : DType::f16);
      std::memcpy(&matrix.bytes[at], &bits, 2);
    };
    const int block = block_bytes(format);
    for (std::size_t at = 0; at < matrix.bytes.size(); at += block) {
      if (is_float(format)) {
        put(at, scale * random_.next());
      } else {  // q8_0 and q4_0: one scale, and quants up to 128 and to 8
        put(at, 2 * scale / (format == WeightFormat::q8_0 ? 128 : 8));
        for (int i = 2; i < block; ++i) matrix.bytes[at + i] = static_cast<unsigned char>(random_.next_bits());
      }
    }
    for (int row = 0; row < rows; ++row)
      dequantize(format, matrix.bytes.data() + row * weight_row_bytes(format, columns), columns, &matrix.values[row * columns]);
    matrices_[{layer, slot, part}] = std::move(matrix);
  }

  Description description_;
  Random random_;
  std::map<std::array<int, 3>, TestMatrix> matrices_;
  std::map<std::array<int, 3>, std::vector<float>> vectors_;  // with 0 as part
};

}  // namespace ropewalk
