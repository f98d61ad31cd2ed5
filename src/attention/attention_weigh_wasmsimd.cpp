// The softmax weights of a block in simd128. Apart from the other kernels, because its loops are as fast without being unrolled.
#include "attention/attention_simd.h"
#include "base/float_math_wasmsimd.h"

namespace ropewalk {

float weigh_simd(const WeighRow& row, SoftmaxState& state) {
  const v128_t first = wasm_i32x4_splat(row.first), last = wasm_i32x4_splat(row.last);
  const v128_t lanes = wasm_i32x4_const(0, 1, 2, 3);
  const v128_t scale = wasm_f32x4_splat(row.scale), soft_cap = wasm_f32x4_splat(row.soft_cap), unit = wasm_f32x4_splat(row.unit);
  const auto is_seen = [&](int n) {
    const v128_t index = wasm_i32x4_add(lanes, wasm_i32x4_splat(n));
    return wasm_v128_and(wasm_i32x4_ge(index, first), wasm_i32x4_lt(index, last));
  };

  float* scores = row.scores;
  const float* bias = row.bias;
  const bool is_capped = row.soft_cap != 0;
  v128_t maxima = wasm_f32x4_splat(state.maximum);
  if (row.first == 0 && row.last == kBlockTokens && !is_capped && bias == nullptr) {  // most rows
    for (int n = 0; n < kBlockTokens; n += 4) {
      const v128_t s = wasm_f32x4_mul(wasm_v128_load(scores + n), scale);
      wasm_v128_store(scores + n, s);
      maxima = wasm_f32x4_pmax(maxima, s);
    }
  } else {
    for (int n = 0; n < row.last; n += 4) {
      v128_t s = wasm_f32x4_mul(wasm_v128_load(scores + n), scale);
      if (is_capped) s = wasm_f32x4_mul(soft_cap, tanh_f32x4(wasm_f32x4_div(s, soft_cap)));
      if (bias != nullptr) s = wasm_f32x4_add(s, wasm_v128_load(bias + n));
      s = wasm_v128_bitselect(s, wasm_f32x4_splat(-INFINITY), is_seen(n));
      wasm_v128_store(scores + n, s);
      maxima = wasm_f32x4_pmax(maxima, s);
    }
  }
  const float maximum = largest_of(maxima);
  const float correction =
      maximum == state.maximum ? 1 : exp_f32(state.maximum - maximum);  // avoids exp(0), which costs as much as the rest
  const v128_t largest = wasm_f32x4_splat(maximum);
  v128_t sum = wasm_f32x4_splat(0);
  int n = 0;
  for (; n < row.last; n += 4) {
    // a score of -infinity gives weight 0: it is below the lower limit of exp
    const v128_t weight = exp_f32x4(wasm_f32x4_sub(wasm_v128_load(scores + n), largest));
    wasm_v128_store(scores + n, wasm_f32x4_mul(weight, unit));
    sum = wasm_f32x4_add(sum, weight);
  }
  for (; n < kBlockTokens; n += 4) wasm_v128_store(scores + n, wasm_f32x4_splat(0));
  state.maximum = maximum;
  state.sum = state.sum * correction + sum_of(sum);
  return correction;
}

}  // namespace ropewalk
