// Frequency plans of every scaling type compared with long double, their validity ranges and rounding.
#include "rope/plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "native/rope/compare_plans.h"
#include "native/rope/configs.h"

namespace ropewalk {
namespace {

using oracle::Real;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Plan, EveryTypeFollowsItsFormula) {
  for (const int head_dim : {4, 24, 64, 96, 128, 256}) {
    for (const auto& [name, config, length] : every_type(head_dim)) {
      expect_plan(plan_of(config, length), oracle::plan(config, length), name + " of " + std::to_string(head_dim));
    }
  }
}

TEST(Plan, CarriesTheGeometryOfItsConfig) {
  RopeConfig config = plain_config(192, 5e6);
  config.rotary_dim = 64;
  config.rotary_offset = 128;
  config.pairing = Pairing::interleaved;
  const FrequencyPlan plan = plan_of(config);
  EXPECT_EQ(plan.head_dim, 192);
  EXPECT_EQ(plan.rotary_dim, 64);
  EXPECT_EQ(plan.rotary_offset, 128);
  EXPECT_EQ(plan.pairing, Pairing::interleaved);
  EXPECT_EQ(plan.axes, 1);
  EXPECT_EQ(plan.inv_freq.size(), 32u);
  EXPECT_EQ(plan.softmax_scale, 1 / std::sqrt(192.0));
  expect_plan(plan, oracle::plan(config, 1), "partial");  // exponents are relative to rotary_dim, not head_dim
}

// Position interpolation (Chen et al. 2023, arXiv:2306.15595): every frequency is divided by the factor.
TEST(Plan, LinearDividesEveryFrequency) {
  const FrequencyPlan plan = plan_of(scaled_config(RopeType::linear, 128, 1e6, 8, 4096));
  for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) EXPECT_EQ(plan.inv_freq[j], plan.unscaled_inv_freq[j] / 8);
}

// NTK-aware scaling (YaRN, arXiv:2309.00071, section 3.1): pair 0 is unchanged, the last pair is fully interpolated.
TEST(Plan, NtkKeepsTheFirstPairAndDividesTheLast) {
  for (const double factor : {1.0, 2.0, 8.0, 40.0}) {
    for (const int dim : {4, 64, 128}) {
      const FrequencyPlan plan = plan_of(scaled_config(RopeType::ntk, dim, 10000, factor, 4096));
      const std::size_t last = plan.inv_freq.size() - 1;
      EXPECT_EQ(plan.inv_freq[0], 1);
      EXPECT_NEAR(plan.inv_freq[last] * factor / plan.unscaled_inv_freq[last], 1, 0x1p-48) << factor << ", " << dim;
      for (std::size_t j = 1; j < last; ++j) {
        EXPECT_LE(plan.inv_freq[j], plan.unscaled_inv_freq[j] * (1 + 0x1p-48));
        EXPECT_GE(plan.inv_freq[j], plan.unscaled_inv_freq[j] / factor * (1 - 0x1p-48));
      }
    }
  }
}

TEST(Plan, NtkMixDividesTheLastPairByTheFactor) {
  RopeConfig config = scaled_config(RopeType::ntk_mix, 128, 10000, 8, 4096);
  for (const double mixed_b : {0.0, 0.5, 0.625, 1.0}) {
    config.mixed_b = mixed_b;
    const FrequencyPlan plan = plan_of(config);
    EXPECT_NEAR(plan.inv_freq[63] * 8 / plan.unscaled_inv_freq[63], 1, 0x1p-48) << mixed_b;
  }
}

TEST(Plan, YarnKeepsPairsBelowTheRampAndDividesThoseAbove) {
  const FrequencyPlan plan = plan_of(yarn_config(128, 1e6, 4, 32768));
  EXPECT_EQ(plan.ramp_low, 23);
  EXPECT_EQ(plan.ramp_high, 40);
  for (int j = 0; j <= 23; ++j) EXPECT_EQ(plan.inv_freq[j], plan.unscaled_inv_freq[j]) << j;
  for (int j = 24; j < 40; ++j) {
    EXPECT_LT(plan.inv_freq[j], plan.unscaled_inv_freq[j]) << j;
    EXPECT_GT(plan.inv_freq[j], plan.unscaled_inv_freq[j] / 4) << j;
  }
  for (int j = 40; j < 64; ++j) EXPECT_EQ(plan.inv_freq[j], plan.unscaled_inv_freq[j] / 4) << j;
}

