// RMSNorm and LayerNorm compared with their definitions in long double.
#include "vectors/normalize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "native/attention/attention_guarded.h"

namespace ropewalk {
namespace {

using oracle::Real;

// Four f32 roundings (the difference, the factor, two products), one of the sum with the bias, and the f64 rounding of the mean.
void expect_normalized(const Norm& norm, const std::vector<float>& x, const std::vector<float>& weight, const std::vector<float>& bias) {
  const Guarded<float> in(x), w(weight), b(bias);
  Guarded<float> out(x.size(), -7);
  const int size = static_cast<int>(x.size());
  normalize(norm, in.data(), size, w.data(), bias.empty() ? nullptr : b.data(), out.data());

  const bool is_layer = norm.kind == NormKind::layer;
  Real sum = 0, largest = 0, squares = 0;
  for (const float value : x) sum += value, largest = std::max(largest, std::fabs(static_cast<Real>(value)));
  const Real mean = is_layer ? sum / size : 0, mean_error = is_layer ? 0x1p-53 * size * largest : 0;
  for (const float value : x) squares += (value - mean) * (value - mean);
  const Real factor = 1 / std::sqrt(squares / size + norm.epsilon);
  for (int i = 0; i < size; ++i) {
    const Real scaled = (x[i] - mean) * factor * weight[i], exact = scaled + (is_layer && !bias.empty() ? bias[i] : 0);
    const Real tolerance = 0x1p-24 * (4.1 * std::fabs(scaled) + std::fabs(exact)) + mean_error * factor * std::fabs(weight[i]) + 0x1p-149;
    ASSERT_LE(std::fabs(out[i] - exact), tolerance) << "element " << i << " of " << size << ": " << out[i] << " for " << exact;
  }
  EXPECT_TRUE(out.guards_are_intact());

  Guarded<float> in_place(x);
  normalize(norm, in_place.data(), size, w.data(), bias.empty() ? nullptr : b.data(), in_place.data());
  EXPECT_TRUE(in_place.same_bits(out));
}

std::vector<float> random_vector(int size, std::uint32_t seed, double offset = 0, double scale = 1) {
  Random random(seed);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(offset + scale * random.next());
  return values;
}

TEST(Normalize, MatchesItsDefinition) {
  for (const NormKind kind : {NormKind::rms, NormKind::layer}) {
    for (const float epsilon : {1e-12f, 1e-5f, 1.0f}) {
      for (const int size : {1, 2, 3, 4, 5, 31, 64, 1000}) {
        const std::vector<float> x = random_vector(size, size), weight = random_vector(size, 1000 + size),
                                 bias = random_vector(size, 2000 + size);
        SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << ", epsilon " << epsilon);
        ASSERT_NO_FATAL_FAILURE(expect_normalized({kind, epsilon}, x, weight, bias));
        ASSERT_NO_FATAL_FAILURE(expect_normalized({kind, epsilon}, x, weight, {}));
      }
    }
  }
}

// A mean that f32 can't represent, and values whose squares it can't.
TEST(Normalize, OffsetsAndScalesOfAnySize) {
  for (const NormKind kind : {NormKind::rms, NormKind::layer}) {
    for (const double offset : {0.0, 1e3, -1e6, 1e9}) {
      for (const double scale : {1e-20, 1e-3, 1.0, 100.0, 1e25}) {
        SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << ", offset " << offset << ", scale " << scale);
        const std::vector<float> x = random_vector(257, 3, offset, scale), weight = random_vector(257, 4), bias = random_vector(257, 5);
        ASSERT_NO_FATAL_FAILURE(expect_normalized({kind, 1e-6f}, x, weight, bias));
      }
    }
  }
}

TEST(Normalize, EqualElements) {
  const std::vector<float> weight = random_vector(100, 1), bias = random_vector(100, 2);
  for (const float value : {0.0f, 3.5f, -1e8f}) {
    const std::vector<float> x(100, value);
    ASSERT_NO_FATAL_FAILURE(expect_normalized({NormKind::rms, 1e-5f}, x, weight, bias));
    std::vector<float> out(100);
    normalize({NormKind::layer, 1e-5f}, x.data(), 100, weight.data(), bias.data(), out.data());
    EXPECT_EQ(out, bias) << "without variance only the bias is left";
  }
}

TEST(Normalize, RmsReadsNoBias) {
  const std::vector<float> x = random_vector(20, 1), weight = random_vector(20, 2), bias(20, NAN);
  std::vector<float> with(20), without(20);
  normalize({NormKind::rms, 1e-5f}, x.data(), 20, weight.data(), bias.data(), with.data());
  normalize({NormKind::rms, 1e-5f}, x.data(), 20, weight.data(), nullptr, without.data());
  EXPECT_EQ(with, without);
}

// NaN and infinity aren't hidden.
TEST(Normalize, NanAndInfinitySpread) {
  for (const NormKind kind : {NormKind::rms, NormKind::layer}) {
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      std::vector<float> x = random_vector(9, 1), weight(9, 1), out(9);
      x[4] = bad;
      normalize({kind, 1e-5f}, x.data(), 9, weight.data(), nullptr, out.data());
      EXPECT_TRUE(std::isnan(out[4]));
    }
  }
}

}  // namespace
}  // namespace ropewalk
