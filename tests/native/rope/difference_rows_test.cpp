// Rows that change the plan: rows by angle addition compared with rows computed directly, and both with long double.
#include "rope/difference_rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "native/oracle.h"
#include "native/rope/configs.h"

namespace ropewalk {
namespace difference_rows_test {
namespace {

using oracle::Real;

struct Change {
  const char* name;
  FrequencyPlan from, to;
};

std::vector<Change> every_change() {
  static const std::vector<double> sections = {16, 24, 24};
  RopeConfig mrope = mrope_config(128, 1e6, sections, MropeLayout::chunked);
  RopeConfig mrope_yarn = yarn_config(128, 1e6, 4, 32768);
  mrope_yarn.mrope_section = sections;
  RopeConfig partial = yarn_config(80, 10000, 4, 4096);
  partial.rotary_dim = 20;
  partial.rotary_offset = 6;
  RopeConfig partial_plain = partial;
  partial_plain.rope_type = RopeType::default_;

  std::vector<Change> changes;
  changes.push_back({"dynamic", plan_of(dynamic_config(128, 10000, 2, 4096), 4097), plan_of(dynamic_config(128, 10000, 2, 4096), 8192)});
  changes.push_back({"longrope", plan_of(longrope_config(96), 4096), plan_of(longrope_config(96), 4097)});
  changes.push_back({"plain to yarn", plan_of(plain_config(128, 1e6)), plan_of(yarn_config(128, 1e6, 4, 32768))});
  changes.push_back({"several axes", plan_of(mrope), plan_of(mrope_yarn)});
  changes.push_back({"part of a head", plan_of(partial_plain), plan_of(partial)});
  changes.push_back({"ten pairs", plan_of(plain_config(20, 500)), plan_of(plain_config(20, 10000))});
  return changes;
}

// A position on each axis. Plans with one axis use the first.
std::vector<double> on_axes(double position) { return {position, std::floor(position / 3), 5}; }

double ulp_of(float value) { return static_cast<double>(oracle::ulp(value, DType::f32)); }

// Both methods round an f64 once. Its error is that of the angle: half an ulp of each product and of each sum of angles.
double tolerance(const Change& change, double position, float value) {
  double fastest = 0;
  for (std::size_t j = 0; j < change.to.inv_freq.size(); ++j) {
    fastest = std::fmax(fastest, std::fmax(change.from.inv_freq[j], change.to.inv_freq[j]));
  }
  return ulp_of(value) + 4 * (1 + fastest * std::fabs(position)) * 0x1p-53;
}

TEST(DifferenceRows, ComposedRowsAreDirectOnesToAnUlp) {
  std::size_t equal = 0, values = 0;
  for (const Change& change : every_change()) {
    const std::size_t pairs = change.to.inv_freq.size();
    DifferenceRows composed, direct;
    ASSERT_EQ(composed.prepare(change.from, change.to, true), Status::ok);
    ASSERT_EQ(direct.prepare(change.from, change.to, false), Status::ok);
    std::vector<float> cos(pairs), sin(pairs), direct_cos(pairs), direct_sin(pairs);
    for (const double position : {1.0, 2.0, 63.0, 64.0, 65.0, 1000.0, -1.0, -777.0, 4095.0, 100000.0, 131071.0}) {
      const std::vector<double> at = on_axes(position);
      ASSERT_TRUE(composed.write(at.data(), at.data(), cos.data(), sin.data()));
      ASSERT_TRUE(direct.write(at.data(), at.data(), direct_cos.data(), direct_sin.data()));
      for (std::size_t j = 0; j < pairs; ++j) {
        ASSERT_NEAR(cos[j], direct_cos[j], tolerance(change, position, cos[j])) << change.name << ", " << position << ", pair " << j;
        ASSERT_NEAR(sin[j], direct_sin[j], tolerance(change, position, sin[j])) << change.name << ", " << position << ", pair " << j;
        equal += (cos[j] == direct_cos[j]) + (sin[j] == direct_sin[j]);
        values += 2;
      }
    }
  }
  EXPECT_GT(static_cast<double>(equal) / values, 0.99);  // they differ by an ulp only if the f64 is close to the middle of two floats
  RecordProperty("equal_share", std::to_string(static_cast<double>(equal) / values));
}

TEST(DifferenceRows, RotateByTheDifferenceOfTheAngles) {
  for (const Change& change : every_change()) {
    const std::size_t pairs = change.to.inv_freq.size();
    for (const bool composes : {false, true}) {
      DifferenceRows rows;
      ASSERT_EQ(rows.prepare(change.from, change.to, composes), Status::ok);
      std::vector<float> cos(pairs), sin(pairs);
      for (const auto& [before, after] : {std::pair{70.0, 70.0}, std::pair{70.0, 12.0}, std::pair{0.5, 900.0}, std::pair{2.5, 2.5}}) {
        const std::vector<double> from = on_axes(before), to = on_axes(after);
        ASSERT_TRUE(rows.write(from.data(), to.data(), cos.data(), sin.data()));
        const Real scale = Real{change.to.attention_factor} / change.from.attention_factor;
        for (std::size_t j = 0; j < pairs; ++j) {
          const int axis = change.to.axis_of_pair[j];
          const Real angle = Real{change.to.inv_freq[j]} * to[axis] - Real{change.from.inv_freq[j]} * from[axis];
          ASSERT_NEAR(cos[j], std::cos(angle) * scale, tolerance(change, 900, cos[j])) << change.name << ", pair " << j;
          ASSERT_NEAR(sin[j], std::sin(angle) * scale, tolerance(change, 900, sin[j])) << change.name << ", pair " << j;
        }
      }
    }
  }
}

// A row doesn't depend on previous calls.
TEST(DifferenceRows, AnyOrderGivesTheSameBits) {
  for (const Change& change : every_change()) {
    const std::size_t pairs = change.to.inv_freq.size();
    for (const bool composes : {false, true}) {
      DifferenceRows rows;
      ASSERT_EQ(rows.prepare(change.from, change.to, composes), Status::ok);
      const std::pair<double, double> moves[] = {{5, 5}, {200, 200}, {5, 6}, {2.5, 2.5}, {5, 5}, {5, 6}, {0, 0}, {200, 200}, {2.5, 2.5}};
      for (const auto& [before, after] : moves) {
        const std::vector<double> from = on_axes(before), to = on_axes(after);
        std::vector<float> cos(pairs), sin(pairs), alone_cos(pairs), alone_sin(pairs);
        DifferenceRows alone;
        ASSERT_EQ(alone.prepare(change.from, change.to, composes), Status::ok);
        ASSERT_EQ(rows.write(from.data(), to.data(), cos.data(), sin.data()),
                  alone.write(from.data(), to.data(), alone_cos.data(), alone_sin.data()));
        EXPECT_EQ(cos, alone_cos) << change.name;
        EXPECT_EQ(sin, alone_sin) << change.name;
      }
    }
  }
}

TEST(DifferenceRows, NothingIsWrittenWhereNothingMoves) {
  const FrequencyPlan plain = plan_of(plain_config(16)), other = plan_of(plain_config(16, 500)),
                      scaled = plan_of(yarn_config(16, 500, 4, 64));
  for (const bool composes : {false, true}) {
    float cos[8] = {7}, sin[8] = {7};
    const double zero = 0, there = 40, elsewhere = 41;
    DifferenceRows same, changed, factor;
    ASSERT_EQ(same.prepare(plain, plain, composes), Status::ok);
    ASSERT_EQ(changed.prepare(plain, other, composes), Status::ok);
    ASSERT_EQ(factor.prepare(other, scaled, composes), Status::ok);
    EXPECT_FALSE(same.write(&there, &there, cos, sin));
    EXPECT_FALSE(changed.write(&zero, &zero, cos, sin));
    EXPECT_EQ(cos[0], 7);
    EXPECT_EQ(sin[0], 7);
    EXPECT_TRUE(same.write(&there, &elsewhere, cos, sin));
    EXPECT_TRUE(changed.write(&there, &there, cos, sin));
    EXPECT_TRUE(factor.write(&zero, &zero, cos, sin));  // YaRN's factor scales even at position 0
  }
}

// With several axes, all frequencies that differ may be on an axis where the key is at position 0.
TEST(DifferenceRows, NothingIsWrittenWhereOnlyOtherAxesChange) {
  const std::vector<double> sections = {4, 4}, divisors = {1, 1, 1, 1, 2, 2, 2, 2};
  const RopeConfig config = mrope_config(16, 10000, sections, MropeLayout::chunked);
  RopeConfig divided = config;
  divided.freq_factors = divisors;
  const FrequencyPlan from = plan_of(config), to = plan_of(divided);
  for (const bool composes : {false, true}) {
    DifferenceRows rows;
    ASSERT_EQ(rows.prepare(from, to, composes), Status::ok);
    float cos[8], sin[8];
    const double first_axis[] = {9, 0}, second_axis[] = {0, 9};
    EXPECT_FALSE(rows.write(first_axis, first_axis, cos, sin)) << "composes " << composes;
    EXPECT_TRUE(rows.write(second_axis, second_axis, cos, sin));
  }
}

// xPos scales by the position, and Precision::hf rounds each angle. Neither follows from a difference of frequencies.
TEST(DifferenceRows, WhatCannotBeComposedIsDirect) {
  RopeConfig hf = yarn_config(16, 10000, 4, 64);
  hf.precision = Precision::hf;
  const std::pair<RopeConfig, RopeConfig> changes[] = {
      {plain_config(16), hf}, {hf, plain_config(16)}, {xpos_config(16), xpos_config(16, 64)}, {plain_config(16, 500), xpos_config(16)}};
  for (const auto& [before, after] : changes) {
    const FrequencyPlan from = plan_of(before), to = plan_of(after);
    DifferenceRows composed, direct;
    ASSERT_EQ(composed.prepare(from, to, true), Status::ok);
    ASSERT_EQ(direct.prepare(from, to, false), Status::ok);
    for (const double position : {3.0, 70.0, 1000.0}) {
      std::vector<float> cos(8), sin(8), direct_cos(8), direct_sin(8);
      EXPECT_TRUE(composed.write(&position, &position, cos.data(), sin.data()));
      EXPECT_TRUE(direct.write(&position, &position, direct_cos.data(), direct_sin.data()));
      EXPECT_EQ(cos, direct_cos);
      EXPECT_EQ(sin, direct_sin);
    }
  }
}

TEST(DifferenceRows, PlansOfOtherGeometryAreRefused) {
  RopeConfig interleaved = plain_config(16), partial = plain_config(16), axes = plain_config(16);
  const std::vector<double> sections = {4, 4};
  interleaved.pairing = Pairing::interleaved;
  partial.rotary_dim = 8;
  axes.mrope_section = sections;
  const FrequencyPlan plain = plan_of(plain_config(16));
  for (const RopeConfig& config : {plain_config(32), interleaved, partial, axes}) {
    const FrequencyPlan other = plan_of(config);
    DifferenceRows rows;
    EXPECT_EQ(rows.prepare(plain, other, false), Status::plans_differ);
    EXPECT_EQ(rows.prepare(plain, other, true), Status::plans_differ);
  }
}

}  // namespace
}  // namespace difference_rows_test
}  // namespace ropewalk