// The paper's ramp and the shipped ramp agree at their ends and differ in between.
TEST(Plan, RampOverRotationsIsAnotherCurve) {
  RopeConfig config = yarn_config(128, 10000, 16, 4096);
  config.truncate = false;
  const FrequencyPlan by_index = plan_of(config);
  config.ramp = Ramp::rotations;
  const FrequencyPlan by_rotations = plan_of(config);
  EXPECT_EQ(by_rotations.ramp_low, 1);  // alpha, beta
  EXPECT_EQ(by_rotations.ramp_high, 32);
  expect_plan(by_rotations, oracle::plan(config, 1), "rotations");
  int differing = 0;
  for (int j = 0; j < 64; ++j) {
    if (j < by_index.ramp_low || j > by_index.ramp_high) {
      EXPECT_NEAR(by_rotations.inv_freq[j], by_index.inv_freq[j], by_index.inv_freq[j] * 0x1p-48) << j;
    } else {
      differing += std::fabs(by_rotations.inv_freq[j] / by_index.inv_freq[j] - 1) > 0.01;
    }
  }
  EXPECT_GT(differing, 15);
}

// The authors' first NTK-by-parts: kept pairs, then NTK-aware pairs, then interpolated pairs.
TEST(Plan, TwoRampsPassThroughNtk) {
  RopeConfig config = scaled_config(RopeType::ntk_by_parts, 128, 10000, 8, 4096);
  config.ramp = Ramp::two_ramps;
  const FrequencyPlan plan = plan_of(config), ntk = plan_of(scaled_config(RopeType::ntk, 128, 10000, 8, 4096));
  const auto end = [](oracle::Real rotations) { return oracle::correction_dim(rotations, 128, 10000, 4096); };
  EXPECT_EQ(plan.ramp_low, std::floor(end(16)));
  EXPECT_EQ(plan.ramp_high, std::ceil(end(0.75L)));
  int passed_through = 0;
  for (int j = 0; j < 64; ++j) {
    if (j <= std::floor(end(16))) {
      EXPECT_EQ(plan.inv_freq[j], plan.unscaled_inv_freq[j]) << j;
    } else if (j >= std::ceil(end(0.75L))) {
      EXPECT_EQ(plan.inv_freq[j], plan.unscaled_inv_freq[j] / 8) << j;
    } else if (j >= std::ceil(end(2)) && j <= std::floor(end(1.25L))) {
      EXPECT_EQ(plan.inv_freq[j], ntk.inv_freq[j]) << j;
      ++passed_through;
    }
  }
  EXPECT_GT(passed_through, 0);
}

TEST(Plan, YarnReadsItsOptions) {
  const RopeConfig plain = yarn_config(64, 150000, 32, 4096);
  std::vector<RopeConfig> variants(12, plain);
  variants[0].truncate = false;
  variants[1].beta_fast = 8, variants[1].beta_slow = 2;
  variants[2].beta_fast = 0, variants[2].beta_slow = 0;  // transformers' `or`: 0 means not given
  variants[3].attention_factor = 1;
  variants[4].mscale = 1, variants[4].mscale_all_dim = 0.707;
  variants[5].mscale = 0.5;                                  // ignored without mscale_all_dim
  variants[6].mscale = 0, variants[6].mscale_all_dim = 0.5;  // 0 is falsy
  variants[7].factor.reset(), variants[7].max_position_embeddings = 131072;
  variants[8].attention_factor = 0.9, variants[8].mscale = 1, variants[8].mscale_all_dim = 0.5;
  variants[9].mscale = 1, variants[9].mscale_all_dim = 1, variants[9].family = Family::deepseek;
  variants[10].attn_factor = 0.5;                                                         // transformers ignores it
  variants[11].beta_fast = 1, variants[11].beta_slow = 1, variants[11].truncate = false;  // both ends equal: a step
  for (std::size_t i = 0; i < variants.size(); ++i) {
    expect_plan(plan_of(variants[i]), oracle::plan(variants[i], 1), "variant " + std::to_string(i));
  }
  EXPECT_EQ(plan_of(variants[3]).attention_factor, 1);
  EXPECT_EQ(plan_of(variants[7]).inv_freq[31], plan_of(plain).inv_freq[31]);
  EXPECT_EQ(plan_of(variants[10]).attention_factor, plan_of(plain).attention_factor);
}

