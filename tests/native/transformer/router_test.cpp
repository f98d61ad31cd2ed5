// Routing of tokens to experts, compared with sorting; gathering and scattering of rows.
#include "transformer/blocks/router.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "native/attention/attention_guarded.h"

namespace ropewalk {
namespace {

struct RouterShape {
  int experts, used;
  bool normalizes;
  Routing routing() const { return {.used = used, .normalizes = normalizes}; }
};

const RouterShape kShapes[] = {{1, 1, false}, {2, 1, true}, {4, 4, false}, {8, 2, true}, {8, 2, false}, {60, 4, false}, {128, 8, true}};

// The weight of each expert for one token, 0 if it isn't chosen. Found by scattering ones.
std::vector<float> weights_of(const Router& router, int experts, int tokens, int token) {
  std::vector<float> weights;
  for (int expert = 0; expert < experts; ++expert) {
    std::vector<float> ones(tokens, 1), rows(tokens, 0);
    router.scatter(expert, ones.data(), 1, rows.data());
    weights.push_back(rows[token]);
  }
  return weights;
}

std::vector<double> exact_weights(const RouterShape& shape, const float* scores) {
  std::vector<int> order(shape.experts);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return scores[a] > scores[b]; });
  double all = 0, used = 0;
  for (int i = 0; i < shape.experts; ++i) {
    const double weight = std::exp(static_cast<double>(scores[order[i]]) - scores[order[0]]);
    all += weight;
    used += i < shape.used ? weight : 0;
  }
  std::vector<double> weights(shape.experts, 0);
  for (int i = 0; i < shape.used; ++i)
    weights[order[i]] = std::exp(static_cast<double>(scores[order[i]]) - scores[order[0]]) / (shape.normalizes ? used : all);
  return weights;
}

// exp is within 1.5 ulp, its rounded arguments are below 24 (24 · 2^-24), and the f32 sum has 128 terms.
constexpr double kTolerance = 1e-5;

TEST(Router, ChoosesTheLargestAndWeighsThem) {
  for (const RouterShape& shape : kShapes) {
    const int tokens = 9;
    Router router;
    ASSERT_TRUE(router.resize(shape.experts, shape.routing(), tokens));
    Random random(shape.experts);
    std::vector<float> scores(shape.experts * tokens);
    for (float& score : scores) score = static_cast<float>(random.next() * 6);
    std::copy(scores.begin(), scores.end(), router.scores());
    router.choose(tokens, nullptr);
    for (int token = 0; token < tokens; ++token) {
      const std::vector<float> weights = weights_of(router, shape.experts, tokens, token);
      const std::vector<double> expected = exact_weights(shape, &scores[token * shape.experts]);
      double sum = 0;
      for (int expert = 0; expert < shape.experts; ++expert) {
        sum += weights[expert];
        ASSERT_NEAR(weights[expert], expected[expert], kTolerance * expected[expert]) << shape.experts << " experts, expert " << expert;
      }
      if (shape.normalizes) {
        EXPECT_NEAR(sum, 1, kTolerance);
      }
    }
  }
}

std::vector<float> weights_for(const RouterShape& shape, const std::vector<float>& scores) {
  Router router;
  EXPECT_TRUE(router.resize(shape.experts, shape.routing(), 1));
  std::copy(scores.begin(), scores.end(), router.scores());
  router.choose(1, nullptr);
  return weights_of(router, shape.experts, 1, 0);
}

TEST(Router, OfEqualScoresTheFirstWins) {
  EXPECT_EQ(weights_for({4, 2, true}, {1, 1, 1, 1}), (std::vector<float>{0.5f, 0.5f, 0, 0}));
  EXPECT_EQ(weights_for({4, 2, false}, {-3, 2, 2, 2}).back(), 0);
  EXPECT_EQ(weights_for({4, 1, true}, {-INFINITY, 5, 7, 7}), (std::vector<float>{0, 0, 1, 0}));
}

// Different scores whose exponentials are equal or 0.
TEST(Router, TheLargerScoreWinsHoweverSmallItsWeight) {
  const std::vector<float> weights = weights_for({3, 2, false}, {1, std::nextafter(1.0f, 2.0f), 20});
  EXPECT_EQ(weights[0], 0);
  EXPECT_GT(weights[1], 0);
  Router router;
  ASSERT_TRUE(router.resize(3, {.used = 2, .normalizes = true}, 1));
  const float scores[] = {-300, -200, 0}, row = 1;
  std::copy(scores, scores + 3, router.scores());
  router.choose(1, nullptr);
  float gathered = 0;
  EXPECT_EQ(router.gather(0, &row, 1, &gathered), 0);
  EXPECT_EQ(router.gather(1, &row, 1, &gathered), 1);
}

