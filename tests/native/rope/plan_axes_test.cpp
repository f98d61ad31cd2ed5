// Which position axis each pair of a plan belongs to.
#include <gtest/gtest.h>

#include "native/rope/compare_plans.h"
#include "native/rope/configs.h"

namespace ropewalk {
namespace {

TEST(Plan, AxesFollowTheSections) {
  const struct {
    int head_dim;
    std::vector<double> sections;
    MropeLayout layout;
  } cases[] = {
      {128, {16, 24, 24}, MropeLayout::chunked},    {128, {24, 20, 20}, MropeLayout::interleaved},
      {64, {11, 11, 10}, MropeLayout::interleaved}, {128, {22, 22, 20}, MropeLayout::ernie},
      {80, {20, 20}, MropeLayout::vision},          {64, {8, 8, 8, 8}, MropeLayout::chunked},
      {64, {8, 0, 12, 12}, MropeLayout::chunked},
  };
  for (const auto& [head_dim, sections, layout] : cases) {
    const RopeConfig config = mrope_config(head_dim, 1e6, sections, layout);
    const FrequencyPlan plan = plan_of(config);
    const std::vector<int> expected = oracle::axes(config);
    EXPECT_EQ(plan.axes, static_cast<int>(sections.size()));
    for (std::size_t j = 0; j < expected.size(); ++j) EXPECT_EQ(plan.axis_of_pair[j], expected[j]) << static_cast<int>(layout) << ", " << j;
    expect_plan(plan, oracle::plan(config, 1), "mrope");
  }
}

// With [24, 20, 20], llama.cpp (August 2026, ggml/src/ggml-cpu/ops.cpp, mode IMROPE) assigns pairs 61 and 62 to a fourth
// axis. Here they belong to time, as in transformers.
TEST(Plan, InterleavedRemainderBelongsToTime) {
  const std::vector<double> sections = {24, 20, 20};
  const FrequencyPlan plan = plan_of(mrope_config(128, 5e6, sections, MropeLayout::interleaved));
  for (int j = 60; j < 64; ++j) EXPECT_EQ(plan.axis_of_pair[j], 0) << j;
}

}  // namespace
}  // namespace ropewalk
