// Six rows at a time: the bits of four at a time.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "attention/kernels/attention_products_simd.h"
#include "native/random/random_cases.h"

namespace ropewalk {
namespace {

constexpr int kRows = 6;

std::vector<float> random_numbers(RandomCase& random, int count) {
  std::vector<float> numbers(count);
  for (float& number : numbers) number = random.number();
  return numbers;
}

void expect_same_bits(const std::vector<float>& actual, const std::vector<float>& expected) {
  EXPECT_EQ(std::memcmp(actual.data(), expected.data(), actual.size() * sizeof(float)), 0);
}

TEST(SixRows, HaveTheScoresOfFour) {
  for_each_case(100, [](RandomCase& random) {
    const int dim = kRowFloats * random.whole(1, 20), count = random.whole(1, kBlockTokens);
    const int query_stride = dim + random.whole(0, 5), key_stride = dim + random.whole(0, 5);
    const std::vector<float> queries = random_numbers(random, kRows * query_stride), keys = random_numbers(random, count * key_stride);
    std::vector<float> expected(kRows * kBlockTokens), actual = expected;
    const auto block = [&](std::vector<float>& scores) {
      return ScoreBlockOf<float>{queries.data(), query_stride, kRows, keys.data(), key_stride, count, dim, scores.data()};
    };
    score_simd<MultiplyThenAdd>(block(expected));
    score_rows<MultiplyThenAdd, float, kRows>(block(actual), 0);
    expect_same_bits(actual, expected);
  });
}

TEST(SixRows, HaveTheValuesOfFour) {
  for_each_case(100, [](RandomCase& random) {
    const int dim = kRowFloats * random.whole(1, 20), count = random.whole(1, kBlockTokens);
    const int value_stride = dim + random.whole(0, 5), out_stride = dim + random.whole(0, 5);
    const std::vector<float> weights = random_numbers(random, kRows * kBlockTokens), corrections = random_numbers(random, kRows);
    const std::vector<float> values = random_numbers(random, count * value_stride);
    std::vector<float> expected = random_numbers(random, kRows * out_stride), actual = expected;
    const auto block = [&](std::vector<float>& out) {
      return BlendBlockOf<float>{weights.data(), corrections.data(), kRows, values.data(), value_stride, count, dim,
                                 out.data(),     out_stride};
    };
    blend_simd<MultiplyThenAdd>(block(expected));
    blend_rows<MultiplyThenAdd, float, kRows>(block(actual), 0);
    expect_same_bits(actual, expected);
  });
}

}  // namespace
}  // namespace ropewalk
