// Weights that are placed in any order, under any numbers and in any format: calls are refused, or the model runs within its memory.
#include <cstring>

#include "fuzz_input.h"
#include "transformer/text_vectors.h"

using namespace ropewalk;

namespace {

ModelConfig model_of(FuzzInput& input) {
  ModelConfig config;
  config.layers = input.roughly(1, 2);
  config.vocabulary_size = input.roughly(1, 40);
  config.hidden_size = input.one_in(4) ? input.roughly(1, 70) : 32 * input.between(1, 2);
  config.head_dim = input.one_in(4) ? input.roughly(1, 20) : 16;
  config.kv_heads = input.roughly(1, 2);
  config.heads = input.one_in(4) ? input.roughly(1, 4) : static_cast<int>(static_cast<unsigned>(config.kv_heads) * input.between(1, 2));
  config.feed_forward_size = input.one_in(4) ? input.roughly(1, 70) : 32;
  config.query_key_norm = static_cast<QueryKeyNorm>(input.between(0, 4));
  config.is_gated = input.flag();
  if (!config.is_gated && input.one_in(3)) config.activation = Activation::xielu;
  config.is_parallel = input.one_in(4);
  config.experts = input.one_in(3) ? input.roughly(0, 4) : 0;
  config.expert_size = config.experts > 0 ? input.roughly(1, 40) : 0;
  config.shared_expert_size = config.experts > 0 && input.flag() ? input.roughly(0, 40) : 0;
  config.routing = {.used = config.experts > 0 ? input.roughly(1, 4) : 0,
                    .weight = static_cast<ExpertWeight>(input.between(0, 1)),
                    .normalizes = input.flag()};
  config.is_causal = !input.one_in(4);
  config.normalizes_residual = input.one_in(4);
  config.positions = input.one_in(4) ? input.roughly(0, 8) : 0;
  config.token_types = input.one_in(4) ? input.roughly(0, 2) : 0;
  config.dense[0].size = input.one_in(4) ? input.roughly(0, 40) : 0;
  return config;
}

// A call usually has the shape that the slot must have, so that models get complete.
class Placement {
 public:
  Placement(Weights& weights, FuzzInput& input) : weights_(weights), input_(input), config_(weights.config()) {}

  void matrix(int layer, int slot, int expert) {
    auto format = input_.flag() ? WeightFormat::f32 : input_.any_of(static_cast<WeightFormat>(kWeightFormats - 1));
    const auto [rows, columns] = shape_of(layer, slot, expert);
    const int claimed = input_.one_in(32) ? input_.roughly(0, 70) : rows;
    const std::uint64_t bytes = input_.one_in(32) ? input_.roughly(0, 1 << 20) : bytes_of(format, rows, columns);
    unsigned char* memory = nullptr;
    if (weights_.reserve(layer, slot, expert, format, claimed, columns, bytes, memory) != Status::ok) return;
    const std::vector<float> values = input_.ordinaries(64);
    for (std::size_t at = 0; at < bytes; ++at) memory[at] = reinterpret_cast<const unsigned char*>(values.data())[at % 256];
    if (!input_.one_in(4)) return;
    const int which = input_.one_in(8) ? input_.roughly(0, 4) : expert;
    weights_.pack(layer, slot, which, input_.flag() ? rows : input_.roughly(0, 70));
  }

  void vector(int layer, int slot) {
    int size = config_.hidden_size;
    if (layer == kWholeModel) {
      if (slot == static_cast<int>(ModelVector::head_bias)) size = config_.vocabulary_size;
    } else {
      const bool has_one_weight = config_.query_key_norm == QueryKeyNorm::head || config_.query_key_norm == QueryKeyNorm::rotated;
      const int width = has_one_weight ? 1 : config_.heads, key_width = has_one_weight ? 1 : config_.kv_heads;
      switch (static_cast<LayerVector>(slot)) {
        case LayerVector::attention_sub_norm:
        case LayerVector::query_bias: size = config_.heads * config_.head_dim; break;
        case LayerVector::key_bias:
        case LayerVector::value_bias: size = config_.kv_heads * config_.head_dim; break;
        case LayerVector::query_norm: size = width * config_.head_dim; break;
        case LayerVector::key_norm: size = key_width * config_.head_dim; break;
        case LayerVector::xielu_alpha_p:
        case LayerVector::xielu_alpha_n:
        case LayerVector::xielu_beta:
        case LayerVector::xielu_eps: size = 1; break;
        case LayerVector::router_bias: size = config_.experts; break;
        case LayerVector::feed_forward_sub_norm:
        case LayerVector::gate_bias:
        case LayerVector::up_bias: size = config_.feed_forward_size; break;
        default: break;
      }
    }
    if (input_.one_in(32)) size = input_.roughly(0, 70);
    auto format = input_.one_in(3) ? input_.any_of(static_cast<WeightFormat>(kWeightFormats - 1)) : WeightFormat::f32;
    if (size < 0 || size > 4096) {
      weights_.set_vector(layer, slot, format, nullptr, std::uint64_t{1} << 40, 0);  // refused before anything is read
      return;
    }
    const std::vector<float> stored = input_.ordinaries(size + 64);  // no format has more bytes per element than f32
    weights_.set_vector(layer, slot, format, stored.data(), bytes_of(format, 1, size), input_.one_in(8) ? 1.0f : 0.0f);
  }

 private:
  // 0 for a format that doesn't exist.
  static std::uint64_t bytes_of(WeightFormat format, int rows, int columns) {
    const bool exists = static_cast<int>(format) >= 0 && static_cast<int>(format) < kWeightFormats;
    return exists ? weight_bytes(format, rows, columns) : 0;
  }

