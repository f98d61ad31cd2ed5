// Blocks of 32 elements. Their scale is the largest element divided by the largest quant.
#include <wasm_simd128.h>

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/loaded_constants.h"
#include "base/storage.h"
#include "quantize/quantize_blocks.h"

namespace ropewalk {
namespace {

constexpr int kBlockElements = 32;

float largest_magnitude(const float* x) {
  v128_t largest = wasm_f32x4_abs(wasm_v128_load(x));
  for (int i = 4; i < kBlockElements; i += 4) largest = wasm_f32x4_pmax(largest, wasm_f32x4_abs(wasm_v128_load(x + i)));
  largest = wasm_f32x4_pmax(largest, wasm_i32x4_shuffle(largest, largest, 2, 3, 0, 1));
  largest = wasm_f32x4_pmax(largest, wasm_i32x4_shuffle(largest, largest, 1, 0, 3, 2));
  return wasm_f32x4_extract_lane(largest, 0);
}

// The first of the elements that are farthest from zero, with its sign.
float farthest(const float* x) {
  const v128_t magnitude = wasm_f32x4_splat(largest_magnitude(x));
  for (int i = 0;; i += 4) {
    const unsigned found = wasm_i32x4_bitmask(wasm_f32x4_eq(wasm_f32x4_abs(wasm_v128_load(x + i)), magnitude));
    if (found != 0) return x[i + std::countr_zero(found)];
  }
}

float inverse_of(float scale) { return scale != 0.0f ? 1.0f / scale : 0.0f; }

void write_scale(float scale, std::uint8_t* block) {
  Float16 half;
  from_float(scale, half);
  std::memcpy(block, &half, sizeof half);
}

// Sixteen elements times `factor`, as bytes. `round` makes four integers of four of them, which are narrowed to 16 signed bits.
template <class Round>
v128_t quants16(const float* x, float factor, Round&& round) {
  const v128_t factors = wasm_f32x4_splat(factor);
  const auto quants4 = [&](int i) { return round(wasm_f32x4_mul(wasm_v128_load(x + i), factors)); };
  const v128_t first = wasm_i16x8_narrow_i32x4(quants4(0), quants4(4)), last = wasm_i16x8_narrow_i32x4(quants4(8), quants4(12));
  return wasm_i8x16_narrow_i16x8(first, last);
}

// Sixteen elements times the inverse scale, plus `offset`, without their fraction, and at most `most`.
v128_t truncated16(const float* x, float inverse, float offset, int most) {
  const v128_t offsets = wasm_f32x4_splat(offset), largest = wasm_i32x4_splat(most), zero = wasm_i32x4_splat(0);
  return quants16(x, inverse, [&](v128_t scaled) {
    return wasm_i32x4_max(wasm_i32x4_min(wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_add(scaled, offsets)), largest), zero);
  });
}

}  // namespace

void quantize_q8_0(const float* x, std::uint8_t* block) {
  const float scale = largest_magnitude(x) / 127.0f, inverse = inverse_of(scale);
  write_scale(scale, block);
  // adding the number before 0.5 and truncating rounds halves away from zero, as roundf() does
  static constexpr float kConstants[] = {0x1.fffffep-2f, -0.0f};
  const LoadedConstants c(kConstants);
  const v128_t before_half = c[0], sign = c[1];
  const auto rounded = [&](v128_t value) {
    return wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_add(value, wasm_v128_or(before_half, wasm_v128_and(value, sign))));
  };
  for (int i = 0; i < kBlockElements; i += 16) wasm_v128_store(block + 2 + i, quants16(x + i, inverse, rounded));
}

void quantize_q4_0(const float* x, std::uint8_t* block) {
  const float scale = farthest(x) / -8.0f, inverse = inverse_of(scale);
  write_scale(scale, block);
  const v128_t first = truncated16(x, inverse, 8.5f, 15), last = truncated16(x + 16, inverse, 8.5f, 15);
  wasm_v128_store(block + 2, wasm_v128_or(first, wasm_i8x16_shl(last, 4)));
}

void quantize_q5_0(const float* x, std::uint8_t* block) {
  const float scale = farthest(x) / -16.0f, inverse = inverse_of(scale);
  write_scale(scale, block);
  const v128_t first = truncated16(x, inverse, 16.5f, 31), last = truncated16(x + 16, inverse, 16.5f, 31);
  const auto fifth_bits_of = [](v128_t quants) { return static_cast<std::uint32_t>(wasm_i8x16_bitmask(wasm_i8x16_shl(quants, 3))); };
  const std::uint32_t fifth_bits = fifth_bits_of(first) | fifth_bits_of(last) << 16;
  std::memcpy(block + 2, &fifth_bits, sizeof fifth_bits);
  wasm_v128_store(block + 6, wasm_v128_or(wasm_v128_and(first, wasm_i8x16_splat(15)), wasm_i8x16_shl(last, 4)));
}

}  // namespace ropewalk
