// Sine and cosine of f64 angles, two lanes at a time, with the same bits from every compiler and engine.
#pragma once

#include <wasm_simd128.h>

#include "base/loaded_constants.h"

namespace ropewalk {

// The largest |angle| in radians for which the range reduction is exact.
constexpr double kAngleLimit = 4294967296.0;

struct SinCosPair {
  v128_t sin;
  v128_t cos;
};

// Absolute error below 2^-52 for |angle| <= kAngleLimit.
//
// Cody-Waite range reduction: angle = k π/2 + r with |r| <= π/4. π/2 is split into three parts of 21 bits and a remainder,
// so k times a part is exact for |k| < 2^32. sin r and cos r are Taylor series (the first omitted term of either is below
// 2^-54). The quadrant k mod 4 swaps them and sets the signs.
inline SinCosPair sin_cos(v128_t angle) {
  // 2/π; 1.5 · 2^52; the parts of π/2
  static constexpr double kReduction[] = {0x1.45f306dc9c883p-1, 0x1.8p52,      0x1.921fbp+0,
                                          0x1.5110ap-22,        0x1.4611ap-42, 0x1.898cc51701b84p-64};
  // 1/15!, 1/13! and so on, with the signs of the series
  static constexpr double kSine[] = {-1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0, 1.0 / 362880.0,
                                     -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0};
  // 1/16!, 1/14! and so on
  static constexpr double kCosine[] = {
      1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0, 1.0 / 40320.0, -1.0 / 720.0, 1.0 / 24.0, 0.5, 1.0};

  const LoadedConstants reduction(kReduction);
  const v128_t round = reduction[1];  // adding it rounds to an integer in the low bits
  const v128_t shifted = wasm_f64x2_add(wasm_f64x2_mul(angle, reduction[0]), round);
  const v128_t k = wasm_f64x2_sub(shifted, round);
  v128_t r = angle;
  for (int i = 2; i < 6; ++i) r = wasm_f64x2_sub(r, wasm_f64x2_mul(k, reduction[i]));

  const v128_t r2 = wasm_f64x2_mul(r, r);
  const auto step = [&](v128_t sum, v128_t coefficient) { return wasm_f64x2_add(wasm_f64x2_mul(sum, r2), coefficient); };

  const LoadedConstants of_sine(kSine);
  v128_t sine = of_sine[0];
  for (int i = 1; i < 7; ++i) sine = step(sine, of_sine[i]);
  sine = wasm_f64x2_add(r, wasm_f64x2_mul(wasm_f64x2_mul(r, r2), sine));

  const LoadedConstants of_cosine(kCosine);
  v128_t cosine = of_cosine[0];
  for (int i = 1; i < 7; ++i) cosine = step(cosine, of_cosine[i]);
  cosine = wasm_f64x2_add(wasm_f64x2_mul(wasm_f64x2_mul(r2, r2), cosine), wasm_f64x2_sub(of_cosine[8], wasm_f64x2_mul(r2, of_cosine[7])));

  const v128_t one = wasm_i64x2_splat(1), sign_bit = wasm_f64x2_splat(-0.0);
  const v128_t odd = wasm_i64x2_neg(wasm_v128_and(shifted, one));
  const v128_t sin_sign = wasm_v128_and(wasm_i64x2_shl(shifted, 62), sign_bit);
  const v128_t cos_sign = wasm_v128_and(wasm_i64x2_shl(wasm_i64x2_add(shifted, one), 62), sign_bit);
  return {wasm_v128_xor(wasm_v128_bitselect(cosine, sine, odd), sin_sign), wasm_v128_xor(wasm_v128_bitselect(sine, cosine, odd), cos_sign)};
}

// Writes sin and cos of `count` angles. The outputs must not overlap the angles.
inline void sin_cos(const double* angles, int count, double* sin, double* cos) {
  int j = 0;
  for (; j + 2 <= count; j += 2) {
    const SinCosPair pair = sin_cos(wasm_v128_load(angles + j));
    wasm_v128_store(sin + j, pair.sin);
    wasm_v128_store(cos + j, pair.cos);
  }
  if (j < count) {
    const SinCosPair pair = sin_cos(wasm_f64x2_splat(angles[j]));
    sin[j] = wasm_f64x2_extract_lane(pair.sin, 0);
    cos[j] = wasm_f64x2_extract_lane(pair.cos, 0);
  }
}

}  // namespace ropewalk
