// Scores, and weighted sums of values, in simd128: templates over how a product is added and over the type of stored elements.
#pragma once

#include <wasm_simd128.h>

#include <bit>
#include <type_traits>

#include "attention/kernels/attention_kernels.h"
#include "base/add_product.h"
#include "base/computed_here.h"
#include "base/float_math_wasmsimd.h"
#ifdef __wasm_relaxed_simd__
#include "base/relaxed_simd.h"
#endif

namespace ropewalk {

// Four elements as Score and Blend multiply them.
template <class Element>
struct Operands;

template <>
struct Operands<float> {
  v128_t load(const float* elements) const { return wasm_v128_load(elements); }
};

template <>
struct Operands<Float16> {
  // the sign is at bit 31, exponent and mantissa at 27…13
  static constexpr float kBits[] = {std::bit_cast<float>(0x8FFFE000u)};
  v128_t load(const Float16* elements) const { return wasm_v128_and(wasm_i32x4_shl(wasm_i32x4_load16x4(elements), 13), bits); }
  v128_t bits = LoadedConstants(kBits)[0];
};

// (0 + 1) + (2 + 3) of each of four vectors. Both shuffles are one instruction on x86-64 and on ARM.
inline v128_t sums_of(v128_t a, v128_t b, v128_t c, v128_t d) {
  const auto even = [](v128_t x, v128_t y) { return wasm_i32x4_shuffle(x, y, 0, 2, 4, 6); };
  const auto odd = [](v128_t x, v128_t y) { return wasm_i32x4_shuffle(x, y, 1, 3, 5, 7); };
  const v128_t ab = wasm_f32x4_add(even(a, b), odd(a, b)), cd = wasm_f32x4_add(even(c, d), odd(c, d));
  return wasm_f32x4_add(even(ab, cd), odd(ab, cd));
}
inline float sum_of(v128_t values) { return wasm_f32x4_extract_lane(sums_of(values, values, values, values), 0); }

// Partial sums of Rows queries and Keys keys, to sums[row][key]. At least eight sums hide the latency of an addition, and with their
// operands they fit sixteen registers.
template <class Arithmetic, class Element, int Rows, int Keys>
inline void multiply_rows(const ScoreBlockOf<Element>& block, const Operands<Element>& operands, int row, int n, v128_t* sums) {
  const float* query = block.queries + row * block.query_stride;
  const Element* key = block.keys + n * block.key_stride;
  v128_t sum[Rows][Keys];
  for (int r = 0; r < Rows; ++r) {
    for (int k = 0; k < Keys; ++k) sum[r][k] = wasm_f32x4_splat(0);
  }
  if constexpr (Rows > 4) {  // one query after the other, so that only one waits in a register
    ROPEWALK_ROLLED for (int i = 0; i < block.dim; i += 4) {
      v128_t keys[Keys];
      for (int k = 0; k < Keys; ++k) keys[k] = operands.load(key + k * block.key_stride + i);
      for (int r = 0; r < Rows; ++r) {
        const v128_t queries = wasm_v128_load(query + r * block.query_stride + i);
        for (int k = 0; k < Keys; ++k) sum[r][k] = Arithmetic::add_product(sum[r][k], queries, keys[k]);
        computed_here(sum[r][0], sum[r][1]);
      }
    }
  } else {
    ROPEWALK_ROLLED for (int i = 0; i < block.dim; i += 4) {
      v128_t queries[Rows];
      for (int r = 0; r < Rows; ++r) queries[r] = wasm_v128_load(query + r * block.query_stride + i);
      for (int k = 0; k < Keys; ++k) {
        const v128_t keys = operands.load(key + k * block.key_stride + i);
        for (int r = 0; r < Rows; ++r) sum[r][k] = Arithmetic::add_product(sum[r][k], queries[r], keys);
      }
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int k = 0; k < Keys; ++k) sums[r * kBlockTokens + n + k] = sum[r][k];
  }
}

// Scores of partial sums [rows][kBlockTokens]. In a loop of its own, no sum waits for another.
[[gnu::noinline]] inline void add_partial_sums(const v128_t* sums, int rows, int count, float* scores) {
  ROPEWALK_ROLLED for (int row = 0; row < rows; ++row, sums += kBlockTokens, scores += kBlockTokens) {
    int n = 0;
    ROPEWALK_ROLLED for (; n + 4 <= count; n += 4) wasm_v128_store(scores + n, sums_of(sums[n], sums[n + 1], sums[n + 2], sums[n + 3]));
    ROPEWALK_ROLLED for (; n < count; ++n) scores[n] = sum_of(sums[n]);
  }
}

// For a few keys at the end of a cache. Apart, because a copy for each number of rows would be large.
template <class Arithmetic, class Element>
[[gnu::noinline]] void multiply_few(const ScoreBlockOf<Element>& block, int row, int rows, v128_t* sums) {
  const Operands<Element> operands;
  for (int r = 0; r < rows; ++r) {
    for (int n = 0; n < block.count; ++n) {
      multiply_rows<Arithmetic, Element, 1, 1>(block, operands, row + r, n, sums + r * kBlockTokens);
    }
  }
}

template <class Arithmetic, class Element, int Rows>
void score_rows(const ScoreBlockOf<Element>& block, int row) {
  constexpr int kKeys = Rows <= 2 ? 4 : Rows == 3 ? 3 : 2;
  const Operands<Element> operands;
  const int count = block.count;
  v128_t sums[Rows * kBlockTokens];
  if (count < kKeys) {
    multiply_few<Arithmetic>(block, row, Rows, sums);
  } else {  // the last keys may be multiplied twice
    ROPEWALK_ROLLED for (int n = 0; n < count; n += kKeys) {
      multiply_rows<Arithmetic, Element, Rows, kKeys>(block, operands, row, n + kKeys <= count ? n : count - kKeys, sums);
    }
  }
  add_partial_sums(sums, Rows, count, block.scores + row * kBlockTokens);
}

// Whether six rows at a time are faster: twelve sums. With f16, what converts it needs registers too.
template <class Arithmetic, class Element>
inline bool takes_six([[maybe_unused]] int rows) {
#ifdef __wasm_relaxed_simd__
  if constexpr (std::is_same_v<Arithmetic, RelaxedMultiplyAdd> && std::is_same_v<Element, float>) return rows >= 6 && holds_twelve_sums();
#endif
  return false;
}

template <class Arithmetic, class Element>
void score_simd(const ScoreBlockOf<Element>& block) {
  int row = 0;
  if (takes_six<Arithmetic, Element>(block.rows)) {
    for (; row + 6 <= block.rows; row += 6) score_rows<Arithmetic, Element, 6>(block, row);
  }
  for (; row + 4 <= block.rows; row += 4) score_rows<Arithmetic, Element, 4>(block, row);
  switch (block.rows - row) {
    case 3: return score_rows<Arithmetic, Element, 3>(block, row);
    case 2: return score_rows<Arithmetic, Element, 2>(block, row);
    case 1: return score_rows<Arithmetic, Element, 1>(block, row);
  }
}

// Keys whose values are added before the next elements. Sums of neighbouring elements don't depend on each other, so the processor computes
// them at the same time if the loop over keys is short.
constexpr int kBlendKeys = 16;

// Whether the weights of all rows are loaded at fixed distances from one address, so that no instruction computes theirs. The engines of
// the simd build, such as Node 20, load them early then, and f16's mask or nine sums leave no register for that.
template <class Arithmetic, class Element, int Rows>
constexpr bool kFixedDistances = !std::is_same_v<Arithmetic, MultiplyThenAdd> || (std::is_same_v<Element, float> && Rows != 3);

// Adds the value of key n, times its weight in each row, to the sums of the rows.
template <class Arithmetic, class Element, int Rows, int Vectors>
inline void add_value(const Operands<Element>& operands, const Element* value, const float* weights, int n, v128_t (&sum)[Rows][Vectors]) {
  v128_t values[Vectors];
  for (int v = 0; v < Vectors; ++v) values[v] = operands.load(value + 4 * v);
  for (int r = 0; r < Rows; ++r) {
    const v128_t weight = wasm_v128_load32_splat(weights + r * kBlockTokens + n);
    for (int v = 0; v < Vectors; ++v) sum[r][v] = Arithmetic::add_product(sum[r][v], weight, values[v]);
    if constexpr (Rows > 4) computed_here(sum[r][0], sum[r][1]);
  }
}

// Rows × Vectors sums stay in registers while keys [first, last) are processed.
template <class Arithmetic, class Element, int Rows, int Vectors>
inline void blend_tile(const BlendBlockOf<Element>& block, const Operands<Element>& operands, int row, int i, int first, int last) {
  const float* weights = block.weights + row * kBlockTokens;
  const Element* value = block.values + first * block.value_stride + i;
  float* out = block.out + row * block.out_stride + i;
  v128_t sum[Rows][Vectors];
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) sum[r][v] = wasm_v128_load(out + r * block.out_stride + 4 * v);
  }
  if (first == 0) {
    for (int r = 0; r < Rows; ++r) {
      const v128_t correction = wasm_v128_load32_splat(block.corrections + row + r);
      for (int v = 0; v < Vectors; ++v) sum[r][v] = wasm_f32x4_mul(sum[r][v], correction);
    }
  }
  if constexpr (kFixedDistances<Arithmetic, Element, Rows>) {
    const float* const end = weights + last;
    ROPEWALK_ROLLED for (weights += first; weights != end; ++weights, value += block.value_stride) {
      add_value<Arithmetic>(operands, value, weights, 0, sum);
    }
  } else {
    ROPEWALK_ROLLED for (int n = first; n < last; ++n, value += block.value_stride) {
      add_value<Arithmetic>(operands, value, weights, n, sum);
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) wasm_v128_store(out + r * block.out_stride + 4 * v, sum[r][v]);
  }
}

