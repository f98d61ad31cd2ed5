// Sampling: each option on small distributions with known results, and draws compared with probabilities.
#include "sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "native/rope/ropes.h"
#include "sampling/log_probability.h"

namespace ropewalk {
namespace sampler_test {

constexpr float kLargest = std::numeric_limits<float>::max();

class ConfiguredSampler : public Sampler {
 public:
  explicit ConfiguredSampler(const SamplerOptions& options, std::uint64_t seed_value = 1) {
    EXPECT_EQ(configure(options), Status::ok);
    seed(seed_value);
  }
  int next(const std::vector<float>& logits, const std::vector<int>& seen = {}) {
    int token = -1;
    EXPECT_EQ(sample(logits.data(), static_cast<int>(logits.size()), seen, nullptr, token), Status::ok);
    EXPECT_TRUE(token >= 0 && token < static_cast<int>(logits.size()));
    return token;
  }
};

std::vector<double> frequencies(const SamplerOptions& options, const std::vector<float>& logits, int draws,
                                const std::vector<int>& seen = {}) {
  ConfiguredSampler sampler(options);
  std::vector<double> counts(logits.size(), 0);
  for (int i = 0; i < draws; ++i) ++counts[sampler.next(logits, seen)];
  return counts;
}

// The tokens that are drawn. There are enough draws that a token of 2 % is missed with a probability below 1e-17.
std::set<int> possible(const SamplerOptions& options, const std::vector<float>& logits, const std::vector<int>& seen = {}) {
  const std::vector<double> counts = frequencies(options, logits, 2000, seen);
  std::set<int> tokens;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) tokens.insert(static_cast<int>(i));
  }
  return tokens;
}

// Pearson's chi-squared test. With correct probabilities, chi-squared exceeds its degrees of freedom d by 5 standard deviations sqrt(2d)
// plus 10 less than once in 50000 times. The seed is fixed, so the result is always the same.
void expect_drawn_by(const std::vector<double>& probabilities, const SamplerOptions& options, const std::vector<float>& logits,
                     const std::vector<int>& seen = {}) {
  const int draws = 20000;
  const std::vector<double> counts = frequencies(options, logits, draws, seen);
  double chi_square = 0, degrees = -1;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (probabilities[i] == 0) {
      EXPECT_EQ(counts[i], 0) << "token " << i << " must not be drawn";
      continue;
    }
    const double expected = draws * probabilities[i];
    chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
    ++degrees;
  }
  EXPECT_LE(chi_square, degrees + 5 * std::sqrt(2 * degrees) + 10);
}

std::vector<double> softmax(const std::vector<float>& logits, double temperature = 1) {
  std::vector<double> p;
  const double largest = *std::max_element(logits.begin(), logits.end());
  for (const float logit : logits) p.push_back(std::exp((logit - largest) / temperature));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& value : p) value /= sum;
  return p;
}

SamplerOptions with_temperature(double temperature) {
  SamplerOptions options;
  options.temperature = temperature;
  return options;
}
SamplerOptions with_top_k(int k) {
  SamplerOptions options;
  options.top_k = k;
  return options;
}
SamplerOptions with_top_p(double p) {
  SamplerOptions options;
  options.top_p = p;
  return options;
}
SamplerOptions with_min_p(double p) {
  SamplerOptions options;
  options.min_p = p;
  return options;
}
SamplerOptions with_penalty(double penalty, double temperature = 1) {
  SamplerOptions options;
  options.penalties.repetition = penalty;
  options.temperature = temperature;
  return options;
}

TEST(Sampler, DrawsByProbability) {
  const std::vector<float> logits = random_floats(12, 1);
  for (const double temperature : {0.3, 1.0, 1.7, 1e6})
    expect_drawn_by(softmax(logits, temperature), with_temperature(temperature), logits);
}

