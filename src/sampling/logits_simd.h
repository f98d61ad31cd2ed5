// Loops over logits, eight at a time, and sums of their weights.
#pragma once

#include <wasm_simd128.h>

#include <algorithm>
#include <cmath>

#include "base/float_math_wasmsimd.h"

namespace ropewalk {

// Calls act(i, eight, count) for each eight logits from `i` up. The last may be `count` logits and -infinity, which weighs nothing.
template <class Act>
void each_eight(const float* logits, int size, Act&& act) {
  int i = 0;
  for (; i + 8 <= size; i += 8) {
    v128_t eight[2] = {wasm_v128_load(logits + i), wasm_v128_load(logits + i + 4)};
    act(i, eight, 8);
  }
  if (i == size) return;
  float last[8];
  std::fill(std::copy(logits + i, logits + size, last), last + 8, -INFINITY);
  v128_t eight[2] = {wasm_v128_load(last), wasm_v128_load(last + 4)};
  act(i, eight, size - i);
}

// The first `count` of eight values; the others are 0.
inline void load_first(const float* from, int count, v128_t (&eight)[2]) {
  float values[8] = {};
  if (count < 8) {
    std::copy_n(from, count, values);
    from = values;
  }
  eight[0] = wasm_v128_load(from);
  eight[1] = wasm_v128_load(from + 4);
}

// The first `count` of eight values.
inline void store_first(const v128_t (&eight)[2], int count, float* to) {
  float values[8];
  float* const from = count == 8 ? to : values;
  wasm_v128_store(from, eight[0]);
  wasm_v128_store(from + 4, eight[1]);
  if (count < 8) std::copy_n(values, count, to);
}

// In f64.
class WeightSum {
 public:
  void add(v128_t weights) {
    low_ = wasm_f64x2_add(low_, wasm_f64x2_promote_low_f32x4(weights));
    high_ = wasm_f64x2_add(high_, wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(weights, weights, 2, 3, 2, 3)));
  }
  // Replaces eight values by their exponentials and adds these.
  void add_exp(v128_t (&eight)[2]) {
    replace_by_exp<MultiplyThenAdd>(eight, wasm_f32x4_splat(1));
    add(eight[0]);
    add(eight[1]);
  }
  double total() const {
    const v128_t sum = wasm_f64x2_add(low_, high_);
    return wasm_f64x2_extract_lane(sum, 0) + wasm_f64x2_extract_lane(sum, 1);
  }

 private:
  v128_t low_ = wasm_f64x2_splat(0), high_ = wasm_f64x2_splat(0);
};

}  // namespace ropewalk
