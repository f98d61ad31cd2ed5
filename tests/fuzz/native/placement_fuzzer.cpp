// Weights that are placed in any order, under any numbers and in any format: calls are refused, or the model runs within its memory.
#include <cstring>

#include "fuzz_input.h"
#include "transformer/text_vectors.h"

using namespace ropewalk;

namespace {

void set_latent(ModelConfig& config, FuzzInput& input) {
  config.latent.latent = input.roughly(1, 16);
  config.latent.rotated = input.roughly(0, 8);
  config.latent.plain = input.roughly(1, 8);
  config.latent.value = input.roughly(1, 8);
  config.latent.query = input.flag() ? input.roughly(0, 8) : 0;
  if (input.one_in(16)) return;
  config.head_dim = static_cast<int>(static_cast<unsigned>(config.latent.latent) + static_cast<unsigned>(config.latent.rotated));
  config.kv_heads = 1;
}

void set_per_layer(ModelConfig& config, FuzzInput& input) {
  PerLayerConfig& per_layer = config.per_layer;
  per_layer.size = input.roughly(0, 8);
  per_layer.vocabulary_size = input.roughly(0, 8);
  per_layer.streams = input.flag() ? input.roughly(0, 3) : 0;
  per_layer.active_stream = per_layer.streams > 0 ? input.roughly(0, per_layer.streams - 1) : 0;
  per_layer.laurel = input.flag() ? input.roughly(0, 4) : 0;
}

void set_recurrence(ModelConfig& config, FuzzInput& input) {
  RecurrenceConfig& recurrence = config.recurrence;
  const bool has_heads = input.flag();
  recurrence.kernel = input.roughly(1, 4);
  if (recurrence.kernel == 0) return;
  recurrence.key_heads = has_heads ? input.roughly(1, 2) : 1;
  recurrence.heads = has_heads && input.flag() ? input.roughly(1, 4) : recurrence.key_heads;
  recurrence.inner = input.flag() ? config.hidden_size : input.roughly(1, 32);
  recurrence.key_size = input.roughly(1, 8);
  recurrence.step_rank = input.flag() ? input.roughly(0, 4) : 2;
  recurrence.norm_groups = input.one_in(4) ? input.roughly(1, 4) : 1;
  recurrence.is_tiled = input.flag();
  if (input.one_in(4)) recurrence.least_step = 0.5f, recurrence.largest_step = 1;
  if (input.one_in(4)) recurrence.select_norm_epsilon = 1e-3f;
  recurrence.has_norm = !input.one_in(3);
  recurrence.norms_before_gate = input.flag();
  if (input.one_in(2)) return;
  // RWKV, usually of a shape that it can have
  if (!input.one_in(8)) recurrence.kernel = 2, recurrence.key_heads = recurrence.heads;
  if (!input.one_in(8) && recurrence.heads > 0) recurrence.key_size = recurrence.inner / recurrence.heads;
  for (int* rank : {&recurrence.decay_rank, &recurrence.rate_rank, &recurrence.share_rank, &recurrence.gate_rank})
    *rank = input.one_in(8) ? input.roughly(0, 4) : 2;
  recurrence.removal_epsilon = recurrence.head_norm_epsilon = input.flag() ? 1e-3f : 0;
}

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
                    .normalizes = input.flag(),
                    .scales_input = input.flag()};
  config.normalizes_values = input.one_in(4);
  if (config.is_gated && input.one_in(6)) config.activation = Activation::clamped_silu, config.gate_limit = 1;
  if (input.one_in(4)) config.temperature = {0.5, static_cast<double>(input.between(1, 4)), 1};
  if (input.one_in(3)) set_latent(config, input);
  if (input.one_in(3)) set_per_layer(config, input);
  if (input.one_in(4)) config.attention_gate = static_cast<AttentionGate>(input.between(1, 2));
  if (input.one_in(2)) set_recurrence(config, input);
  config.is_causal = !input.one_in(4);
  config.normalizes_residual = input.one_in(4);
  config.positions = input.one_in(4) ? input.roughly(0, 8) : 0;
  config.token_types = input.one_in(4) ? input.roughly(0, 2) : 0;
  if (input.one_in(4)) config.relative_buckets = input.roughly(0, 8), config.relative_max_distance = input.roughly(1, 9);
  config.dense[0].size = input.one_in(4) ? input.roughly(0, 40) : 0;
  config.projects_tokens = input.one_in(6);
  return config;
}