TEST(Sampler, WithoutTemperatureTheFirstOfTheLargest) {
  ConfiguredSampler sampler(with_temperature(0));
  EXPECT_EQ(sampler.next({1, 3, 2}), 1);
  EXPECT_EQ(sampler.next({-5, -1, -1, -2, -1}), 1);
  EXPECT_EQ(sampler.next({0, 0, 0}), 0);
  EXPECT_EQ(sampler.next({-kLargest, kLargest, -kLargest}), 1);
  SamplerOptions all = with_temperature(0);
  all.top_k = 1, all.top_p = 0.1, all.min_p = 1;
  EXPECT_EQ(ConfiguredSampler(all).next({1, 2, 2}), 1);
}

TEST(Sampler, TinyAndHugeTemperatures) {
  for (const double temperature : {5e-324, 1e-300, 1e-38, 1e-6}) {
    EXPECT_EQ(possible(with_temperature(temperature), {1, 1.001f, 1, -kLargest}), std::set<int>{1}) << temperature;
    EXPECT_EQ(possible(with_temperature(temperature), {2, 2, -1}), (std::set<int>{0, 1})) << temperature;
  }
  expect_drawn_by({0.25, 0.25, 0.25, 0.25}, with_temperature(1e6), {-3, 0, 2, 50});
  EXPECT_EQ(possible(with_temperature(1e6), {-kLargest, kLargest, kLargest}), (std::set<int>{1, 2}));
}

TEST(Sampler, TopKKeepsTheLargest) {
  const std::vector<float> logits = {0.1f, 0.5f, -0.2f, 0.4f, 0.3f};
  EXPECT_EQ(possible(with_top_k(1), logits), std::set<int>{1});
  EXPECT_EQ(possible(with_top_k(2), logits), (std::set<int>{1, 3}));
  EXPECT_EQ(possible(with_top_k(3), {1, 2, 1, 1, 1}), (std::set<int>{0, 1, 2})) << "the first of equal ones";
  for (const int all : {0, 5, 6, std::numeric_limits<int>::max()}) EXPECT_EQ(possible(with_top_k(all), logits).size(), 5u) << all;
}

// Compared with the same logits in which a full sort has left k tokens that can be drawn.
TEST(Sampler, TopKIsThatOfASortedVocabulary) {
  for (const int size : {900, 1025, 5000}) {
    for (const int k : {1, 2, 40, 600, 1100}) {
      std::vector<float> logits = random_floats(size, size + k);
      for (float& logit : logits) logit = std::round(40 * logit) / 4;  // with ties
      std::vector<int> order(size);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return logits[a] > logits[b]; });
      std::vector<float> few = logits;
      for (int i = k; i < size; ++i) few[order[i]] = -1e9f;
      ConfiguredSampler sampler(with_top_k(k), 5), of_few(with_top_k(k), 5);
      for (int draw = 0; draw < 50; ++draw) ASSERT_EQ(sampler.next(logits), of_few.next(few)) << k << " of " << size;
    }
  }
}

// Probabilities that sum to exactly p are enough.
TEST(Sampler, TopPKeepsTheFewestThatSumToIt) {
  const std::vector<float> quarters = {0, 0, 0, 0};
  EXPECT_EQ(possible(with_top_p(0.25), quarters), std::set<int>{0});
  EXPECT_EQ(possible(with_top_p(0.5), quarters), (std::set<int>{0, 1}));
  EXPECT_EQ(possible(with_top_p(std::nextafter(0.5, 1.0)), quarters), (std::set<int>{0, 1, 2}));
  EXPECT_EQ(possible(with_top_p(1), quarters), (std::set<int>{0, 1, 2, 3}));
  EXPECT_EQ(possible(with_top_p(1e-300), quarters), std::set<int>{0}) << "at least one is kept";

  const std::vector<float> logits = {std::log(0.1f), std::log(0.4f), std::log(0.2f), std::log(0.3f)};
  EXPECT_EQ(possible(with_top_p(0.39), logits), std::set<int>{1});
  EXPECT_EQ(possible(with_top_p(0.69), logits), (std::set<int>{1, 3}));
  EXPECT_EQ(possible(with_top_p(0.71), logits), (std::set<int>{1, 2, 3}));
  expect_drawn_by({0, 4.0 / 9, 2.0 / 9, 3.0 / 9}, with_top_p(0.89), logits);
}

