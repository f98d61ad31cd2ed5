// Attention compared with PyTorch and transformers: attention.json, position_schemes.json and cached_attention.json in tests/golden/. The
// README there explains the fields and their accuracy.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "attention/attend_tensors.h"
#include "native/rope/ropes.h"

namespace ropewalk {
namespace {

using nlohmann::json;

json cases_of(const char* file) {
  std::ifstream stream(std::string(ROPEWALK_GOLDEN) + "/" + file);
  return json::parse(stream);
}

// A case's tensors, [batch][heads][tokens][head_dim], and options.
struct GoldenCall {
  explicit GoldenCall(const json& c)
      : q(c.at("q").get<std::vector<float>>()),
        k(c.at("k").get<std::vector<float>>()),
        v(c.at("v").get<std::vector<float>>()),
        q_shape(shape_of(c.at("q_shape"))),
        kv_shape(shape_of(c.at("kv_shape"))) {
    const json& given = c.at("options");
    options.scale = given.at("scale");
    options.causal = given.at("causal");
    if (!given.at("window").is_null()) options.window = given.at("window");
    if (!given.at("soft_cap").is_null()) options.soft_cap = given.at("soft_cap");
    if (!given.at("sinks").is_null()) sinks = given.at("sinks").get<std::vector<float>>();
  }

  static Shape shape_of(const json& shape) { return {shape[0], shape[2], shape[1], shape[3]}; }

  // Tokens [first, last) of every head.
  static std::vector<float> cut(const std::vector<float>& tensor, Shape& shape, int first, int last) {
    std::vector<float> result;
    for (int head = 0; head < shape.batches * shape.heads; ++head) {
      const float* start = &tensor[static_cast<std::size_t>(head) * shape.tokens * shape.head_dim];
      result.insert(result.end(), start + first * shape.head_dim, start + last * shape.head_dim);
    }
    shape.tokens = last - first;
    return result;
  }
  void cut_queries(int first, int last) { q = cut(q, q_shape, first, last); }
  void cut_keys(int first, int last) {
    Shape shape = kv_shape;
    k = cut(k, shape, first, last);
    v = cut(v, kv_shape, first, last);
  }

  std::vector<float> attend() {
    if (!sinks.empty()) options.sinks = sinks.data();
    std::vector<float> out = q;
    const Positions queries = {static_cast<double>(kv_shape.tokens - q_shape.tokens), nullptr, 1, 1, q_shape.tokens};
    const Positions keys = {0, nullptr, 1, 1, kv_shape.tokens};
    const AttentionTensors tensors = {{q.data(), out.data(), DType::f32, Layout::bhtd, q_shape},
                                      tensor_of(k, Layout::bhtd, kv_shape),
                                      tensor_of(v, Layout::bhtd, kv_shape),
                                      queries,
                                      keys};
    Attention attention;
    EXPECT_EQ(attend_tensors(attention, tensors, options), Status::ok);
    return out;
  }