// DeepSeek-V3: sigmoids, a bias that only chooses, and a factor.
TEST(Router, ABiasChoosesAndDoesNotWeigh) {
  Router router;
  ASSERT_TRUE(router.resize(3, {.used = 2, .weight = ExpertWeight::sigmoid, .normalizes = true, .scale = 2.5f}, 1));
  const float scores[] = {2, 0, -1}, bias[] = {0, -1, 1};
  std::copy(scores, scores + 3, router.scores());
  router.choose(1, bias);  // sums of sigmoid and bias: 0.88, -0.5, 1.27
  const std::vector<float> weights = weights_of(router, 3, 1, 0);
  const double first = 1 / (1 + std::exp(-2.0)), last = 1 / (1 + std::exp(1.0));
  EXPECT_NEAR(weights[0], 2.5 * first / (first + last), kTolerance);
  EXPECT_EQ(weights[1], 0);
  EXPECT_NEAR(weights[2], 2.5 * last / (first + last), kTolerance);
}

// Gemma 4: a factor on scores before the softmax, and one of each expert after its weight is normalized.
TEST(Router, ScoresAndExpertsHaveFactors) {
  Router router;
  ASSERT_TRUE(router.resize(3, {.used = 2, .normalizes = true, .score_scale = 0.5f}, 1));
  const float scores[] = {2, 4, -2}, scales[] = {3, 0.25f, 7};
  std::copy(scores, scores + 3, router.scores());
  router.choose(1, nullptr, scales);
  const std::vector<float> weights = weights_of(router, 3, 1, 0);
  const double share = 1 / (1 + std::exp(-1.0));
  EXPECT_NEAR(weights[0], 3 * (1 - share), kTolerance);
  EXPECT_NEAR(weights[1], 0.25 * share, kTolerance);
  EXPECT_EQ(weights[2], 0);
}

// ERNIE 4.5: weights are divided by at least a number of the config, so that their sum may stay below 1.
TEST(Router, SmallSumsAreNotScaledToOne) {
  Router router;
  ASSERT_TRUE(router.resize(3, {.used = 1, .normalizes = true, .least_sum = 0.8f}, 2));
  const float scores[] = {0, 0, 0, 9, 0, 0};
  std::copy(scores, scores + 6, router.scores());
  router.choose(2, nullptr);
  EXPECT_NEAR(weights_of(router, 3, 2, 0)[0], 1 / 3.0 / 0.8, kTolerance);
  EXPECT_NEAR(weights_of(router, 3, 2, 1)[0], 1, kTolerance);
}

// DeepSeek-V2 scores a group by its largest weight, V3 by the sum of its two largest.
TEST(Router, ExpertsAreOfTheBestGroups) {
  const float scores[] = {5, -9, 3, 3.5f, 4, 0, 1, 2};
  const auto chosen = [&](int best) {
    Router router;
    EXPECT_TRUE(router.resize(8, {.used = 2, .weight = ExpertWeight::sigmoid, .groups = 4, .groups_used = 1, .group_best = best}, 1));
    std::copy(std::begin(scores), std::end(scores), router.scores());
    router.choose(1, nullptr);
    const std::vector<float> weights = weights_of(router, 8, 1, 0);
    std::vector<int> experts;
    for (int i = 0; i < 8; ++i) {
      if (weights[i] > 0) experts.push_back(i);
    }
    return experts;
  };
  EXPECT_EQ(chosen(1), (std::vector<int>{0, 1}));
  EXPECT_EQ(chosen(2), (std::vector<int>{2, 3}));
}

TEST(Router, WeightsMayScaleTheInput) {
  Router router;
  ASSERT_TRUE(router.resize(2, {.used = 1, .weight = ExpertWeight::sigmoid, .scales_input = true}, 1));
  router.scores()[0] = 0, router.scores()[1] = -1;
  router.choose(1, nullptr);
  const float row = 3;
  float gathered = 0, out = 1;
  EXPECT_EQ(router.gather(0, &row, 1, &gathered), 1);
  EXPECT_EQ(gathered, 1.5f);  // sigmoid(0) is 1/2
  router.scatter(0, &gathered, 1, &out);
  EXPECT_EQ(out, 2.5f);
}

