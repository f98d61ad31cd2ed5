// The rules of llama.cpp (August 2026) and vLLM 0.33.0 that differ from transformers. tests/golden/other_systems.json
// names the file and function of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "native/oracle.h"
#include "native/rope/configs.h"
#include "rope/cos_sin_table.h"

namespace ropewalk {
namespace compat_test {

using nlohmann::json;

// Both sides compute in f64. An error in the exponent of the base counts ln(base) times.
constexpr double kTolerance = 0x1p-44;

FrequencyPlan plan_for(RopeConfig config, Compat compat, double length = 1) {
  config.compat = compat;
  return plan_of(config, length);
}

void expect_frequencies(const FrequencyPlan& plan, const std::vector<oracle::Real>& expected) {
  ASSERT_EQ(plan.inv_freq.size(), expected.size());
  oracle::Real worst = 0;
  for (std::size_t j = 0; j < expected.size(); ++j) {
    if (expected[j] != 0) worst = std::max(worst, std::fabs(plan.inv_freq[j] / expected[j] - 1));
    if (expected[j] == 0) {
      EXPECT_EQ(plan.inv_freq[j], 0);
    }
  }
  EXPECT_LE(worst, kTolerance);
}

const double g4 = 1 + 0.1 * std::log(4.0), g40 = 1 + 0.1 * std::log(40.0);

RopeConfig deepseek_config() {
  RopeConfig config = yarn_config(64, 10000, 40, 4096);
  config.family = Family::deepseek;
  return config;
}

TEST(Compat, ExplicitAttentionFactor) {
  RopeConfig config = yarn_config(128, 1e6, 4, 32768);
  config.attention_factor = 1;
  EXPECT_EQ(plan_for(config, Compat::hf).attention_factor, 1);
  EXPECT_NEAR(plan_for(config, Compat::llama_cpp).attention_factor, g4, 1e-15);
  EXPECT_EQ(plan_for(config, Compat::vllm).attention_factor, 1);
}

TEST(Compat, AttnFactor) {
  RopeConfig config = yarn_config(128, 1e6, 4, 32768);
  config.attn_factor = 0.9;
  EXPECT_NEAR(plan_for(config, Compat::hf).attention_factor, g4, 1e-15);
  EXPECT_NEAR(plan_for(config, Compat::llama_cpp).attention_factor, g4 * 0.9, 1e-15);
  EXPECT_NEAR(plan_for(config, Compat::vllm).attention_factor, g4, 1e-15);
  for (const RopeType type : {RopeType::default_, RopeType::linear}) {
    config.rope_type = type;
    EXPECT_EQ(plan_for(config, Compat::llama_cpp).attention_factor, 0.9);
    EXPECT_EQ(plan_for(config, Compat::vllm).attention_factor, 1);
  }
}

// A window so short that the ramp's high end lies below its low end: ggml's width of at least 0.001 makes it a step after the first pair,
// and transformers and vLLM keep every pair.
TEST(Compat, ReversedRange) {
  const RopeConfig config = yarn_config(64, 10000, 4, 3);
  const std::vector<oracle::Real> kept = oracle::plain(10000, 64, 32);
  std::vector<oracle::Real> step = kept;
  for (std::size_t j = 1; j < step.size(); ++j) step[j] /= 4;
  expect_frequencies(plan_for(config, Compat::hf), kept);
  expect_frequencies(plan_for(config, Compat::vllm), kept);
  expect_frequencies(plan_for(config, Compat::llama_cpp), step);
}

TEST(Compat, MscaleInPlainYarn) {
  RopeConfig config = yarn_config(128, 1e6, 4, 32768);
  config.mscale = 0.707, config.mscale_all_dim = 0.5;
  const double g_all = 1 + 0.05 * std::log(4.0);
  for (const Compat compat : {Compat::hf, Compat::vllm}) {
    EXPECT_NEAR(plan_for(config, compat).attention_factor, (1 + 0.0707 * std::log(4.0)) / g_all, 1e-15);
  }
  EXPECT_NEAR(plan_for(config, Compat::llama_cpp).attention_factor, g4 / g_all, 1e-15);  // mscale is taken as 1
}

TEST(Compat, MscaleInDeepseek) {
  RopeConfig config = deepseek_config();
  config.mscale = 1, config.mscale_all_dim = 0.707;
  const double g_all = 1 + 0.0707 * std::log(40.0), base = 1 / 8.0;
  for (const Compat compat : {Compat::hf, Compat::vllm}) {
    EXPECT_NEAR(plan_for(config, compat).attention_factor, g40 / g_all, 1e-15);
    EXPECT_NEAR(plan_for(config, compat).softmax_scale, base * g_all * g_all, 1e-15);
  }
  EXPECT_EQ(plan_for(config, Compat::llama_cpp).attention_factor, 1);  // DeepSeek-2: numerator and denominator are equal
  EXPECT_NEAR(plan_for(config, Compat::llama_cpp).softmax_scale, base * g_all * g_all, 1e-15);
}

TEST(Compat, TruncateFalse) {
  RopeConfig config = yarn_config(64, 150000, 32, 4096);
  config.truncate = false;
  for (const Compat compat : {Compat::hf, Compat::vllm}) {
    EXPECT_NEAR(plan_for(config, compat).ramp_low, 8.0928, 5e-5);
    EXPECT_NEAR(plan_for(config, compat).ramp_high, 17.3980, 5e-5);
  }
  EXPECT_EQ(plan_for(config, Compat::llama_cpp).ramp_low, 8);
  EXPECT_EQ(plan_for(config, Compat::llama_cpp).ramp_high, 18);
}

TEST(Compat, BetasAreReadByTwoLlamaCppLoadersOnly) {
  RopeConfig config = yarn_config(64, 50000, 32, 4096);  // Kimi-K2
  config.beta_fast = config.beta_slow = 1;
  config.family = Family::deepseek;
  for (const Compat compat : {Compat::hf, Compat::vllm}) {
    EXPECT_EQ(plan_for(config, compat).ramp_low, 19);
    EXPECT_EQ(plan_for(config, compat).ramp_high, 20);
  }
  const oracle::Range usual = oracle::correction_range(32, 1, 64, 50000, 4096, true);
  for (const Family family : {Family::deepseek, Family::other}) {
    config.family = family;
    EXPECT_EQ(plan_for(config, Compat::llama_cpp).ramp_low, usual.low);
    EXPECT_EQ(plan_for(config, Compat::llama_cpp).ramp_high, usual.high);
  }
  for (const Family family : {Family::mistral, Family::grok}) {
    config.family = family;
    EXPECT_EQ(plan_for(config, Compat::llama_cpp).ramp_low, 19);
    EXPECT_EQ(plan_for(config, Compat::llama_cpp).ramp_high, 20);
  }
}

TEST(Compat, DynamicNtk) {
  const RopeConfig config = dynamic_config(128, 1e6, 2, 32768);
  for (const double length : {100.0, 50000.0, 1e6}) {
    expect_frequencies(plan_for(config, Compat::hf, length), oracle::plan(config, length).inv_freq);
    expect_frequencies(plan_for(config, Compat::llama_cpp, length), oracle::plain(1e6L, 128, 64));  // llama.cpp has no dynamic NTK
    expect_frequencies(plan_for(config, Compat::vllm, length), oracle::plain(1e6L, 128, 64));       // no max_trained_positions
  }
  EXPECT_EQ(plan_for(config, Compat::vllm).valid_to, INFINITY);
  EXPECT_EQ(plan_for(config, Compat::llama_cpp).valid_to, INFINITY);
}

TEST(Compat, OtherSystemsSelectTheLongropeListOnce) {
  RopeConfig config = longrope_config(96);
  const auto brief = oracle::plan(config, 1).inv_freq, far = oracle::plan(config, 5000).inv_freq;
  for (const Compat compat : {Compat::llama_cpp, Compat::vllm}) {
    for (const double length : {1.0, 100000.0}) {
      config.context_length = 4096;
      expect_frequencies(plan_for(config, compat, length), brief);
      config.context_length = 4097;
      expect_frequencies(plan_for(config, compat, length), far);
      EXPECT_EQ(plan_for(config, compat, length).valid_from, 1);
      EXPECT_EQ(plan_for(config, compat, length).valid_to, INFINITY);
      config.context_length.reset();  // llama.cpp: the model's full length, vLLM: the original one
      expect_frequencies(plan_for(config, compat, length), compat == Compat::vllm ? brief : far);
    }
  }
  config.context_length = 100000;  // transformers selects by the sequence length
  expect_frequencies(plan_for(config, Compat::hf, 100), brief);
}

TEST(Compat, ShortSequencesUnderYarnAreScaledEverywhere) {
  const RopeConfig config = yarn_config(128, 1e6, 4, 32768);
  for (const Compat compat : {Compat::hf, Compat::llama_cpp, Compat::vllm}) {
    expect_frequencies(plan_for(config, compat, 10), oracle::plan(config, 10).inv_freq);
    EXPECT_NEAR(plan_for(config, compat, 10).attention_factor, g4, 1e-15);
  }
}

TEST(Compat, LinearIsTheSameEverywhere) {
  const RopeConfig config = scaled_config(RopeType::linear, 128, 1e6, 8, 32768);
  for (const Compat compat : {Compat::hf, Compat::llama_cpp, Compat::vllm}) {
    expect_frequencies(plan_for(config, compat), oracle::plan(config, 1).inv_freq);
  }
}

// vLLM's ntk: base · s, then every frequency divided by s^(2/d).
TEST(Compat, FixedNtkOfVllm) {
  const RopeConfig config = scaled_config(RopeType::ntk, 128, 10000, 8, 4096);
  std::vector<oracle::Real> expected = oracle::plain(80000, 128, 64);
  for (oracle::Real& w : expected) w /= std::pow(8.0L, 2 / 128.0L);
  expect_frequencies(plan_for(config, Compat::vllm), expected);
}

TEST(Compat, LengthsServed) {
  RopeConfig yarn = yarn_config(128, 1e6, 4, 32768);
  RopeConfig linear = scaled_config(RopeType::linear, 128, 1e6, 8, 4096), plain = plain_config(128), llama3 = llama3_config(128, 5e5, 8);
  linear.max_position_embeddings = 4096;
  plain.max_position_embeddings = 2048;
  llama3.max_position_embeddings = 131072;
  yarn.max_position_embeddings = 131072;
  RopeConfig longrope = longrope_config(96);

  EXPECT_EQ(plan_for(yarn, Compat::hf).table_length, 0);  // no table
  EXPECT_EQ(plan_for(yarn, Compat::llama_cpp).table_length, 0);
  EXPECT_EQ(plan_for(yarn, Compat::llama_cpp).max_length, 131072);  // n_ctx_train
  const auto lengths = [](const RopeConfig& config) {
    const FrequencyPlan plan = plan_for(config, Compat::vllm);
    return std::pair(plan.max_length, plan.table_length);
  };
  using Lengths = std::pair<double, double>;
  EXPECT_EQ(lengths(yarn), Lengths(131072, 131072));    // M, L0 s
  EXPECT_EQ(lengths(linear), Lengths(32768, 32768));    // M s
  EXPECT_EQ(lengths(plain), Lengths(2048, 2048));       // M
  EXPECT_EQ(lengths(llama3), Lengths(131072, 131072));  // not multiplied
  EXPECT_EQ(lengths(longrope), Lengths(4096, 4096));    // the short list
  longrope.context_length = 4097;
  EXPECT_EQ(lengths(longrope), Lengths(131072, 131072));  // the long one
  yarn.factor = 3.3;
  EXPECT_EQ(lengths(yarn), Lengths(131072, 108135));  // rounded up
  yarn.max_position_embeddings = 40960;
  EXPECT_EQ(lengths(yarn), Lengths(40960, 108135));
  const std::vector<double> sections = {8, 12, 12};
  plain.mrope_section = sections, plain.rotary_dim = 64;
  EXPECT_EQ(lengths(plain), Lengths(2048, 8192));  // M-RoPE: four times
  plain.mrope_layout = MropeLayout::interleaved;
  EXPECT_EQ(lengths(plain), Lengths(2048, 2048));
  EXPECT_EQ(lengths(dynamic_config(128, 1e6, 2, 32768)), Lengths(65536, 32768));  // the table does not grow
}

// ---- other_systems.json

// Reads a config in the package's own form. `lists` owns its lists.
RopeConfig read_config(const json& source, std::vector<std::vector<double>>& lists) {
  static const std::map<std::string, RopeType> types = {
#define ROPEWALK_SCALING_TYPE(name, systems, needed, optional, traits) \
  {std::string(#name) == "default_" ? "default" : #name, RopeType::name},
#include "rope/config_fields.def"
  };
  static const std::map<std::string, Compat> compats = {{"hf", Compat::hf}, {"llama.cpp", Compat::llama_cpp}, {"vllm", Compat::vllm}};
  static const std::map<std::string, Family> families = {
      {"deepseek_v2", Family::deepseek}, {"deepseek_v3", Family::deepseek}, {"kimi_k2", Family::deepseek}, {"ministral3", Family::mistral}};
  static const std::map<std::string, std::optional<double> RopeConfig::*> numbers = {
#define ROPEWALK_NUMBER(member, lowest, highest, status) {#member, &RopeConfig::member},
#define ROPEWALK_LENGTH(member, status) {#member, &RopeConfig::member},
#include "rope/config_fields.def"
  };

  RopeConfig config;
  json flat = source;
  flat.erase("rope_scaling");
  flat.update(source["rope_scaling"]);
  for (const auto& [key, value] : flat.items()) {
    if (const auto number = numbers.find(key); number != numbers.end()) {
      config.*(number->second) = value.get<double>();
    } else if (key == "head_dim") {
      config.head_dim = value;
    } else if (key == "rope_theta") {
      config.rope_theta = value;
    } else if (key == "pairing") {
      config.pairing = value == "half" ? Pairing::half : Pairing::interleaved;
    } else if (key == "rope_type") {
      config.rope_type = types.at(value);
    } else if (key == "compat") {
      config.compat = compats.at(value);
    } else if (key == "model_type") {
      config.family = families.at(value);
    } else if (key == "ramp") {
      EXPECT_EQ(value, "two_ramps");
      config.ramp = Ramp::two_ramps;
    } else if (key == "truncate") {
      config.truncate = value;
    } else if (key == "short_factor" || key == "long_factor") {
      lists.push_back(value.get<std::vector<double>>());
      (key == "short_factor" ? config.short_factor : config.long_factor) = lists.back();
    } else if (key == "mrope_section") {
      lists.push_back(value.get<std::vector<double>>());
      config.mrope_section = lists.back();
    } else if (key == "mrope_interleaved") {
      config.mrope_layout = value ? MropeLayout::interleaved : MropeLayout::chunked;
    } else {
      ADD_FAILURE() << "a key the test does not read: " << key;
    }
  }
  return config;
}

void expect_xpos(const json& xpos, RopeConfig config) {
  config.xpos_scale_base = xpos["scale_base"].get<double>();
  config.xpos_center = std::floor(xpos["length"].get<double>() / 2);
  const FrequencyPlan plan = plan_of(config);
  CosSinRows rows;
  ASSERT_EQ(rows.prepare(plan), Status::ok);
  for (std::size_t i = 0; i < xpos["positions"].size(); ++i) {
    const double position = xpos["positions"][i];
    for (const auto& [role, sign] : {std::pair{Role::query, 1}, std::pair{Role::key, -1}}) {
      rows.compute(&position, {role, false});
      for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) {
        const double expected = std::pow(xpos["scales"][i][j].get<double>(), sign);
        EXPECT_NEAR(std::hypot(rows.cos()[j], rows.sin()[j]), expected, expected * kTolerance) << position << ", pair " << j;
      }
    }
  }
}

// A case that is added needs no change here.
void expect_other_system(const std::string& system, std::size_t least) {
  std::ifstream file(ROPEWALK_GOLDEN "/other_systems.json");
  ASSERT_TRUE(file.good());
  std::size_t seen = 0;
  for (const json& item : json::parse(file)) {
    if (item["system"] != system) continue;
    ++seen;
    SCOPED_TRACE(item["name"].get<std::string>());
    std::vector<std::vector<double>> lists;
    lists.reserve(2);
    const RopeConfig config = read_config(item["config"], lists);
    const FrequencyPlan plan = plan_of(config, item["seq_len"].is_null() ? 1 : item["seq_len"].get<double>());
    const std::vector<double> inv_freq = item["inv_freq"];
    expect_frequencies(plan, {inv_freq.begin(), inv_freq.end()});
    EXPECT_NEAR(plan.attention_factor, item["attention_factor"].get<double>(), kTolerance);
    EXPECT_NEAR(plan.softmax_scale * std::sqrt(config.head_dim), item["softmax_scale"].get<double>(), kTolerance);
    if (item.contains("table_length")) {
      EXPECT_EQ(plan.table_length, item["table_length"].get<double>());
    }
    if (item.contains("xpos")) expect_xpos(item["xpos"], config);
  }
  EXPECT_GE(seen, least);
}

TEST(OtherSystems, LlamaCpp) { expect_other_system("llama.cpp", 26); }
TEST(OtherSystems, Vllm) { expect_other_system("vllm", 35); }
TEST(OtherSystems, Yarn) { expect_other_system("yarn", 13); }
TEST(OtherSystems, Lucidrains) { expect_other_system("lucidrains", 4); }

}  // namespace compat_test
}  // namespace ropewalk