// find_correction_range clamps to [0, dim - 1], which is beyond the last pair. Here the original length is so short, or so long for its
// base, that an end of the ramp falls outside the head.
TEST(Plan, YarnRangesAreClampedToTheHead) {
  const RopeConfig brief = yarn_config(64, 10000, 4, 128), far = yarn_config(64, 100, 4, 131072);
  EXPECT_EQ(plan_of(brief).ramp_low, 0);
  EXPECT_EQ(plan_of(far).ramp_high, 63);
  expect_plan(plan_of(brief), oracle::plan(brief, 1), "short original");
  expect_plan(plan_of(far), oracle::plan(far, 1), "small base");
}

// extrapolation_factor multiplies the kept share (jquesnelle/yarn, scaled_rope/): 0 leaves linear scaling.
TEST(Plan, ExtrapolationFactorMultipliesTheKeptShare) {
  RopeConfig config = yarn_config(128, 10000, 16, 4096);
  const FrequencyPlan whole = plan_of(config);
  config.extrapolation_factor = 0.5;
  const FrequencyPlan half = plan_of(config);
  config.extrapolation_factor = 0;
  const FrequencyPlan none = plan_of(config);
  for (int j = 0; j < 64; ++j) {
    EXPECT_EQ(none.inv_freq[j], none.unscaled_inv_freq[j] / 16);
    EXPECT_NEAR(half.inv_freq[j], (whole.inv_freq[j] + none.inv_freq[j]) / 2, whole.inv_freq[j] * 0x1p-48);
  }
}

TEST(Plan, DynamicFollowsTheLengthPastTheTrainedOne) {
  const RopeConfig config = dynamic_config(128, 1e6, 2, 32768);
  const FrequencyPlan below = plan_of(config, 100), at = plan_of(config, 32768), above = plan_of(config, 32769);
  for (int j = 0; j < 64; ++j) {
    EXPECT_EQ(below.inv_freq[j], below.unscaled_inv_freq[j]);
    EXPECT_EQ(at.inv_freq[j], at.unscaled_inv_freq[j]);
  }
  EXPECT_EQ(below.valid_from, 1);
  EXPECT_EQ(below.valid_to, 32768);
  EXPECT_EQ(at.valid_to, 32768);
  EXPECT_LT(above.inv_freq[63], above.unscaled_inv_freq[63]);
  EXPECT_EQ(above.valid_from, 32769);
  EXPECT_EQ(above.valid_to, 32769);
  for (const double length : {32769.0, 40000.0, 65536.0, 131072.0, 1e6}) {
    expect_plan(plan_of(config, length), oracle::plan(config, length), "dynamic at " + std::to_string(length));
  }
}

TEST(Plan, DynamicYarnFollowsTheLengthPastTheOriginalOne) {
  RopeConfig config = scaled_config(RopeType::dynamic_yarn, 128, 10000, 16, 4096);
  const FrequencyPlan at = plan_of(config, 4096);
  for (int j = 0; j < 64; ++j) EXPECT_EQ(at.inv_freq[j], at.unscaled_inv_freq[j]);
  EXPECT_EQ(at.attention_factor, 1);
  EXPECT_EQ(at.valid_from, 1);
  EXPECT_EQ(at.valid_to, 4096);
  for (const double length : {4097.0, 8192.0, 131072.0}) {
    const FrequencyPlan plan = plan_of(config, length);
    expect_plan(plan, oracle::plan(config, length), "dynamic_yarn at " + std::to_string(length));
    EXPECT_EQ(plan.valid_from, length);
    EXPECT_EQ(plan.valid_to, length);
  }
  // depends only on the length. The authors' code also doesn't scale lengths within max_position_embeddings, which would undo the
  // extension of a config that has its extended length there
  config.max_position_embeddings = 8192;
  expect_plan(plan_of(config, 5000), oracle::plan(config, 5000), "max_position_embeddings of 8192, at 5000");
  EXPECT_EQ(plan_of(config, 4096).valid_to, 4096);
  config.max_position_embeddings.reset();
  // a fine-tuned model starts with its own factor, and keeps it up to the length it was fine-tuned for
  config.finetuned = true;
  for (const double length : {1.0, 4096.0, 65536.0, 65537.0, 200000.0}) {
    expect_plan(plan_of(config, length), oracle::plan(config, length), "finetuned at " + std::to_string(length));
  }
  EXPECT_EQ(plan_of(config, 1).valid_to, 65536);
  EXPECT_EQ(plan_of(config, 65537).valid_from, 65537);
}