TEST(Sampler, MinPIsAShareOfTheLargest) {
  const std::vector<float> logits = {std::log(0.1f), std::log(0.4f), std::log(0.2f), std::log(0.3f)};  // shares 0.25, 1, 0.5, 0.75
  EXPECT_EQ(possible(with_min_p(0.24), logits).size(), 4u);
  EXPECT_EQ(possible(with_min_p(0.26), logits), (std::set<int>{1, 2, 3}));
  EXPECT_EQ(possible(with_min_p(0.74), logits), (std::set<int>{1, 3}));
  EXPECT_EQ(possible(with_min_p(1), logits), std::set<int>{1});
  EXPECT_EQ(possible(with_min_p(1), {3, 1, 3}), (std::set<int>{0, 2})) << "exactly min_p is enough";
  expect_drawn_by({0, 4.0 / 9, 2.0 / 9, 3.0 / 9}, with_min_p(0.4), logits);
}

// Positive logits are divided, the others multiplied. Repeated tokens count once; ids outside the vocabulary are ignored.
TEST(Sampler, PenaltyOfBothSigns) {
  expect_drawn_by(softmax({1, 2, -2, 0.5f}), with_penalty(2), {2, 2, -1, 0.5f}, {0, 2, 0, 0, 2, -1, 4, 1000000});
  expect_drawn_by(softmax({4, 2, -0.5f, 0}), with_penalty(0.5), {2, 2, -1, 0}, {0, 2, 3});
  EXPECT_EQ(ConfiguredSampler(with_penalty(1.5, 0)).next({3, 2.5f, 0}, {0}), 1);
  EXPECT_EQ(ConfiguredSampler(with_penalty(1.5, 0)).next({-2, -2.5f, -9}, {0}), 1);
}

// Logits that the penalty would move beyond f32's range are clamped to it, and keep their order.
TEST(Sampler, PenaltyBeyondTheRange) {
  for (const double penalty : {1e-30, 1e-45, 1e-300, 5e-324}) {
    for (const double temperature : {0.0, 1.0}) {
      EXPECT_EQ(possible(with_penalty(penalty, temperature), {2e20f, 1e20f, 1}, {1}), std::set<int>{1}) << penalty << ", " << temperature;
    }
  }
  for (const double temperature : {0.0, 1.0}) {
    EXPECT_EQ(possible(with_penalty(1e6, temperature), {-kLargest, -kLargest, -1e37f}, {0, 1, 2}).count(0), 1u);
    EXPECT_EQ(possible(with_penalty(1e6, temperature), {-1e37f, -1e36f, -1e37f}, {0, 2}), std::set<int>{1});
  }
}

