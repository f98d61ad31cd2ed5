// Re-rotation of cached keys: to other plans and positions, on request or because the sequence has grown.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "native/cache/kv_expect.h"
#include "native/rope/walk_clock.h"

namespace ropewalk {
namespace {

// Configs with the same geometry, from all families.
std::vector<RopeConfig> configs_of(int head_dim, int rotary_dim, int offset, Pairing pairing) {
  RopeConfig stretched = yarn_config(head_dim, 10000, 4, 64), damped = plain_config(head_dim),
             precise = llama3_config(head_dim, 5e5, 8, 32);
  stretched.attention_factor = 1.5, damped = yarn_config(head_dim, 10000, 2, 64), damped.attention_factor = 0.25;
  precise.precision = Precision::hf;
  std::vector<RopeConfig> configs = {
      plain_config(head_dim),
      yarn_config(head_dim, 10000, 4, 64),
      llama3_config(head_dim, 5e5, 8, 32),
      plain_config(head_dim, 1e6),
      scaled_config(RopeType::linear, head_dim, 10000, 4, 64),
      scaled_config(RopeType::ntk, head_dim, 10000, 4, 64),
      stretched,
      damped,
      precise,
      dynamic_config(head_dim, 10000, 2, 24),
      xpos_config(head_dim, 64),
      xpos_config(head_dim, 128, 30),
      longrope_config(rotary_dim, 10000, 24, 96),
  };
  for (RopeConfig& config : configs) {
    config.head_dim = head_dim, config.rotary_dim = rotary_dim, config.rotary_offset = offset, config.pairing = pairing;
  }
  return configs;
}

RopeConfig paired(RopeConfig config, Pairing pairing) {
  config.pairing = pairing;
  return config;
}

// A cache and its model; every operation is applied to both.
struct Pair {
  ConfiguredCache cache;
  KvModel model;
  std::uint32_t seed = 1;

  explicit Pair(const CacheSetup& setup) : cache(setup), model(setup) {}

