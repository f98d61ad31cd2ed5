// The functions of float_math.h for four lanes. Results have the same bits.
#pragma once

#include <wasm_simd128.h>

#include <initializer_list>

#include "base/float_math.h"

namespace ropewalk {

inline v128_t exp_f32x4(v128_t x) {
  const auto splat = [](float value) { return wasm_f32x4_splat(value); };
  const auto step = [&](v128_t sum, v128_t r, float coefficient) { return wasm_f32x4_add(wasm_f32x4_mul(sum, r), splat(coefficient)); };

  const v128_t shifted = wasm_f32x4_add(wasm_f32x4_mul(x, splat(0x1.715476p+0f)), splat(0x1.8p23f));
  const v128_t n = wasm_f32x4_sub(shifted, splat(0x1.8p23f));
  const v128_t r = wasm_f32x4_sub(wasm_f32x4_sub(x, wasm_f32x4_mul(n, splat(0x1.62ep-1f))), wasm_f32x4_mul(n, splat(0x1.0bfbe8p-15f)));
  v128_t sum = splat(1.0f / 5040);
  sum = step(sum, r, 1.0f / 720);
  sum = step(sum, r, 1.0f / 120);
  sum = step(sum, r, 1.0f / 24);
  sum = step(sum, r, 1.0f / 6);
  sum = step(sum, r, 0.5f);
  const v128_t exp_r = wasm_f32x4_add(wasm_f32x4_add(wasm_f32x4_mul(wasm_f32x4_mul(sum, r), r), r), splat(1));
  const v128_t power = wasm_i32x4_add(wasm_i32x4_shl(shifted, 23), wasm_i32x4_splat(0x3F800000));
  return wasm_v128_andnot(wasm_f32x4_mul(exp_r, power), wasm_f32x4_lt(x, splat(kExpUnderflow)));
}

inline v128_t softplus_f32x4(v128_t x) {
  const auto splat = [](float value) { return wasm_f32x4_splat(value); };
  const v128_t y = exp_f32x4(wasm_f32x4_neg(wasm_f32x4_abs(x)));
  const v128_t z = wasm_f32x4_div(y, wasm_f32x4_add(splat(2), y)), z2 = wasm_f32x4_mul(z, z);
  v128_t sum = splat(1.0f / 15);
  for (const float coefficient : {1.0f / 13, 1.0f / 11, 1.0f / 9, 1.0f / 7, 1.0f / 5, 1.0f / 3})
    sum = wasm_f32x4_add(wasm_f32x4_mul(sum, z2), splat(coefficient));
  const v128_t rest = wasm_f32x4_mul(splat(2), wasm_f32x4_add(z, wasm_f32x4_mul(wasm_f32x4_mul(z, z2), sum)));
  return wasm_v128_bitselect(wasm_f32x4_add(x, rest), rest, wasm_f32x4_gt(x, splat(0)));
}

inline v128_t tanh_f32x4(v128_t x) {
  const auto splat = [](float value) { return wasm_f32x4_splat(value); };
  const v128_t magnitude = wasm_f32x4_abs(x);

  const v128_t x2 = wasm_f32x4_mul(x, x);
  const v128_t numerator = wasm_f32x4_add(wasm_f32x4_mul(wasm_f32x4_add(x2, splat(105)), x2), splat(945));
  const v128_t denominator = wasm_f32x4_add(wasm_f32x4_mul(wasm_f32x4_add(wasm_f32x4_mul(splat(15), x2), splat(420)), x2), splat(945));
  const v128_t small = wasm_f32x4_mul(x, wasm_f32x4_div(numerator, denominator));

  const v128_t clamped = wasm_f32x4_pmin(magnitude, splat(10));
  const v128_t grown = wasm_f32x4_add(exp_f32x4(wasm_f32x4_mul(splat(2), clamped)), splat(1));
  const v128_t large = wasm_f32x4_sub(splat(1), wasm_f32x4_div(splat(2), grown));
  const v128_t signed_large = wasm_v128_bitselect(x, large, splat(-0.0f));
  return wasm_v128_bitselect(small, signed_large, wasm_f32x4_lt(magnitude, splat(0.625f)));
}

}  // namespace ropewalk