// The order of the options: another order would keep other tokens.
TEST(Sampler, OptionsAreAppliedInOrder) {
  const std::vector<float> logits = {std::log(0.4f), std::log(0.3f), std::log(0.2f), std::log(0.1f)};
  SamplerOptions options = with_top_p(0.72);
  EXPECT_EQ(possible(options, logits).size(), 3u);
  options.temperature = 0.5;  // 16/30, 9/30, 4/30, 1/30: temperature before top_p
  EXPECT_EQ(possible(options, logits), (std::set<int>{0, 1}));

  options = with_min_p(0.45);
  options.temperature = 0.5;  // shares 1, 9/16, 1/4, 1/16: temperature before min_p
  EXPECT_EQ(possible(options, logits), (std::set<int>{0, 1}));

  options = with_top_p(0.5);
  EXPECT_EQ(possible(options, logits).size(), 2u);
  options.top_k = 2;  // 4/7, 3/7: top_k before top_p, which uses the probabilities of the remaining tokens
  EXPECT_EQ(possible(options, logits), std::set<int>{0});

  options = with_top_k(2);
  options.penalties.repetition = 3;  // log 0.4 and log 0.3 fall below log 0.1: penalty before top_k
  EXPECT_EQ(possible(options, logits, {0, 1}), (std::set<int>{2, 3}));

  options = with_top_p(0.65);
  options.min_p = 0.45;  // top_p keeps 0.4, 0.3; min_p first would leave 4/9, 3/9, 2/9, and top_p would keep the same two
  EXPECT_EQ(possible(options, logits), (std::set<int>{0, 1}));
  options.top_p = 0.75;  // top_p keeps 0.4, 0.3, 0.2, then min_p those with at least 0.6; min_p first would leave 4/7, 3/7, both again
  options.min_p = 0.6;
  EXPECT_EQ(possible(options, logits), (std::set<int>{0, 1}));
  options.top_p = 0.55, options.min_p = 0.6;  // 0.4, 0.3; after min_p, 4/7 alone would be enough
  EXPECT_EQ(possible(options, logits), (std::set<int>{0, 1}));
}

TEST(Sampler, TheSameSeedGivesTheSameTokens) {
  const std::vector<float> logits = random_floats(50, 2);
  SamplerOptions options = with_top_p(0.9);
  options.top_k = 30, options.min_p = 0.01, options.temperature = 1.3;
  const auto draw = [&](std::uint64_t seed) {
    ConfiguredSampler sampler(options, seed);
    std::vector<int> tokens;
    for (int i = 0; i < 40; ++i) tokens.push_back(sampler.next(logits));
    return tokens;
  };
  EXPECT_EQ(draw(7), draw(7));
  std::set<std::vector<int>> all;
  for (const std::uint64_t seed : {0ull, 1ull, 2ull, 7ull, 1ull << 32, ~0ull}) all.insert(draw(seed));
  EXPECT_EQ(all.size(), 6u);
}

// SplitMix64 for seed 1234567, from its authors' program: the top 53 bits of 6457827717110365317, then of
// 3203168211198807973.
TEST(Sampler, TheGeneratorIsSplitMix64) {
  ConfiguredSampler sampler({}, 1234567);
  const std::vector<float> logits(1 << 12, 0);  // equal: token floor(u · 4096)
  EXPECT_EQ(sampler.next(logits), static_cast<int>(6457827717110365317u >> 52));
  EXPECT_EQ(sampler.next(logits), static_cast<int>(3203168211198807973u >> 52));
}

TEST(Sampler, OnlyFiniteLogits) {
  for (const float bad : {INFINITY, -INFINITY, NAN}) {
    for (const int at : {0, 1, 2}) {
      for (const double temperature : {0.0, 1.0}) {
        ConfiguredSampler sampler(with_temperature(temperature)), untouched(with_temperature(temperature));
        std::vector<float> logits = {1, 2, 3};
        logits[at] = bad;
        int token = -7;
        EXPECT_EQ(sampler.sample(logits.data(), 3, {}, nullptr, token), Status::logits_not_finite);
        EXPECT_EQ(token, -7);
        EXPECT_EQ(sampler.next({1, 1, 1}), untouched.next({1, 1, 1})) << "the failed call has drawn a number";
      }
    }
  }
}

