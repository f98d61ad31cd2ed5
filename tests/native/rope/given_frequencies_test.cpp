// The axial type, custom lists by length, and frequency_dim.
#include <gtest/gtest.h>

#include <cmath>

#include "native/oracle.h"
#include "native/rope/configs.h"

namespace ropewalk {
namespace {

RopeConfig axial_config(int head_dim, const std::vector<double>& axes_dim, AxesLayout layout = AxesLayout::chunked, double base = 10000) {
  RopeConfig config = plain_config(head_dim, base);
  config.rope_type = RopeType::axial;
  config.axes_dim = axes_dim;
  config.axes_layout = layout;
  return config;
}

TEST(Axial, FrequenciesAndAxesAreThoseOfTheOracle) {
  const std::vector<double> flux = {16, 56, 56}, wan = {44, 42, 42}, halves_of_80 = {40, 40}, three = {32, 32, 32}, one = {64};
  const RopeConfig configs[] = {axial_config(128, flux),
                                axial_config(128, wan),
                                axial_config(80, halves_of_80),
                                axial_config(64, one),
                                axial_config(80, halves_of_80, AxesLayout::interleaved),
                                axial_config(96, three, AxesLayout::interleaved, 100),
                                axial_config(80, halves_of_80, AxesLayout::shared),
                                axial_config(96, three, AxesLayout::shared)};
  for (const RopeConfig& config : configs) {
    const FrequencyPlan plan = plan_of(config);
    const std::vector<oracle::Real> expected = oracle::plan(config, 1).inv_freq;
    const std::vector<int> axes = oracle::axes(config);
    ASSERT_EQ(plan.inv_freq.size(), expected.size());
    EXPECT_EQ(plan.axes, static_cast<int>(config.axes_dim.size()));
    for (std::size_t j = 0; j < expected.size(); ++j) {
      EXPECT_NEAR(plan.inv_freq[j] / expected[j], 1, 0x1p-46) << j;
      EXPECT_EQ(plan.axis_of_pair[j], axes[j]) << j;
    }
  }
}

// Two equal axes of the chunked layout are the layout `vision` of M-RoPE.
TEST(Axial, TwoEqualAxesAreTheVisionLayout) {
  const std::vector<double> dims = {40, 40}, sections = {20, 20};
  const FrequencyPlan axial = plan_of(axial_config(80, dims)), vision = plan_of(mrope_config(80, 10000, sections, MropeLayout::vision));
  for (std::size_t j = 0; j < vision.inv_freq.size(); ++j) {
    EXPECT_EQ(axial.inv_freq[j], vision.inv_freq[j]);
    EXPECT_EQ(axial.axis_of_pair[j], vision.axis_of_pair[j]);
  }
}

TEST(Custom, EachLengthHasItsList) {
  const std::vector<double> lengths = {4096, 32768, 131072};
  std::vector<double> frequencies;
  for (int i = 0; i < 12; ++i) frequencies.push_back(1.0 / (i + 1));
  RopeConfig config = plain_config(8);
  config.rope_type = RopeType::custom;
  config.inv_freq = frequencies;
  config.lengths = lengths;
  config.attention_factor = 1.25;
  struct Expected {
    double length;
    int list;
    double from, to;
  };
  for (const auto& [length, list, from, to] : {Expected{1, 0, 1, 4096},
                                               {4096, 0, 1, 4096},
                                               {4097, 1, 4097, 32768},
                                               {32768, 1, 4097, 32768},
                                               {32769, 2, 32769, INFINITY},
                                               {131073, 2, 32769, INFINITY}}) {
    const FrequencyPlan plan = plan_of(config, length);
    for (int j = 0; j < 4; ++j) EXPECT_EQ(plan.inv_freq[j], frequencies[4 * list + j]) << length;
    EXPECT_EQ(plan.valid_from, from) << length;
    EXPECT_EQ(plan.valid_to, to) << length;
    EXPECT_EQ(plan.attention_factor, 1.25);
  }
}

// transformers' torch.arange(0, 15, 2) / 15: eight frequencies of an odd width.
TEST(FrequencyDim, ExponentsOfAnOddWidth) {
  RopeConfig config = plain_config(30);
  config.rotary_dim = 16;
  config.frequency_dim = 15;
  const FrequencyPlan plan = plan_of(config);
  ASSERT_EQ(plan.inv_freq.size(), 8u);
  for (int j = 0; j < 8; ++j) EXPECT_NEAR(plan.inv_freq[j], std::pow(10000.0, -2.0 * j / 15), 1e-15);
  config.rope_type = RopeType::dynamic;
  config.factor = 2;
  config.max_position_embeddings = 4096;
  const double base = 10000 * std::pow(2.0 * 8192 / 4096 - 1, 15 / 13.0);
  const FrequencyPlan dynamic = plan_of(config, 8192);
  for (int j = 0; j < 8; ++j) EXPECT_NEAR(dynamic.inv_freq[j] * std::pow(base, 2.0 * j / 15), 1, 1e-14);
}

}  // namespace
}  // namespace ropewalk
