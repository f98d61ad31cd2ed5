// The conversions of storage.h for eight elements at a time. Results have the same bits.
#pragma once

#include <wasm_simd128.h>

#include <cstdint>
#include <cstring>

#include "base/loaded_constants.h"
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

// Two equal 16-bit elements of a constant.
constexpr std::uint32_t pair_of(std::uint32_t bits) { return bits * 0x10001; }

// The 32-bit lanes whose lower and upper halves are elements 0 to 3, or 4 to 7, of two vectors.
inline v128_t join_first(v128_t lower, v128_t upper) { return wasm_i16x8_shuffle(lower, upper, 0, 8, 1, 9, 2, 10, 3, 11); }
inline v128_t join_last(v128_t lower, v128_t upper) { return wasm_i16x8_shuffle(lower, upper, 4, 12, 5, 13, 6, 14, 7, 15); }

// As f16_bias(), from memory.
inline v128_t loaded_f16_bias() {
  static constexpr float kBias[] = {0x1p112f};
  return LoadedConstants(kBias)[0];
}

// The bits of eight halves placed as those of floats: their values times 2^-112.
inline F32x8 placed8(v128_t halves) {
  static constexpr std::uint32_t kConstants[] = {pair_of(0x8FFF)};
  const v128_t upper = wasm_v128_and(wasm_i16x8_shr(halves, 3), LoadedConstants(kConstants)[0]), lower = wasm_i16x8_shl(halves, 13);
  return {join_first(lower, upper), join_last(lower, upper)};
}

// The upper half of the float infinity where a half is infinite or NaN, else 0.
inline v128_t special_exponents(v128_t halves) {
  static constexpr std::uint32_t kConstants[] = {pair_of(0x7C00), pair_of(0x7F80)};
  const LoadedConstants c(kConstants);
  const v128_t exponent = c[0];
  return wasm_v128_and(wasm_i16x8_eq(wasm_v128_and(halves, exponent), exponent), c[1]);
}

inline F32x8 load8(const Float16* source, v128_t bias) {
  const v128_t halves = wasm_v128_load(source), special = special_exponents(halves), zero = wasm_i32x4_splat(0);
  const F32x8 placed = placed8(halves);
  return {wasm_v128_or(wasm_f32x4_mul(placed.low, bias), join_first(zero, special)),
          wasm_v128_or(wasm_f32x4_mul(placed.high, bias), join_last(zero, special))};
}

inline F32x8 load8(const Float16* source) { return load8(source, loaded_f16_bias()); }

inline F32x8 load8(const BFloat16* source) {
  const v128_t halves = wasm_v128_load(source), zero = wasm_i32x4_splat(0);
  return {join_first(zero, halves), join_last(zero, halves)};
}

inline void store8(float* target, F32x8 values) {
  wasm_v128_store(target, values.low);
  wasm_v128_store(target + 4, values.high);
}

// The sum of a float from 2^e up to 2^(e+1) and 2^(e+13) has an ulp of 2^(e-10), that of the f16. So its lowest bits are the rounded
// mantissa with its leading one, which adds to an exponent below. Exponents are clamped to those of the smallest normal f16, so that
// subnormal numbers are rounded to its ulp, and of the largest, so that what is beyond becomes infinity.
inline v128_t to_halves(Float16, F32x8 values) {
  constexpr std::uint32_t kSmallest = 0x3880, kLargest = 0x4700;  // the upper halves of 2^-14 and 2^15
  static constexpr std::uint32_t kConstants[] = {
      pair_of(0x8000), pair_of(0x7F80), pair_of(kSmallest), pair_of(kLargest - kSmallest), pair_of(kSmallest + (13 << 7)), pair_of(0x7C00)};
  const LoadedConstants c(kConstants);
  const v128_t sign_bit = c[0], exponent_bits = c[1], smallest = c[2], most_above = c[3], added_to_smallest = c[4], infinity = c[5];

  const v128_t low = values.low, high = values.high, zero = wasm_i32x4_splat(0);
  const v128_t upper = wasm_i16x8_narrow_i32x4(wasm_i32x4_shr(low, 16), wasm_i32x4_shr(high, 16));
  const v128_t sign = wasm_v128_and(upper, sign_bit);
  const v128_t above_smallest = wasm_i16x8_min(wasm_u16x8_sub_sat(wasm_v128_and(upper, exponent_bits), smallest), most_above);

  const v128_t added = wasm_v128_or(wasm_i16x8_add(above_smallest, added_to_smallest), sign);
  const auto mantissa = [](v128_t value, v128_t power) { return wasm_i32x4_sub(wasm_f32x4_add(value, power), power); };
  const v128_t mantissas = wasm_i16x8_narrow_i32x4(mantissa(low, join_first(zero, added)), mantissa(high, join_last(zero, added)));
  const v128_t magnitude = wasm_u16x8_min(wasm_i16x8_add(wasm_i16x8_shl(above_smallest, 3), mantissas), infinity);

  // Infinity - 0xFE00 = 0x7E00, NaN
  const v128_t is_nan = wasm_i16x8_narrow_i32x4(wasm_f32x4_ne(low, low), wasm_f32x4_ne(high, high));
  return wasm_v128_or(wasm_i16x8_sub(magnitude, wasm_i16x8_shl(is_nan, 9)), sign);
}

