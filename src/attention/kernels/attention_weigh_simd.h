// The softmax weights of a block in simd128, as a template over how a product is added.
#pragma once

#include <wasm_simd128.h>

#include <cmath>

#include "attention/kernels/attention_kernels.h"
#include "attention/kernels/attention_products_simd.h"
#include "base/add_product.h"
#include "base/float_math_wasmsimd.h"

namespace ropewalk {

inline float largest_of(v128_t values) {
  const v128_t two = wasm_f32x4_pmax(values, wasm_i32x4_shuffle(values, values, 2, 3, 0, 1));
  const v128_t one = wasm_f32x4_pmax(two, wasm_i32x4_shuffle(two, two, 1, 0, 3, 2));
  return wasm_f32x4_extract_lane(one, 0);
}

// The largest of a state's maximum and a block of scores times `scale`.
inline float largest_score(const float* scores, v128_t scale, float maximum) {
  v128_t even = wasm_f32x4_splat(maximum), odd = even;
  ROPEWALK_ROLLED for (int n = 0; n < kBlockTokens; n += 8) {
    even = wasm_f32x4_pmax(even, wasm_f32x4_mul(wasm_v128_load(scores + n), scale));
    odd = wasm_f32x4_pmax(odd, wasm_f32x4_mul(wasm_v128_load(scores + n + 4), scale));
  }
  return largest_of(wasm_f32x4_pmax(even, odd));
}

// Scores with cap and bias, and -infinity for keys that aren't seen: it gives weight 0, because it is below the lower limit of exp.
[[gnu::noinline]] inline void finish_scores(const WeighRows& rows, float* scores) {
  const v128_t first = wasm_i32x4_splat(rows.first), last = wasm_i32x4_splat(rows.last);
  const v128_t scale = wasm_f32x4_splat(rows.scale), soft_cap = wasm_f32x4_splat(rows.soft_cap);
  int n = 0;
  ROPEWALK_ROLLED for (; n < rows.last; n += 4) {
    v128_t s = wasm_f32x4_mul(wasm_v128_load(scores + n), scale);
    if (rows.soft_cap != 0) s = wasm_f32x4_mul(soft_cap, tanh_f32x4(wasm_f32x4_div(s, soft_cap)));
    if (rows.bias != nullptr) s = wasm_f32x4_add(s, wasm_v128_load(rows.bias + n));
    const v128_t index = wasm_i32x4_add(wasm_i32x4_const(0, 1, 2, 3), wasm_i32x4_splat(n));
    const v128_t is_seen = wasm_v128_and(wasm_i32x4_ge(index, first), wasm_i32x4_lt(index, last));
    wasm_v128_store(scores + n, wasm_v128_bitselect(s, wasm_f32x4_splat(-INFINITY), is_seen));
  }
  ROPEWALK_ROLLED for (; n < kBlockTokens; n += 4) wasm_v128_store(scores + n, wasm_f32x4_splat(-INFINITY));
}

// The largest scores of all rows come first, then all weights. Row by row, the weights would wait for the largest score.
template <class Arithmetic>
void weigh_simd(const WeighRows& rows, SoftmaxState* states, float* corrections) {
  const bool is_plain = rows.first == 0 && rows.last == kBlockTokens && rows.soft_cap == 0 && rows.bias == nullptr;  // most rows
  const int count = rows.rows, end = rows.last;
  const v128_t scale = wasm_f32x4_splat(is_plain ? rows.scale : 1), unit = wasm_f32x4_splat(rows.unit);
  const float inverse_unit = 1 / rows.unit;
  float* scores = rows.scores;
  ROPEWALK_ROLLED for (int row = 0; row < count; ++row, scores += kBlockTokens) {
    if (!is_plain) finish_scores(rows, scores);
    const float before = states[row].maximum, maximum = largest_score(scores, scale, before);
    corrections[row] = 1;
    if (maximum == before) continue;  // avoids exp(0), which costs as much as the rest
    corrections[row] = exp_f32(before - maximum);
    states[row].maximum = maximum;
  }
  scores = rows.scores;
  ROPEWALK_ROLLED for (int row = 0; row < count; ++row, scores += kBlockTokens) {
    const v128_t largest = wasm_f32x4_splat(states[row].maximum);
    v128_t sum = wasm_f32x4_splat(0);  // times the unit
    int n = 0;
    ROPEWALK_ROLLED for (; n < end; n += 8) {  // scores of -infinity follow the last one
      v128_t weights[2];
      for (int i = 0; i < 2; ++i) weights[i] = wasm_f32x4_sub(wasm_f32x4_mul(wasm_v128_load(scores + n + 4 * i), scale), largest);
      replace_by_exp<Arithmetic>(weights, unit);
      for (int i = 0; i < 2; ++i) {
        wasm_v128_store(scores + n + 4 * i, weights[i]);
        sum = wasm_f32x4_add(sum, weights[i]);
      }
    }
    ROPEWALK_ROLLED for (; n < kBlockTokens; n += 4) wasm_v128_store(scores + n, wasm_f32x4_splat(0));
    states[row].sum = states[row].sum * corrections[row] + sum_of(sum) * inverse_unit;
  }
}

}  // namespace ropewalk