TEST(Sampler, RefusesOptionsOutOfRangeAndKeepsTheOldOnes) {
  const double nan = std::nan(""), infinity = INFINITY;
  ConfiguredSampler sampler(with_temperature(0));
  const auto refuses = [&](const SamplerOptions& options, Status status) {
    EXPECT_EQ(sampler.configure(options), status);
    EXPECT_EQ(sampler.next({1, 1.001f, 1}), 1);
  };
  const auto refuses_each = [&](const std::vector<double>& values, Status status, const auto& set) {
    for (const double bad : values) {
      SamplerOptions options;
      set(options, bad);
      refuses(options, status);
    }
  };
  using O = SamplerOptions;
  const std::vector<double> too_far = {-1.1e6, 1.1e6, infinity, nan}, no_share = {0, -0.5, 1.0000001, nan};
  refuses_each({0, -1, 1.1e6, infinity, nan}, Status::sampler_penalty_out_of_range, [](O& o, double x) { o.penalties.repetition = x; });
  refuses_each(too_far, Status::sampler_frequency_penalty_out_of_range, [](O& o, double x) { o.penalties.frequency = x; });
  refuses_each(too_far, Status::sampler_presence_penalty_out_of_range, [](O& o, double x) { o.penalties.presence = x; });
  refuses_each({-1}, Status::sampler_penalty_window_out_of_range, [](O& o, double x) { o.penalty_window = static_cast<int>(x); });
  refuses_each({-0.1, 1.1e6, nan}, Status::sampler_dry_multiplier_out_of_range, [](O& o, double x) { o.repeat_penalty.multiplier = x; });
  refuses_each({0.99, 1.1e6, nan}, Status::sampler_dry_base_out_of_range, [](O& o, double x) { o.repeat_penalty.base = x; });
  refuses_each({0, -1}, Status::sampler_dry_allowed_length_out_of_range,
               [](O& o, double x) { o.repeat_penalty.allowed_length = static_cast<int>(x); });
  refuses_each({-1}, Status::sampler_dry_window_out_of_range, [](O& o, double x) { o.repeat_window = static_cast<int>(x); });
  refuses_each({-0.1, 1.1e6, nan}, Status::sampler_top_n_sigma_out_of_range, [](O& o, double x) { o.top_n_sigma = x; });
  refuses_each({-1, std::numeric_limits<int>::min()}, Status::sampler_top_k_out_of_range,
               [](O& o, double x) { o.top_k = static_cast<int>(x); });
  refuses_each(no_share, Status::sampler_typical_p_out_of_range, [](O& o, double x) { o.typical_p = x; });
  refuses_each(no_share, Status::sampler_top_p_out_of_range, [](O& o, double x) { o.top_p = x; });
  refuses_each({-1e-9, 1.0000001, nan}, Status::sampler_min_p_out_of_range, [](O& o, double x) { o.min_p = x; });
  refuses_each({-1e-9, 1.0000001, nan}, Status::sampler_xtc_probability_out_of_range, [](O& o, double x) { o.xtc_probability = x; });
  refuses_each(no_share, Status::sampler_xtc_threshold_out_of_range, [](O& o, double x) { o.xtc_threshold = x; });
  refuses_each({-1e-9, 1.1e6, infinity, nan}, Status::sampler_temperature_out_of_range, [](O& o, double x) { o.temperature = x; });
  refuses_each({-1e-9, 1.1e6, nan}, Status::sampler_mirostat_tau_out_of_range, [](O& o, double x) { o.mirostat_tau = x; });
  refuses_each({0, -1, 1.1e6, nan}, Status::sampler_mirostat_eta_out_of_range, [](O& o, double x) { o.mirostat_eta = x; });
}

// With every way to draw: greedily, from all, from candidates and by Mirostat.
TEST(Sampler, NeverAForbiddenToken) {
  const std::vector<float> logits = random_floats(40, 4);
  std::vector<std::uint8_t> allowed(5, 0);
  const std::set<int> some = {0, 7, 8, 21, 39};
  for (const int token : some) allowed[token / 8] |= static_cast<std::uint8_t>(1 << (token % 8));
  SamplerOptions top_k = with_top_k(39), sigma, mirostat, last = with_top_p(0.99);
  sigma.top_n_sigma = 9, mirostat.mirostat_tau = 4, last.order = SamplerOrder::llama_cpp, last.temperature = 3;
  for (const SamplerOptions& options : {with_temperature(0), with_temperature(2), top_k, sigma, mirostat, last}) {
    ConfiguredSampler sampler(options);
    std::set<int> drawn;
    for (int i = 0; i < 400; ++i) {
      int token = -1;
      ASSERT_EQ(sampler.sample(logits.data(), 40, {}, allowed.data(), token), Status::ok);
      drawn.insert(token);
    }
    for (const int token : drawn) EXPECT_EQ(some.count(token), 1u) << token;
    EXPECT_EQ(drawn.size() == 1, options.temperature == 0);
  }
}

