// Biases, forbidden tokens and penalties, compared with their definitions.
#include "sampling/penalties.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "native/random/random_cases.h"
#include "sampling/sampler.h"

namespace ropewalk {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

TEST(Penalties, BiasesAreAddedAndForbid) {
  std::vector<float> logits = {1, 2, 3, -kLargest};
  const TokenBias biases[] = {{0, -0.5f}, {1, -INFINITY}, {-1, 5}, {4, 5}, {3, -kLargest}, {1, 100}};
  apply_biases(biases, logits);
  EXPECT_EQ(logits, (std::vector<float>{0.5f, -INFINITY, 3, -kLargest}));
}

TEST(Penalties, OnlyTokensWhoseBitIsSet) {
  std::vector<float> logits(19, 1);
  const std::uint8_t allowed[] = {0b10000001, 0, 0b100};
  forbid_others(allowed, logits);
  for (int token = 0; token < 19; ++token) EXPECT_EQ(logits[token] == 1, token == 0 || token == 7 || token == 18) << token;
}

TEST(Penalties, ForbiddenTokensStayForbidden) {
  std::vector<float> logits = {-INFINITY, 1};
  std::vector<TokenCount> scratch(4);
  apply_penalties({0.5, -3, -3}, std::vector<int>{0, 0}, logits, scratch);
  EXPECT_EQ(logits[0], -INFINITY);
}

// How many of the tokens before `end` equal the last tokens of the text.
int repeat_before(const std::vector<int>& text, int end) {
  int length = 0;
  while (length < end && text[end - 1 - length] == text[text.size() - 1 - length]) ++length;
  return length;
}

// The definition, in quadratic time. One rounding of the logit to f32, whose loss may be larger than it.
TEST(Penalties, RepeatsByDefinition) {
  for_each_case(3000, [](RandomCase& random) {
    const int vocabulary = random.whole(1, 6), size = random.whole(0, 60);
    std::vector<int> text(size), breakers;
    for (int& token : text) token = random.whole(-1, vocabulary);
    for (int token = 0; token < vocabulary; ++token) {
      if (random.one_in(5)) breakers.push_back(token);
    }
    const RepeatPenalty penalty = {random.between(0, 3), random.between(1, 3), random.whole(1, 4)};
    std::vector<float> logits(vocabulary, 0), expected = logits;

    const auto breaks = [&](int token) { return std::find(breakers.begin(), breakers.end(), token) != breakers.end(); };
    int limit = 0;
    while (limit < size && !breaks(text[size - 1 - limit])) ++limit;
    std::map<int, int> longest;
    for (int end = 1; end < size; ++end) {
      const int length = std::min(repeat_before(text, end), limit);
      if (length >= penalty.allowed_length && !breaks(text[end])) longest[text[end]] = std::max(longest[text[end]], length);
    }
    for (const auto& [token, length] : longest) {
      if (token >= 0 && token < vocabulary)
        expected[token] = static_cast<float>(-penalty.multiplier * std::pow(penalty.base, length - penalty.allowed_length));
    }
    std::vector<TokenCount> scratch(size);
    apply_repeat_penalty(penalty, text, breakers, logits, scratch);
    for (int token = 0; token < vocabulary; ++token) EXPECT_FLOAT_EQ(logits[token], expected[token]) << token;
  });
}

TEST(Penalties, RepeatsOfManyTokensStayFinite) {
  const std::vector<int> text(5000, 1);
  std::vector<float> logits = {0, kLargest, 0};
  std::vector<TokenCount> scratch(text.size());
  apply_repeat_penalty({1e6, 1e6, 1}, text, {}, logits, scratch);
  EXPECT_EQ(logits, (std::vector<float>{0, -kLargest, 0}));
}

// Mirostat 2.0, algorithm 2 of the paper: truncates at the limit, draws, and moves the limit by the information of what it drew.
TEST(Mirostat, FollowsItsTarget) {
  Random random(7);
  std::vector<float> logits(400);
  for (float& logit : logits) logit = random.between(-4, 4);
  double total = 0;
  for (const float logit : logits) total += std::exp(logit / 1.3);
  const auto probability = [&](int token) { return std::exp(logits[token] / 1.3) / total; };

  SamplerOptions options;
  options.temperature = 1.3, options.mirostat_tau = 3, options.mirostat_eta = 0.2;
  Sampler sampler;
  ASSERT_EQ(sampler.configure(options), Status::ok);
  sampler.seed(3);
  double limit = 6, sum = 0;
  for (int step = 0; step < 400; ++step) {
    int token = -1;
    ASSERT_EQ(sampler.sample(logits.data(), 400, {}, nullptr, token), Status::ok);
    double kept = 0;
    for (int i = 0; i < 400; ++i) {
      if (-std::log2(probability(i)) <= limit) kept += probability(i);
    }
    ASSERT_LE(-std::log2(probability(token)), limit + 1e-5) << step;
    const double information = -std::log2(probability(token) / kept);
    limit -= 0.2 * (information - 3);
    if (step >= 100) sum += information / 300;
  }
  EXPECT_NEAR(sum, 3, 0.1);  // the mean of 300 draws whose limit returns them to the target
}

TEST(Mirostat, KeepsTheMostProbableTokenIfNoneIsAllowed) {
  SamplerOptions options;
  options.mirostat_tau = 1e-9, options.mirostat_eta = 0.1;
  Sampler sampler;
  ASSERT_EQ(sampler.configure(options), Status::ok);
  const float logits[] = {1, 1.5f, 1};
  for (int i = 0; i < 50; ++i) {
    int token = -1;
    ASSERT_EQ(sampler.sample(logits, 3, {}, nullptr, token), Status::ok);
    EXPECT_EQ(token, 1);
  }
}

}  // namespace
}  // namespace ropewalk
