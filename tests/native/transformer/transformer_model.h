// Small models with random weights, one for each way in which architectures differ.
#pragma once

#include <cstring>
#include <map>

#include "matmul/dequantize.h"
#include "native/cache/kv_tokens.h"
#include "native/rope/ropes.h"
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
};

class TestModel {
 public:
  explicit TestModel(const Description& description, std::uint32_t seed = 1) : description_(description), random_(seed) {
    const ModelConfig& c = config();
    const int queries = c.heads * c.head_dim, keys = c.kv_heads * c.head_dim;
    for (const ModelVector slot : description.model_vectors)
      add_vector(kWholeModel, static_cast<int>(slot), size_of(slot),
                 slot == ModelVector::final_norm || slot == ModelVector::embedding_norm);
    add_matrix(kWholeModel, static_cast<int>(ModelMatrix::embedding), 0, c.vocabulary_size, c.hidden_size);
    if (c.positions > 0) add_matrix(kWholeModel, static_cast<int>(ModelMatrix::positions), 0, c.positions, c.hidden_size);
    if (c.token_types > 0) add_matrix(kWholeModel, static_cast<int>(ModelMatrix::token_types), 0, c.token_types, c.hidden_size);
    for (int i = 0, columns = c.hidden_size; i < kMaxDense && c.dense[i].size > 0; columns = c.dense[i++].size)
      add_matrix(kWholeModel, static_cast<int>(ModelMatrix::dense_1) + i, 0, c.dense[i].size, columns);
    if (description.has_head) add_matrix(kWholeModel, static_cast<int>(ModelMatrix::head), 0, c.vocabulary_size, c.hidden_size);
    for (int layer = 0; layer < c.layers; ++layer) {
      const auto add = [&](LayerMatrix slot, int expert, int rows, int columns) {
        add_matrix(layer, static_cast<int>(slot), expert, rows, columns);
      };
      add(LayerMatrix::query, 0, queries, c.hidden_size);
      add(LayerMatrix::key, 0, keys, c.hidden_size);
      add(LayerMatrix::value, 0, keys, c.hidden_size);
      add(LayerMatrix::output, 0, c.hidden_size, queries);
      const bool has_experts = description.layers[layer].has_experts;
      if (has_experts) add(LayerMatrix::router, 0, c.experts, c.hidden_size);
      const int experts = c.experts + (c.shared_expert_size > 0 ? 1 : 0);
      for (int expert = 0; expert < (has_experts ? experts : 1); ++expert) {
        const int of_expert = expert < c.experts ? c.expert_size : c.shared_expert_size;
        const int inner = has_experts ? of_expert : c.feed_forward_size;
        if (c.is_gated) add(LayerMatrix::gate, expert, inner, c.hidden_size);
        add(LayerMatrix::up, expert, inner, c.hidden_size);
        add(LayerMatrix::down, expert, c.hidden_size, inner);
      }
      for (const LayerVector slot : description.vectors) add_vector(layer, static_cast<int>(slot), size_of(slot), is_norm(slot));
    }
  }

  const std::string& name() const { return description_.name; }
  const ModelConfig& config() const { return description_.config; }
  const LayerConfig& layer_config(int layer) const { return description_.layers[layer]; }
  const RopeConfig& rope() const { return description_.rope; }

  const TestMatrix& matrix(int layer, int slot, int expert = 0) const { return matrices_.at({layer, slot, expert}); }
  const TestMatrix& matrix(int layer, LayerMatrix slot, int expert = 0) const { return matrix(layer, static_cast<int>(slot), expert); }
  bool has_head() const { return description_.has_head; }
  // Empty if there is none.
  const std::vector<float>& vector(int layer, int slot) const {
    static const std::vector<float> none;
    const auto found = vectors_.find({layer, slot});
    return found == vectors_.end() ? none : found->second;
  }
  const std::vector<float>& vector(int layer, LayerVector slot) const { return vector(layer, static_cast<int>(slot)); }

  // Changes one number of an f32 matrix.
  void set(int layer, LayerMatrix slot, int index, float value) {
    TestMatrix& matrix = matrices_.at({layer, static_cast<int>(slot), 0});
    matrix.values[index] = value;
    std::memcpy(matrix.bytes.data() + index * sizeof(float), &value, sizeof value);
  }

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
  // The names of the parts, layer and slot, matrices first.
  std::vector<std::array<int, 2>> all_parts() const {
    std::vector<std::array<int, 2>> parts;
    for (const auto& [at, matrix] : matrices_) parts.push_back({at[0], at[1]});
    for (const auto& [at, vector] : vectors_) parts.push_back(at);
    return parts;
  }

