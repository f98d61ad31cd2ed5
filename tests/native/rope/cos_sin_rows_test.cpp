// Rows of cos and sin: precision, roles, inverses, axes, and angle addition.
#include "rope/cos_sin_rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "native/oracle.h"
#include "native/rope/configs.h"

namespace ropewalk {
namespace {

using oracle::Real;

// Returns the f64 row at the same position on every axis.
struct Row {
  std::vector<double> cos, sin;
};

Row row_of(const FrequencyPlan& plan, const std::vector<double>& position, Purpose purpose = {}) {
  CosSinRows rows;
  EXPECT_EQ(rows.prepare(plan), Status::ok);
  rows.compute(position.data(), purpose);
  const std::size_t pairs = plan.inv_freq.size();
  return {{rows.cos(), rows.cos() + pairs}, {rows.sin(), rows.sin() + pairs}};
}

// As transformers: frequencies and positions in f32, their product, cos and sin rounded to f32, times the factor in f32.
TEST(CosSinRows, HfPrecisionIsF32ArithmeticStepByStep) {
  for (RopeConfig config : {plain_config(128, 1e6), yarn_config(128, 1e6, 4, 32768), llama3_config(64, 5e5, 32)}) {
    config.precision = Precision::hf;
    const FrequencyPlan plan = plan_of(config);
    const std::vector<double> positions = {0, 1, 100, 4095, 131072, 1000001, 16777217, 0.1, -77};
    std::vector<float> cos(positions.size() * plan.inv_freq.size()), sin(cos.size());
    CosSinRows rows;
    ASSERT_EQ(rows.prepare(plan), Status::ok);
    const Positions all = {0, positions.data(), 1, 1, static_cast<int>(positions.size())};
    write_rows(rows, all, {0, 0, all.tokens}, {}, cos.data(), sin.data());
    std::size_t i = 0;
    for (const double position : positions) {
      for (std::size_t j = 0; j < plan.inv_freq.size(); ++j, ++i) {
        const float angle = static_cast<float>(position) * static_cast<float>(plan.inv_freq[j]);
        const float factor = static_cast<float>(plan.attention_factor);
        const float cosine = static_cast<float>(std::cos(Real{angle})), sine = static_cast<float>(std::sin(Real{angle}));
        ASSERT_EQ(cos[i], cosine * factor) << position << ", " << j;
        ASSERT_EQ(sin[i], sine * factor) << position << ", " << j;
      }
    }
  }
}

TEST(CosSinRows, RolesDifferOnlyUnderXpos) {
  const FrequencyPlan plain = plan_of(yarn_config(64, 1e6, 4, 32768)), xpos = plan_of(xpos_config(64));
  EXPECT_EQ(row_of(plain, {77}, {Role::query, false}).cos, row_of(plain, {77}, {Role::key, false}).cos);
  EXPECT_NE(row_of(xpos, {77}, {Role::query, false}).cos, row_of(xpos, {77}, {Role::key, false}).cos);
}

TEST(CosSinRows, AttentionFactorMultipliesBoth) {
  const RopeConfig config = yarn_config(64, 1e6, 4, 32768);
  RopeConfig unscaled = config;
  unscaled.attention_factor = 1;
  const Row row = row_of(plan_of(config), {1000}), plain = row_of(plan_of(unscaled), {1000});
  const double factor = plan_of(config).attention_factor;
  for (std::size_t j = 0; j < 32; ++j) {
    EXPECT_EQ(row.cos[j], plain.cos[j] * factor);
    EXPECT_EQ(row.sin[j], plain.sin[j] * factor);
  }
}

// The inverse row times the forward row is 1, as complex numbers. This includes attention factor and xPos scale.
TEST(CosSinRows, InverseUndoesEverything) {
  for (const RopeConfig& config : {plain_config(64), yarn_config(64, 1e6, 4, 32768), xpos_config(64, 64, 100)}) {
    const FrequencyPlan plan = plan_of(config);
    for (const Role role : {Role::query, Role::key}) {
      for (const double position : {0.0, 1.0, 99.0, 731.0, -20.0}) {
        const Row there = row_of(plan, {position}, {role, false}), back = row_of(plan, {position}, {role, true});
        for (std::size_t j = 0; j < 32; ++j) {
          EXPECT_NEAR(there.cos[j] * back.cos[j] - there.sin[j] * back.sin[j], 1, 0x1p-49) << position;
          EXPECT_NEAR(there.cos[j] * back.sin[j] + there.sin[j] * back.cos[j], 0, 0x1p-49) << position;
        }
      }
    }
  }
}

// The query row times the conjugate of the key row depends only on the distance: e^(i (m-n) w) · zeta^((m-n)/scale_base).
TEST(CosSinRows, XposIsRelative) {
  const RopeConfig config = xpos_config(32, 512, 300);
  const FrequencyPlan plan = plan_of(config);
  const auto inv_freq = oracle::plain(10000, 32, 16);
  for (const auto& [m, n] : {std::pair{0.0, 0.0}, std::pair{500.0, 20.0}, std::pair{20.0, 500.0}, std::pair{1023.0, 1000.0}}) {
    const Row q = row_of(plan, {m}, {Role::query, false}), k = row_of(plan, {n}, {Role::key, false});
    for (int j = 0; j < 16; ++j) {
      const Real scale = std::pow(oracle::xpos_zeta(j, 32), Real{m - n} / 512), angle = (m - n) * inv_freq[j];
      EXPECT_NEAR(q.cos[j] * k.cos[j] + q.sin[j] * k.sin[j], static_cast<double>(std::cos(angle) * scale), scale * 0x1p-40L);
      EXPECT_NEAR(q.sin[j] * k.cos[j] - q.cos[j] * k.sin[j], static_cast<double>(std::sin(angle) * scale), scale * 0x1p-40L);
    }
  }
}

TEST(CosSinRows, EachPairUsesItsAxis) {
  const std::vector<double> chunks = {16, 24, 24}, mixed = {24, 20, 20}, four = {8, 8, 8, 8};
  for (const RopeConfig& config :
       {mrope_config(128, 1e6, chunks, MropeLayout::chunked), mrope_config(128, 5e6, mixed, MropeLayout::interleaved),
        mrope_config(128, 5e5, chunks, MropeLayout::ernie), mrope_config(64, 1e4, four, MropeLayout::chunked),
        mrope_config(64, 1e4, four, MropeLayout::vision)}) {
    const auto axis = oracle::axes(config);
    const auto inv_freq = oracle::plan(config, 1).inv_freq;
    const FrequencyPlan plan = plan_of(config);
    for (const std::vector<double>& position : {std::vector<double>{5, 700, 33, 64}, {131072, 0, -3, 12}, {2.5, 7, 8, 9}}) {
      const Row row = row_of(plan, position);
      for (std::size_t j = 0; j < axis.size(); ++j) {
        const Real angle = position[axis[j]] * inv_freq[j];
        EXPECT_NEAR(row.cos[j], static_cast<double>(std::cos(angle)), 0x1p-30) << j;
        EXPECT_NEAR(row.sin[j], static_cast<double>(std::sin(angle)), 0x1p-30) << j;
      }
    }
  }
}

// The pass that composes, scales and rounds at once gives the bits of the separate steps.
TEST(CosSinRows, FloatsAreTheRoundedDoubles) {
  const std::vector<double> sections = {11, 11, 10};
  for (const RopeConfig& config : {plain_config(64, 1e6), plain_config(6), plain_config(2), yarn_config(74, 1e6, 4, 32768), xpos_config(64),
                                   mrope_config(64, 1e7, sections, MropeLayout::interleaved)}) {
    for (const Precision precision : {Precision::exact, Precision::hf}) {
      RopeConfig rounded = config;
      rounded.precision = precision;
      const FrequencyPlan plan = plan_of(rounded);
      CosSinRows floats, doubles;
      ASSERT_EQ(floats.prepare(plan), Status::ok);
      ASSERT_EQ(doubles.prepare(plan), Status::ok);
      const std::size_t pairs = plan.inv_freq.size();
      std::vector<float> cos(pairs), sin(pairs);
      for (const Purpose& purpose :
           {Purpose{Role::query, false}, Purpose{Role::key, false}, Purpose{Role::query, true}, Purpose{Role::key, true}}) {
        for (const double p : {0.0, 1.0, 64.0, 63.0, -1.0, -65.0, 4095.5, 4096.0, 30719.0, 64.0}) {
          const double position[kMaxAxes] = {p, p + 1, 2 * p, 0};
          floats.compute(position, purpose, cos.data(), sin.data());
          doubles.compute(position, purpose);
          for (std::size_t j = 0; j < pairs; ++j) {
            ASSERT_EQ(cos[j], static_cast<float>(doubles.cos()[j])) << p << ", " << j;
            ASSERT_EQ(sin[j], static_cast<float>(doubles.sin()[j])) << p << ", " << j;
          }
        }
      }
    }
  }
}

// Coarse parts are cached between calls for each axis. A row after others equals the row of a new object.
TEST(CosSinRows, DoNotDependOnTheRowBefore) {
  const std::vector<double> sections = {11, 11, 10};
  const FrequencyPlan plan = plan_of(mrope_config(64, 1e4, sections, MropeLayout::chunked));
  CosSinRows rows;
  ASSERT_EQ(rows.prepare(plan), Status::ok);
  for (const std::vector<double>& position : {std::vector<double>{0, 0, 0},
                                              {700, 0, 0},
                                              {700, 800, 0},
                                              {700, 800, 900},
                                              {0, 800, 900},
                                              {0, 0, 900},
                                              {0.5, 0, 900},
                                              {0, 0, 900}}) {
    rows.compute(position.data(), {});
    const Row expected = row_of(plan, position);
    for (std::size_t j = 0; j < 32; ++j) {
      ASSERT_EQ(rows.cos()[j], expected.cos[j]) << position[0] << ", " << position[1] << ", " << position[2] << ", pair " << j;
      ASSERT_EQ(rows.sin()[j], expected.sin[j]) << position[0] << ", " << position[1] << ", " << position[2] << ", pair " << j;
    }
  }
}

// The rows of a range of tokens, and of a batch, are written one after another.
TEST(CosSinRows, RangesAreRows) {
  const FrequencyPlan plan = plan_of(plain_config(16));
  CosSinRows rows;
  ASSERT_EQ(rows.prepare(plan), Status::ok);
  std::vector<double> ids;
  for (int i = 0; i < 20; ++i) ids.push_back((i * 37) % 101);
  const Positions positions = {0, ids.data(), 1, 2, 10};
  std::vector<float> cos(3 * 8 + 1, 42), sin = cos;
  write_rows(rows, positions, {1, 4, 3}, {}, cos.data(), sin.data());
  for (int t = 0; t < 3; ++t) {
    rows.compute(&ids[14 + t], {});
    for (int j = 0; j < 8; ++j) {
      EXPECT_EQ(cos[t * 8 + j], static_cast<float>(rows.cos()[j]));
      EXPECT_EQ(sin[t * 8 + j], static_cast<float>(rows.sin()[j]));
    }
  }
  EXPECT_EQ(cos[24], 42);
  EXPECT_EQ(sin[24], 42);
}

}  // namespace
}  // namespace ropewalk
