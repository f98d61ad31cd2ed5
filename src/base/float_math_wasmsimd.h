// The functions of float_math.h for four lanes. Results have the same bits.
#pragma once

#include <wasm_simd128.h>

#include "base/add_product.h"
#include "base/computed_here.h"
#include "base/float_math.h"
#include "base/loaded_constants.h"

namespace ropewalk {

// sum · x + c[First], times x, + c[First + 1], and so on, to c[Last], each step rounded as Arithmetic says (add_product.h).
template <int First, int Last, class Arithmetic = MultiplyThenAdd, int Count>
inline v128_t polynomial(const LoadedConstants<float, Count>& c, v128_t x, v128_t sum) {
  sum = Arithmetic::add_product(c[First], sum, x);
  if constexpr (First == Last)
    return sum;
  else
    return polynomial<First + 1, Last, Arithmetic>(c, x, sum);
}

// Replaces each x by exp(x) · unit. The unit is a power of two from 1 to 2^112, so that it doesn't round. Two vectors share the constants,
// and take each step together (computed_here.h), so that neither waits for the other.
template <class Arithmetic, int Count>
inline void replace_by_exp(v128_t (&x)[Count], v128_t unit) {
  static constexpr float kConstants[] = {0x1.715476p+0f, 0x1.8p23f,  0x1.62ep-1f, 0x1.0bfbe8p-15f,
                                         1.0f / 5040,    1.0f / 720, 1.0f / 120,  1.0f / 24,
                                         1.0f / 6,       0.5f,       1,           kExpUnderflow};
  const LoadedConstants c(kConstants);
  const auto compute_together = [](v128_t(&values)[Count]) {
    if constexpr (Count == 2) computed_here(values[0], values[1]);
  };
  v128_t shifted[Count], r[Count], sum[Count];
  const v128_t factor = c[0], shift = c[1], high = c[2], low = c[3], first = c[4];
  ROPEWALK_UNROLLED for (int i = 0; i < Count; ++i) shifted[i] = Arithmetic::add_product(shift, x[i], factor);
  compute_together(shifted);
  ROPEWALK_UNROLLED for (int i = 0; i < Count; ++i) {
    const v128_t n = wasm_f32x4_sub(shifted[i], shift);
    r[i] = Arithmetic::subtract_product(Arithmetic::subtract_product(x[i], n, high), n, low);
    sum[i] = first;
  }
  compute_together(r);
  ROPEWALK_UNROLLED for (int k = 5; k < 10; ++k) {
    const v128_t coefficient = c[k];
    ROPEWALK_UNROLLED for (int i = 0; i < Count; ++i) sum[i] = Arithmetic::add_product(coefficient, sum[i], r[i]);
    compute_together(sum);
  }
  const v128_t one = c[10], underflow = c[11];
  ROPEWALK_UNROLLED for (int i = 0; i < Count; ++i) {
    const v128_t exp_r = wasm_f32x4_add(Arithmetic::add_product(r[i], wasm_f32x4_mul(sum[i], r[i]), r[i]), one);
    const v128_t power = wasm_i32x4_add(wasm_i32x4_shl(shifted[i], 23), unit);
    x[i] = wasm_v128_andnot(wasm_f32x4_mul(exp_r, power), wasm_f32x4_lt(x[i], underflow));
  }
}

// exp(x) · unit.
template <class Arithmetic = MultiplyThenAdd>
inline v128_t exp_f32x4(v128_t x, v128_t unit = wasm_f32x4_splat(1)) {
  v128_t result[1] = {x};
  replace_by_exp<Arithmetic>(result, unit);
  return result[0];
}

inline v128_t softplus_f32x4(v128_t x) {
  const auto splat = [](float value) { return wasm_f32x4_splat(value); };
  const v128_t y = exp_f32x4(wasm_f32x4_neg(wasm_f32x4_abs(x)));
  const v128_t z = wasm_f32x4_div(y, wasm_f32x4_add(splat(2), y)), z2 = wasm_f32x4_mul(z, z);
  static constexpr float kConstants[] = {1.0f / 15, 1.0f / 13, 1.0f / 11, 1.0f / 9, 1.0f / 7, 1.0f / 5, 1.0f / 3};
  const LoadedConstants c(kConstants);
  const v128_t sum = polynomial<1, 6>(c, z2, c[0]);
  const v128_t rest = wasm_f32x4_mul(splat(2), wasm_f32x4_add(z, wasm_f32x4_mul(wasm_f32x4_mul(z, z2), sum)));
  return wasm_v128_bitselect(wasm_f32x4_add(x, rest), rest, wasm_f32x4_gt(x, splat(0)));
}

inline v128_t tanh_f32x4(v128_t x) {
  static constexpr float kConstants[] = {105, 945, 15, 420, 10, 2, 1, -0.0f, 0.625f};
  const LoadedConstants c(kConstants);
  const v128_t magnitude = wasm_f32x4_abs(x), two = c[5], one = c[6];

  const v128_t x2 = wasm_f32x4_mul(x, x);
  const v128_t numerator = wasm_f32x4_add(wasm_f32x4_mul(wasm_f32x4_add(x2, c[0]), x2), c[1]);
  const v128_t denominator = wasm_f32x4_add(wasm_f32x4_mul(wasm_f32x4_add(wasm_f32x4_mul(c[2], x2), c[3]), x2), c[1]);
  const v128_t small = wasm_f32x4_mul(x, wasm_f32x4_div(numerator, denominator));

  const v128_t clamped = wasm_f32x4_pmin(magnitude, c[4]);
  const v128_t grown = wasm_f32x4_add(exp_f32x4(wasm_f32x4_mul(two, clamped)), one);
  const v128_t large = wasm_f32x4_sub(one, wasm_f32x4_div(two, grown));
  const v128_t signed_large = wasm_v128_bitselect(x, large, c[7]);
  return wasm_v128_bitselect(small, signed_large, wasm_f32x4_lt(magnitude, c[8]));
}

}  // namespace ropewalk
