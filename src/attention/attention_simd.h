// The attention kernels in simd128, as templates over how a product is added: multiply then add, or relaxed multiply-add.
#pragma once

#include "attention/attention_kernels.h"
#include "base/float_math_wasmsimd.h"
#include "base/storage_wasmsimd.h"

namespace ropewalk {

template <class Element>
void load_rows_simd(const StoredRows& rows, const void* stored, float* floats) {
  for (int row = 0; row < rows.count; ++row, floats += rows.float_stride) {
    const Element* elements = reinterpret_cast<const Element*>(static_cast<const char*>(stored) + row * rows.row_stride);
    int i = 0;
    for (; i + 8 <= rows.head_dim; i += 8) store8(floats + i, load8(elements + i));
    for (; i < rows.head_dim; ++i) floats[i] = to_float(elements[i]);
    for (; i < padded_dim(rows.head_dim); ++i) floats[i] = 0;
  }
}

// Converts four finite halves: shifts exponent and mantissa into place, then multiplies by 2^112 to correct the bias. Wrong for infinity
// and NaN.
inline v128_t load4_finite(const Float16* source) {
  const v128_t placed =
      wasm_v128_and(wasm_i32x4_shl(wasm_i32x4_load16x4(source), 13), wasm_i32x4_splat(static_cast<std::int32_t>(0x8FFFE000u)));
  return wasm_f32x4_mul(placed, wasm_f32x4_splat(0x1p112f));
}

// A faster load_rows_simd<Float16> with the same bits. Rows that contain infinity or NaN are converted again the slow way.
inline void load_f16_rows_simd(const StoredRows& rows, const void* stored, float* floats) {
  for (int row = 0; row < rows.count; ++row, floats += rows.float_stride) {
    const char* from = static_cast<const char*>(stored) + row * rows.row_stride;
    const Float16* elements = reinterpret_cast<const Float16*>(from);
    v128_t largest = wasm_i16x8_splat(0);  // of the bits without the sign
    int i = 0;
    for (; i + 8 <= rows.head_dim; i += 8) {
      largest = wasm_u16x8_max(largest, wasm_i16x8_shl(wasm_v128_load(elements + i), 1));
      store8(floats + i, {load4_finite(elements + i), load4_finite(elements + i + 4)});
    }
    for (; i < rows.head_dim; ++i) floats[i] = to_float(elements[i]);
    for (; i < padded_dim(rows.head_dim); ++i) floats[i] = 0;
    const v128_t is_special = wasm_u16x8_ge(largest, wasm_i16x8_splat(static_cast<std::int16_t>(0xF800)));
    if (wasm_v128_any_true(is_special)) load_rows_simd<Float16>({rows.row_stride, rows.float_stride, 1, rows.head_dim}, from, floats);
  }
}

template <class Element>
void store_rows_simd(const StoredRows& rows, const float* floats, void* stored) {
  for (int row = 0; row < rows.count; ++row, floats += rows.float_stride) {
    Element* elements = reinterpret_cast<Element*>(static_cast<char*>(stored) + row * rows.row_stride);
    int i = 0;
    for (; i + 8 <= rows.head_dim; i += 8) store8(elements + i, load8(floats + i));
    for (; i < rows.head_dim; ++i) from_float(floats[i], elements[i]);
  }
}

inline F32x8 load8(const std::int8_t* source) {
  const v128_t words = wasm_i16x8_load8x8(source);
  return {wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(words)), wasm_f32x4_convert_i32x4(wasm_i32x4_extend_high_i16x8(words))};
}