template <class Arithmetic, class Element>
[[gnu::noinline]] void blend_rest(const BlendBlockOf<Element>& block, int row, int rows, int i, int first, int last) {
  const Operands<Element> operands;
  for (; i < block.dim; i += 4) {
    for (int r = row; r < row + rows; ++r) blend_tile<Arithmetic, Element, 1, 1>(block, operands, r, i, first, last);
  }
}

template <class Arithmetic, class Element, int Rows>
void blend_rows(const BlendBlockOf<Element>& block, int row) {
  constexpr int kVectors = Rows <= 2 ? 4 : 2;
  const Operands<Element> operands;
  // eight sums hide the latency of an addition, if no addresses have to be computed
  constexpr int kKeys = Rows > 3 && kFixedDistances<Arithmetic, Element, Rows> ? kBlockTokens : kBlendKeys;
  ROPEWALK_ROLLED for (int first = 0; first < block.count; first += kKeys) {
    const int last = first + kKeys < block.count ? first + kKeys : block.count;
    int i = 0;
    if constexpr (Rows == 3) {  // nine sums, then six while an even number of vectors is left
      ROPEWALK_ROLLED for (; block.dim - i > 16 || block.dim - i == 12; i += 12) {
        blend_tile<Arithmetic, Element, 3, 3>(block, operands, row, i, first, last);
      }
    }
    ROPEWALK_ROLLED for (; i + 4 * kVectors <= block.dim; i += 4 * kVectors) {
      blend_tile<Arithmetic, Element, Rows, kVectors>(block, operands, row, i, first, last);
    }
    if (i < block.dim) blend_rest<Arithmetic>(block, row, Rows, i, first, last);
  }
}

template <class Arithmetic, class Element>
void blend_simd(const BlendBlockOf<Element>& block) {
  int row = 0;
  if (takes_six<Arithmetic, Element>(block.rows)) {
    for (; row + 6 <= block.rows; row += 6) blend_rows<Arithmetic, Element, 6>(block, row);
  }
  for (; row + 4 <= block.rows; row += 4) blend_rows<Arithmetic, Element, 4>(block, row);
  switch (block.rows - row) {
    case 3: return blend_rows<Arithmetic, Element, 3>(block, row);
    case 2: return blend_rows<Arithmetic, Element, 2>(block, row);
    case 1: return blend_rows<Arithmetic, Element, 1>(block, row);
  }
}

}  // namespace ropewalk
