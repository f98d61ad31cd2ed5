// Sine and cosine compared with long double and with mpmath, and their bits with recorded digests.
#include "base/sin_cos.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "native/rope/guarded_tensor.h"

namespace ropewalk {
namespace {

using oracle::Real;

struct Result {
  double sin;
  double cos;
};

Result sin_cos_of(double angle) {
  Result result;
  sin_cos(&angle, 1, &result.sin, &result.cos);
  return result;
}

// The C library reduces a long double angle with as many digits of pi as it needs, so its error is below 2^-63. HardAngles compares it
// and sin_cos with values from mpmath.
class Worst {
 public:
  void add(double angle) {
    const Result result = sin_cos_of(angle);
    note(std::fabs(result.sin - std::sin(Real{angle})), angle);
    note(std::fabs(result.cos - std::cos(Real{angle})), angle);
  }
  Real error() const { return error_; }
  double angle() const { return angle_; }

 private:
  void note(Real error, double angle) {
    if (!(error <= error_)) error_ = error, angle_ = angle;
  }
  Real error_ = 0;
  double angle_ = 0;
};

constexpr Real kBound = 0x1p-52L;  // as sin_cos.h states

// The f64 angles closest to a multiple of π/2, found with continued fractions, and a few others. The sines and cosines were computed
// with mpmath in 400 bits.
TEST(SinCos, HardAngles) {
  const struct {
    double angle;
    Real sin, cos;
  } cases[] = {
      {0x1.6c6cbc45dc8dep+5, 1.0L, -6.189806365883577000150671e-19L},
      {0x1.6c6cbc45dc8dep+6, -1.237961273176715400030134e-18L, -1.0L},
      {0x1.b951f1572eba5p+23, -1.0L, -1.698503829898600379461777e-18L},
      {0x1.b951f1572eba5p+26, -1.358803063918880303569422e-17L, 1.0L},
      {0x1.3333333333333p+10, -0.4234701250636740878231379L, -0.9059100690347559146819061L},
      {0x1.ffff4p+16, -0.7597311692292100782025475L, -0.6502373032221523951689568L},
      {0x1.e848033333333p+19, -0.2547258270603761305126023L, 0.9670133158485499114996946L},
      {0x1.fffffep+23, -0.9482326677687481866464906L, -0.3175764597323970797252791L},
      {0x1.fffffffep+30, -0.9664200296344240937941105L, -0.2569675588890528732842709L},
      {0x1.ffffffffff7cfp+31, -0.4610995260675288934771838L, -0.8873484248367719069437288L},
  };
  for (const auto& [angle, sine, cosine] : cases) {
    EXPECT_LT(std::fabs(sin_cos_of(angle).sin - sine), kBound) << angle;
    EXPECT_LT(std::fabs(sin_cos_of(angle).cos - cosine), kBound) << angle;
    EXPECT_LT(std::fabs(std::sin(Real{angle}) - sine), 0x1p-62L) << "the reference, " << angle;
    EXPECT_LT(std::fabs(std::cos(Real{angle}) - cosine), 0x1p-62L) << "the reference, " << angle;
  }
}

TEST(SinCos, RandomAnglesOfEverySize) {
  Random random(1);
  Worst worst;
  for (int exponent = -30; exponent < 32; ++exponent) {
    for (int i = 0; i < 4000; ++i) worst.add(std::ldexp(random.between(1, 2) * (i % 2 == 0 ? 1 : -1), exponent));
  }
  EXPECT_LT(worst.error(), kBound) << worst.angle();
}

TEST(SinCos, MultiplesOfPiOverFour) {
  Worst worst;
  for (int k = -100000; k <= 100000; ++k) {
    const double angle = static_cast<double>(k * (oracle::kPi / 4));
    for (const double near : {std::nextafter(angle, -1e9), angle, std::nextafter(angle, 1e9)}) worst.add(near);
  }
  EXPECT_LT(worst.error(), kBound) << worst.angle();
}

TEST(SinCos, NearLargeMultiplesOfPiOverTwo) {
  Random random(2);
  Worst worst;
  for (int i = 0; i < 200000; ++i) {
    const Real k = std::floor(Real{random.between(-2.7e9, 2.7e9)});
    const double angle = static_cast<double>(k * (oracle::kPi / 2));
    worst.add(angle);
    worst.add(std::nextafter(angle, 0));
  }
  EXPECT_LT(worst.error(), kBound) << worst.angle();
}

TEST(SinCos, TinyAngles) {
  EXPECT_EQ(sin_cos_of(0).sin, 0);
  EXPECT_EQ(sin_cos_of(0).cos, 1);
  for (int exponent = -1074; exponent < -27; ++exponent) {
    const double angle = std::ldexp(1, exponent);
    EXPECT_EQ(sin_cos_of(angle).sin, angle);
    EXPECT_EQ(sin_cos_of(-angle).sin, -angle);
    EXPECT_EQ(sin_cos_of(angle).cos, 1);
  }
}

TEST(SinCos, AtTheLimit) {
  Worst worst;
  for (double angle = kAngleLimit; angle > kAngleLimit - 1e-3; angle = std::nextafter(angle, 0)) worst.add(angle), worst.add(-angle);
  EXPECT_LT(worst.error(), kBound) << worst.angle();
}

TEST(SinCos, SineIsOddAndCosineEven) {
  Random random(3);
  for (int i = 0; i < 20000; ++i) {
    const double angle = random.between(0, 1e6);
    EXPECT_EQ(sin_cos_of(-angle).sin, -sin_cos_of(angle).sin);
    EXPECT_EQ(sin_cos_of(-angle).cos, sin_cos_of(angle).cos);
  }
}

TEST(SinCos, LanesAndTheLastOddAngleAgree) {
  Random random(4);
  double angles[9], sin[9], cos[9];
  for (int count = 1; count <= 9; ++count) {
    for (int i = 0; i < count; ++i) angles[i] = random.between(-1e5, 1e5);
    sin_cos(angles, count, sin, cos);
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(sin[i]), std::bit_cast<std::uint64_t>(sin_cos_of(angles[i]).sin));
      EXPECT_EQ(std::bit_cast<std::uint64_t>(cos[i]), std::bit_cast<std::uint64_t>(sin_cos_of(angles[i]).cos));
    }
  }
}

// See ReproducibleMath.GivesTheSameBitsEverywhere.
TEST(SinCos, GivesTheSameBitsEverywhere) {
  Random random(5);
  std::uint64_t digest = 0xcbf29ce484222325ull;
  for (int i = 0; i < 20000; ++i) {
    const Result result = sin_cos_of(random.next() * std::ldexp(1, i % 31));
    for (const double value : {result.sin, result.cos}) {
      digest = (digest ^ std::bit_cast<std::uint64_t>(value)) * 0x100000001b3ull + (digest >> 29);
    }
  }
  EXPECT_EQ(digest, 2301586938549312465ull);
}

}  // namespace
}  // namespace ropewalk
