#include "sampling/softmax.h"

#include <wasm_simd128.h>

#include <algorithm>

#include "sampling/logits_simd.h"

namespace ropewalk {
namespace {

// Four logits less the largest, divided by the temperature, in f64.
v128_t four_scaled(v128_t four, v128_t largest, v128_t temperature) {
  const auto two = [&](v128_t pair) {
    return wasm_f32x4_demote_f64x2_zero(wasm_f64x2_div(wasm_f64x2_sub(wasm_f64x2_promote_low_f32x4(pair), largest), temperature));
  };
  return wasm_i64x2_shuffle(two(four), two(wasm_i32x4_shuffle(four, four, 2, 3, 2, 3)), 0, 2);
}

}  // namespace

double sum_of_weights(const float* logits, int count, float largest) {
  const v128_t largest4 = wasm_f32x4_splat(largest);
  WeightSum sum;
  each_eight(logits, count, [&](int, v128_t(&eight)[2], int) {
    eight[0] = wasm_f32x4_sub(eight[0], largest4);
    eight[1] = wasm_f32x4_sub(eight[1], largest4);
    sum.add_exp(eight);
  });
  return sum.total();
}

double weigh_logits(float* logits, int count, float largest, double temperature, float* weights) {
  const v128_t largest2 = wasm_f64x2_splat(largest), temperature2 = wasm_f64x2_splat(temperature);
  WeightSum sum;
  each_eight(logits, count, [&](int i, v128_t(&eight)[2], int stored) {
    eight[0] = four_scaled(eight[0], largest2, temperature2);
    eight[1] = four_scaled(eight[1], largest2, temperature2);
    store_first(eight, stored, logits + i);
    sum.add_exp(eight);
    store_first(eight, stored, weights + i);
  });
  return sum.total();
}

Status Softmax::weigh(float* logits, int size, double temperature) {
  const float largest = largest_logit(logits, size);
  each_logit_chunk(size, [&](int chunk, int first, int count) {
    float* from = logits + first;
    sums_[chunk] = weigh_logits(from, count, largest, temperature, weights_.data() + first);
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