LayerConfig layer_of(const ModelConfig& config, int index, FuzzInput& input) {
  LayerConfig layer;
  layer.window = input.one_in(4) ? input.roughly(1, 8) : kNoWindow;
  layer.chunk = input.one_in(4) ? input.roughly(0, 8) : 0;
  layer.has_experts = config.experts > 0 && input.flag();
  layer.has_temperature = input.one_in(4);
  layer.has_unit_heads = input.one_in(4);
  if (input.one_in(6)) layer.head_dim = input.roughly(0, 16);
  if (input.one_in(6)) layer.kv_heads = input.roughly(0, 2);
  if (input.one_in(6)) layer.feed_forward_size = input.roughly(0, 32);
  if (index > 0 && input.one_in(4)) layer.keys_of = input.roughly(kOwnKeys, index - 1);
  layer.values_are_keys = input.one_in(6);
  if (input.one_in(6)) layer.gate_deviations = 0.5f;
  if (config.recurrence.kernel != 0 && input.flag()) layer.recurrence = static_cast<Recurrence>(input.roughly(0, 5));
  layer.has_feed_forward = !input.one_in(6);
  layer.has_attention = layer.recurrence == Recurrence::none ? !input.one_in(8) : input.one_in(3);
  return layer;
}

// Vectors that a model needs if it has their mechanism; the others are refused.
constexpr LayerVector kNeededVectors[] = {
    LayerVector::query_latent_norm,   LayerVector::latent_norm,       LayerVector::per_layer_norm, LayerVector::laurel_norm,
    LayerVector::stream_norm,         LayerVector::xielu_alpha_p,     LayerVector::xielu_alpha_n,  LayerVector::xielu_beta,
    LayerVector::xielu_eps,           LayerVector::convolution,       LayerVector::decay,          LayerVector::skip,
    LayerVector::recurrent_norm,      LayerVector::token_shift,       LayerVector::decay_bias,     LayerVector::rate_bias,
    LayerVector::share_bias,          LayerVector::removal_scale,     LayerVector::rate_scale,     LayerVector::bonus,
    LayerVector::recurrent_norm_bias, LayerVector::feed_forward_shift};

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
    int size = layer == kWholeModel ? size_of(static_cast<ModelVector>(slot)) : size_of(static_cast<LayerVector>(slot), layer_at(layer));
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

  LayerConfig layer_at(int layer) const { return layer >= 0 && layer < config_.layers ? weights_.layer_config(layer) : LayerConfig(); }

  int size_of(ModelVector slot) const {
    if (slot == ModelVector::head_bias) return config_.vocabulary_size;
    return slot == ModelVector::per_layer_projection_norm ? config_.per_layer.size : config_.hidden_size;
  }

  int size_of(LayerVector slot, const LayerConfig& l) const {
    const bool has_one_weight = config_.query_key_norm == QueryKeyNorm::head || config_.query_key_norm == QueryKeyNorm::rotated;
    const RecurrenceConfig& r = config_.recurrence;
    const bool is_mamba = l.recurrence == Recurrence::mamba, is_convolution = l.recurrence == Recurrence::convolution;
    switch (slot) {
      case LayerVector::recurrent_in_bias: return (is_convolution ? 3 : 1) * convolution_channels(r, l.recurrence);
      case LayerVector::recurrent_gate_bias: return r.inner;
      case LayerVector::recurrent_step_bias:
      case LayerVector::recurrent_step_offset:
      case LayerVector::skip: return is_mamba ? r.inner : r.heads;
      case LayerVector::convolution: return r.kernel * convolution_channels(r, l.recurrence);
      case LayerVector::convolution_bias: return convolution_channels(r, l.recurrence);
      case LayerVector::decay:
      case LayerVector::decay_log: return is_mamba ? r.inner * r.key_size : r.heads;
      case LayerVector::recurrent_select_norm: return r.step_rank + 2 * r.key_size;
      case LayerVector::recurrent_norm: return l.recurrence == Recurrence::delta ? value_size(r) : r.inner;
      case LayerVector::token_shift: return kShiftedInputs * config_.hidden_size;
      case LayerVector::decay_bias:
      case LayerVector::rate_bias:
      case LayerVector::share_bias:
      case LayerVector::removal_scale:
      case LayerVector::rate_scale:
      case LayerVector::bonus:
      case LayerVector::recurrent_norm_bias: return r.inner;
      case LayerVector::attention_gate_bias:
      case LayerVector::attention_sub_norm:
      case LayerVector::query_bias: return config_.heads * l.head_dim;
      case LayerVector::key_bias:
      case LayerVector::value_bias: return l.kv_heads * l.head_dim;
      case LayerVector::query_norm: return (has_one_weight ? 1 : config_.heads) * l.head_dim;
      case LayerVector::key_norm: return (has_one_weight ? 1 : l.kv_heads) * l.head_dim;
      case LayerVector::layer_scale:
      case LayerVector::xielu_alpha_p:
      case LayerVector::xielu_alpha_n:
      case LayerVector::xielu_beta:
      case LayerVector::xielu_eps: return 1;
      case LayerVector::sinks: return config_.heads;
      case LayerVector::router_bias:
      case LayerVector::expert_scales:
      case LayerVector::router_logit_bias: return config_.experts;
      case LayerVector::expert_gate_bias:
      case LayerVector::expert_up_bias: return config_.experts * config_.expert_size;
      case LayerVector::expert_down_bias: return config_.experts * config_.hidden_size;
      case LayerVector::feed_forward_sub_norm:
      case LayerVector::gate_bias:
      case LayerVector::up_bias: return l.feed_forward_size;
      case LayerVector::query_latent_norm: return config_.latent.query;
      case LayerVector::latent_norm: return config_.latent.latent;
      default: return config_.hidden_size;
    }
  }

  std::pair<int, int> shape_of(int layer, int slot, int expert) const {
    const int hidden = config_.hidden_size;
    const LatentConfig& latent = config_.latent;
    const PerLayerConfig& p = config_.per_layer;
    if (layer == kWholeModel) {
      switch (static_cast<ModelMatrix>(slot)) {
        case ModelMatrix::per_layer_embedding: return {p.vocabulary_size, config_.layers * p.size};
        case ModelMatrix::per_layer_projection: return {config_.layers * p.size, hidden};
        case ModelMatrix::streams_in:
        case ModelMatrix::streams_out: return {hidden, hidden};
        case ModelMatrix::positions: return {config_.positions, hidden};
        case ModelMatrix::token_types: return {config_.token_types, hidden};
        case ModelMatrix::dense_1: return {config_.dense[0].size, hidden};
        default: return {config_.vocabulary_size, hidden};
      }
    }
    const LayerConfig l = layer_at(layer);
    const int of_expert = expert < config_.experts ? config_.expert_size : config_.shared_expert_size;
    const int inner = l.has_experts ? of_expert : l.feed_forward_size;
    const bool has_latent = latent.latent > 0;
    const RecurrenceConfig& r = config_.recurrence;
    const bool is_mamba = l.recurrence == Recurrence::mamba;
    switch (static_cast<LayerMatrix>(slot)) {
      case LayerMatrix::query:
        return has_latent ? std::pair(config_.heads * (latent.plain + latent.rotated), latent.query > 0 ? latent.query : hidden)
                          : std::pair(config_.heads * l.head_dim, hidden);
      case LayerMatrix::output: return {hidden, config_.heads * (has_latent ? latent.value : l.head_dim)};
      case LayerMatrix::router: return {config_.experts, hidden};
      case LayerMatrix::gate:
      case LayerMatrix::up: return {inner, hidden};
      case LayerMatrix::down: return {hidden, inner};
      case LayerMatrix::query_latent: return {latent.query, hidden};
      case LayerMatrix::latent: return {latent.latent + latent.rotated, hidden};
      case LayerMatrix::key_up: return {latent.latent, latent.plain};
      case LayerMatrix::value_up: return {latent.value, latent.latent};
      case LayerMatrix::per_layer_gate: return {p.size, hidden};
      case LayerMatrix::per_layer_output: return {hidden, p.size};
      case LayerMatrix::laurel_down: return {p.laurel, hidden};
      case LayerMatrix::laurel_up: return {hidden, p.laurel};
      case LayerMatrix::stream_router: return {p.streams, hidden};
      case LayerMatrix::stream_prediction: return {p.streams * p.streams, p.streams};
      case LayerMatrix::stream_correction: return {p.streams, p.streams};
      case LayerMatrix::attention_gate: return {config_.heads * l.head_dim, hidden};
      case LayerMatrix::recurrent_in:
        return {l.recurrence == Recurrence::convolution ? 3 * r.inner : convolution_channels(r, l.recurrence), hidden};
      case LayerMatrix::recurrent_gate: return {r.inner, hidden};
      case LayerMatrix::recurrent_step: return is_mamba ? std::pair(r.inner, r.step_rank) : std::pair(r.heads, hidden);
      case LayerMatrix::recurrent_strength: return {r.heads, hidden};
      case LayerMatrix::recurrent_select: return {r.step_rank + 2 * r.key_size, r.inner};
      case LayerMatrix::recurrent_out: return {hidden, r.inner};
      case LayerMatrix::recurrent_query:
      case LayerMatrix::recurrent_key:
      case LayerMatrix::recurrent_value: return {r.inner, hidden};
      case LayerMatrix::decay_down: return {r.decay_rank, hidden};
      case LayerMatrix::decay_up: return {r.inner, r.decay_rank};
      case LayerMatrix::rate_down: return {r.rate_rank, hidden};
      case LayerMatrix::rate_up: return {r.inner, r.rate_rank};
      case LayerMatrix::share_down: return {r.share_rank, hidden};
      case LayerMatrix::share_up: return {r.inner, r.share_rank};
      case LayerMatrix::recurrent_gate_down: return {r.gate_rank, hidden};
      case LayerMatrix::recurrent_gate_up: return {r.inner, r.gate_rank};
      default: return {l.kv_heads * l.head_dim, hidden};
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
  std::vector<KvLayer> layers;
  std::vector<std::size_t> sizes;
  bool is_recurrent = false;
  for (int i = 0; i < config.layers; ++i) {
    const LayerConfig& l = weights.layer_config(i);
    sizes.push_back(weights.state_size(i));
    is_recurrent |= l.recurrence != Recurrence::none;
    if (l.has_attention && l.keys_of == kOwnKeys) layers.push_back({l.kv_heads, l.head_dim, kNoRope, config.latent.latent == 0});
  }
  embed_texts(weights, layers, input);
  KvCache cache;
  if (cache.configure({layers, {}, RowType::f32, KeyMode::rotated, 1, 16}) != Status::ok) return;
  RecurrentState states;
  if (states.configure(sizes, 1) != Status::ok) return;
  Forward forward;
  std::vector<int> tokens(input.between(1, 4));
  for (int& token : tokens) token = input.roughly(0, config.vocabulary_size - 1);
  if (forward.run(weights, {&cache, 0, is_recurrent ? &states : nullptr}, tokens.data(), static_cast<int>(tokens.size())) != Status::ok)
    return;
  std::vector<float> logits(tokens.size() * config.vocabulary_size);
  EXPECT_HOLDS(forward.logits(weights, 0, static_cast<int>(tokens.size()), logits.data()) == Status::ok);
  std::vector<float> read(tokens.size() * config.heads);
  for (int layer = 0; layer < config.layers; ++layer) {
    const bool has_attention = weights.layer_config(layer).has_attention;
    EXPECT_HOLDS((forward.attention_weights(weights, cache, 0, layer, read.data()) == Status::ok) == has_attention);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  const ModelConfig config = model_of(input);
  std::vector<LayerConfig> layers(config.layers > 0 && config.layers <= kMaxLayers ? config.layers : 1);
  for (std::size_t i = 0; i < layers.size(); ++i) layers[i] = layer_of(config, static_cast<int>(i), input);
  Weights weights;
  if (weights.configure(config, layers.data()) != Status::ok) return 0;
  if (config.layers > 8 || config.experts > 64) return 0;
  if (config.hidden_size > 4096 || config.vocabulary_size > 4096 || config.feed_forward_size > 4096 || config.expert_size > 4096 ||
      config.shared_expert_size > 4096 || config.heads * config.head_dim > 4096 || config.per_layer.size > 256 ||
      config.per_layer.vocabulary_size > 4096 || config.per_layer.laurel > 4096 || config.recurrence.inner > 4096 ||
      config.recurrence.key_heads * config.recurrence.key_size > 4096 || config.recurrence.step_rank > 4096 ||
      std::max({config.recurrence.decay_rank, config.recurrence.rate_rank, config.recurrence.share_rank, config.recurrence.gate_rank}) >
          4096)
    return 0;

  Placement place(weights, input);
  const bool is_complete = input.between(0, 3) != 0;
  if (is_complete) {
    place.vector(kWholeModel, static_cast<int>(ModelVector::final_norm));
    place.matrix(kWholeModel, static_cast<int>(ModelMatrix::embedding), 0);
    if (config.per_layer.size > 0) {
      place.vector(kWholeModel, static_cast<int>(ModelVector::per_layer_projection_norm));
      place.matrix(kWholeModel, static_cast<int>(ModelMatrix::per_layer_embedding), 0);
      place.matrix(kWholeModel, static_cast<int>(ModelMatrix::per_layer_projection), 0);
      for (int part = 0; part < config.per_layer.streams - 1; ++part) {
        place.matrix(kWholeModel, static_cast<int>(ModelMatrix::streams_in), part);
        place.matrix(kWholeModel, static_cast<int>(ModelMatrix::streams_out), part);
      }
    }
    for (int layer = 0; layer < config.layers; ++layer) {
      if (config.query_key_norm != QueryKeyNorm::none) {
        place.vector(layer, static_cast<int>(LayerVector::query_norm));
        place.vector(layer, static_cast<int>(LayerVector::key_norm));
      }
      for (const LayerVector slot : kNeededVectors) place.vector(layer, static_cast<int>(slot));
      const int experts = config.experts + (config.shared_expert_size > 0 ? 1 : 0);
      const int parts = std::max(layers[layer].has_experts ? experts : 1, config.latent.latent > 0 ? config.heads : 1);
      for (int slot = 0; slot < kLayerMatrices; ++slot) {
        for (int part = 0; part < parts; ++part) place.matrix(layer, slot, part);
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