  CacheSetup cache_setup(int max_tokens = 200) const {
    return {std::vector<KvLayer>(config().layers, {config().kv_heads, config().head_dim, 0}),
            {rope()},
            RowType::f32,
            KeyMode::rotated,
            2,
            max_tokens};
  }

 private:
  static bool is_norm(LayerVector slot) {
    return slot == LayerVector::attention_norm || slot == LayerVector::query_norm || slot == LayerVector::key_norm ||
           slot == LayerVector::attention_post_norm || slot == LayerVector::feed_forward_norm ||
           slot == LayerVector::feed_forward_post_norm || slot == LayerVector::attention_sub_norm ||
           slot == LayerVector::feed_forward_sub_norm;
  }

  int size_of(LayerVector slot) const {
    const ModelConfig& c = config();
    const bool has_one_weight = c.query_key_norm == QueryKeyNorm::head || c.query_key_norm == QueryKeyNorm::rotated;
    switch (slot) {
      case LayerVector::attention_sub_norm:
      case LayerVector::query_bias: return c.heads * c.head_dim;
      case LayerVector::key_bias:
      case LayerVector::value_bias: return c.kv_heads * c.head_dim;
      case LayerVector::query_norm: return has_one_weight ? c.head_dim : c.heads * c.head_dim;
      case LayerVector::key_norm: return has_one_weight ? c.head_dim : c.kv_heads * c.head_dim;
      case LayerVector::gate_bias:
      case LayerVector::feed_forward_sub_norm:
      case LayerVector::up_bias: return c.feed_forward_size;
      case LayerVector::router_bias: return c.experts;
      case LayerVector::xielu_alpha_p:
      case LayerVector::xielu_alpha_n:
      case LayerVector::xielu_beta:
      case LayerVector::xielu_eps: return 1;
      default: return c.hidden_size;
    }
  }

  int size_of(ModelVector slot) const {
    switch (slot) {
      case ModelVector::head_bias: return config().vocabulary_size;
      case ModelVector::dense_1_bias: return config().dense[0].size;
      case ModelVector::dense_2_bias: return config().dense[1].size;
      default: return config().hidden_size;
    }
  }

  void add_vector(int layer, int slot, int size, bool is_norm) {
    std::vector<float>& vector = vectors_[{layer, slot}];
    for (int i = 0; i < size; ++i) vector.push_back(static_cast<float>((is_norm ? 1 : 0) + 0.2 * random_.next()));
  }

  // Elements of about 1/sqrt(columns), so that products stay about 1.
  void add_matrix(int layer, int slot, int expert, int rows, int columns) {
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
    matrices_[{layer, slot, expert}] = std::move(matrix);
  }

  Description description_;
  Random random_;
  std::map<std::array<int, 3>, TestMatrix> matrices_;
  std::map<std::array<int, 2>, std::vector<float>> vectors_;
};

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

// Norms of the heads' outputs and of the inner row, and a squared ReLU: BitNet. Norms of rotated q and k: HunYuan.
inline Description sub_norms() {
  Description d = llama();
  d.name = "sub-norms", d.config.activation = Activation::relu2, d.config.query_key_norm = QueryKeyNorm::rotated;
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

// Widths that are multiples of a block.
inline Description stored(const std::string& name, const std::vector<WeightFormat>& formats) {
  Description d = llama();
  d.name = name, d.formats = formats;
  d.config.hidden_size = 64, d.config.heads = 2, d.config.kv_heads = 1, d.config.head_dim = 16, d.config.feed_forward_size = 96;
  d.rope = plain_config(16);
  return d;
}

inline std::vector<Description> every_float_model() {
  return {llama(),
          gpt_j(),
          neox(),
          gemma(),
          olmo(),
          stable_lm(),
          experts(true),
          experts(false),
          experts(true, false),
          shared_expert(),
          sub_norms(),
          xielu(),
          stored("16 bits", {WeightFormat::f16, WeightFormat::bf16})};
}

inline std::vector<Description> every_model() {
  std::vector<Description> all = every_float_model();
  all.push_back(stored("quantized", {WeightFormat::q8_0, WeightFormat::q4_0, WeightFormat::f32}));
  return all;
}

}  // namespace ropewalk
