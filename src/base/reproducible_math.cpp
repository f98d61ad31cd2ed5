#include "base/reproducible_math.h"

#include <bit>
#include <cstdint>
#include <limits>

namespace ropewalk {
namespace {

// A value with twice the precision of a double: the sum of two doubles, the second much smaller.
struct DoubleDouble {
  double high;
  double low;
};

// a + b exactly (Knuth's algorithm).
DoubleDouble two_sum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

// a * b exactly (Dekker's algorithm), without a fused multiply-add, which baseline wasm doesn't have.
DoubleDouble two_product(double a, double b) {
  constexpr double split = 134217729.0;  // 2^27 + 1
  const double a_big = split * a, b_big = split * b;
  const double a_high = a_big - (a_big - a), b_high = b_big - (b_big - b);
  const double a_low = a - a_high, b_low = b - b_high;
  const double product = a * b;
  return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

DoubleDouble multiply(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble product = two_product(a.high, b.high);
  return two_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

constexpr double kLog2E = 0x1.71547652b82fep+0;
// ln 2 in two parts. The high part has 21 trailing zero bits, so its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

// ln x for x = 2^e m with m in [sqrt(1/2), sqrt(2)), and ln m = 2 artanh(s) with s = (m - 1) / (m + 1).
DoubleDouble log_double_double(double x) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFull) | 0x3FF0000000000000ull);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    exponent += 1;
  }

  const double numerator = m - 1;  // exact
  const DoubleDouble denominator = two_sum(m, 1);
  const double s = numerator / denominator.high;
  const DoubleDouble back = two_product(s, denominator.high);
  const double s_low = ((numerator - back.high) - back.low - s * denominator.low) / denominator.high;

  // artanh(s) = s + s^3/3 + s^5/5 + ... With |s| < 0.1716 the first omitted term is below 2^-68.
  // From s^5 on, double precision is enough.
  const DoubleDouble one = {s, s_low}, square = multiply(one, one), cube = multiply(square, one);
  const DoubleDouble third = multiply(cube, {0x1.5555555555555p-2, 0x1.5555555555555p-56});
  double series = 0;
  for (int k = 27; k >= 5; k -= 2) series = series * square.high + 1.0 / k;
  const double rest = 2 * (s_low + third.low + cube.high * square.high * series) + exponent * kLn2Low;

  const DoubleDouble head = two_sum(exponent * kLn2High, 2 * s);
  const DoubleDouble with_cube = two_sum(head.high, 2 * third.high);
  return two_sum(with_cube.high, with_cube.low + (head.low + rest));
}

// e^(x.high + x.low) = 2^k e^r, |r| <= ln(2)/2.
double exp_double_double(DoubleDouble x) {
  constexpr double limit = 708;                             // beyond it 2^k isn't a normal number
  if (!(x.high >= -limit)) return x.high < 0 ? 0 : x.high;  // x.high may be NaN
  if (x.high > limit) return std::numeric_limits<double>::infinity();
  constexpr double round_to_integer = 0x1.8p52;
  const double k = (x.high * kLog2E + round_to_integer) - round_to_integer;
  const double r_high = x.high - k * kLn2High;
  const double r_low = x.low - k * kLn2Low;
  const double r = r_high + r_low;
  const double r_error = (r_high - r) + r_low;

  // e^r - 1 - r = r^2/2! + r^3/3! + ..., with the first omitted term below 2^-64
  double series = 0;
  double inverse_factorial[16] = {1, 1};
  for (int n = 2; n < 16; ++n) inverse_factorial[n] = inverse_factorial[n - 1] / n;
  for (int n = 15; n >= 2; --n) series = series * r + inverse_factorial[n];
  const double e_r = 1 + (r + (r_error + r * r * series));

  const std::uint64_t scale = static_cast<std::uint64_t>(static_cast<std::int64_t>(k) + 1023) << 52;
  return e_r * std::bit_cast<double>(scale);
}

}  // namespace

double reproducible_exp(double x) { return exp_double_double({x, 0}); }

double reproducible_log(double x) { return log_double_double(x).high; }

double reproducible_pow(double x, double y) {
  const DoubleDouble log_x = log_double_double(x);
  const DoubleDouble product = two_product(y, log_x.high);
  return exp_double_double({product.high, product.low + y * log_x.low});
}

}  // namespace ropewalk
