// Weights of rows: the scalar kernel against double, and SIMD against scalar bit for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attention/kernels/attention_kernels.h"
#include "native/attention/attention_guarded.h"

namespace ropewalk {
namespace attention_weigh_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kHalfUlp = 0x1p-24;  // half an ulp of f32, relative: the largest error of one operation

struct WeighCase {
  bool has_bias;
  float soft_cap;
  SoftmaxState before;
};

// Before the first key.
constexpr SoftmaxState kFresh = {std::numeric_limits<float>::lowest(), 0};

const WeighCase kWeighCases[] = {
    {false, 0, kFresh},     {true, 0, kFresh},     {false, 5, kFresh},      {true, 5, kFresh},
    {true, 5, {-30, 2.5f}}, {false, 0, {0.5f, 7}}, {false, 0, {40, 1.25f}}, {true, 5, {60, 1}},
};

struct Weighed {
  Guarded<float> weights{kBlockTokens};
  SoftmaxState state;
  float correction;
};

// Scores outside [first, last) would change the result if they were read.
Weighed weigh(const AttentionKernels& kernels, const std::vector<float>& scores, const WeighCase& c, int first, int last) {
  Weighed result{Guarded<float>(scores), c.before, 0};
  for (int n = 0; n < kBlockTokens; ++n) {
    if (n < first || n >= last) result.weights[n] = n % 2 == 0 ? kNaN : kInfinity;
  }
  Guarded<float> bias(kBlockTokens, 0.0f);
  for (int n = 0; n < kBlockTokens; ++n) bias[n] = static_cast<float>(n % 5) / 4 - 1;
  kernels.weigh({result.weights.data(), 1, c.has_bias ? bias.data() : nullptr, first, last, 0.75f, c.soft_cap}, &result.state,
                &result.correction);
  EXPECT_TRUE(result.weights.guards_are_intact());
  return result;
}

// Or both NaN, whose bits aren't specified.
bool are_same(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b)); }

void expect_same_bits(const Weighed& a, const Weighed& b) {
  for (int n = 0; n < kBlockTokens; ++n) EXPECT_TRUE(are_same(a.weights[n], b.weights[n])) << n;
  EXPECT_TRUE(are_same(a.state.maximum, b.state.maximum));
  EXPECT_TRUE(are_same(a.state.sum, b.state.sum));
  EXPECT_TRUE(are_same(a.correction, b.correction));
}

std::vector<float> random_scores(std::uint32_t seed) {
  Random random(seed);
  std::vector<float> scores(kBlockTokens);
  for (float& score : scores) score = static_cast<float>(4 * random.next());
  return scores;
}

TEST(WeighKernel, IsASoftmaxOfTheVisibleKeys) {
  const std::vector<float> scores = random_scores(5);
  for (const WeighCase& c : kWeighCases) {
    for (int first = 0; first < kBlockTokens; ++first) {
      for (int last = first + 1; last <= kBlockTokens; ++last) {
        SCOPED_TRACE(testing::Message() << "keys " << first << " to " << last << ", cap " << c.soft_cap << ", maximum "
                                        << c.before.maximum);
        const Weighed scalar = weigh(kScalarAttentionKernels, scores, c, first, last);
        ASSERT_NO_FATAL_FAILURE(expect_same_bits(weigh(kWasmSimdAttentionKernels, scores, c, first, last), scalar));

        std::vector<double> exact(kBlockTokens);
        double maximum = c.before.maximum;
        for (int n = first; n < last; ++n) {
          exact[n] = scores[n] * 0.75;
          if (c.soft_cap != 0) exact[n] = c.soft_cap * std::tanh(exact[n] / c.soft_cap);
          if (c.has_bias) exact[n] += (n % 5) / 4.0 - 1;
          maximum = std::fmax(maximum, exact[n]);
        }
        // A score, at most 8, is off by the ulps of its steps, tanh's included; that of the state is exact. exp adds two ulps.
        const double tolerance = (8 * 8 + 3) * kHalfUlp;
        ASSERT_NEAR(scalar.state.maximum, maximum, 8 * 8 * kHalfUlp);
        double sum = c.before.sum * std::exp(c.before.maximum - maximum);
        for (int n = 0; n < kBlockTokens; ++n) {
          const double weight = n >= first && n < last ? std::exp(exact[n] - maximum) : 0;
          ASSERT_NEAR(scalar.weights[n], weight, 2 * tolerance * weight) << n;  // twice: the score's error and the maximum's
          sum += weight;
        }
        ASSERT_NEAR(scalar.state.sum, sum, 2 * tolerance * sum);
        ASSERT_NEAR(scalar.correction, std::exp(c.before.maximum - maximum), 2 * tolerance * scalar.correction);
      }
    }
  }
}

