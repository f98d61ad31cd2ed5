// The attention kernels in simd128, as templates over how a product is added: multiply then add, or relaxed multiply-add.
#pragma once

#include <cmath>

#include "attention/kernels/attention_products_simd.h"
#include "attention/kernels/attention_weigh_simd.h"
#include "base/storage_wasmsimd.h"

namespace ropewalk {

template <class Element>
void load_rows_simd(const StoredRows& rows, const void* stored, float* floats) {
  const int head_dim = rows.head_dim;
  for (int row = 0; row < rows.count; ++row, floats += rows.float_stride) {
    convert_elements<Element, float>(static_cast<const char*>(stored) + row * rows.row_stride, head_dim, floats);
    for (int i = head_dim; i < padded_dim(head_dim); ++i) floats[i] = 0;
  }
}

// A faster load_rows_simd<Float16> with the same bits. If a row contains infinity or NaN, all are converted again the slow way.
inline void load_f16_rows_simd(const StoredRows& rows, const void* stored, float* floats) {
  const int count = rows.count, head_dim = rows.head_dim;  // copies: the compiler doesn't know that storing floats leaves `rows` alone
  const v128_t bias = loaded_f16_bias();
  v128_t largest = wasm_i16x8_splat(0);  // of the bits without the sign
  const char* from = static_cast<const char*>(stored);
  float* to = floats;
  for (int row = 0; row < count; ++row, from += rows.row_stride, to += rows.float_stride) {
    const Float16* elements = reinterpret_cast<const Float16*>(from);
    int i = 0;
    for (; i + 8 <= head_dim; i += 8) {
      const v128_t halves = wasm_v128_load(elements + i);
      largest = wasm_u16x8_max(largest, wasm_i16x8_shl(halves, 1));
      const F32x8 placed = placed8(halves);
      store8(to + i, {wasm_f32x4_mul(placed.low, bias), wasm_f32x4_mul(placed.high, bias)});
    }
    if (i == head_dim) continue;
    for (; i < head_dim; ++i) to[i] = to_float(elements[i]);
    for (; i < padded_dim(head_dim); ++i) to[i] = 0;
  }
  const v128_t is_special = wasm_u16x8_ge(largest, wasm_i16x8_splat(static_cast<std::int16_t>(0xF800)));
  if (wasm_v128_any_true(is_special)) load_rows_simd<Float16>(rows, stored, floats);
}

template <class Element>
void store_rows_simd(const StoredRows& rows, const float* floats, void* stored) {
  for (int row = 0; row < rows.count; ++row, floats += rows.float_stride) {
    convert_elements<float, Element>(floats, rows.head_dim, static_cast<char*>(stored) + row * rows.row_stride);
  }
}

// Eight quants from element i, a multiple of 8, as 16-bit integers.
inline v128_t quants8(const Q8Block& block, int i) { return wasm_i16x8_load8x8(block.quants + i); }
inline v128_t quants8(const Q4Block& block, int i) {
  const v128_t bytes = wasm_u16x8_load8x8(block.quants + i % 16);
  const v128_t halves = i < 16 ? wasm_v128_and(bytes, wasm_i16x8_splat(15)) : wasm_u16x8_shr(bytes, 4);
  return wasm_i16x8_sub(halves, wasm_i16x8_splat(8));
}

template <class Block>
void load_block_rows_simd(const StoredRows& rows, const void* stored, float* floats) {
  const int head_dim = rows.head_dim;
  for (int row = 0; row < rows.count; ++row, floats += rows.float_stride) {
    const Block* block = reinterpret_cast<const Block*>(static_cast<const char*>(stored) + row * rows.row_stride);
    for (int first = 0; first < head_dim; first += kQuantBlockSize, ++block) {
      const float scale = to_float(block->scale);
      const auto load = [&](int i) {
        const v128_t quants = quants8(*block, i);
        const v128_t low = wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(quants));
        const v128_t high = wasm_f32x4_convert_i32x4(wasm_i32x4_extend_high_i16x8(quants));
        store8(floats + first + i, {wasm_f32x4_mul(low, wasm_f32x4_splat(scale)), wasm_f32x4_mul(high, wasm_f32x4_splat(scale))});
      };
      const int count = head_dim - first;
      if (count >= kQuantBlockSize) {
        for (int i = 0; i < kQuantBlockSize; i += 8) load(i);
      } else {
        int i = 0;
        for (; i + 8 <= count; i += 8) load(i);
        for (; i < count; ++i) floats[first + i] = static_cast<float>(quant_of(*block, i)) * scale;
      }
    }
    for (int i = head_dim; i < padded_dim(head_dim); ++i) floats[i] = 0;
  }
}