inline void load_q8_rows_simd(const StoredRows& rows, const void* stored, float* floats) {
  for (int row = 0; row < rows.count; ++row, floats += rows.float_stride) {
    const Q8Block* block = reinterpret_cast<const Q8Block*>(static_cast<const char*>(stored) + row * rows.row_stride);
    for (int first = 0; first < rows.head_dim; first += kQ8BlockSize, ++block) {
      const float scale = to_float(block->scale);
      const int count = rows.head_dim - first < kQ8BlockSize ? rows.head_dim - first : kQ8BlockSize;
      int i = 0;
      for (; i + 8 <= count; i += 8) {
        const F32x8 quants = load8(block->quants + i);
        store8(floats + first + i,
               {wasm_f32x4_mul(quants.low, wasm_f32x4_splat(scale)), wasm_f32x4_mul(quants.high, wasm_f32x4_splat(scale))});
      }
      for (; i < count; ++i) floats[first + i] = static_cast<float>(block->quants[i]) * scale;
    }
    for (int i = rows.head_dim; i < padded_dim(rows.head_dim); ++i) floats[i] = 0;
  }
}

inline float largest_of(v128_t values) {
  const v128_t two = wasm_f32x4_pmax(values, wasm_i32x4_shuffle(values, values, 2, 3, 0, 1));
  const v128_t one = wasm_f32x4_pmax(two, wasm_i32x4_shuffle(two, two, 1, 0, 3, 2));
  return wasm_f32x4_extract_lane(one, 0);
}

// Stores 32 floats as one block.
inline void store_q8_block(const float* floats, Q8Block& block) {
  v128_t largest = wasm_f32x4_splat(0);
  for (int i = 0; i < kQ8BlockSize; i += 4) largest = wasm_f32x4_pmax(largest, wasm_f32x4_abs(wasm_v128_load(floats + i)));
  const float scale = largest_of(largest) / 127;
  const v128_t inverse = wasm_f32x4_splat(scale < kSmallestQ8Scale ? 0 : 1 / scale);
  const v128_t magic = wasm_f32x4_splat(0x1.8p23f);  // adding it rounds to an integer, which ends up in the low bits
  const auto words = [&](int i) {
    const v128_t low = wasm_f32x4_add(wasm_f32x4_mul(wasm_v128_load(floats + i), inverse), magic);
    const v128_t high = wasm_f32x4_add(wasm_f32x4_mul(wasm_v128_load(floats + i + 4), inverse), magic);
    return wasm_i16x8_narrow_i32x4(wasm_i32x4_sub(low, magic), wasm_i32x4_sub(high, magic));
  };
  from_float(scale, block.scale);
  for (int i = 0; i < kQ8BlockSize; i += 16) wasm_v128_store(block.quants + i, wasm_i8x16_narrow_i16x8(words(i), words(i + 8)));
}

inline void store_q8_rows_simd(const StoredRows& rows, const float* floats, void* stored) {
  for (int row = 0; row < rows.count; ++row, floats += rows.float_stride) {
    Q8Block* block = reinterpret_cast<Q8Block*>(static_cast<char*>(stored) + row * rows.row_stride);
    int i = 0;
    for (; i + kQ8BlockSize <= rows.head_dim; i += kQ8BlockSize) store_q8_block(floats + i, *block++);
    if (i == rows.head_dim) continue;
    float last[kQ8BlockSize] = {};
    for (int j = 0; i + j < rows.head_dim; ++j) last[j] = floats[i + j];
    store_q8_block(last, *block);
  }
}

// (0 + 1) + (2 + 3) of each of four vectors.
inline v128_t sums_of(v128_t a, v128_t b, v128_t c, v128_t d) {
  const v128_t ab = wasm_f32x4_add(wasm_i32x4_shuffle(a, b, 0, 4, 2, 6), wasm_i32x4_shuffle(a, b, 1, 5, 3, 7));
  const v128_t cd = wasm_f32x4_add(wasm_i32x4_shuffle(c, d, 0, 4, 2, 6), wasm_i32x4_shuffle(c, d, 1, 5, 3, 7));
  return wasm_f32x4_add(wasm_i64x2_shuffle(ab, cd, 0, 2), wasm_i64x2_shuffle(ab, cd, 1, 3));
}