// Infinite scores and NaN give the same bits in both kernels, wherever they are.
TEST(WeighKernel, SpecialScoresGiveTheSameBits) {
  const float specials[] = {kNaN, kInfinity, -kInfinity, 3e38f, -3e38f, 0.0f, -0.0f, 1e-40f};
  for (const WeighCase& c : kWeighCases) {
    for (const float special : specials) {
      for (const int stride : {1, 2, 7}) {
        std::vector<float> scores = random_scores(6);
        for (int n = 0; n < kBlockTokens; n += stride) scores[n] = special;
        for (const auto& [first, last] : {std::pair{0, 32}, std::pair{3, 18}, std::pair{7, 8}}) {
          SCOPED_TRACE(testing::Message() << special << " each " << stride << ", cap " << c.soft_cap);
          expect_same_bits(weigh(kWasmSimdAttentionKernels, scores, c, first, last),
                           weigh(kScalarAttentionKernels, scores, c, first, last));
        }
      }
    }
  }
}

// A score of NaN gives a weight and a sum of NaN; keys outside the range have weight 0.
TEST(WeighKernel, NaNIsKept) {
  for (const AttentionKernels* kernels : {&kScalarAttentionKernels, &kWasmSimdAttentionKernels}) {
    for (const WeighCase& c : kWeighCases) {
      std::vector<float> scores = random_scores(11);
      scores[9] = kNaN;
      const Weighed weighed = weigh(*kernels, scores, c, 5, 20);
      EXPECT_TRUE(std::isnan(weighed.state.sum)) << kernels->name;
      for (int n = 0; n < kBlockTokens; ++n) {
        EXPECT_EQ(std::isnan(weighed.weights[n]), n == 9) << kernels->name;
        EXPECT_EQ(weighed.weights[n] == 0, n < 5 || n >= 20) << kernels->name;
      }
    }
  }
}

TEST(WeighKernel, OneKeyHasAllTheWeight) {
  const Weighed weighed = weigh(kScalarAttentionKernels, random_scores(7), {true, 5, kFresh}, 9, 10);
  EXPECT_EQ(weighed.weights[9], 1);
  EXPECT_EQ(weighed.state.sum, 1);
  EXPECT_EQ(weighed.correction, 0);
}

// Rows of one call give the bits of calls of their own.
TEST(WeighKernel, RowsDoNotDependOnEachOther) {
  constexpr int kRows = 9;
  for (const AttentionKernels* kernels : {&kScalarAttentionKernels, &kWasmSimdAttentionKernels}) {
    for (const WeighCase& c : kWeighCases) {
      for (const auto& [first, last] : {std::pair{0, kBlockTokens}, std::pair{3, 18}}) {
        std::vector<float> bias(kBlockTokens, 0.25f), scores;
        std::vector<SoftmaxState> states;
        for (int row = 0; row < kRows; ++row) {
          const std::vector<float> own = random_scores(20 + row);
          scores.insert(scores.end(), own.begin(), own.end());
          states.push_back(row % 2 == 0 ? c.before : SoftmaxState{static_cast<float>(row), 2});
        }
        std::vector<float> alone = scores, corrections(kRows), corrections_alone(kRows);
        std::vector<SoftmaxState> states_alone = states;
        WeighRows rows = {scores.data(), kRows, c.has_bias ? bias.data() : nullptr, first, last, 0.75f, c.soft_cap, kF16Unit};
        kernels->weigh(rows, states.data(), corrections.data());
        rows.rows = 1;
        for (int row = 0; row < kRows; ++row) {
          rows.scores = alone.data() + row * kBlockTokens;
          kernels->weigh(rows, &states_alone[row], &corrections_alone[row]);
          EXPECT_EQ(states[row].maximum, states_alone[row].maximum) << kernels->name;
          EXPECT_EQ(states[row].sum, states_alone[row].sum) << kernels->name;
        }
        EXPECT_EQ(scores, alone) << kernels->name;
        EXPECT_EQ(corrections, corrections_alone) << kernels->name;
      }
    }
  }
}

TEST(WeighKernel, StoresWeightsTimesAUnit) {
  const std::vector<float> scores = random_scores(16);
  for (const AttentionKernels* kernels : {&kScalarAttentionKernels, &kWasmSimdAttentionKernels}) {
    std::vector<float> plain = scores, times = scores;
    SoftmaxState states[2] = {kFresh, kFresh};
    float corrections[2];
    kernels->weigh({plain.data(), 1, nullptr, 0, kBlockTokens, 0.75f, 0}, &states[0], &corrections[0]);
    kernels->weigh({times.data(), 1, nullptr, 0, kBlockTokens, 0.75f, 0, kF16Unit}, &states[1], &corrections[1]);
    for (int n = 0; n < kBlockTokens; ++n) EXPECT_EQ(times[n], plain[n] * kF16Unit) << kernels->name;
    EXPECT_EQ(states[0].sum, states[1].sum);
  }
}

}  // namespace
}  // namespace attention_weigh_test
}  // namespace ropewalk
