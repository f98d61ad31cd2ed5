// Wavelengths, rotations and kept shares of pairs, and the decay of scores with distance: RoFormer (arXiv:2104.09864),
// section 3.4.3; YaRN (arXiv:2309.00071), section 3; Men et al. 2024 (arXiv:2405.14591).
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "native/oracle.h"
#include "native/rope/configs.h"
#include "rope/decay.h"
#include "rope/pair_analysis.h"

namespace ropewalk {
namespace {

using oracle::Real;

PairAnalysis analysis_of(const FrequencyPlan& plan, double window, double factor) {
  PairAnalysis analysis;
  EXPECT_EQ(analyze_pairs(plan, window, factor, analysis), Status::ok);
  return analysis;
}

std::vector<double> curve_of(const FrequencyPlan& plan, const DecayRequest& request) {
  std::vector<double> values(request.count);
  EXPECT_EQ(decay_curve(plan, request, values.data()), Status::ok);
  return values;
}

double score_at(const FrequencyPlan& plan, double distance) { return curve_of(plan, {DecayCurve::ones, distance, 1, 1})[0]; }

TEST(PairAnalysis, WavelengthsAndRotations) {
  const FrequencyPlan plan = plan_of(scaled_config(RopeType::linear, 128, 10000, 4, 4096));
  const PairAnalysis analysis = analysis_of(plan, 4096, 4);
  for (int j = 0; j < 64; ++j) {
    const Real wavelength = 2 * oracle::kPi * std::pow(10000.0L, 2 * j / 128.0L);
    EXPECT_NEAR(analysis.wavelength[j] / static_cast<double>(wavelength), 4, 1e-13) << j;        // after scaling
    EXPECT_NEAR(analysis.rotations[j] * static_cast<double>(wavelength) / 4096, 1, 1e-13) << j;  // before scaling
  }
}

TEST(PairAnalysis, UnrotatedPairsHaveNoWavelength) {
  RopeConfig config = plain_config(16, 1e6);
  config.rope_type = RopeType::proportional;
  config.partial_rotary_factor = 0.5;
  const PairAnalysis analysis = analysis_of(plan_of(config), 4096, 1);
  EXPECT_TRUE(std::isfinite(analysis.wavelength[3]));
  EXPECT_EQ(analysis.wavelength[4], std::numeric_limits<double>::infinity());
}

TEST(PairAnalysis, KeptSharesFollowTheRamp) {
  for (const Precision precision : {Precision::exact, Precision::hf}) {
    RopeConfig config = yarn_config(128, 1e6, 4, 32768);
    config.precision = precision;
    const PairAnalysis analysis = analysis_of(plan_of(config), 32768, 4);
    for (int j = 0; j < 64; ++j) {
      const double expected = 1 - std::min(1.0, std::max(0.0, (j - 23) / 17.0));
      // f32 frequencies have errors of up to 3e-7, which gamma multiplies by 4/3
      EXPECT_NEAR(analysis.kept_share[j], expected, precision == Precision::exact ? 1e-12 : 2e-6) << j;
    }
    EXPECT_EQ(analysis.kept_share[0], 1);
    EXPECT_EQ(analysis.kept_share[63], 0);
  }
}

TEST(PairAnalysis, KeptSharesOfTheOtherTypes) {
  const auto shares = [](const RopeConfig& config, double factor) { return analysis_of(plan_of(config), 4096, factor).kept_share; };
  const auto linear = shares(scaled_config(RopeType::linear, 128, 10000, 8, 4096), 8);
  const auto ntk = shares(scaled_config(RopeType::ntk, 128, 10000, 8, 4096), 8);
  const auto llama3 = shares(llama3_config(128, 5e5, 8), 8);
  for (int j = 0; j < 64; ++j) {
    EXPECT_EQ(linear[j], 0) << j;
    // gamma of s^(-2j/(d-2)), which is between 1 and 1/s
    EXPECT_NEAR(ntk[j], (std::pow(8.0, -2.0 * j / 126) - 1 / 8.0) / (1 - 1 / 8.0), 1e-9) << j;
    EXPECT_TRUE(llama3[j] >= 0 && llama3[j] <= 1) << j;
  }
  EXPECT_EQ(ntk[0], 1);
  EXPECT_EQ(ntk[63], 0);
  EXPECT_EQ(llama3[0], 1);
  EXPECT_EQ(llama3[63], 0);
  for (int j = 0; j < 64; ++j) EXPECT_TRUE(std::isnan(shares(plain_config(128), 1)[j]));  // nothing is scaled
}

TEST(PairAnalysis, OverExtrapolatedPairs) {
  const PairInterval interval = over_extrapolated_pairs(128, 10000, 4096, 40);
  EXPECT_NEAR(interval.first, 45.03, 0.005);
  EXPECT_NEAR(interval.last, 63.00, 0.005);
  // pair 46 is included: its wavelength exceeds the window, and the last of L' positions exceeds the trained angles
  const FrequencyPlan ntk = plan_of(scaled_config(RopeType::ntk, 128, 10000, 40, 4096));
  for (int j = 0; j < 64; ++j) {
    const bool is_long = 2 * oracle::kPi / ntk.unscaled_inv_freq[j] >= 4096;
    const bool leaves = ntk.inv_freq[j] * (40 * 4096 - 1) > ntk.unscaled_inv_freq[j] * 4095;
    EXPECT_EQ(is_long && leaves, j >= interval.first && j < interval.last) << j;
  }
}

TEST(PairAnalysis, BadArgumentsAreRefused) {
  const FrequencyPlan plan = plan_of(plain_config(8));
  PairAnalysis analysis;
  for (const double window : {0.0, -1.0, 2147483649.0, std::nan("")}) {
    EXPECT_EQ(analyze_pairs(plan, window, 2, analysis), Status::original_length_out_of_range);
  }
  for (const double factor : {0.5, -1.0, std::nan("")}) EXPECT_EQ(analyze_pairs(plan, 4096, factor, analysis), Status::factor_out_of_range);
  EXPECT_TRUE(analysis.wavelength.empty());
  for (const PairInterval& empty : {over_extrapolated_pairs(2, 10000, 4096, 40), over_extrapolated_pairs(128, 1, 4096, 40),
                                    over_extrapolated_pairs(128, 10000, 6, 40), over_extrapolated_pairs(128, 10000, 4096, 1)}) {
    EXPECT_GE(empty.first, empty.last);
  }
}

TEST(Decay, KnownValues) {
  const FrequencyPlan plan = plan_of(plain_config(512));
  EXPECT_EQ(score_at(plan, 0), 512);
  EXPECT_NEAR(score_at(plan, 100), 223.9, 0.05);
  EXPECT_NEAR(score_at(plan, 4096), 25.2, 0.05);
  EXPECT_NEAR(score_at(plan, 19200), -69, 0.5);  // "about"
  EXPECT_GT(score_at(plan, 65535), 0);           // S rises again
}

TEST(Decay, CurvesAreTheirSums) {
  for (const RopeConfig& config : {plain_config(64), yarn_config(128, 1e6, 4, 32768)}) {
    const FrequencyPlan plan = plan_of(config);
    const std::vector<Real> inv_freq = oracle::plan(config, 1).inv_freq;
    const std::vector<double> ones = curve_of(plan, {DecayCurve::ones, 0, 37.5, 50}),
                              bound = curve_of(plan, {DecayCurve::bound, 0, 37.5, 50});
    for (int i = 0; i < 50; ++i) {
      const Real distance = 37.5L * i;
      Real sum = 0, mean = 0;
      std::complex<Real> partial = 0;
      for (const Real w : inv_freq) {
        sum += 2 * std::cos(distance * w);
        partial += std::polar<Real>(1, distance * w);
        mean += std::abs(partial) / inv_freq.size();
      }
      EXPECT_NEAR(ones[i], static_cast<double>(sum), 1e-9) << distance;
      EXPECT_NEAR(bound[i], static_cast<double>(mean), 1e-9) << distance;
      EXPECT_GT(bound[i], 0);
    }
    EXPECT_EQ(ones[0], config.head_dim);                   // without the attention factor
    EXPECT_EQ(bound[0], (config.head_dim / 2 + 1) / 2.0);  // mean of 1 … d/2
  }
}

TEST(Decay, XposFallsWithItsScale) {
  const FrequencyPlan plan = plan_of(xpos_config(64, 512));
  const std::vector<Real> inv_freq = oracle::plain(10000, 64, 32);
  const std::vector<double> ones = curve_of(plan, {DecayCurve::ones, 0, 100, 20});
  for (int i = 0; i < 20; ++i) {
    Real sum = 0;
    for (int j = 0; j < 32; ++j) sum += 2 * std::cos(100 * i * inv_freq[j]) * std::pow(oracle::xpos_zeta(j, 64), 100 * i / 512.0L);
    EXPECT_NEAR(ones[i], static_cast<double>(sum), 1e-9);
  }
}

TEST(Decay, RandomVectorsFollowTheSameCurve) {
  const FrequencyPlan plan = plan_of(plain_config(128));
  const DecayRequest many = {DecayCurve::random, 0, 50, 60, 4000, 7}, few = {DecayCurve::random, 0, 50, 60, 1, 7};
  const std::vector<double> random = curve_of(plan, many), ones = curve_of(plan, {DecayCurve::ones, 0, 50, 60});
  // x² + y² has mean 2 and variance 4, so the mean of 4000 draws over 64 pairs has a standard deviation of at most sqrt(64 · 4 / 4000)
  const double deviation = std::sqrt(64 * 4 / 4000.0);
  double largest = 0;
  for (int i = 0; i < 60; ++i) {
    EXPECT_NEAR(random[i], ones[i], 5 * deviation) << i;
    largest = std::max(largest, std::fabs(random[i] - ones[i]));
  }
  EXPECT_GT(largest, 0);

  EXPECT_EQ(curve_of(plan, many), random);  // the seed determines the draws
  DecayRequest reseeded = many;
  reseeded.seed = 8;
  EXPECT_NE(curve_of(plan, reseeded), random);
  EXPECT_NE(curve_of(plan, few), random);
}

TEST(Decay, BadRequestsAreRefused) {
  const FrequencyPlan plan = plan_of(plain_config(16));
  double value = 42;
  EXPECT_EQ(decay_curve(plan, {DecayCurve::ones, 0, 1, 0}, &value), Status::shape_out_of_range);
  EXPECT_EQ(decay_curve(plan, {DecayCurve::random, 0, 1, 1, 0}, &value), Status::shape_out_of_range);
  EXPECT_EQ(decay_curve(plan, {DecayCurve{3}, 0, 1, 1}, &value), Status::curve_unknown);
  EXPECT_EQ(decay_curve(plan, {DecayCurve{-1}, 0, 1, 1}, &value), Status::curve_unknown);
  for (const double bad : {2147483648.0, -2147483649.0, std::nan(""), double{INFINITY}}) {
    EXPECT_EQ(decay_curve(plan, {DecayCurve::ones, bad, 1, 1}, &value), Status::position_out_of_range);
    EXPECT_EQ(decay_curve(plan, {DecayCurve::ones, 0, bad, 2}, &value), Status::position_out_of_range);
  }
  EXPECT_EQ(value, 42);
}

TEST(Decay, FirstNegativeDistance) {
  const FrequencyPlan plan = plan_of(plain_config(128));
  double distance = 0;
  ASSERT_EQ(first_negative_distance(plan, 100000, distance), Status::ok);
  ASSERT_GT(distance, 1);
  const std::vector<double> before = curve_of(plan, {DecayCurve::ones, 0, 1, static_cast<int>(distance) + 1});
  EXPECT_LT(before.back(), 0);
  for (std::size_t i = 0; i + 1 < before.size(); ++i) ASSERT_GE(before[i], 0) << i;

  double none = 0, at_limit = 0;
  ASSERT_EQ(first_negative_distance(plan, distance - 1, none), Status::ok);
  EXPECT_EQ(none, -1);
  ASSERT_EQ(first_negative_distance(plan, distance, at_limit), Status::ok);
  EXPECT_EQ(at_limit, distance);
  for (const double bad : {0.0, -5.0, 2147483648.0, std::nan("")})
    EXPECT_EQ(first_negative_distance(plan, bad, none), Status::position_out_of_range);

  // a larger base moves the point further out
  double further = 0;
  ASSERT_EQ(first_negative_distance(plan_of(plain_config(128, 5e5)), 100000, further), Status::ok);
  EXPECT_TRUE(further == -1 || further > distance);
}

TEST(Decay, SmallestBaseGrowsWithTheWindow) {
  for (const int dim : {32, 128}) {
    double last = 0;
    for (const double window : {16.0, 128.0, 1024.0, 4096.0}) {
      double base = 0, negative = 0;
      ASSERT_EQ(smallest_base(dim, window, base), Status::ok);
      EXPECT_GE(base, last) << window;
      last = base;
      ASSERT_EQ(first_negative_distance(plan_of(plain_config(dim, base)), window, negative), Status::ok);
      EXPECT_EQ(negative, -1) << "the base found keeps the sign";
      ASSERT_EQ(first_negative_distance(plan_of(plain_config(dim, base / 1.002)), window, negative), Status::ok);
      EXPECT_GT(negative, 0) << "a base 0.2 % smaller does not";
    }
  }
  double base = 0;
  EXPECT_EQ(smallest_base(33, 100, base), Status::rotary_dim_odd);
  EXPECT_EQ(smallest_base(0, 100, base), Status::head_dim_out_of_range);
  for (const double window : {0.0, 16777217.0, std::nan("")}) EXPECT_EQ(smallest_base(64, window, base), Status::position_out_of_range);
}

}  // namespace
}  // namespace ropewalk