inline float sum_of(v128_t values) { return wasm_f32x4_extract_lane(sums_of(values, values, values, values), 0); }

// Scores of Rows queries and Keys keys. The sizes are chosen so that sums and operands fit sixteen registers.
template <class Arithmetic, int Rows, int Keys>
inline void score_tile(const ScoreBlock& block, int row, int n) {
  const float* query = block.queries + row * block.query_stride;
  const float* key = block.keys + n * block.key_stride;
  v128_t sum[Rows][Keys];
  for (int r = 0; r < Rows; ++r) {
    for (int k = 0; k < Keys; ++k) sum[r][k] = wasm_f32x4_splat(0);
  }
  for (int i = 0; i < block.dim; i += 4) {
    v128_t keys[Keys];
    for (int k = 0; k < Keys; ++k) keys[k] = wasm_v128_load(key + k * block.key_stride + i);
    for (int r = 0; r < Rows; ++r) {
      const v128_t q = wasm_v128_load(query + r * block.query_stride + i);
      for (int k = 0; k < Keys; ++k) sum[r][k] = Arithmetic::add_product(sum[r][k], q, keys[k]);
    }
  }
  float* scores = block.scores + row * kBlockTokens + n;
  if constexpr (Rows == 4 && Keys == 2) {
    const v128_t first = sums_of(sum[0][0], sum[0][1], sum[1][0], sum[1][1]);
    const v128_t second = sums_of(sum[2][0], sum[2][1], sum[3][0], sum[3][1]);
    wasm_v128_store64_lane(scores, first, 0);
    wasm_v128_store64_lane(scores + kBlockTokens, first, 1);
    wasm_v128_store64_lane(scores + 2 * kBlockTokens, second, 0);
    wasm_v128_store64_lane(scores + 3 * kBlockTokens, second, 1);
  } else {
    for (int r = 0; r < Rows; ++r) {
      for (int k = 0; k < Keys; ++k) scores[r * kBlockTokens + k] = sum_of(sum[r][k]);
    }
  }
}

template <class Arithmetic, int Rows, int Keys>
inline void score_rows(const ScoreBlock& block, int row) {
  int n = 0;
  for (; n + Keys <= block.count; n += Keys) score_tile<Arithmetic, Rows, Keys>(block, row, n);
  for (; n < block.count; ++n) score_tile<Arithmetic, Rows, 1>(block, row, n);
}

template <class Arithmetic>
void score_simd(const ScoreBlock& block) {
  int row = 0;
  for (; row + 4 <= block.rows; row += 4) score_rows<Arithmetic, 4, 2>(block, row);
  switch (block.rows - row) {
    case 3: return score_rows<Arithmetic, 3, 2>(block, row);
    case 2: return score_rows<Arithmetic, 2, 4>(block, row);
    case 1: return score_rows<Arithmetic, 1, 4>(block, row);
  }
}

