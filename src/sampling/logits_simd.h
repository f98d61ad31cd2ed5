// Loops over logits, four at a time, and sums of their weights.
#pragma once

#include <wasm_simd128.h>

#include <algorithm>
#include <cmath>

namespace ropewalk {

// Calls act(i, four, count) for each four logits from `i` up. The last may be `count` logits and -infinity, which weighs nothing.
template <class Act>
void each_four(const float* logits, int size, Act&& act) {
  int i = 0;
  for (; i + 4 <= size; i += 4) act(i, wasm_v128_load(logits + i), 4);
  if (i == size) return;
  float last[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  std::copy(logits + i, logits + size, last);
  act(i, wasm_v128_load(last), size - i);
}

// The first `count` of four values; the others are 0.
inline v128_t load_first(const float* from, int count) {
  if (count == 4) return wasm_v128_load(from);
  float four[4] = {};
  std::copy_n(from, count, four);
  return wasm_v128_load(four);
}

inline void store_first(v128_t four, int count, float* to) {
  if (count == 4) return wasm_v128_store(to, four);
  float values[4];
  wasm_v128_store(values, four);
  std::copy_n(values, count, to);
}

// In f64.
class WeightSum {
 public:
  void add(v128_t weights) {
    low_ = wasm_f64x2_add(low_, wasm_f64x2_promote_low_f32x4(weights));
    high_ = wasm_f64x2_add(high_, wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(weights, weights, 2, 3, 2, 3)));
  }
  double total() const {
    const v128_t sum = wasm_f64x2_add(low_, high_);
    return wasm_f64x2_extract_lane(sum, 0) + wasm_f64x2_extract_lane(sum, 1);
  }

 private:
  v128_t low_ = wasm_f64x2_splat(0), high_ = wasm_f64x2_splat(0);
};

}  // namespace ropewalk
