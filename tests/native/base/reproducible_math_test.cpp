// exp, log and pow compared with long double, and their bits with recorded digests.
#include "base/reproducible_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>

#include "native/rope/guarded_tensor.h"

namespace ropewalk {
namespace {

using oracle::Real;

// The reference is the C library's long double. Its own error is about 2^-11 of the bounds tested here.
Real relative_error(double value, Real exact) { return exact == 0 ? std::fabs(Real{value}) : std::fabs((value - exact) / exact); }

// Returns a positive number with an exponent in [low, high].
double random_magnitude(Random& random, int low, int high) {
  const double mantissa = random.between(1, 2);
  return std::ldexp(mantissa, static_cast<int>(random.between(low, high + 1)));
}

// Folds the bits of results into one number.
class Digest {
 public:
  void add(double value) { state_ = (state_ ^ std::bit_cast<std::uint64_t>(value)) * 0x100000001b3ull + (state_ >> 29); }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ull;
};

TEST(ReproducibleMath, ExpIsWithinTwoToMinus52) {
  Random random(1);
  Real worst = 0;
  const auto check = [&](double x) { worst = std::max(worst, relative_error(reproducible_exp(x), std::exp(Real{x}))); };
  for (int i = 0; i < 100000; ++i) check(random.between(-700, 700));
  for (int i = 0; i < 20000; ++i) check(random.next());
  for (int exponent = -60; exponent < 9; ++exponent) check(std::ldexp(1, exponent)), check(-std::ldexp(1, exponent));
  for (const double x : {-700.0, 700.0}) check(x);
  EXPECT_LT(worst, 0x1p-52L);
}

TEST(ReproducibleMath, ExpHoldsWhereThePowerOfTwoChanges) {
  // at (k + 1/2) ln 2 the power of two changes, and |r| is largest
  Real worst = 0;
  for (int k = -1000; k <= 1000; ++k) {
    const double boundary = (k + 0.5) * 0.6931471805599453;
    for (const double x : {std::nextafter(boundary, -800), boundary, std::nextafter(boundary, 800)}) {
      worst = std::max(worst, relative_error(reproducible_exp(x), std::exp(Real{x})));
    }
  }
  EXPECT_LT(worst, 0x1p-52L);
}

TEST(ReproducibleMath, LogIsWithinTwoToMinus52) {
  Random random(2);
  Real worst = 0;
  const auto check = [&](double x) { worst = std::max(worst, relative_error(reproducible_log(x), std::log(Real{x}))); };
  for (int i = 0; i < 100000; ++i) check(random_magnitude(random, -1022, 1022));
  for (int i = 0; i < 50000; ++i) check(random.between(0.5, 2));
  // near 1 the result is as small as x - 1, and the sum of two large parts would cancel
  for (int bit = 1; bit <= 52; ++bit) check(1 + std::ldexp(1, -bit)), check(1 - std::ldexp(1, -bit - 1));
  for (int exponent = -1022; exponent <= 1023; ++exponent) check(std::ldexp(1, exponent));
  for (const double x : {DBL_MIN, DBL_MAX, std::sqrt(2.0), std::nextafter(std::sqrt(2.0), 2.0), std::sqrt(0.5)}) check(x);
  EXPECT_LT(worst, 0x1p-52L);
}

TEST(ReproducibleMath, PowIsWithinTwoToMinus51) {
  Random random(3);
  Real worst = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x = random_magnitude(random, -1022, 1022);
    const double y = random.between(-1, 1) * 699 / std::fabs(std::log(x) == 0 ? 1 : std::log(x));
    worst = std::max(worst, relative_error(reproducible_pow(x, y), std::pow(Real{x}, Real{y})));
  }
  // as in plans: bases of published models raised to a pair's exponent
  for (const double base : {1e4, 1.5e5, 5e5, 1e6, 5e6, 1.2e7, 1e8}) {
    for (const int dim : {2, 24, 64, 96, 128, 192, 256, 512}) {
      for (int j = 0; j < dim / 2; ++j) {
        const double y = 2.0 * j / dim;
        worst = std::max(worst, relative_error(reproducible_pow(base, y), std::pow(Real{base}, Real{y})));
      }
    }
  }
  EXPECT_LT(worst, 0x1p-51L);
}

TEST(ReproducibleMath, ExactCasesAreExact) {
  EXPECT_EQ(reproducible_exp(0), 1);
  EXPECT_EQ(reproducible_exp(-0.0), 1);
  EXPECT_EQ(reproducible_log(1), 0);
  EXPECT_FALSE(std::signbit(reproducible_log(1)));
  for (const double x : {DBL_MIN, 0.3, 1.0, 2.0, 10000.0, 1e6, DBL_MAX}) EXPECT_EQ(reproducible_pow(x, 0), 1) << x;
  for (const double y : {-1000.0, -1.0, 0.5, 1.0, 3.0}) EXPECT_EQ(reproducible_pow(1, y), 1) << y;
  // so small that 1 + x rounds to 1
  for (const double x : {0x1p-54, -0x1p-55, 1e-300}) EXPECT_EQ(reproducible_exp(x), 1) << x;
}

// Beyond the range of f64 there is no conversion to an integer that overflows.
TEST(ReproducibleMath, EndsInZeroAndInfinity) {
  for (const double x : {710.0, 1e5, 1e300, HUGE_VAL}) {
    EXPECT_EQ(reproducible_exp(x), HUGE_VAL) << x;
    EXPECT_EQ(reproducible_exp(-x), 0) << x;
  }
  EXPECT_TRUE(std::isnan(reproducible_exp(std::nan(""))));
  EXPECT_EQ(reproducible_pow(2.0 / 7, -1e12), HUGE_VAL);
  EXPECT_EQ(reproducible_pow(2.0 / 7, 1e12), 0);
}

// A comparison with a tolerance can't test this. The digests were recorded with g++ 12 and clang 14. A change of the algorithm changes
// them. A change of compiler, flags or processor must not.
TEST(ReproducibleMath, GivesTheSameBitsEverywhere) {
  Random random(4);
  Digest exp, log, pow;
  for (int i = 0; i < 20000; ++i) {
    exp.add(reproducible_exp(random.between(-700, 700)));
    log.add(reproducible_log(random_magnitude(random, -1000, 1000)));
    const double base = random.between(1.5, 1e8);
    pow.add(reproducible_pow(base, random.between(-30, 30)));
  }
  EXPECT_EQ(exp.value(), 14880249729125978586ull);
  EXPECT_EQ(log.value(), 8195652188186687146ull);
  EXPECT_EQ(pow.value(), 1100810837814723411ull);
}

}  // namespace
}  // namespace ropewalk