inline float weigh_simd(const WeighRow& row, SoftmaxState& state) {
  const v128_t first = wasm_i32x4_splat(row.first), last = wasm_i32x4_splat(row.last);
  const v128_t lanes = wasm_i32x4_const(0, 1, 2, 3);
  const v128_t scale = wasm_f32x4_splat(row.scale), soft_cap = wasm_f32x4_splat(row.soft_cap);
  const auto is_seen = [&](int n) {
    const v128_t index = wasm_i32x4_add(lanes, wasm_i32x4_splat(n));
    return wasm_v128_and(wasm_i32x4_ge(index, first), wasm_i32x4_lt(index, last));
  };

  const bool sees_all = row.first == 0 && row.last == kBlockTokens;
  v128_t scores[kBlockTokens / 4];
  v128_t maxima = wasm_f32x4_splat(state.maximum);
  for (int n = 0; n < kBlockTokens; n += 4) {
    v128_t s = wasm_f32x4_mul(wasm_v128_load(row.scores + n), scale);
    if (row.soft_cap != 0) s = wasm_f32x4_mul(soft_cap, tanh_f32x4(wasm_f32x4_div(s, soft_cap)));
    if (row.bias != nullptr) s = wasm_f32x4_add(s, wasm_v128_load(row.bias + n));
    scores[n / 4] = sees_all ? s : wasm_v128_bitselect(s, wasm_f32x4_splat(-INFINITY), is_seen(n));
    maxima = wasm_f32x4_pmax(maxima, scores[n / 4]);
  }
  const float maximum = largest_of(maxima);
  const float correction =
      maximum == state.maximum ? 1 : exp_f32(state.maximum - maximum);  // avoids exp(0), which costs as much as the rest
  v128_t sum = wasm_f32x4_splat(0);
  for (int n = 0; n < kBlockTokens; n += 4) {
    // a score of -infinity gives weight 0: it is below the lower limit of exp
    const v128_t weight = exp_f32x4(wasm_f32x4_sub(scores[n / 4], wasm_f32x4_splat(maximum)));
    wasm_v128_store(row.scores + n, weight);
    sum = wasm_f32x4_add(sum, weight);
  }
  state.maximum = maximum;
  state.sum = state.sum * correction + sum_of(sum);
  return correction;
}

// Rows × Vectors sums stay in registers while the keys are processed.
template <class Arithmetic, int Rows, int Vectors>
inline void blend_tile(const BlendBlock& block, int row, int i) {
  const float* weights = block.weights + row * kBlockTokens;
  const float* value = block.values + i;
  float* out = block.out + row * block.out_stride + i;
  v128_t sum[Rows][Vectors];
  for (int r = 0; r < Rows; ++r) {
    const v128_t correction = wasm_v128_load32_splat(block.corrections + row + r);
    for (int v = 0; v < Vectors; ++v) sum[r][v] = wasm_f32x4_mul(wasm_v128_load(out + r * block.out_stride + 4 * v), correction);
  }
  for (int n = 0; n < block.count; ++n, value += block.value_stride) {
    v128_t values[Vectors];
    for (int v = 0; v < Vectors; ++v) values[v] = wasm_v128_load(value + 4 * v);
    for (int r = 0; r < Rows; ++r) {
      const v128_t weight = wasm_v128_load32_splat(weights + r * kBlockTokens + n);
      for (int v = 0; v < Vectors; ++v) sum[r][v] = Arithmetic::add_product(sum[r][v], weight, values[v]);
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) wasm_v128_store(out + r * block.out_stride + 4 * v, sum[r][v]);
  }
}

template <class Arithmetic, int Rows, int Vectors>
inline void blend_rows(const BlendBlock& block, int row) {
  int i = 0;
  for (; i + 4 * Vectors <= block.dim; i += 4 * Vectors) blend_tile<Arithmetic, Rows, Vectors>(block, row, i);
  for (; i < block.dim; i += 4) blend_tile<Arithmetic, Rows, 1>(block, row, i);
}

template <class Arithmetic>
void blend_simd(const BlendBlock& block) {
  int row = 0;
  for (; row + 4 <= block.rows; row += 4) blend_rows<Arithmetic, 4, 2>(block, row);
  switch (block.rows - row) {
    case 3: return blend_rows<Arithmetic, 3, 2>(block, row);
    case 2: return blend_rows<Arithmetic, 2, 4>(block, row);
    case 1: return blend_rows<Arithmetic, 1, 4>(block, row);
  }
}

template <class Arithmetic>
constexpr AttentionKernels simd_attention_kernels(const char* name) {
  return {name,
          {load_rows_simd<float>, load_f16_rows_simd, load_rows_simd<BFloat16>, load_q8_rows_simd},
          {store_rows_simd<float>, store_rows_simd<Float16>, store_rows_simd<BFloat16>, store_q8_rows_simd},
          score_simd<Arithmetic>,
          weigh_simd,
          blend_simd<Arithmetic>};
}

}  // namespace ropewalk