  std::pair<int, int> shape_of(int layer, int slot, int expert) const {
    if (layer == kWholeModel) {
      switch (static_cast<ModelMatrix>(slot)) {
        case ModelMatrix::positions: return {config_.positions, config_.hidden_size};
        case ModelMatrix::token_types: return {config_.token_types, config_.hidden_size};
        case ModelMatrix::dense_1: return {config_.dense[0].size, config_.hidden_size};
        default: return {config_.vocabulary_size, config_.hidden_size};
      }
    }
    const int queries = config_.heads * config_.head_dim, keys = config_.kv_heads * config_.head_dim;
    const bool is_layer = layer >= 0 && layer < config_.layers;
    const int of_expert = expert < config_.experts ? config_.expert_size : config_.shared_expert_size;
    const int inner = is_layer && weights_.layer_config(layer).has_experts ? of_expert : config_.feed_forward_size;
    switch (static_cast<LayerMatrix>(slot)) {
      case LayerMatrix::query: return {queries, config_.hidden_size};
      case LayerMatrix::output: return {config_.hidden_size, queries};
      case LayerMatrix::router: return {config_.experts, config_.hidden_size};
      case LayerMatrix::gate:
      case LayerMatrix::up: return {inner, config_.hidden_size};
      case LayerMatrix::down: return {config_.hidden_size, inner};
      default: return {keys, config_.hidden_size};
    }
  }

  Weights& weights_;
  FuzzInput& input_;
  const ModelConfig& config_;
};

void embed_texts(const Weights& weights, std::span<const KvLayer> layers, FuzzInput& input) {
  WholeTexts texts;
  if (texts.configure(layers, {}) != Status::ok) return;
  const std::vector<int> lengths = {input.between(1, 3), input.between(1, 4)};
  std::vector<int> tokens(lengths[0] + lengths[1]), types(tokens.size());
  for (int& token : tokens) token = input.roughly(0, weights.config().vocabulary_size - 1);
  for (int& type : types) type = input.roughly(0, 1);
  if (texts.begin(lengths, types.data()) != Status::ok) return;
  Forward forward;
  TextVectors vectors;
  if (forward.run(weights, texts, tokens.data()) != Status::ok) return;
  std::vector<float> out(lengths.size() * TextVectors::size(weights.config(), true));
  EXPECT_HOLDS(vectors.write(weights, texts, forward, static_cast<Pooling>(input.between(0, kPoolings - 1)), true, out.data()) ==
               Status::ok);
}

void run_model(const Weights& weights, FuzzInput& input) {
  const ModelConfig& config = weights.config();
  const std::vector<KvLayer> layers(config.layers, {config.kv_heads, config.head_dim, kNoRope});
  embed_texts(weights, layers, input);
  KvCache cache;
  if (cache.configure({layers, {}, RowType::f32, KeyMode::rotated, 1, 16}) != Status::ok) return;
  Forward forward;
  std::vector<int> tokens(input.between(1, 4));
  for (int& token : tokens) token = input.roughly(0, config.vocabulary_size - 1);
  if (forward.run(weights, cache, 0, tokens.data(), static_cast<int>(tokens.size())) != Status::ok) return;
  std::vector<float> logits(tokens.size() * config.vocabulary_size);
  EXPECT_HOLDS(forward.logits(weights, 0, static_cast<int>(tokens.size()), logits.data()) == Status::ok);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  const ModelConfig config = model_of(input);
  std::vector<LayerConfig> layers(config.layers > 0 && config.layers <= kMaxLayers ? config.layers : 1);
  for (LayerConfig& layer : layers) {
    layer.window = input.one_in(4) ? input.roughly(1, 8) : kNoWindow;
    layer.has_experts = config.experts > 0 && input.flag();
  }
  Weights weights;
  if (weights.configure(config, layers.data()) != Status::ok) return 0;
  if (config.layers > 8 || config.experts > 64) return 0;
  if (config.hidden_size > 4096 || config.vocabulary_size > 4096 || config.feed_forward_size > 4096 || config.expert_size > 4096 ||
      config.shared_expert_size > 4096 || config.heads * config.head_dim > 4096)
    return 0;

  Placement place(weights, input);
  const bool is_complete = input.between(0, 3) != 0;
  if (is_complete) {
    place.vector(kWholeModel, static_cast<int>(ModelVector::final_norm));
    place.matrix(kWholeModel, static_cast<int>(ModelMatrix::embedding), 0);
    for (int layer = 0; layer < config.layers; ++layer) {
      if (config.query_key_norm != QueryKeyNorm::none) {
        place.vector(layer, static_cast<int>(LayerVector::query_norm));
        place.vector(layer, static_cast<int>(LayerVector::key_norm));
      }
      for (int slot = 0; slot < kLayerMatrices; ++slot) {
        for (int expert = 0; expert < (layers[layer].has_experts ? config.experts : 1); ++expert) place.matrix(layer, slot, expert);
      }
    }
  }
  for (int calls = input.between(0, 12); calls > 0; --calls) {
    const int layer = input.roughly(kWholeModel, config.layers - 1);
    if (input.flag()) {
      place.matrix(layer, input.roughly(0, kLayerMatrices - 1), input.roughly(0, 3));
    } else {
      place.vector(layer, input.roughly(0, kLayerVectors - 1));
    }
  }
  if (weights.finish() != Status::ok) {
    EXPECT_HOLDS(!weights.is_finished());
    return 0;
  }
  run_model(weights, input);
  return 0;
}