// Ernie 4.5: a bias on softmax weights, which can choose experts whose weights are all 0.
TEST(Router, WeightsOfZeroStayFinite) {
  Router router;
  ASSERT_TRUE(router.resize(3, {.used = 1, .normalizes = true}, 1));
  const float scores[] = {0, -200, -200}, bias[] = {0, 2, 0};
  std::copy(scores, scores + 3, router.scores());
  router.choose(1, bias);
  EXPECT_EQ(weights_of(router, 3, 1, 0), (std::vector<float>{0, 0, 0}));
}

TEST(Router, RowsGoToTheirExpertsAndBack) {
  const int tokens = 7, size = 5;
  for (const RouterShape& shape : kShapes) {
    Router router;
    ASSERT_TRUE(router.resize(shape.experts, {.used = shape.used, .normalizes = true}, tokens));
    Random random(7);
    for (int i = 0; i < shape.experts * tokens; ++i) router.scores()[i] = static_cast<float>(random.next());
    router.choose(tokens, nullptr);
    Guarded<float> rows(tokens * size), back(tokens * size, 0.0f);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(random.next());
    int all = 0;
    for (int expert = 0; expert < shape.experts; ++expert) {
      Guarded<float> gathered(tokens * size, -7);
      const int count = router.gather(expert, rows.data(), size, gathered.data());
      for (int row = 0, token = 0; row < count; ++row, ++token) {  // in the order of the tokens
        while (token < tokens && !std::equal(&rows[token * size], &rows[token * size] + size, &gathered[row * size])) ++token;
        ASSERT_LT(token, tokens) << "a row that belongs to no token";
      }
      for (std::size_t i = count * size; i < gathered.size(); ++i) ASSERT_EQ(gathered[i], -7) << "written after the last row";
      router.scatter(expert, gathered.data(), size, back.data());
      ASSERT_TRUE(gathered.guards_are_intact());
      all += count;
    }
    EXPECT_EQ(all, tokens * shape.used);
    // experts that return their input, with weights that sum to 1
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(back[i], rows[i], kTolerance * std::fabs(rows[i]));
    EXPECT_TRUE(back.guards_are_intact());
  }
}

// For any scores, a token has at most one row per expert, and no row is written past the end.
TEST(Router, NonFiniteScoresOverrunNothing) {
  const float nan = std::nanf(""), scores[][4] = {{nan, nan, nan, nan},
                                                  {nan, 1, 2, 3},
                                                  {1, nan, 2, nan},
                                                  {INFINITY, INFINITY, 0, nan},
                                                  {-INFINITY, -INFINITY, -INFINITY, -INFINITY},
                                                  {3, 2, 1, nan}};
  for (const bool normalizes : {false, true}) {
    const int tokens = 6;
    Router router;
    ASSERT_TRUE(router.resize(4, {.used = 3, .normalizes = normalizes}, tokens));
    for (int t = 0; t < tokens; ++t) std::copy_n(scores[t], 4, router.scores() + 4 * t);
    router.choose(tokens, nullptr);
    for (int expert = 0; expert < 4; ++expert) {
      Guarded<float> rows(tokens * 2, 1.0f), gathered(tokens * 2);
      EXPECT_LE(router.gather(expert, rows.data(), 2, gathered.data()), tokens);
      router.scatter(expert, gathered.data(), 2, rows.data());
      EXPECT_TRUE(rows.guards_are_intact() && gathered.guards_are_intact());
    }
  }
}

// A router that was used for a larger model, with fewer tokens than it has memory for.
TEST(Router, CanBeReused) {
  Router router;
  ASSERT_TRUE(router.resize(8, {.used = 4, .normalizes = true}, 20));
  std::fill_n(router.scores(), 160, 0.0f);
  router.choose(20, nullptr);
  ASSERT_TRUE(router.resize(2, {.used = 1}, 5));
  float row = 1, gathered = 0;
  EXPECT_EQ(router.gather(0, &row, 1, &gathered), 0) << "nothing is chosen yet";
  const float scores[] = {0, 1, 1, 0};
  std::copy(scores, scores + 4, router.scores());
  router.choose(2, nullptr);
  const float rows[] = {3, 4};
  EXPECT_EQ(router.gather(0, rows, 1, &gathered), 1);
  EXPECT_EQ(gathered, 4);
}

}  // namespace
}  // namespace ropewalk
