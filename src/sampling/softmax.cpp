#include "sampling/softmax.h"

#include <wasm_simd128.h>

#include <atomic>
#include <cmath>

#include "base/float_math_wasmsimd.h"

namespace ropewalk {
namespace {

// Four logits less the largest, divided by the temperature, in f64.
v128_t four_scaled(const float* logits, v128_t largest, v128_t temperature) {
  const v128_t four = wasm_v128_load(logits), upper = wasm_i32x4_shuffle(four, four, 2, 3, 2, 3);
  const auto two = [&](v128_t pair) {
    return wasm_f32x4_demote_f64x2_zero(wasm_f64x2_div(wasm_f64x2_sub(wasm_f64x2_promote_low_f32x4(pair), largest), temperature));
  };
  return wasm_i64x2_shuffle(two(four), two(upper), 0, 2);
}

}  // namespace

float largest_logit(const float* logits, int size) {
  std::atomic<float> largest = logits[0];
  each_logit_chunk(size, [&](int, int first, int count) {
    const float* from = logits + first;
    v128_t maxima = wasm_f32x4_splat(from[0]);
    int i = 0;
    for (; i + 4 <= count; i += 4) maxima = wasm_f32x4_pmax(maxima, wasm_v128_load(from + i));
    float lanes[4];
    wasm_v128_store(lanes, maxima);
    const float found = std::max(*std::max_element(lanes, lanes + 4), *std::max_element(from + i - (i == count), from + count));
    float known = largest.load(std::memory_order_relaxed);
    while (known < found && !largest.compare_exchange_weak(known, found, std::memory_order_relaxed)) continue;
  });
  return largest.load(std::memory_order_relaxed);
}

double weigh_logits(const float* logits, int count, double largest, double temperature, float* scaled, float* weights) {
  const v128_t largest2 = wasm_f64x2_splat(largest), temperature2 = wasm_f64x2_splat(temperature);
  v128_t sum = wasm_f64x2_splat(0);
  for (int i = 0; i < count; i += 4) {
    float last[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};  // weighs nothing
    const bool is_whole = i + 4 <= count;
    if (!is_whole) std::copy(logits + i, logits + count, last);
    const v128_t four = four_scaled(is_whole ? logits + i : last, largest2, temperature2), weight = exp_f32x4(four);
    sum = wasm_f64x2_add(sum, wasm_f64x2_promote_low_f32x4(weight));
    sum = wasm_f64x2_add(sum, wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(weight, weight, 2, 3, 2, 3)));
    if (weights == nullptr) continue;
    if (is_whole) {
      wasm_v128_store(scaled + i, four);
      wasm_v128_store(weights + i, weight);
    } else {
      float lanes[4];
      wasm_v128_store(lanes, four);
      std::copy_n(lanes, count - i, scaled + i);
      wasm_v128_store(lanes, weight);
      std::copy_n(lanes, count - i, weights + i);
    }
  }
  return wasm_f64x2_extract_lane(sum, 0) + wasm_f64x2_extract_lane(sum, 1);
}

Status Softmax::weigh(float* logits, int size, double temperature) {
  const float largest = largest_logit(logits, size);
  each_logit_chunk(size, [&](int chunk, int first, int count) {
    float* from = logits + first;
    sums_[chunk] = weigh_logits(from, count, largest, temperature, from, weights_.data() + first);
  });
  if (thread_pool().status() != Status::ok) return Status::thread_lost;
  total_ = 0;
  for (int chunk = 0; chunk < logit_chunks(size); ++chunk) total_ += sums_[chunk];
  return Status::ok;
}

int Softmax::draw(int size, double uniform) const {
  double left = uniform * total_;
  int chunk = 0;
  while (chunk + 1 < logit_chunks(size) && sums_[chunk] <= left) left -= sums_[chunk++];
  int token = chunk * kLogitChunk;
  const int end = std::min(size, token + kLogitChunk);
  int last = token;  // sums of a chunk are rounded, so the loop may reach its end
  for (; token < end; ++token) {
    if (weights_[token] == 0) continue;
    last = token;
    left -= weights_[token];
    if (left < 0) break;
  }
  return last;
}

}  // namespace ropewalk
