// Loading of weights: accepted and refused shapes, and the stored numbers.
#include "transformer/weights.h"

#include <gtest/gtest.h>

#include <limits>

#include "native/transformer/transformer_models.h"

namespace ropewalk {
namespace {

constexpr int kMost = std::numeric_limits<int>::max(), kLeast = std::numeric_limits<int>::min();

int slot(ModelMatrix name) { return static_cast<int>(name); }
int slot(ModelVector name) { return static_cast<int>(name); }
int slot(LayerMatrix name) { return static_cast<int>(name); }
int slot(LayerVector name) { return static_cast<int>(name); }

std::vector<float> values_of(const WeightMatrix& matrix) {
  std::vector<float> values(static_cast<std::size_t>(matrix.rows) * matrix.columns);
  for (int row = 0; row < matrix.rows; ++row) read_row(matrix, row, values.data() + static_cast<std::ptrdiff_t>(row) * matrix.columns);
  return values;
}

// A matrix by its names in TestModel::all_parts().
const WeightMatrix& held_at(const Weights& weights, int layer, int at, int part) {
  if (layer == kWholeModel) {
    const auto name = static_cast<ModelMatrix>(at);
    return name == ModelMatrix::streams_in || name == ModelMatrix::streams_out ? weights.stream(name, part) : weights[name];
  }
  const LayerWeights& held = weights.layer(layer);
  const auto name = static_cast<LayerMatrix>(at);
  if (name == LayerMatrix::key_up || name == LayerMatrix::value_up) return held.of_head(name, part);
  if (name < LayerMatrix::gate || name > LayerMatrix::down) return held[name];
  const FeedForwardWeights block = weights.layer_config(layer).has_experts ? held.expert(part) : held.feed_forward();
  return name == LayerMatrix::gate ? block.gate : name == LayerMatrix::up ? block.up : block.down;
}

// The vector that a layer holds in a slot: taps of a convolution before channels, and decays instead of their logarithms.
std::vector<float> held_vector(const TestModel& model, int layer, LayerVector at) {
  std::vector<float> held = model.vector(layer, at);
  const int kernel = model.config().recurrence.kernel, channels = kernel == 0 ? 0 : static_cast<int>(held.size()) / kernel;
  if (at == LayerVector::convolution) {
    for (int i = 0; i < static_cast<int>(held.size()); ++i) held[i] = model.vector(layer, at)[i % channels * kernel + i / channels];
  } else if (at == LayerVector::decay_log) {
    return {};
  } else if (at == LayerVector::decay && held.empty()) {
    for (const float log : model.vector(layer, LayerVector::decay_log))
      held.push_back(static_cast<float>(-std::exp(static_cast<double>(log))));
  }
  return held;
}

// Checks that all numbers of the model are in the right place.
void expect_holds(const Weights& weights, const TestModel& model) {
  const ModelConfig& c = model.config();
  EXPECT_EQ(values_of(weights.embedding()), model.matrix(kWholeModel, slot(ModelMatrix::embedding)).values);
  const ModelMatrix head = model.has_head() ? ModelMatrix::head : ModelMatrix::embedding;
  EXPECT_EQ(values_of(weights.head()), model.matrix(kWholeModel, slot(head)).values);
  const auto expect_vector = [&](const float* held, const std::vector<float>& given) {
    ASSERT_EQ(held == nullptr, given.empty());
    EXPECT_TRUE(std::equal(given.begin(), given.end(), held));
  };
  for (int i = 0; i < kModelVectors; ++i) expect_vector(weights[static_cast<ModelVector>(i)], model.vector(kWholeModel, i));
  for (int layer = 0; layer < c.layers; ++layer) {
    const LayerWeights& held = weights.layer(layer);
    for (int i = 0; i < kLayerVectors; ++i)
      expect_vector(held[static_cast<LayerVector>(i)], held_vector(model, layer, static_cast<LayerVector>(i)));
  }
  const auto parts = model.all_parts();
  for (int i = 0; i < model.matrices(); ++i) {
    const auto [layer, at, part] = parts[i];
    EXPECT_EQ(values_of(held_at(weights, layer, at, part)), model.matrix(layer, at, part).values) << "layer " << layer << ", slot " << at;
  }
}

TEST(Weights, StoreWhatWasWritten) {
  Weights weights;  // one object for all models: each replaces the previous one
  for (const Description& description : every_model()) {
    SCOPED_TRACE(description.name);
    const TestModel model(description);
    ASSERT_EQ(model.load(weights), Status::ok);
    EXPECT_FALSE(weights.is_finished());
    expect_holds(weights, model);
    ASSERT_EQ(weights.finish(), Status::ok);
    EXPECT_TRUE(weights.is_finished());
    expect_holds(weights, model);
    ASSERT_EQ(weights.finish(), Status::ok) << "a second call does nothing";
    expect_holds(weights, model);
    EXPECT_EQ(weights.config().hidden_size, description.config.hidden_size);
    for (int i = 0; i < description.config.layers; ++i) EXPECT_EQ(weights.layer_config(i).window, description.layers[i].window);
  }
}

TEST(Weights, AVectorOfAnyFormatWithSomethingAdded) {
  const TestModel model(stored("vectors", {WeightFormat::f32}));
  Weights weights;
  ASSERT_EQ(model.load(weights), Status::ok);
  const std::vector<float> expected = [] {
    std::vector<float> values(64);
    for (int i = 0; i < 64; ++i) values[i] = static_cast<float>(i - 32) / 32;
    return values;
  }();
  for (const WeightFormat format : {WeightFormat::f32, WeightFormat::f16, WeightFormat::bf16, WeightFormat::q8_0}) {
    std::vector<unsigned char> stored(weight_row_bytes(format, 64) + 1);
    unsigned char* bytes = stored.data() + 1;  // data of a file may be unaligned
    for (int i = 0; i < 64; ++i) {
      const DType dtype = format == WeightFormat::f32 ? DType::f32 : format == WeightFormat::bf16 ? DType::bf16 : DType::f16;
      const std::uint32_t bits = oracle::encode(format == WeightFormat::q8_0 ? 1.0f / 32 : expected[i], dtype);
      if (format == WeightFormat::q8_0) {
        std::memcpy(bytes + i / 32 * 34, &bits, 2);
        bytes[i / 32 * 34 + 2 + i % 32] = static_cast<unsigned char>(i - 32);
      } else {
        std::memcpy(bytes + i * size_of(dtype), &bits, size_of(dtype));
      }
    }
    for (const float added : {0.0f, 1.0f}) {
      ASSERT_EQ(weights.set_vector(0, slot(LayerVector::attention_norm), format, bytes, weight_bytes(format, 1, 64), added), Status::ok);
      for (int i = 0; i < 64; ++i) ASSERT_EQ(weights.layer(0)[LayerVector::attention_norm][i], expected[i] + added) << i;
    }
  }
}

// A matrix of the largest numbers has more bytes than 32 bits hold, and fewer than 64 bits hold.
TEST(Weights, BytesOfAMatrixDoNotWrap) {
  EXPECT_EQ(weight_bytes(WeightFormat::f32, kMost, kMost), 4 * std::uint64_t{kMost} * std::uint64_t{kMost});
  EXPECT_EQ(weight_bytes(WeightFormat::f16, 1 << 22, 1 << 20), std::uint64_t{1} << 43);
  EXPECT_EQ(weight_bytes(WeightFormat::q8_0, 1 << 22, 1 << 20), (std::uint64_t{1} << 37) * 34);
}

TEST(Weights, RefusesShapesThatAreNotTheConfigs) {
  for (const Description& description : every_model()) {
    const TestModel model(description);
    Weights weights;
    ASSERT_EQ(model.load_and_finish(weights), Status::ok);
    const auto parts = model.all_parts();
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const auto [layer, at, index] = parts[part];
      if (static_cast<int>(part) < model.matrices()) {
        const TestMatrix& matrix = model.matrix(layer, at, index);
        const int rows = matrix.rows, columns = matrix.columns;
        unsigned char* memory = nullptr;
        const int shapes[][2] = {{rows + 1, columns}, {rows, columns + 32}, {columns + 1, rows}, {rows - 1, columns}, {0, 0},
                                 {rows, -columns},    {kMost, kMost}};
        for (const auto& [r, c] : shapes)
          ASSERT_EQ(weights.reserve(layer, at, index, matrix.format, r, c, weight_bytes(matrix.format, r, c), memory),
                    Status::weight_shape);
        const std::uint64_t bytes = weight_bytes(matrix.format, rows, columns);
        for (const std::uint64_t other : {bytes - 1, bytes + 1, std::uint64_t{0}, bytes + (std::uint64_t{1} << 32), ~std::uint64_t{0}})
          ASSERT_EQ(weights.reserve(layer, at, index, matrix.format, rows, columns, other, memory), Status::weight_shape);
        EXPECT_EQ(memory, nullptr);
      } else {
        std::vector<float> vector = model.vector(layer, at);
        const std::uint64_t bytes = vector.size() * sizeof(float);
        vector.resize(vector.size() + 1);
        for (const std::uint64_t other : {bytes - 1, bytes + 4, std::uint64_t{0}, bytes + (std::uint64_t{1} << 32), ~std::uint64_t{0}})
          ASSERT_EQ(weights.set_vector(layer, at, WeightFormat::f32, vector.data(), other, 0), Status::weight_shape);
      }
    }
    expect_holds(weights, model);
    EXPECT_TRUE(weights.is_finished());
  }
}

// Rows must consist of whole blocks.
TEST(Weights, RefusesBlocksThatDoNotFit) {
  const TestModel model(llama());  // 20 columns
  Weights weights;
  ASSERT_EQ(model.load(weights), Status::ok);
  unsigned char* memory = nullptr;
  const std::vector<unsigned char> bytes(1000);
  for (const WeightFormat format : {WeightFormat::q8_0, WeightFormat::q4_0, WeightFormat::q6_k}) {
    EXPECT_EQ(weights.reserve(0, slot(LayerMatrix::query), 0, format, 24, 20, weight_bytes(format, 24, 20), memory), Status::weight_shape);
    EXPECT_EQ(weights.set_vector(0, slot(LayerVector::attention_norm), format, bytes.data(), weight_bytes(format, 1, 20), 0),
              Status::weight_shape);
  }
}

TEST(Weights, RefusesUnknownSlotsLayersAndFormats) {
  const TestModel model(experts(true));
  Weights weights;
  ASSERT_EQ(model.load(weights), Status::ok);
  unsigned char* memory = nullptr;
  float vector[64] = {};
  const WeightFormat f32 = WeightFormat::f32;
  for (const int layer : {-2, 3, kMost, kLeast}) {
    EXPECT_EQ(weights.reserve(layer, 0, 0, f32, 24, 20, weight_bytes(f32, 24, 20), memory), Status::layer_out_of_range);
    EXPECT_EQ(weights.set_vector(layer, 0, f32, vector, 20 * sizeof(float), 0), Status::layer_out_of_range);
  }
  for (const int none : {-1, kMost, kLeast}) {
    EXPECT_EQ(weights.reserve(0, none, 0, f32, 24, 20, weight_bytes(f32, 24, 20), memory), Status::weight_slot_unknown);
    EXPECT_EQ(weights.set_vector(0, none, f32, vector, 20 * sizeof(float), 0), Status::weight_slot_unknown);
    EXPECT_EQ(weights.reserve(kWholeModel, none, 0, f32, 29, 20, weight_bytes(f32, 29, 20), memory), Status::weight_slot_unknown);
    EXPECT_EQ(weights.set_vector(kWholeModel, none, f32, vector, 20 * sizeof(float), 0), Status::weight_slot_unknown);
    EXPECT_EQ(weights.reserve(1, slot(LayerMatrix::up), none, f32, 27, 20, weight_bytes(f32, 27, 20), memory), Status::weight_slot_unknown)
        << "an expert";
    EXPECT_EQ(weights.reserve(0, 0, 0, static_cast<WeightFormat>(none), 24, 20, 0, memory), Status::weight_format_unknown);
    EXPECT_EQ(weights.set_vector(0, 0, static_cast<WeightFormat>(none), vector, 20 * sizeof(float), 0), Status::weight_format_unknown);
  }
  EXPECT_EQ(weights.reserve(0, kLayerMatrices, 0, f32, 24, 20, weight_bytes(f32, 24, 20), memory), Status::weight_slot_unknown);
  EXPECT_EQ(weights.set_vector(0, kLayerVectors, f32, vector, 20 * sizeof(float), 0), Status::weight_slot_unknown);
  EXPECT_EQ(weights.reserve(kWholeModel, kModelMatrices, 0, f32, 29, 20, weight_bytes(f32, 29, 20), memory), Status::weight_slot_unknown);
  EXPECT_EQ(weights.set_vector(kWholeModel, kModelVectors, f32, vector, 20 * sizeof(float), 0), Status::weight_slot_unknown);
  EXPECT_EQ(weights.reserve(1, slot(LayerMatrix::up), 6, f32, 27, 20, weight_bytes(f32, 27, 20), memory), Status::weight_slot_unknown);
  EXPECT_EQ(weights.reserve(0, 0, 0, static_cast<WeightFormat>(kWeightFormats), 24, 20, 0, memory), Status::weight_format_unknown);
  // this model doesn't normalize queries, so it has no use for the weights
  for (const LayerVector none : {LayerVector::query_norm, LayerVector::key_norm})
    EXPECT_EQ(weights.set_vector(0, slot(none), f32, vector, 24 * sizeof(float), 0), Status::weight_slot_unknown);
  EXPECT_EQ(memory, nullptr);
}

TEST(Weights, BeforeAModelIsConfigured) {
  Weights weights;
  unsigned char* memory = nullptr;
  float vector = 0;
  EXPECT_EQ(weights.finish(), Status::weight_missing);
  EXPECT_EQ(weights.reserve(0, 0, 0, WeightFormat::f32, 1, 1, weight_bytes(WeightFormat::f32, 1, 1), memory), Status::layer_out_of_range);
  EXPECT_EQ(weights.reserve(kWholeModel, 0, 0, WeightFormat::f32, 1, 1, weight_bytes(WeightFormat::f32, 1, 1), memory),
            Status::weight_shape);
  EXPECT_EQ(weights.set_vector(kWholeModel, 0, WeightFormat::f32, &vector, sizeof vector, 0), Status::weight_shape);
}

// All matrices are required, and the vectors that the config names. Others are optional.
bool is_needed(const TestModel& model, int layer, int at, bool is_matrix) {
  if (is_matrix) return layer != kWholeModel || at != slot(ModelMatrix::head);
  if (layer == kWholeModel) return at == slot(ModelVector::final_norm) || at == slot(ModelVector::per_layer_projection_norm);
  switch (static_cast<LayerVector>(at)) {
    case LayerVector::query_norm:
    case LayerVector::key_norm: return model.config().query_key_norm != QueryKeyNorm::none;
    case LayerVector::xielu_alpha_p:
    case LayerVector::xielu_alpha_n:
    case LayerVector::xielu_beta:
    case LayerVector::xielu_eps:
    case LayerVector::query_latent_norm:
    case LayerVector::latent_norm:
    case LayerVector::per_layer_norm:
    case LayerVector::laurel_norm:
    case LayerVector::stream_norm:
    case LayerVector::convolution:
    case LayerVector::decay:
    case LayerVector::decay_log:
    case LayerVector::skip:
    case LayerVector::recurrent_norm:
    case LayerVector::token_shift:
    case LayerVector::decay_bias:
    case LayerVector::rate_bias:
    case LayerVector::share_bias:
    case LayerVector::removal_scale:
    case LayerVector::rate_scale:
    case LayerVector::bonus:
    case LayerVector::recurrent_norm_bias:
    case LayerVector::feed_forward_shift: return true;
    default: return false;
  }
}

TEST(Weights, FinishRefusesAModelWithoutAPart) {
  for (const Description& description : every_model()) {
    const TestModel model(description);
    const auto parts = model.all_parts();
    for (int part = 0; part < static_cast<int>(parts.size()); ++part) {
      const auto [layer, at, index] = parts[part];
      const bool is_matrix = part < model.matrices(), needed = is_needed(model, layer, at, is_matrix);
      Weights weights;
      ASSERT_EQ(model.load(weights, part), Status::ok);
      ASSERT_EQ(weights.finish(), needed ? Status::weight_missing : Status::ok) << model.name() << ", layer " << layer << ", " << at;
      ASSERT_EQ(weights.is_finished(), !needed);
      if (!needed || !is_matrix) continue;
      // it may be loaded later
      unsigned char* memory = nullptr;
      const TestMatrix& missing = model.matrix(layer, at, index);
      ASSERT_EQ(weights.reserve(layer, at, index, missing.format, missing.rows, missing.columns, missing.bytes.size(), memory), Status::ok);
      std::memset(memory, 0, missing.bytes.size());
      ASSERT_EQ(weights.finish(), Status::ok);
    }
  }
}

// Matrices that are reserved again have no content yet.
TEST(Weights, ReservingAgainUnfinishes) {
  const TestModel model(llama());
  Weights weights;
  ASSERT_EQ(model.load_and_finish(weights), Status::ok);
  const TestMatrix& query = model.matrix(0, LayerMatrix::query);
  unsigned char* memory = nullptr;
  ASSERT_EQ(weights.reserve(0, slot(LayerMatrix::query), 0, query.format, query.rows, query.columns, query.bytes.size(), memory),
            Status::ok);
  EXPECT_FALSE(weights.is_finished());
  std::memcpy(memory, query.bytes.data(), query.bytes.size());
  ASSERT_EQ(weights.finish(), Status::ok);
  expect_holds(weights, model);
}

TEST(Weights, ConfigureRefusesValuesOutOfRange) {
  const TestModel model(experts(true));
  Weights weights;
  ASSERT_EQ(model.load_and_finish(weights), Status::ok);
  const auto refuses = [&](Status status, auto change) {
    ModelConfig config = model.config();
    std::vector<LayerConfig> layers(3);
    layers[1].has_experts = true;
    change(config, layers);
    EXPECT_EQ(weights.configure(config, layers.data()), status);
    EXPECT_TRUE(weights.is_finished());
  };
  using Layers = std::vector<LayerConfig>;
  for (const int bad : {0, -1, kMost, kLeast}) {
    refuses(Status::model_shape_out_of_range, [bad](ModelConfig& c, Layers&) { c.layers = bad; });
    refuses(Status::model_shape_out_of_range, [bad](ModelConfig& c, Layers&) { c.vocabulary_size = bad; });
    refuses(Status::model_shape_out_of_range, [bad](ModelConfig& c, Layers&) { c.hidden_size = bad; });
    refuses(Status::model_shape_out_of_range, [bad](ModelConfig& c, Layers&) { c.feed_forward_size = bad; });
    refuses(Status::head_dim_out_of_range, [bad](ModelConfig& c, Layers&) { c.head_dim = bad; });
    refuses(Status::query_shape_out_of_range, [bad](ModelConfig& c, Layers&) { c.heads = bad; });
    refuses(Status::heads_not_grouped, [bad](ModelConfig& c, Layers&) { c.kv_heads = bad; });
    refuses(Status::model_shape_out_of_range, [bad](ModelConfig& c, Layers&) { c.routing.used = bad; });
    if (bad != 0) refuses(Status::model_shape_out_of_range, [bad](ModelConfig& c, Layers&) { c.experts = bad; });
    refuses(Status::window_out_of_range, [bad](ModelConfig&, Layers& layers) { layers[2].window = bad == kMost ? 0 : bad; });
  }
  refuses(Status::model_shape_out_of_range, [](ModelConfig& c, Layers&) { c.experts = 0; });
  refuses(Status::model_shape_out_of_range, [](ModelConfig& c, Layers&) { c.routing.used = 7; });
  for (const int bad : {-1, kMost, kLeast}) {
    refuses(Status::model_shape_out_of_range, [bad](ModelConfig& c, Layers&) { c.expert_size = bad; });
    refuses(Status::model_shape_out_of_range, [bad](ModelConfig& c, Layers&) { c.shared_expert_size = bad; });
  }
  refuses(Status::model_shape_out_of_range, [](ModelConfig& c, Layers&) { c.expert_size = 0; });
  refuses(Status::heads_not_grouped, [](ModelConfig& c, Layers&) { c.kv_heads = 3; });
  refuses(Status::heads_not_grouped, [](ModelConfig& c, Layers&) { c.kv_heads = 8; });
  refuses(Status::model_shape_out_of_range, [](ModelConfig& c, Layers& layers) {
    c.query_key_norm = QueryKeyNorm::each_head;
    layers[0].has_unit_heads = true;
  });
  refuses(Status::model_shape_out_of_range, [](ModelConfig& c, Layers& layers) {
    c.query_key_norm = QueryKeyNorm::rotated;
    layers[2].keys_of = 0;
  });
  refuses(Status::model_shape_out_of_range, [](ModelConfig&, Layers& layers) { layers[1].has_feed_forward = false; });  // with experts
  refuses(Status::model_shape_out_of_range, [](ModelConfig& c, Layers& layers) {
    c.is_parallel = true;
    layers[0].has_feed_forward = false;
  });
  refuses(Status::model_shape_out_of_range, [](ModelConfig& c, Layers& layers) {
    c.per_layer = {.size = 3, .vocabulary_size = 4};
    layers[0].has_feed_forward = false;
  });
  expect_holds(weights, model);
}

}  // namespace
}  // namespace ropewalk
