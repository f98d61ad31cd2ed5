// Blocks of 32 elements. Their scale is the largest element divided by the largest quant.
#include <wasm_simd128.h>

#include <cmath>
#include <cstring>

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
  const float magnitude = largest_magnitude(x);
  int i = 0;
  while (std::fabs(x[i]) != magnitude) ++i;
  return x[i];
}

void write_scale(float scale, std::uint8_t* block) {
  Float16 half;
  from_float(scale, half);
  std::memcpy(block, &half, sizeof half);
}

v128_t scaled(const float* x, float factor) { return wasm_f32x4_mul(wasm_v128_load(x), wasm_f32x4_splat(factor)); }

// Elements times the inverse scale, plus `offset`, without their fraction, and at most `most`.
template <int Count>
void truncate(const float* x, float inverse, float offset, int most, std::uint8_t* quants) {
  for (int i = 0; i < Count; i += 4) {
    const v128_t shifted = wasm_f32x4_add(scaled(x + i, inverse), wasm_f32x4_splat(offset));
    const v128_t quant = wasm_i32x4_min(wasm_i32x4_trunc_sat_f32x4(shifted), wasm_i32x4_splat(most));
    const v128_t halves = wasm_i16x8_narrow_i32x4(quant, quant);
    wasm_v128_store32_lane(quants + i, wasm_u8x16_narrow_i16x8(halves, halves), 0);
  }
}

}  // namespace

void quantize_q8_0(const float* x, std::uint8_t* block) {
  const float scale = largest_magnitude(x) / 127.0f;
  const float inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
  write_scale(scale, block);
  // adding the number before 0.5 and truncating rounds halves away from zero, as roundf() does
  const v128_t before_half = wasm_f32x4_splat(0x1.fffffep-2f), sign = wasm_f32x4_splat(-0.0f);
  for (int i = 0; i < kBlockElements; i += 4) {
    const v128_t value = scaled(x + i, inverse);
    const v128_t rounded = wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_add(value, wasm_v128_bitselect(value, before_half, sign)));
    const v128_t halves = wasm_i16x8_narrow_i32x4(rounded, rounded);
    wasm_v128_store32_lane(block + 2 + i, wasm_i8x16_narrow_i16x8(halves, halves), 0);
  }
}

void quantize_q4_0(const float* x, std::uint8_t* block) {
  const float scale = farthest(x) / -8.0f;
  const float inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
  write_scale(scale, block);
  std::uint8_t quants[kBlockElements];
  truncate<kBlockElements>(x, inverse, 8.5f, 15, quants);
  for (int i = 0; i < kBlockElements / 2; ++i) block[2 + i] = static_cast<std::uint8_t>(quants[i] | quants[i + 16] << 4);
}

void quantize_q5_0(const float* x, std::uint8_t* block) {
  const float scale = farthest(x) / -16.0f;
  const float inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
  write_scale(scale, block);
  std::uint8_t quants[kBlockElements];
  truncate<kBlockElements>(x, inverse, 16.5f, 31, quants);
  std::uint32_t fifth_bits = 0;
  for (int i = 0; i < kBlockElements; ++i) fifth_bits |= static_cast<std::uint32_t>(quants[i] >> 4) << i;
  std::memcpy(block + 2, &fifth_bits, sizeof fifth_bits);
  for (int i = 0; i < kBlockElements / 2; ++i) block[6 + i] = static_cast<std::uint8_t>((quants[i] & 15) | (quants[i + 16] & 15) << 4);
}

}  // namespace ropewalk
