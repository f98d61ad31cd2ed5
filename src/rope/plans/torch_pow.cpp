// SLEEF's powf (Shibata and Petrogalli, "SLEEF: A Portable Vectorized Library of C Standard Mathematical Functions", 2020): e^(y ln x) in
// pairs of floats, with an error below 1 ulp. It differs from the correctly rounded power in 1.7 of 100 values, so transformers'
// frequencies need its polynomials and its order of operations. The coefficients are those of SLEEF.
#include "rope/plans/torch_pow.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/reproducible_math.h"

namespace ropewalk::plans {
namespace {

// PyTorch's loop takes two vectors of sixteen floats at a time.
constexpr int kGroup = 32;

// a · b + c with one rounding. The f64 sum is rounded to odd, so that rounding it again to f32 gives the nearest float.
float fused(float a, float b, float c) {
  const double product = static_cast<double>(a) * b, sum = product + c, added = sum - product;
  const double error = (product - (sum - added)) + (c - added);
  std::int64_t bits = std::bit_cast<std::int64_t>(sum);
  if (error != 0 && bits % 2 == 0) bits += (error > 0) == (sum > 0) ? 1 : -1;
  return static_cast<float>(std::bit_cast<double>(bits));
}

// A number as the sum of two floats.
struct Pair {
  float high, low;
};

Pair times(Pair a, Pair b) {
  const float high = a.high * b.high;
  return {high, fused(a.high, b.low, fused(a.low, b.high, fused(a.high, b.high, -high)))};
}

Pair times(Pair a, float b) {
  const float high = a.high * b;
  return {high, fused(a.low, b, fused(a.high, b, -high))};
}

Pair square(Pair a) {
  const float high = a.high * a.high;
  return {high, fused(a.high + a.high, a.low, fused(a.high, a.high, -high))};
}

Pair quotient(Pair a, Pair b) {
  const float inverse = 1 / b.high, high = a.high * inverse;
  const float product_error = fused(inverse, a.high, -high);
  const float inverse_error = fused(-b.low, inverse, fused(-b.high, inverse, 1));
  return {high, fused(high, inverse_error, fused(a.low, inverse, product_error))};
}

// The sum of two floats of any size, with its rounding error.
Pair sum_of(float a, float b) {
  const float high = a + b, added = high - a;
  return {high, (a - (high - added)) + (b - added)};
}

Pair plus(Pair a, float b) {
  const Pair sum = sum_of(a.high, b);
  return {sum.high, sum.low + a.low};
}

Pair plus(Pair a, Pair b) {
  const Pair sum = sum_of(a.high, b.high);
  return {sum.high, sum.low + (a.low + b.low)};
}

// The same for |a| >= |b|.
Pair plus_smaller(Pair a, Pair b) {
  const float high = a.high + b.high;
  return {high, (a.high - high) + b.high + a.low + b.low};
}

Pair logarithm(float x) {
  const int exponent = std::ilogb(x * (1.0f / 0.75f));
  const float mantissa = std::ldexp(x, -exponent);
  const Pair t = quotient(sum_of(-1, mantissa), sum_of(1, mantissa)), t2 = square(t);
  float series = 0.240320354700088500976562f;
  series = fused(series, t2.high, 0.285112679004669189453125f);
  series = fused(series, t2.high, 0.400007992982864379882812f);
  constexpr Pair two_thirds = {0.66666662693023681640625f, 3.69183861259614332084311e-09f};
  constexpr Pair ln2 = {0.69314718246459960938f, -1.904654323148236017e-09f};
  const Pair leading = plus_smaller(times(ln2, static_cast<float>(exponent)), {2 * t.high, 2 * t.low});
  return plus_smaller(leading, times(times(t2, t), plus(times(t2, series), two_thirds)));
}

float exponential(Pair x) {
  const float steps = std::nearbyint((x.high + x.low) * 1.44269504088896340736f);
  Pair rest = plus(plus(x, steps * -0.693145751953125f), steps * -1.428606765330187045e-06f);
  const float sum = rest.high + rest.low;
  rest = {sum, (rest.high - sum) + rest.low};
  float series = 0.00136324646882712841033936f;
  series = fused(series, rest.high, 0.00836596917361021041870117f);
  series = fused(series, rest.high, 0.0416710823774337768554688f);
  series = fused(series, rest.high, 0.166665524244308471679688f);
  series = fused(series, rest.high, 0.499999850988388061523438f);
  const Pair less_one = plus_smaller(rest, times(square(rest), series));
  const float high = 1 + less_one.high;
  return std::ldexp(high + ((1 - high) + less_one.high + less_one.low), static_cast<int>(steps));
}

}  // namespace

float torch_pow(float base, float exponent, int index, int count) {
  if (!std::isfinite(base)) return exponent == 0 ? 1 : base;
  if (index >= count / kGroup * kGroup) return static_cast<float>(reproducible_pow(base, exponent));
  return exponential(times(logarithm(base), exponent));
}

}  // namespace ropewalk::plans
