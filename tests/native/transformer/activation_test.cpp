// Activation functions compared with erf, tanh and exp in double, around 0 and for very large numbers.
#include "vectors/activation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "native/attention/attention_guarded.h"

namespace ropewalk {
namespace {

const Activation kActivations[] = {Activation::silu, Activation::gelu, Activation::gelu_tanh};

double exact(Activation activation, double x) {
  switch (activation) {
    case Activation::silu: return x / (1 + std::exp(-x));
    case Activation::gelu: return x * std::erfc(-x * std::sqrt(0.5)) / 2;
    case Activation::relu2:
    case Activation::xielu: break;
    case Activation::gelu_tanh: return x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))) / 2;
  }
  return NAN;
}

std::vector<float> activated(Activation activation, const std::vector<float>& x) {
  Guarded<float> values(x);
  activate(activation, values.data(), static_cast<std::ptrdiff_t>(x.size()));
  EXPECT_TRUE(values.guards_are_intact());
  return values.values();
}

// Numbers from -100 to 100, densest around 0, and numbers of both signs down to the smallest.
std::vector<float> dense_range() {
  std::vector<float> x;
  for (int i = -100000; i <= 100000; ++i) x.push_back(static_cast<float>(i) * 1e-3f);
  for (int i = -20000; i <= 20000; ++i) x.push_back(static_cast<float>(i) * 0x1.1p-12f);
  for (int exponent = -149; exponent < 7; ++exponent) {
    for (const float sign : {1.0f, -1.0f}) x.push_back(sign * std::ldexp(1.37f, exponent));
  }
  return x;
}

// The bounds of activation.h: relative to |x|, and for silu also relative to the result unless it is too small for f32.
TEST(Activation, KeepsItsBounds) {
  const std::vector<float> x = dense_range();
  for (const Activation activation : kActivations) {
    const std::vector<float> out = activated(activation, x);
    double worst_ulps = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = exact(activation, x[i]), error = std::fabs(out[i] - expected);
      if (activation == Activation::silu && x[i] > -87.3f)
        worst_ulps = std::max(worst_ulps, error / static_cast<double>(oracle::ulp(expected, DType::f32)));
      ASSERT_LE(error, 3e-7 * std::fabs(x[i]) + 0x1p-149) << x[i] << " gives " << out[i] << " for " << expected;
    }
    EXPECT_LE(worst_ulps, 4);  // measured: 2.7
  }
}

TEST(Activation, LargeNumbers) {
  for (const Activation activation : kActivations) {
    for (const float x : {88.0f, 100.0f, 1e5f, 1e13f, 1e30f, std::numeric_limits<float>::max()}) {
      EXPECT_EQ(activated(activation, {x})[0], x);
      EXPECT_EQ(activated(activation, {-x})[0], 0) << "activation " << static_cast<int>(activation) << " of " << -x;
    }
  }
}

TEST(Activation, ZeroNanAndInfinity) {
  for (const Activation activation : kActivations) {
    const std::vector<float> out = activated(activation, {0.0f, -0.0f, NAN, INFINITY, -INFINITY});
    EXPECT_EQ(std::bit_cast<std::uint32_t>(out[0]), 0u);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(out[1]), 0x80000000u);
    EXPECT_TRUE(std::isnan(out[2]));
    EXPECT_EQ(out[3], INFINITY);
    EXPECT_TRUE(std::isnan(out[4])) << "-infinity times 0";
  }
}

// The result of an element depends neither on its index nor on the number of elements.
TEST(Activation, SquaredReluRoundsOnce) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = dense_range();
  x.insert(x.end(), {0.0f, -0.0f, 3e38f, -3e38f, infinity, -infinity});
  const std::vector<float> out = activated(Activation::relu2, x);
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(out[i]), std::bit_cast<std::uint32_t>(x[i] > 0 ? x[i] * x[i] : 0.0f)) << x[i];
  EXPECT_TRUE(std::isnan(activated(Activation::relu2, {std::nanf("")})[0]));
}

TEST(Activation, Xielu) {
  const float alpha_p = 0.3f, alpha_n = -0.4f, beta = 0.6f, epsilon = -1e-6f;
  const double above = std::log1p(std::exp(0.3)), below = 0.6 + std::log1p(std::exp(-0.4));
  std::vector<float> x = dense_range();
  x.push_back(0);
  Guarded<float> values(x);
  activate_xielu({&alpha_p, &alpha_n, &beta, &epsilon}, values.data(), static_cast<std::ptrdiff_t>(x.size()));
  EXPECT_TRUE(values.guards_are_intact());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    const double curve = at > 0 ? above * at * at : below * (std::expm1(std::min(at, -1e-6)) - at);
    ASSERT_NEAR(values[i], curve + beta * at, 1e-6 * std::max(std::fabs(at), at * at) + 1e-12) << at;
  }
}

TEST(Activation, EveryCount) {
  Random random(1);
  std::vector<float> x(23);
  for (float& value : x) value = static_cast<float>(random.next() * 3);
  for (const Activation activation : kActivations) {
    const std::vector<float> all = activated(activation, x);
    for (int count = 0; count <= 23; ++count) {
      EXPECT_EQ(activated(activation, {x.end() - count, x.end()}), std::vector<float>(all.end() - count, all.end())) << count;
    }
  }
}

TEST(Activation, Gated) {
  Random random(2);
  for (const Activation activation : kActivations) {
    for (const int count : {0, 1, 3, 4, 6, 17}) {
      Guarded<float> gate(count), x(count);
      for (int i = 0; i < count; ++i) gate[i] = static_cast<float>(random.next()), x[i] = static_cast<float>(random.next());
      const std::vector<float> before = x.values(), opened = activated(activation, gate.values());
      activate_gated(activation, gate.data(), x.data(), count);
      for (int i = 0; i < count; ++i) EXPECT_EQ(x[i], opened[i] * before[i]);
      EXPECT_TRUE(x.guards_are_intact() && gate.guards_are_intact());
    }
  }
}

}  // namespace
}  // namespace ropewalk