  void append(int sequence, int count) {
    for (int layer = 0; layer < cache.geometry().layers(); ++layer) {
      Tokens tokens(model.setup().layers[layer], count, ++seed);
      ASSERT_EQ(cache.append(layer, sequence, tokens.with_queries()), Status::ok);
      model.append(layer, sequence, tokens);
    }
  }
  void retune(int rope, const RopeConfig& config) {
    ASSERT_EQ(cache.can_retune(rope, config), Status::ok);
    ASSERT_EQ(cache.retune(rope, config), Status::ok);
    model.retune(rope, config);
  }
  void move(int sequence, const std::vector<std::vector<double>>& positions) {
    std::vector<double> ids;
    const int axes = cache.geometry().axes(), tokens = static_cast<int>(positions.size());
    for (int axis = 0; axis < axes; ++axis) {
      for (const auto& position : positions) ids.push_back(position[axis]);
    }
    ASSERT_EQ(cache.move(sequence, {0, ids.data(), axes, 1, tokens}), Status::ok);
    model.move(sequence, positions);
  }
  void expect_right() {
    ASSERT_NO_FATAL_FAILURE(expect_holds(cache, model));
    for (int sequence = 0; sequence < cache.sequences(); ++sequence) {
      for (int layer = 0; layer < cache.geometry().layers(); ++layer) {
        if (cache.sequence(sequence).written(layer) == 0) continue;
        ASSERT_NO_FATAL_FAILURE(expect_attends(cache, model, sequence, layer, 1, ++seed));
      }
    }
  }
};

TEST(KvRetune, FromEveryConfigToEveryOtherAndBack) {
  const struct {
    int head_dim, rotary_dim, offset;
    Pairing pairing;
  } shapes[] = {{16, 16, 0, Pairing::half}, {40, 34, 3, Pairing::interleaved}, {20, 18, 2, Pairing::interleaved_to_half}};
  for (const auto& [head_dim, rotary_dim, offset, pairing] : shapes) {
    const std::vector<RopeConfig> configs = configs_of(head_dim, rotary_dim, offset, pairing);
    for (const RowType type : kTestedRowTypes) {
      for (std::size_t a = 0; a < configs.size(); ++a) {
        SCOPED_TRACE(testing::Message() << name_of(type, KeyMode::rotated) << ", head_dim " << head_dim << ", from config " << a);
        Pair pair({{{1, head_dim, 0}}, {configs[a]}, type, KeyMode::rotated, 2, 100});
        ASSERT_NO_FATAL_FAILURE(pair.append(0, 34));
        ASSERT_NO_FATAL_FAILURE(pair.append(1, 7));
        for (std::size_t b = a; b < configs.size(); ++b) {
          ASSERT_NO_FATAL_FAILURE(pair.retune(0, configs[b]));
          ASSERT_NO_FATAL_FAILURE(expect_holds(pair.cache, pair.model)) << "to config " << b;
        }
        ASSERT_NO_FATAL_FAILURE(pair.retune(0, configs[a]));
        ASSERT_NO_FATAL_FAILURE(pair.append(0, 1));
        ASSERT_NO_FATAL_FAILURE(pair.expect_right()) << "back again";
      }
    }
  }
}

TEST(KvRetune, EveryWalkThroughAPageGivesTheSameBits) {
  for (const RowType type : {RowType::f32, RowType::f16, RowType::bf16}) {
    for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
      int count = 0;
      readings = &count;
      const RopeConfig configs[] = {paired(plain_config(64), pairing), paired(yarn_config(64, 10000, 4, 64), pairing)};
      const CacheSetup setup = {{{5, 64, 0}, {1, 64, 0}}, {configs[0]}, type, KeyMode::rotated, 1, 300};
      Pair usual(setup), measured(setup);
      for (Pair* pair : {&usual, &measured}) ASSERT_NO_FATAL_FAILURE(pair->append(0, 300));
      for (int time = 1; time <= 30; ++time) {
        ASSERT_EQ(usual.cache.retune(0, configs[time % 2]), Status::ok);
        {
          const ClockGuard guard(clock_for_the_other_walk);
          ASSERT_EQ(measured.cache.retune(0, configs[time % 2]), Status::ok);
        }
        ASSERT_TRUE(snapshot_of(usual.cache) == snapshot_of(measured.cache)) << name_of(type, KeyMode::rotated) << ", retune " << time;
      }
      EXPECT_GE(count, 8 * 3);  // as many trials as decide
    }
  }
}

// Raw keys are never rounded again, and may even get a rope with another span.
TEST(KvRetune, RawKeysStayBitForBit) {
  for (const RowType type : {RowType::f32, RowType::q8_0, RowType::q4_0}) {
    Pair pair(simple_setup(configs_of(40, 8, 4, Pairing::half)[0], type, KeyMode::raw, 2));
    ASSERT_NO_FATAL_FAILURE(pair.append(0, 40));
    const std::vector<KeysAndValues> before = {read_all(pair.cache, 0, 0), read_all(pair.cache, 1, 0)};
    for (const Pairing pairing : {Pairing::half, Pairing::interleaved, Pairing::interleaved_to_half}) {
      for (const int rotary_dim : {8, 40}) {
        for (const RopeConfig& config : configs_of(40, rotary_dim, 0, pairing)) {
          ASSERT_NO_FATAL_FAILURE(pair.retune(0, config));
          ASSERT_NO_FATAL_FAILURE(expect_attends(pair.cache, pair.model, 0, 1, 1, 3));
        }
      }
    }
    EXPECT_TRUE(read_all(pair.cache, 0, 0) == before[0] && read_all(pair.cache, 1, 0) == before[1]) << name_of(type, KeyMode::raw);
    ASSERT_NO_FATAL_FAILURE(pair.append(0, 40));
    ASSERT_NO_FATAL_FAILURE(pair.expect_right());
  }
}

TEST(KvRetune, OnlyTheLayersOfTheRopeChange) {
  const RopeConfig first = plain_config(16), second = yarn_config(16, 10000, 4, 64);
  Pair pair({{{1, 16, 0}, {2, 16, 1}, {1, 16, kNoRope}, {3, 16, 0}}, {first, second}, RowType::f16});
  ASSERT_NO_FATAL_FAILURE(pair.append(0, 40));
  const KeysAndValues second_layer = read_all(pair.cache, 1, 0), third_layer = read_all(pair.cache, 2, 0);
  ASSERT_NO_FATAL_FAILURE(pair.retune(0, llama3_config(16, 5e5, 8, 32)));
  EXPECT_TRUE(read_all(pair.cache, 1, 0) == second_layer && read_all(pair.cache, 2, 0) == third_layer);
  ASSERT_NO_FATAL_FAILURE(pair.retune(1, plain_config(16, 5000)));
  EXPECT_TRUE(read_all(pair.cache, 2, 0) == third_layer);
  ASSERT_NO_FATAL_FAILURE(pair.expect_right());
}

TEST(KvRetune, NoChangeIsExact) {
  for (const RopeConfig& config : configs_of(20, 18, 2, Pairing::half)) {
    for (const RowType type : kTestedRowTypes) {
      Pair pair(simple_setup(config, type));
      ASSERT_NO_FATAL_FAILURE(pair.append(0, 70));
      const Snapshot before = snapshot_of(pair.cache);
      ASSERT_EQ(pair.cache.retune(0, config), Status::ok);
      ASSERT_EQ(pair.cache.retune(0, pair.cache.rope_config(0)), Status::ok) << "its own copy";
      ASSERT_EQ(pair.cache.move(0, {0, nullptr, 1, 1, 70}), Status::ok);
      EXPECT_TRUE(snapshot_of(pair.cache) == before);
    }
  }
}

// Tokens move apart, together, back, to fractions and below zero; keys whose position doesn't change keep their bits.
TEST(KvRetune, MovedTokensMatchTheirNewPositions) {
  for (const RopeConfig& config : configs_of(16, 16, 0, Pairing::half)) {
    for (const RowType type : kTestedRowTypes) {
      for (const KeyMode mode : kKeyModes) {
        Pair pair(simple_setup(config, type, mode));
        ASSERT_NO_FATAL_FAILURE(pair.append(0, 70));
        const KeysAndValues before = read_all(pair.cache, 0, 0);
        std::vector<std::vector<double>> positions;
        for (int slot = 0; slot < 70; ++slot) positions.push_back({slot % 3 == 0 ? slot : slot % 3 == 1 ? 100.0 - slot : slot / 2.0 - 20});
        ASSERT_NO_FATAL_FAILURE(pair.move(0, positions));
        ASSERT_NO_FATAL_FAILURE(pair.expect_right()) << name_of(type, mode);
        const KeysAndValues after = read_all(pair.cache, 0, 0);
        for (int slot = 0; slot < 70; slot += 3)
          ASSERT_TRUE(std::equal(&before.keys[slot * 32], &before.keys[slot * 32] + 32, &after.keys[slot * 32]));
        for (int slot = 0; slot < 70; ++slot) positions[slot] = {slot + 100.0};
        ASSERT_NO_FATAL_FAILURE(pair.move(0, positions));
        ASSERT_NO_FATAL_FAILURE(pair.append(0, 3));
        ASSERT_NO_FATAL_FAILURE(pair.expect_right()) << name_of(type, mode);
      }
    }
  }
}

// A sliding window over a stream: the first tokens stay, the oldest of the others are discarded, and later ones move down.
TEST(KvRetune, ShiftsCloseTheGap) {
  for (const RopeConfig& config : {yarn_config(16, 10000, 4, 64), dynamic_config(16, 10000, 2, 24), xpos_config(16, 64)}) {
    for (const RowType type : kTestedRowTypes) {
      for (const KeyMode mode : kKeyModes) {
        Pair pair(simple_setup(config, type, mode));
        ASSERT_NO_FATAL_FAILURE(pair.append(0, 40));
        for (const auto& [keep, discard] : {std::pair{4, 9}, std::pair{0, 1}, std::pair{4, 31}, std::pair{4, 5}}) {
          const KeysAndValues before = read_all(pair.cache, 0, 0);
          ASSERT_EQ(pair.cache.shift(0, keep, discard), Status::ok);
          pair.model.shift(0, keep, discard);
          const KeysAndValues after = read_all(pair.cache, 0, 0);
          ASSERT_TRUE(std::equal(&before.keys[0], &before.keys[0] + keep * 32, &after.keys[0])) << "kept keys have changed";
          ASSERT_NO_FATAL_FAILURE(pair.expect_right()) << name_of(type, mode) << ", " << keep << " kept, less " << discard;
          ASSERT_NO_FATAL_FAILURE(pair.append(0, discard));
          ASSERT_EQ(pair.cache.sequence(0).largest_position(), 39);
        }
        ASSERT_EQ(pair.cache.shift(0, 30, 10), Status::ok) << "nothing after them: as truncated";
        pair.model.truncate(0, 30);
        ASSERT_NO_FATAL_FAILURE(pair.expect_right());
      }
    }
  }
}

TEST(KvRetune, ImagesMoveOnEachAxis) {
  static const std::vector<double> sections = {3, 3, 2};
  for (const KeyMode mode : kKeyModes) {
    Pair pair(simple_setup(mrope_config(16, 10000, sections, MropeLayout::interleaved), RowType::f16, mode, 2));
    ASSERT_NO_FATAL_FAILURE(pair.append(0, 40));
    std::vector<std::vector<double>> positions;
    for (int slot = 0; slot < 40; ++slot) {  // ten text tokens, then an image
      slot < 10 ? positions.push_back(std::vector<double>(3, slot)) : positions.push_back({10, 10.0 + slot / 8, 10.0 + slot % 8});
    }
    ASSERT_NO_FATAL_FAILURE(pair.move(0, positions));
    ASSERT_NO_FATAL_FAILURE(pair.append(0, 5));
    ASSERT_NO_FATAL_FAILURE(pair.expect_right());
    EXPECT_EQ(pair.cache.can_shift(0, 4, 10), Status::shift_axes);
    ASSERT_EQ(pair.cache.shift(0, 2, 6), Status::ok) << "text has the same distance on every axis";
    pair.model.shift(0, 2, 6);
    ASSERT_NO_FATAL_FAILURE(pair.expect_right());
    positions.clear();
    for (int slot = 0; slot < 39; ++slot) positions.push_back(std::vector<double>(3, 3.0 + slot));
    ASSERT_EQ(pair.cache.move(0, {3, nullptr, 1, 1, 39}), Status::ok) << "the same position on all axes";
    pair.model.move(0, positions);
    ASSERT_NO_FATAL_FAILURE(pair.expect_right());
  }
}

// Positions so large that f64 rounds the angles: 2^31 radians are exact to 2^-22.
TEST(KvRetune, FarPositionsAreAsExactAsTheirAngles) {
  for (const RopeConfig& config : {plain_config(16), yarn_config(16, 10000, 4, 64), scaled_config(RopeType::linear, 16, 1e6, 8, 64)}) {
    Pair pair(simple_setup(plain_config(16, 5e5)));
    std::vector<std::vector<double>> far, near;
    for (int slot = 0; slot < 40; ++slot) far.push_back({2147483647.0 - 100 * slot * slot}), near.push_back({static_cast<double>(slot)});
    ASSERT_NO_FATAL_FAILURE(pair.append(0, 40));
    ASSERT_NO_FATAL_FAILURE(pair.move(0, far));
    ASSERT_NO_FATAL_FAILURE(pair.expect_right());
    ASSERT_NO_FATAL_FAILURE(pair.retune(0, config));
    ASSERT_NO_FATAL_FAILURE(expect_holds(pair.cache, pair.model));
    ASSERT_NO_FATAL_FAILURE(pair.move(0, near));
    ASSERT_NO_FATAL_FAILURE(expect_holds(pair.cache, pair.model));
  }
}

// Plans that change with the length: keys are re-rotated when the sequence passes a boundary, token by token, and back when it is short
// again.
TEST(KvRetune, GrowthCrossesBoundariesByItself) {
  RopeConfig tuned = scaled_config(RopeType::dynamic_yarn, 16, 10000, 2, 16);
  tuned.finetuned = true;
  for (const RopeConfig& config : {dynamic_config(16, 10000, 2, 24), scaled_config(RopeType::dynamic_yarn, 16, 10000, 4, 24), tuned,
                                   longrope_config(16, 10000, 24, 96)}) {
    for (const RowType type : kTestedRowTypes) {
      for (const KeyMode mode : kKeyModes) {
        SCOPED_TRACE(name_of(type, mode));
        Pair pair(simple_setup(config, type, mode, 1, 2));
        for (const int count : {20, 3, 1, 1, 1, 1, 10, 30, 1}) {
          ASSERT_NO_FATAL_FAILURE(pair.append(0, count));
          ASSERT_NO_FATAL_FAILURE(pair.append(1, (count + 1) / 2));
          ASSERT_NO_FATAL_FAILURE(pair.expect_right()) << pair.cache.sequence(0).tokens() << " tokens";
        }
        EXPECT_EQ(pair.cache.sequence(0).planned_length(0), 68);
        ASSERT_EQ(pair.cache.truncate(0, 10), Status::ok);
        pair.model.truncate(0, 10);
        ASSERT_NO_FATAL_FAILURE(pair.expect_right()) << "still the plan for 68";
        ASSERT_NO_FATAL_FAILURE(pair.append(0, 1));
        EXPECT_EQ(pair.cache.sequence(0).planned_length(0), 11);
        ASSERT_NO_FATAL_FAILURE(pair.expect_right()) << "short again";
      }
    }
  }
}

// Reads a config.json of the golden cases.
RopeConfig golden_config(const nlohmann::json& hf, bool is_sliding) {
  RopeConfig config = plain_config(hf["head_dim"]);
  const bool is_new = hf.contains("rope_parameters");
  const nlohmann::json scaling = is_new ? hf["rope_parameters"] : hf["rope_scaling"];
  config.rope_theta = is_new ? scaling["rope_theta"] : hf[is_sliding ? "rope_local_base_freq" : "rope_theta"];
  config.max_position_embeddings = hf["max_position_embeddings"];
  const std::string type = scaling.value("rope_type", scaling.value("type", ""));
  if (is_sliding) return config;
  if (scaling.contains("factor")) config.factor = scaling["factor"];
  if (type == "dynamic") config.rope_type = RopeType::dynamic;
  if (type == "linear") config.rope_type = RopeType::linear;
  if (type == "yarn")
    config.rope_type = RopeType::yarn, config.original_max_position_embeddings = scaling["original_max_position_embeddings"];
  if (type == "longrope") {
    static std::vector<double> brief, far;
    brief = scaling["short_factor"].get<std::vector<double>>(), far = scaling["long_factor"].get<std::vector<double>>();
    config.rope_type = RopeType::longrope, config.original_max_position_embeddings = hf["original_max_position_embeddings"];
    config.short_factor = brief, config.long_factor = far;
  }
  return config;
}

// The golden outputs come from full forward passes of transformers at each length; here the cache grows from one length to the next.
TEST(KvRetune, GoldenOutputsOfCachedAttention) {
  std::ifstream file(ROPEWALK_GOLDEN "/cached_attention.json");
  const nlohmann::json cases = nlohmann::json::parse(file);
  ASSERT_EQ(cases.size(), 6u);
  for (const nlohmann::json& test : cases) {
    const RopeConfig config = golden_config(test["hf_config"], test["layer_type"] == "sliding_attention");
    const int heads = test["q_shape"][1], kv_heads = test["kv_shape"][1], tokens = test["q_shape"][2], dim = test["q_shape"][3];
    AttentionOptions options;
    options.scale = test["options"]["scale"];
    if (!test["options"]["window"].is_null()) options.window = test["options"]["window"];
    for (const KeyMode mode : kKeyModes) {
      SCOPED_TRACE(testing::Message() << test["name"] << ", " << name_of(RowType::f32, mode));
      ConfiguredCache cache({{{kv_heads, dim, 0}}, {config}, RowType::f32, mode});
      int cached = 0;
      for (std::size_t i = 0; i < test["lengths"].size(); ++i) {
        const int count = test["lengths"][i].get<int>() - cached;
        Tokens piece({kv_heads, dim, 0}, count, 1, 1, DType::f32, Layout::bhtd, heads / kv_heads);
        const auto take = [&](GuardedTensor& tensor, const nlohmann::json& values) {
          for (std::size_t n = 0; n < tensor.count(); ++n) {
            const std::size_t token = n / dim % count, head = n / dim / count;
            tensor.set_bits(n, oracle::encode(values[(head * tokens + cached + token) * dim + n % dim].get<double>(), DType::f32));
          }
        };
        take(piece.q, test["q"]), take(piece.k, test["k"]), take(piece.v, test["v"]);
        ASSERT_EQ(cache.append(0, 0, piece.with_queries()), Status::ok);
        GuardedTensor out(DType::f32, Layout::bhtd, piece.q.shape());
        ASSERT_EQ(cache.attend(0, 0, piece.q.into(out), options), Status::ok);
        cached += count;
        for (int n = 0; n < heads * dim; ++n) {
          // their angles are f32: 9.1e-7 (tests/golden/README.md); an f32 attention adds 4e-7
          ASSERT_NEAR(static_cast<double>(out.value(out.index(0, count - 1, n / dim, n % dim))), test["outs"][i][n].get<double>(), 1.4e-6)
              << "at length " << cached;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ropewalk