TEST(Sampler, SaysThatNoTokenIsAllowed) {
  const float logits[] = {1, 2};
  const std::uint8_t none = 0;
  int token = -7;
  ConfiguredSampler sampler({}), untouched({});
  EXPECT_EQ(sampler.sample(logits, 2, {}, &none, token), Status::no_token_allowed);
  const TokenBias biases[] = {{0, -INFINITY}, {1, -INFINITY}};
  EXPECT_EQ(sampler.set_biases(biases), Status::ok);
  EXPECT_EQ(sampler.sample(logits, 2, {}, nullptr, token), Status::no_token_allowed);
  EXPECT_EQ(token, -7);
  EXPECT_EQ(sampler.set_biases({}), Status::ok);
  EXPECT_EQ(sampler.next({1, 1, 1, 1}), untouched.next({1, 1, 1, 1})) << "the failed calls have drawn a number";
}

// XTC leaves the least probable of the top choices, as often as asked.
TEST(Sampler, XtcExcludesTopChoices) {
  const std::vector<float> logits = {std::log(0.4f), std::log(0.3f), std::log(0.2f), std::log(0.1f)};
  SamplerOptions options;
  options.xtc_probability = 1, options.xtc_threshold = 0.15;
  expect_drawn_by({0, 0, 2.0 / 3, 1.0 / 3}, options, logits);
  options.xtc_probability = 0.25;
  expect_drawn_by({0.3, 0.225, 0.15 + 0.25 * 2 / 3, 0.075 + 0.25 / 3}, options, logits);
  options.xtc_threshold = 0.35;  // one top choice stays
  expect_drawn_by({0.4, 0.3, 0.2, 0.1}, options, logits);
}

// exp is within 1.5 ulp of a difference that is rounded once. x e^x is at most 1/e, so a term is off by at most (1.5 · 2^-23 + 2^-24 / e)
// of the sum.
constexpr double kLogTolerance = 3e-7;

TEST(Sampler, LogNormalizerAndMostProbable) {
  for (const float offset : {0.0f, 500.0f, -500.0f}) {
    for (const int size : {1, 2, 10, 5000}) {
      std::vector<float> logits = random_floats(size, size);
      for (float& logit : logits) logit = std::round(logit * 4 * 64) / 64 + offset;  // gives ties, and is exact with the offset
      const double largest = *std::max_element(logits.begin(), logits.end());
      double sum = 0;
      for (const float logit : logits) sum += std::exp(logit - largest);
      const double normalizer = largest + std::log(sum);
      EXPECT_NEAR(log_normalizer(logits.data(), size), normalizer, kLogTolerance);

      std::vector<int> order(size);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return logits[a] > logits[b]; });
      for (const int count : {0, 1, std::min(size, 3), std::min(size, 40)}) {
        std::vector<LogProbability> top(count);
        most_probable(logits.data(), size, top);
        for (int i = 0; i < count; ++i) {
          ASSERT_EQ(top[i].token, order[i]) << i << " of " << size;
          ASSERT_NEAR(top[i].value, logits[order[i]] - normalizer, kLogTolerance);
        }
      }
    }
  }
}

TEST(Sampler, LogNormalizerOfExtremes) {
  const float extremes[] = {kLargest, -kLargest, kLargest};
  EXPECT_EQ(log_normalizer(extremes, 3), static_cast<double>(kLargest));
  const float far[] = {-1000, 0, -88};
  EXPECT_NEAR(log_normalizer(far, 3), 0, kLogTolerance);
}

}  // namespace sampler_test
}  // namespace ropewalk