TEST(Plan, LongropeSelectsItsListByLength) {
  RopeConfig config = longrope_config(96);
  for (const double length : {1.0, 4096.0, 4097.0, 131072.0}) {
    expect_plan(plan_of(config, length), oracle::plan(config, length), "longrope at " + std::to_string(length));
  }
  const FrequencyPlan brief = plan_of(config, 4096), far = plan_of(config, 4097);
  EXPECT_EQ(brief.valid_from, 1);
  EXPECT_EQ(brief.valid_to, 4096);
  EXPECT_EQ(far.valid_from, 4097);
  EXPECT_EQ(far.valid_to, kInfinity);
  EXPECT_EQ(brief.attention_factor, far.attention_factor);
  EXPECT_NEAR(far.attention_factor, std::sqrt(1 + std::log(32.0) / std::log(4096.0)), 1e-15);

  config.short_mscale = 1.1, config.long_mscale = 1.3;  // PhiMoE
  EXPECT_EQ(plan_of(config, 1).attention_factor, 1.1);
  EXPECT_EQ(plan_of(config, 5000).attention_factor, 1.3);
  config.short_mscale.reset(), config.long_mscale.reset(), config.attention_factor = 1.2;
  EXPECT_EQ(plan_of(config, 5000).attention_factor, 1.2);
  config.attention_factor.reset(), config.factor = 1;
  EXPECT_EQ(plan_of(config, 5000).attention_factor, 1);
}

TEST(Plan, Llama3WithEqualFactorsDividesBelowThem) {
  // transformers would divide by zero here; vLLM guards with t = 0
  RopeConfig config = llama3_config(128, 5e5, 8);
  config.low_freq_factor = config.high_freq_factor = 2;
  const FrequencyPlan plan = plan_of(config);
  for (int j = 0; j < 64; ++j) {
    const double rotations = 8192 * plan.unscaled_inv_freq[j] / (2 * static_cast<double>(oracle::kPi));
    EXPECT_EQ(plan.inv_freq[j], rotations > 2 ? plan.unscaled_inv_freq[j] : plan.unscaled_inv_freq[j] / 8) << j;
  }
}

TEST(Plan, ProportionalDoesNotRotateTheTail) {
  RopeConfig config = plain_config(512, 1e6);
  config.rope_type = RopeType::proportional;
  config.partial_rotary_factor = 0.25;
  const FrequencyPlan plan = plan_of(config);
  for (int j = 0; j < 64; ++j) EXPECT_GT(plan.inv_freq[j], 0) << j;
  for (int j = 64; j < 256; ++j) EXPECT_EQ(plan.inv_freq[j], 0) << j;
}

// The first pairs of a head of 53 elements, of which 40 are rotated: the share of the whole head is 26 pairs.
TEST(Plan, ProportionalHasNoMorePairsThanTheRotaryDim) {
  RopeConfig config = plain_config(53, 21);
  config.rope_type = RopeType::proportional;
  config.rotary_dim = 40;
  const FrequencyPlan plan = plan_of(config);
  ASSERT_EQ(plan.inv_freq.size(), 20u);
  for (int j = 0; j < 20; ++j) {
    const double expected = static_cast<double>(std::pow(Real{21}, -2 * Real(j) / 53));
    EXPECT_NEAR(plan.inv_freq[j], expected, expected * static_cast<double>(kFrequencyTolerance)) << j;
  }
}

TEST(Plan, FreqFactorsDivideScaledFrequencies) {
  RopeConfig config = scaled_config(RopeType::linear, 96, 10000, 4, 4096);
  config.freq_factors = divisors(48, 8);
  const FrequencyPlan plan = plan_of(config);
  for (int j = 0; j < 48; ++j) EXPECT_EQ(plan.inv_freq[j], plan.unscaled_inv_freq[j] / 4 / config.freq_factors[j]);
}