inline float largest_magnitude(const float* floats) {
  v128_t largest = wasm_f32x4_splat(0);
  for (int i = 0; i < kQuantBlockSize; i += 4) largest = wasm_f32x4_pmax(largest, wasm_f32x4_abs(wasm_v128_load(floats + i)));
  return largest_of(largest);
}

inline v128_t inverse_of(float scale) { return wasm_f32x4_splat(std::fabs(scale) < kSmallestQuantScale ? 0 : 1 / scale); }

// Stores 32 floats as one block.
inline void store_block(const float* floats, Q8Block& block) {
  const float scale = largest_magnitude(floats) / 127;
  const v128_t inverse = inverse_of(scale);
  const v128_t magic = wasm_f32x4_splat(0x1.8p23f);  // adding it rounds to an integer, which ends up in the low bits
  const auto words = [&](int i) {
    const v128_t low = wasm_f32x4_add(wasm_f32x4_mul(wasm_v128_load(floats + i), inverse), magic);
    const v128_t high = wasm_f32x4_add(wasm_f32x4_mul(wasm_v128_load(floats + i + 4), inverse), magic);
    return wasm_i16x8_narrow_i32x4(wasm_i32x4_sub(low, magic), wasm_i32x4_sub(high, magic));
  };
  from_float(scale, block.scale);
  for (int i = 0; i < kQuantBlockSize; i += 16) wasm_v128_store(block.quants + i, wasm_i8x16_narrow_i16x8(words(i), words(i + 8)));
}

inline void store_block(const float* floats, Q4Block& block) {
  const float magnitude = largest_magnitude(floats);
  int largest = 0;
  while (largest < kQuantBlockSize - 1 && std::fabs(floats[largest]) != magnitude) ++largest;
  const float scale = floats[largest] / -8;
  const v128_t inverse = inverse_of(scale);
  const auto integers = [&](int i) {
    const v128_t shifted = wasm_f32x4_add(wasm_f32x4_mul(wasm_v128_load(floats + i), inverse), wasm_f32x4_splat(8.5f));
    return wasm_i32x4_min(wasm_i32x4_trunc_sat_f32x4(shifted), wasm_i32x4_splat(15));
  };
  const auto bytes = [&](int i) {
    return wasm_u8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4(integers(i), integers(i + 4)),
                                   wasm_i16x8_narrow_i32x4(integers(i + 8), integers(i + 12)));
  };
  from_float(scale, block.scale);
  wasm_v128_store(block.quants, wasm_v128_or(bytes(0), wasm_i16x8_shl(bytes(16), 4)));  // no bit leaves its byte
}

template <class Block>
void store_block_rows_simd(const StoredRows& rows, const float* floats, void* stored) {
  for (int row = 0; row < rows.count; ++row, floats += rows.float_stride) {
    Block* block = reinterpret_cast<Block*>(static_cast<char*>(stored) + row * rows.row_stride);
    int i = 0;
    for (; i + kQuantBlockSize <= rows.head_dim; i += kQuantBlockSize) store_block(floats + i, *block++);
    if (i == rows.head_dim) continue;
    float last[kQuantBlockSize] = {};
    for (int j = 0; i + j < rows.head_dim; ++j) last[j] = floats[i + j];
    store_block(last, *block);
  }
}

// attention_channels_wasmsimd.cpp
void load_channels_simd(const ChannelBlock& block);

template <class Arithmetic>
constexpr AttentionKernels simd_attention_kernels(const char* name, int max_f16_rows) {
  return {
      name,
      {load_rows_simd<float>, load_f16_rows_simd, load_rows_simd<BFloat16>, load_block_rows_simd<Q8Block>, load_block_rows_simd<Q4Block>},
      {store_rows_simd<float>, store_rows_simd<Float16>, store_rows_simd<BFloat16>, store_block_rows_simd<Q8Block>,
       store_block_rows_simd<Q4Block>},
      load_channels_simd,
      score_simd<Arithmetic, float>,
      weigh_simd<Arithmetic>,
      blend_simd<Arithmetic, float>,
      score_simd<Arithmetic, Float16>,
      blend_simd<Arithmetic, Float16>,
      max_f16_rows};
}

}  // namespace ropewalk
