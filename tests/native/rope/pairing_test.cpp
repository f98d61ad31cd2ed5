// Conversion of projection weights from one pairing to the other.
#include "rope/pairing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "native/rope/ropes.h"

namespace ropewalk {
namespace {

std::vector<float> converted(const std::vector<float>& weights, const ProjectionShape& shape, Pairing from, Pairing to) {
  std::vector<float> result(weights.size());
  EXPECT_EQ(convert_pairing(weights.data(), result.data(), sizeof(float), shape, from, to), Status::ok);
  return result;
}

// A bias that holds its row indices shows where each row goes.
TEST(Pairing, RowsGoToTheirPairs) {
  std::vector<float> bias(8);
  std::iota(bias.begin(), bias.end(), 0.0f);
  const ProjectionShape whole = {1, 8, 1, 0, 8};
  EXPECT_EQ(converted(bias, whole, Pairing::interleaved, Pairing::half), (std::vector<float>{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(converted(bias, whole, Pairing::half, Pairing::interleaved), (std::vector<float>{0, 4, 1, 5, 2, 6, 3, 7}));
  // partial rotary: only the span of each head moves
  std::vector<float> two_heads(20);
  std::iota(two_heads.begin(), two_heads.end(), 0.0f);
  EXPECT_EQ(converted(two_heads, {2, 10, 1, 3, 6}, Pairing::interleaved, Pairing::half),
            (std::vector<float>{0, 1, 2, 3, 5, 7, 4, 6, 8, 9, 10, 11, 12, 13, 15, 17, 14, 16, 18, 19}));
}

TEST(Pairing, RoundTripIsTheIdentity) {
  for (const ProjectionShape& shape : {ProjectionShape{4, 64, 37, 0, 64}, ProjectionShape{3, 80, 5, 0, 20},
                                       ProjectionShape{2, 96, 8, 32, 64}, ProjectionShape{1, 2, 1, 0, 2}}) {
    const std::vector<float> weights = random_floats(static_cast<std::size_t>(shape.heads) * shape.head_dim * shape.columns, 1);
    for (const auto& [a, b] : {std::pair{Pairing::half, Pairing::interleaved}, std::pair{Pairing::interleaved, Pairing::half}}) {
      EXPECT_EQ(converted(converted(weights, shape, a, b), shape, b, a), weights);
      EXPECT_EQ(converted(weights, shape, a, a), weights);
    }
  }
}

TEST(Pairing, AnyElementSize) {
  const ProjectionShape shape = {2, 8, 3, 2, 6};
  const std::vector<float> weights = random_floats(2 * 8 * 3, 2);
  const std::vector<float> expected = converted(weights, shape, Pairing::half, Pairing::interleaved);
  // the same permutation for elements of 1, 2 and 8 bytes that hold their index
  const auto check = [&](auto zero) {
    using Element = decltype(zero);
    std::vector<Element> numbers(weights.size()), moved(weights.size());
    std::iota(numbers.begin(), numbers.end(), Element{0});
    ASSERT_EQ(convert_pairing(numbers.data(), moved.data(), sizeof(Element), shape, Pairing::half, Pairing::interleaved), Status::ok);
    for (std::size_t i = 0; i < moved.size(); ++i) EXPECT_EQ(weights[moved[i]], expected[i]);
  };
  check(std::uint8_t{0});
  check(std::uint16_t{0});
  check(std::uint64_t{0});
}

// W x + b for each row of a projection.
std::vector<float> project(const std::vector<float>& weights, const std::vector<float>& bias, const std::vector<float>& x) {
  std::vector<float> result(bias);
  for (std::size_t row = 0; row < bias.size(); ++row) {
    for (std::size_t i = 0; i < x.size(); ++i) result[row] += weights[row * x.size() + i] * x[i];
  }
  return result;
}

// A checkpoint that is converted to the other pairing and rotated in it gives the same attention scores.
TEST(Pairing, AttentionScoresAgree) {
  const int heads = 2, dim = 48, width = 20;
  RopeConfig config = yarn_config(dim, 1e6, 4, 32768);
  config.rotary_dim = 32, config.rotary_offset = 8;
  const ProjectionShape weight_shape = {heads, dim, width, 8, 32}, bias_shape = {heads, dim, 1, 8, 32};
  const std::vector<float> q_weight = random_floats(heads * dim * width, 3), k_weight = random_floats(heads * dim * width, 4);
  const std::vector<float> q_bias = random_floats(heads * dim, 5), k_bias = random_floats(heads * dim, 6);
  const std::vector<float> x = random_floats(width, 7), y = random_floats(width, 8);

  const auto rotated = [&](Pairing pairing, std::vector<float> projected, double position, Role role) {
    ConfiguredRope rope(with_pairing(config, pairing));
    EXPECT_EQ(rope.rotate({projected.data(), projected.data(), DType::f32, Layout::thd, {1, 1, heads, dim}}, {position, nullptr, 1, 1, 1},
                          0, {role, false}),
              Status::ok);
    return projected;
  };
  for (const auto& [native, other] : {std::pair{Pairing::half, Pairing::interleaved}, std::pair{Pairing::interleaved, Pairing::half}}) {
    for (const auto& [m, n] : {std::pair{0.0, 0.0}, std::pair{9.0, 2.0}, std::pair{100000.0, 31.0}}) {
      const std::vector<float> q = rotated(native, project(q_weight, q_bias, x), m, Role::query);
      const std::vector<float> k = rotated(native, project(k_weight, k_bias, y), n, Role::key);
      const std::vector<float> q2 =
          rotated(other, project(converted(q_weight, weight_shape, native, other), converted(q_bias, bias_shape, native, other), x), m,
                  Role::query);
      const std::vector<float> k2 = rotated(
          other, project(converted(k_weight, weight_shape, native, other), converted(k_bias, bias_shape, native, other), y), n, Role::key);
      for (int head = 0; head < heads; ++head) {
        double score = 0, score2 = 0, mixed = 0;
        for (int i = head * dim; i < (head + 1) * dim; ++i) {
          score += double{q[i]} * k[i], score2 += double{q2[i]} * k2[i], mixed += double{q[i]} * k2[i];
        }
        // the same products in another order: each is exact in f64, and the sum almost is
        EXPECT_NEAR(score2, score, std::fabs(score) * 1e-12 + 1e-9);
        EXPECT_GT(std::fabs(mixed - score), 1e-3);  // the vectors do differ
      }
    }
  }
}

TEST(Pairing, BadShapesAreRefused) {
  const std::vector<float> weights(64, 1);
  std::vector<float> target(64, 42);
  const auto convert = [&](const ProjectionShape& shape, Pairing from = Pairing::half, Pairing to = Pairing::interleaved) {
    return convert_pairing(weights.data(), target.data(), sizeof(float), shape, from, to);
  };
  EXPECT_EQ(convert({1, 8, 1, 0, 8}, Pairing::interleaved_to_half), Status::pairing_unknown);
  EXPECT_EQ(convert({1, 8, 1, 0, 8}, Pairing::half, Pairing::interleaved_to_half), Status::pairing_unknown);
  EXPECT_EQ(convert({1, 8, 1, 0, 8}, Pairing{7}), Status::pairing_unknown);
  EXPECT_EQ(convert({1, 8, 1, 0, 8}, Pairing::half, Pairing{-1}), Status::pairing_unknown);
  EXPECT_EQ(convert({0, 8, 1, 0, 8}), Status::shape_out_of_range);
  EXPECT_EQ(convert({1, 8, 0, 0, 8}), Status::shape_out_of_range);
  EXPECT_EQ(convert({1, 1, 1, 0, 0}), Status::shape_out_of_range);
  EXPECT_EQ(convert({1, 8194, 1, 0, 2}), Status::shape_out_of_range);
  EXPECT_EQ(convert_pairing(weights.data(), target.data(), 0, {1, 8, 1, 0, 8}, Pairing::half, Pairing::interleaved),
            Status::shape_out_of_range);
  EXPECT_EQ(convert({1, 8, 1, 0, 5}), Status::rotary_dim_odd);
  EXPECT_EQ(convert({1, 8, 1, 0, 0}), Status::rotary_dim_out_of_range);
  EXPECT_EQ(convert({1, 8, 1, 0, 10}), Status::rotary_dim_out_of_range);
  EXPECT_EQ(convert({1, 8, 1, 3, 6}), Status::rotary_span_outside_head);
  EXPECT_EQ(convert({1, 8, 1, -1, 6}), Status::rotary_span_outside_head);
  EXPECT_EQ(target, std::vector<float>(64, 42));
}

}  // namespace
}  // namespace ropewalk