inline v128_t to_halves(BFloat16, F32x8 values) {
  static constexpr std::uint32_t kConstants[] = {1, 0x7FFF, pair_of(0x40)};
  const LoadedConstants c(kConstants);
  const v128_t one = c[0], below_half = c[1], quiet_bit = c[2];
  const auto rounded = [&](v128_t value, v128_t is_nan) {
    const v128_t added = wasm_i32x4_add(wasm_v128_and(wasm_u32x4_shr(value, 16), one), below_half);
    return wasm_u32x4_shr(wasm_i32x4_add(value, wasm_v128_andnot(added, is_nan)), 16);
  };
  const v128_t low_nan = wasm_f32x4_ne(values.low, values.low), high_nan = wasm_f32x4_ne(values.high, values.high);
  const v128_t bits = wasm_u16x8_narrow_i32x4(rounded(values.low, low_nan), rounded(values.high, high_nan));
  const v128_t quiet = wasm_v128_and(wasm_i16x8_narrow_i32x4(low_nan, high_nan), quiet_bit);
  return wasm_v128_or(bits, quiet);
}

template <class Half>
void store8(Half* target, F32x8 values) {
  wasm_v128_store(target, to_halves(Half(), values));
}

// Four pairs of neighbours: the first of each in `low`, the second in `high`.
inline F32x8 load_pairs(const float* source) {
  const F32x8 both = load8(source);
  return {wasm_i32x4_shuffle(both.low, both.high, 0, 2, 4, 6), wasm_i32x4_shuffle(both.low, both.high, 1, 3, 5, 7)};
}

inline F32x8 load_pairs(const Float16* source) {
  static constexpr std::uint32_t kConstants[] = {0x8FFFE000, 0xFFFF0000};
  const LoadedConstants c(kConstants);
  const v128_t bits = c[0], second = c[1], bias = loaded_f16_bias();
  const v128_t halves = wasm_v128_load(source), special = special_exponents(halves);
  const auto to_floats = [&](v128_t upper) { return wasm_f32x4_mul(wasm_v128_and(wasm_i32x4_shr(upper, 3), bits), bias); };
  return {wasm_v128_or(to_floats(wasm_i32x4_shl(halves, 16)), wasm_i32x4_shl(special, 16)),
          wasm_v128_or(to_floats(halves), wasm_v128_and(special, second))};
}

inline F32x8 load_pairs(const BFloat16* source) {
  static constexpr std::uint32_t kConstants[] = {0xFFFF0000};
  const v128_t halves = wasm_v128_load(source);
  return {wasm_i32x4_shl(halves, 16), wasm_v128_and(halves, LoadedConstants(kConstants)[0])};
}

inline void store_pairs(float* target, F32x8 values) {
  store8(target, {wasm_i32x4_shuffle(values.low, values.high, 0, 4, 1, 5), wasm_i32x4_shuffle(values.low, values.high, 2, 6, 3, 7)});
}

template <class Half>
void store_pairs(Half* target, F32x8 values) {
  const v128_t halves = to_halves(Half(), values);
  wasm_v128_store(target, join_first(halves, wasm_i32x4_shuffle(halves, halves, 2, 3, 2, 3)));
}

// Converts elements, which need not be aligned.
template <class From, class To>
[[gnu::noinline]] void convert_elements(const void* from, int count, void* to) {
  const char* source = static_cast<const char*>(from);
  char* target = static_cast<char*>(to);
  int i = 0;
  for (; i + 8 <= count; i += 8, source += 8 * sizeof(From), target += 8 * sizeof(To))
    store8(reinterpret_cast<To*>(target), load8(reinterpret_cast<const From*>(source)));
  for (; i < count; ++i, source += sizeof(From), target += sizeof(To)) {
    From element;
    To converted;
    std::memcpy(&element, source, sizeof element);
    from_float(to_float(element), converted);
    std::memcpy(target, &converted, sizeof converted);
  }
}

}  // namespace ropewalk
