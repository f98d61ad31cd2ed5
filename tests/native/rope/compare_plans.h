// Compares a frequency plan with the same plan computed in long double.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "native/oracle.h"
#include "rope/plan.h"

namespace ropewalk {

// A frequency goes through about ten roundings of 2^-53 each. An error e in the exponent of the base counts ln(base) · e, which is less
// than 30 roundings.
constexpr oracle::Real kFrequencyTolerance = 0x1p-48L;
constexpr oracle::Real kScaleTolerance = 0x1p-50L;

inline void expect_plan(const FrequencyPlan& plan, const oracle::Plan& expected, const std::string& name) {
  ASSERT_EQ(plan.inv_freq.size(), expected.inv_freq.size()) << name;
  for (std::size_t j = 0; j < expected.inv_freq.size(); ++j) {
    EXPECT_NEAR(plan.inv_freq[j], static_cast<double>(expected.inv_freq[j]), std::fabs(expected.inv_freq[j]) * kFrequencyTolerance)
        << name << ", pair " << j;
  }
  EXPECT_NEAR(plan.attention_factor, static_cast<double>(expected.attention_factor), kScaleTolerance) << name;
  const oracle::Real softmax = expected.softmax_factor / std::sqrt(oracle::Real(plan.head_dim));
  EXPECT_NEAR(plan.softmax_scale, static_cast<double>(softmax), softmax * kScaleTolerance) << name;
}

}  // namespace ropewalk