TEST(Plan, StaticTypesHoldAtEveryLength) {
  for (const auto& [name, config, length] : every_type(64)) {
    const FrequencyPlan plan = plan_of(config, length);
    const bool depends =
        config.rope_type == RopeType::dynamic || config.rope_type == RopeType::dynamic_yarn || config.rope_type == RopeType::longrope;
    EXPECT_LE(plan.valid_from, length) << name;
    EXPECT_GE(plan.valid_to, length) << name;
    if (depends) continue;
    EXPECT_EQ(plan.valid_from, 1) << name;
    EXPECT_EQ(plan.valid_to, kInfinity) << name;
    const FrequencyPlan other = plan_of(config, 1e6);
    for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) EXPECT_EQ(plan.inv_freq[j], other.inv_freq[j]) << name;
  }
}

// The frequencies are the same at both ends of a plan's range, and different one step outside.
TEST(Plan, ValidityRangesAreExact) {
  for (const RopeConfig& config :
       {dynamic_config(64, 10000, 2, 4096), longrope_config(64), scaled_config(RopeType::dynamic_yarn, 64, 10000, 8, 4096)}) {
    for (const double length : {1.0, 4000.0, 4096.0, 4097.0, 10000.0}) {
      const FrequencyPlan plan = plan_of(config, length);
      const auto same = [&](double other) { return plan_of(config, other).inv_freq[31] == plan.inv_freq[31]; };
      EXPECT_TRUE(same(plan.valid_from));
      if (plan.valid_to < kInfinity) {
        EXPECT_TRUE(same(plan.valid_to));
        EXPECT_FALSE(same(plan.valid_to + 1));
      }
      if (plan.valid_from > 1) {
        EXPECT_FALSE(same(plan.valid_from - 1));
      }
    }
  }
}

TEST(Plan, QueryTemperature) {
  RopeConfig config = plain_config(128, 5e5);
  EXPECT_EQ(query_temperature(plan_of(config), 1e6), 1);
  // Llama 4: floor((p + 1) / 8192); Ministral 3: floor(p / 16384)
  for (const auto& [floor_scale, offset] : {std::pair{8192.0, 1.0}, std::pair{16384.0, 0.0}}) {
    config.query_temperature_scale = 0.1;
    config.query_temperature_floor_scale = floor_scale;
    config.query_temperature_offset = offset;
    const FrequencyPlan plan = plan_of(config);
    for (const double p : {0.0, 1.0, floor_scale - 2, floor_scale - 1, floor_scale, 100000.0, 1e6}) {
      EXPECT_NEAR(query_temperature(plan, p), 1 + 0.1 * std::log(1 + std::floor((p + offset) / floor_scale)), 1e-15) << p;
    }
  }
}

// Precision::hf rounds each step to f32, as transformers does. The tolerance is that of tests/golden/README.md.
TEST(Plan, HfPrecisionRoundsToF32) {
  for (auto& [name, exact, length] : every_type(128)) {
    RopeConfig config = exact;
    config.precision = Precision::hf;
    const FrequencyPlan plan = plan_of(config, length), reference = plan_of(exact, length);
    EXPECT_EQ(plan.precision, Precision::hf);
    for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) {
      EXPECT_EQ(plan.inv_freq[j], static_cast<float>(plan.inv_freq[j])) << name << ", " << j;
      EXPECT_NEAR(plan.inv_freq[j], reference.inv_freq[j], reference.inv_freq[j] * 2e-6) << name << ", " << j;
    }
  }
  // in steps: exponent, power, reciprocal. PyTorch's power is the nearest float outside groups of 32, and within them an ulp away at most
  RopeConfig config = plain_config(96, 10000);
  config.precision = Precision::hf;
  const FrequencyPlan plan = plan_of(config);
  for (int j = 0; j < 48; ++j) {
    const float exponent = static_cast<float>(2 * j) / 96.0f;
    const float power = static_cast<float>(std::pow(Real{10000}, Real{exponent}));
    if (j >= 32) EXPECT_EQ(plan.inv_freq[j], 1.0f / power) << j;
    EXPECT_NEAR(plan.inv_freq[j], 1.0f / power, power * 0x1p-23 / (power * power) * 2) << j;
  }
}

TEST(Plan, SequenceLengthIsChecked) {
  FrequencyPlan plan;
  for (const double length : {0.0, 0.5, -1.0, 2147483649.0, kInfinity, std::nan("")}) {
    EXPECT_EQ(make_plan(plain_config(64), length, plan), Status::sequence_length_out_of_range) << length;
  }
  for (const double length : {1.0, 1.5, 2147483648.0}) EXPECT_EQ(make_plan(plain_config(64), length, plan), Status::ok) << length;
}

}  // namespace
}  // namespace ropewalk
