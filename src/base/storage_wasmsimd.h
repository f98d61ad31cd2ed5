// The conversions of storage.h for eight elements at a time. Results have the same bits.
#pragma once

#include <wasm_simd128.h>

#include "base/storage.h"

namespace ropewalk {

struct F32x8 {
  v128_t low;
  v128_t high;
};

inline F32x8 load8(const float* source) { return {wasm_v128_load(source), wasm_v128_load(source + 4)}; }

// What corrects the exponent of an f16 whose exponent and mantissa are placed as those of an f32. Numbers are multiplied by `unit`, a
// power of two, too. If it isn't 1, they must be finite.
inline v128_t f16_bias(float unit = 1) { return wasm_f32x4_splat(0x1p112f * unit); }

inline v128_t half_bits_to_float(v128_t sign_extended, v128_t bias = f16_bias()) {
  // the sign is at bit 31, exponent and mantissa at 27…13
  const v128_t placed = wasm_v128_and(wasm_i32x4_shl(sign_extended, 13), wasm_i32x4_splat(static_cast<std::int32_t>(0x8FFFE000u)));
  const v128_t value = wasm_f32x4_mul(placed, bias);
  const v128_t is_special = wasm_f32x4_ge(wasm_f32x4_abs(value), wasm_f32x4_splat(65536.0f));
  return wasm_v128_or(value, wasm_v128_and(is_special, wasm_i32x4_splat(0x7F800000)));
}

inline F32x8 load8(const Float16* source, v128_t bias = f16_bias()) {
  const v128_t halves = wasm_v128_load(source);
  return {half_bits_to_float(wasm_i32x4_extend_low_i16x8(halves), bias), half_bits_to_float(wasm_i32x4_extend_high_i16x8(halves), bias)};
}

inline F32x8 load8(const BFloat16* source) {
  const v128_t halves = wasm_v128_load(source);
  return {wasm_i32x4_shl(wasm_u32x4_extend_low_u16x8(halves), 16), wasm_i32x4_shl(wasm_u32x4_extend_high_u16x8(halves), 16)};
}

inline void store8(float* target, F32x8 values) {
  wasm_v128_store(target, values.low);
  wasm_v128_store(target + 4, values.high);
}

inline v128_t float_to_half_bits(v128_t value) {
  const v128_t magnitude = wasm_v128_and(value, wasm_i32x4_splat(0x7FFFFFFF));
  const v128_t sign = wasm_v128_and(wasm_u32x4_shr(value, 16), wasm_i32x4_splat(0x8000));

  const v128_t subnormal = wasm_i32x4_sub(wasm_f32x4_add(magnitude, wasm_f32x4_splat(0.5f)), wasm_i32x4_splat(0x3F000000));
  const v128_t clamped = wasm_i32x4_min(magnitude, wasm_i32x4_splat(0x47800000));
  const v128_t is_odd = wasm_v128_and(wasm_u32x4_shr(clamped, 13), wasm_i32x4_splat(1));
  const v128_t normal = wasm_u32x4_shr(wasm_i32x4_add(wasm_i32x4_add(clamped, is_odd), wasm_i32x4_splat(0xFFF - 0x38000000)), 13);

  const v128_t half = wasm_v128_bitselect(subnormal, normal, wasm_i32x4_lt(magnitude, wasm_i32x4_splat(0x38800000)));
  const v128_t quiet = wasm_v128_and(wasm_i32x4_gt(magnitude, wasm_i32x4_splat(0x7F800000)), wasm_i32x4_splat(0x200));
  return wasm_v128_or(wasm_v128_or(half, quiet), sign);
}

inline void store8(Float16* target, F32x8 values) {
  wasm_v128_store(target, wasm_u16x8_narrow_i32x4(float_to_half_bits(values.low), float_to_half_bits(values.high)));
}

inline v128_t float_to_bfloat_bits(v128_t value) {
  const v128_t magnitude = wasm_v128_and(value, wasm_i32x4_splat(0x7FFFFFFF));
  const v128_t is_nan = wasm_i32x4_gt(magnitude, wasm_i32x4_splat(0x7F800000));
  const v128_t is_odd = wasm_v128_and(wasm_u32x4_shr(value, 16), wasm_i32x4_splat(1));
  const v128_t rounded = wasm_i32x4_add(wasm_i32x4_add(value, is_odd), wasm_i32x4_splat(0x7FFF));
  const v128_t quieted = wasm_v128_or(value, wasm_i32x4_splat(0x400000));
  return wasm_u32x4_shr(wasm_v128_bitselect(quieted, rounded, is_nan), 16);
}

inline void store8(BFloat16* target, F32x8 values) {
  wasm_v128_store(target, wasm_u16x8_narrow_i32x4(float_to_bfloat_bits(values.low), float_to_bfloat_bits(values.high)));
}

}  // namespace ropewalk
