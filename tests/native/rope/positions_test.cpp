// Positions: how ids are indexed, and which are refused.
#include "rope/positions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "native/oracle.h"
#include "native/rope/configs.h"
#include "rope/cos_sin_table.h"

namespace ropewalk {
namespace positions_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Positions, AreLookedUpByAxisRowAndToken) {
  const double ids[2][3][4] = {{{0, 1, 2, 3}, {10, 11, 12, 13}, {20, 21, 22, 23}},
                               {{100, 101, 102, 103}, {110, 111, 112, 113}, {120, 121, 122, 123}}};
  const Positions positions = {7, &ids[0][0][0], 2, 3, 4};
  for (int axis = 0; axis < 2; ++axis) {
    for (int row = 0; row < 3; ++row) {
      for (int token = 0; token < 4; ++token) EXPECT_EQ(positions.at(axis, row, token), ids[axis][row][token]);
    }
  }
  const Positions shared = {0, &ids[0][0][0], 1, 1, 4};
  EXPECT_EQ(shared.at(1, 2, 3), 3);  // one plane and one row are shared by all
  const Positions range = {7, nullptr, 1, 1, 4};
  EXPECT_EQ(range.at(0, 0, 3), 10);
  EXPECT_EQ(largest_position(range), 10);
  EXPECT_EQ(largest_position(positions), 123);
}

// Expects `positions` to be refused, and the tables to be unchanged.
void expect_refused(const RopeConfig& config, const Positions& positions, Status status) {
  const FrequencyPlan plan = plan_of(config);
  EXPECT_EQ(check_positions(plan, positions), status);
  CosSinRows rows;
  ASSERT_EQ(rows.prepare(plan), Status::ok);
  std::vector<float> cos(plan.inv_freq.size() * positions.tokens * positions.rows, 42), sin = cos;
  const std::vector<float> before = cos;
  EXPECT_EQ(write_table(rows, positions, {}, DType::f32, TableLayout::compact, cos.data(), sin.data()), status);
  EXPECT_EQ(cos, before);
  EXPECT_EQ(sin, before);
}

TEST(Positions, OutsideTheRangeAreRefused) {
  const RopeConfig config = plain_config(16);
  for (const double bad : {2147483648.0, -2147483649.0, 1e300, kInfinity, -kInfinity, std::nan("")}) {
    for (int place = 0; place < 3; ++place) {
      std::vector<double> ids = {1, 2, 3};
      ids[place] = bad;
      expect_refused(config, {0, ids.data(), 1, 1, 3}, Status::position_out_of_range);
    }
    expect_refused(config, {bad, nullptr, 1, 1, 1}, Status::position_out_of_range);
  }
  expect_refused(config, {2147483647.0, nullptr, 1, 1, 2}, Status::position_out_of_range);  // the second token exceeds the limit
  const FrequencyPlan plan = plan_of(config);
  for (const double good : {-2147483648.0, 2147483647.0, 2147483647.75}) {
    EXPECT_EQ(check_positions(plan, {0, &good, 1, 1, 1}), Status::ok) << good;
  }
}

// The range reduction is exact up to 2^32 radians, so frequencies above 2 lower the limit.
TEST(Positions, HighFrequenciesLowerTheLimit) {
  RopeConfig config = plain_config(4);
  config.rope_type = RopeType::custom;
  const std::vector<double> fast = {-1000, 0.5};
  config.inv_freq = fast;
  const FrequencyPlan plan = plan_of(config);
  const double limit = 4294967296.0 / 1000, inside = std::floor(limit), outside = inside + 1;
  EXPECT_EQ(check_positions(plan, {0, &inside, 1, 1, 1}), Status::ok);
  expect_refused(config, {0, &outside, 1, 1, 1}, Status::position_out_of_range);
  CosSinRows rows;
  ASSERT_EQ(rows.prepare(plan), Status::ok);
  rows.compute(&inside, {});
  EXPECT_NEAR(rows.cos()[0], static_cast<double>(std::cos(oracle::Real{inside} * -1000)), 0x1p-50);
  EXPECT_NEAR(rows.sin()[0], static_cast<double>(std::sin(oracle::Real{inside} * -1000)), 0x1p-50);
}

// zeta^power must fit in f32 for both roles at every accepted position.
TEST(Positions, ThatWouldOverflowXposAreRefused) {
  const RopeConfig config = xpos_config(64, 10, 50);
  const FrequencyPlan plan = plan_of(config);
  for (const double good : {650.0, -550.0}) {
    ASSERT_EQ(check_positions(plan, {0, &good, 1, 1, 1}), Status::ok);
    CosSinRows rows;
    ASSERT_EQ(rows.prepare(plan), Status::ok);
    for (const Role role : {Role::query, Role::key}) {
      rows.compute(&good, {role, false});
      for (std::size_t j = 0; j < 32; ++j) EXPECT_TRUE(std::isfinite(static_cast<float>(rows.cos()[j])));
    }
  }
  for (const double bad : {651.0, -551.0}) expect_refused(config, {0, &bad, 1, 1, 1}, Status::position_out_of_range);
}

TEST(Positions, AxesMustAgree) {
  const std::vector<double> sections = {16, 24, 24}, ids(12, 3.0);
  expect_refused(plain_config(128), {0, ids.data(), 3, 1, 4}, Status::positions_axes);
  expect_refused(mrope_config(128, 1e6, sections, MropeLayout::chunked), {0, ids.data(), 2, 1, 4}, Status::positions_axes);
  expect_refused(mrope_config(128, 1e6, sections, MropeLayout::chunked), {0, ids.data(), 4, 1, 3}, Status::positions_axes);
}

}  // namespace positions_test
}  // namespace ropewalk