  std::vector<float> q, k, v, sinks;
  Shape q_shape, kv_shape;
  AttentionOptions options;
};

// Outputs are averages of values up to 2, and f32 scores are off by their size times 2^-24. Here outputs are off by at most 6.1e-7 (T5,
// whose scores have no scale), while f32 attention in numpy is off by 4e-7 without T5.
constexpr double kTolerance = 7e-7;

// Gemma 2 and MPT layers round scores to f32 too.
constexpr double kRoundedScores = kTolerance + 2.4e-7;

// Scores of several hundred, capped to 50: 6.7e-6 (numpy 7e-6); Gemma 2 itself is off by 2.5e-6.
constexpr double kLargeScores = 9.5e-6;

double tolerance_of(const json& c) {
  const std::string name = c.at("name"), source = c.at("source");
  if (name.find("scores far beyond the cap") != std::string::npos) return kLargeScores;
  const bool rounds_scores = source.find("emma2") != std::string::npos || source.find("Mpt") != std::string::npos;
  return rounds_scores ? kRoundedScores : kTolerance;
}

double worst_error(const std::vector<float>& out, const json& expected) {
  EXPECT_EQ(out.size(), expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < out.size(); ++i) worst = std::fmax(worst, std::fabs(out[i] - expected[i].get<double>()));

  return worst;
}

TEST(AttentionGolden, AttentionOfPyTorchGptOssAndGemma2) {
  const json cases = cases_of("attention.json");
  EXPECT_EQ(cases.size(), 43u);
  for (const json& c : cases) {
    SCOPED_TRACE(c.at("name"));
    GoldenCall call(c);
    if (!call.options.causal && call.options.window != kNoWindow) continue;  // see below
    EXPECT_LE(worst_error(call.attend(), c.at("out")), tolerance_of(c));
  }
}

// Without `causal`, their window limits one side only, and ours both. So each query is attended alone, over the keys that it sees.
TEST(AttentionGolden, WindowsThatSeeLaterKeys) {
  int count = 0;
  for (const json& c : cases_of("attention.json")) {
    const GoldenCall whole(c);
    if (whole.options.causal || whole.options.window == kNoWindow) continue;
    ++count;
    const int tokens = whole.q_shape.tokens, keys = whole.kv_shape.tokens, dim = whole.q_shape.head_dim;
    for (int query = 0; query < tokens; ++query) {
      GoldenCall call(c);
      call.cut_queries(query, query + 1);
      call.cut_keys(std::max(0, query + keys - tokens - call.options.window + 1), keys);
      call.options.window = kNoWindow;
      json expected;
      for (int head = 0; head < whole.q_shape.batches * whole.q_shape.heads; ++head) {
        for (int i = 0; i < dim; ++i) expected.push_back(c.at("out")[(head * tokens + query) * dim + i]);
      }
      EXPECT_LE(worst_error(call.attend(), expected), kTolerance) << c.at("name") << ", query " << query;
    }
  }
  EXPECT_EQ(count, 1);
}

TEST(AttentionGolden, PositionSchemes) {
  int count = 0;
  for (const json& c : cases_of("position_schemes.json")) {
    if (c.at("kind") != "attention") continue;
    ++count;
    SCOPED_TRACE(c.at("name"));
    GoldenCall call(c);
    const json& scheme = c.at("scheme");
    const std::vector<float> table = scheme.value("table", std::vector<float>()), slopes = scheme.value("slopes", std::vector<float>());
    PositionEncoding& position = call.options.position;
    position.table = table.data();
    if (scheme.at("type") == "alibi") {
      position.scheme = PositionScheme::alibi;
      position.slopes = slopes.data();
    } else if (scheme.at("type") == "t5") {
      position.scheme = PositionScheme::t5;
      position.t5 = {scheme.at("num_buckets"), scheme.at("max_distance"), scheme.at("bidirectional")};
    } else if (scheme.at("type") == "sinusoidal") {
      position.scheme = PositionScheme::sinusoidal;  // with 10000, as the table was made
    } else {
      position.scheme = PositionScheme::learned;
      position.table_rows = scheme.at("table_shape")[0];
    }
    EXPECT_LE(worst_error(call.attend(), c.at("out")), tolerance_of(c));
    if (position.scheme != PositionScheme::alibi) continue;
    position.slopes = nullptr;  // our default slopes, which equal BLOOM's and MPT's
    EXPECT_LE(worst_error(call.attend(), c.at("out")), tolerance_of(c));
  }
  EXPECT_EQ(count, 8);
}

// Reads the config.json keys that these cases use. The lists live as long as the case.
RopeConfig config_of(const json& hf, bool is_sliding, std::vector<double>& short_factor, std::vector<double>& long_factor) {
  const bool is_new_style = hf.contains("rope_parameters");
  const json scaling = is_new_style ? hf.at("rope_parameters") : hf.at("rope_scaling");
  RopeConfig config = plain_config(hf.at("head_dim"), is_new_style ? scaling.at("rope_theta") : hf.at("rope_theta"));
  config.max_position_embeddings = hf.at("max_position_embeddings");
  if (is_sliding) {
    config.rope_theta = hf.at("rope_local_base_freq");
    return config;
  }
  const std::map<std::string, RopeType> types = {
      {"dynamic", RopeType::dynamic}, {"longrope", RopeType::longrope}, {"yarn", RopeType::yarn}, {"linear", RopeType::linear}};
  config.rope_type = types.at(scaling.contains("type") ? scaling.at("type") : scaling.at("rope_type"));
  if (scaling.contains("factor")) config.factor = scaling.at("factor");
  const json& lengths = config.rope_type == RopeType::longrope ? hf : scaling;
  if (lengths.contains("original_max_position_embeddings")) {
    config.original_max_position_embeddings = lengths.at("original_max_position_embeddings");
  }
  config.short_factor = short_factor = scaling.value("short_factor", std::vector<double>());
  config.long_factor = long_factor = scaling.value("long_factor", std::vector<double>());
  return config;
}

// One call for each length, so all keys are rotated by that length's plan. transformers' rotary modules compute in f32 and are off
// by 9.1e-7.
TEST(AttentionGolden, TheNewestTokenAtEachLength) {
  const json cases = cases_of("cached_attention.json");
  EXPECT_EQ(cases.size(), 6u);
  for (const json& c : cases) {
    std::vector<double> short_factor, long_factor;
    ConfiguredRope rope(config_of(c.at("hf_config"), c.at("layer_type") == "sliding_attention", short_factor, long_factor));
    for (std::size_t i = 0; i < c.at("lengths").size(); ++i) {
      const int length = c.at("lengths")[i];
      SCOPED_TRACE(testing::Message() << c.at("name") << " at " << length);
      GoldenCall call(c);
      call.options.position.scheme = PositionScheme::rope;
      call.options.position.rope = &rope;
      call.cut_keys(0, length);
      call.cut_queries(length - 1, length);
      EXPECT_LE(worst_error(call.attend(), c.at("outs")[i]), kTolerance + 9.1e-7);
    }
  }
}

}  // namespace
}  // namespace ropewalk
