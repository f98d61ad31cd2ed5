#include "sampling/logits.h"

#include <wasm_simd128.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ropewalk {

namespace {

// Of at least one logit.
float largest_in(const float* logits, int count) {
  v128_t maxima = wasm_f32x4_splat(logits[0]);
  int i = 0;
  for (; i + 4 <= count; i += 4) maxima = wasm_f32x4_pmax(maxima, wasm_v128_load(logits + i));
  maxima = wasm_f32x4_pmax(maxima, wasm_i32x4_shuffle(maxima, maxima, 2, 3, 0, 1));
  maxima = wasm_f32x4_pmax(maxima, wasm_i32x4_shuffle(maxima, maxima, 1, 0, 3, 2));
  float largest = wasm_f32x4_extract_lane(maxima, 0);
  for (; i < count; ++i) largest = std::max(largest, logits[i]);
  return largest;
}

}  // namespace

bool copy_finite_logits(const float* logits, int size, float* to) {
  std::atomic<bool> are_finite = true;
  each_logit_chunk(size, [&](int, int first, int count) {
    const v128_t most = wasm_f32x4_splat(std::numeric_limits<float>::max());
    const auto is_finite = [&](v128_t four) { return wasm_f32x4_le(wasm_f32x4_abs(four), most); };
    v128_t all = wasm_i32x4_splat(-1);
    int i = first;
    for (; i + 4 <= first + count; i += 4) {
      const v128_t four = wasm_v128_load(logits + i);
      all = wasm_v128_and(all, is_finite(four));
      wasm_v128_store(to + i, four);
    }
    for (; i < first + count; ++i) {
      all = wasm_v128_and(all, is_finite(wasm_f32x4_splat(logits[i])));
      to[i] = logits[i];
    }
    if (!wasm_i32x4_all_true(all)) are_finite.store(false, std::memory_order_relaxed);
  });
  return are_finite.load(std::memory_order_relaxed);
}

float largest_logit(const float* logits, int size) {
  std::atomic<float> largest = logits[0];
  each_logit_chunk(size, [&](int, int first, int count) {
    const float found = largest_in(logits + first, count);
    float known = largest.load(std::memory_order_relaxed);
    while (known < found && !largest.compare_exchange_weak(known, found, std::memory_order_relaxed)) continue;
  });
  return largest.load(std::memory_order_relaxed);
}

float logit_of_many(const float* logits, int size, int count) {
  // each part has a token with its largest logit
  constexpr int kParts = 1024;
  float largest[kParts];
  const int part = (size + kParts - 1) / kParts, parts = (size + part - 1) / part;
  if (count > parts) return -INFINITY;
  for (int i = 0; i < parts; ++i) largest[i] = largest_in(logits + i * part, std::min(part, size - i * part));
  // the largest float that so many parts reach, by bisection; integers have their order
  const auto float_at = [](std::int64_t place) {
    const auto bits = static_cast<std::int32_t>(place);
    return std::bit_cast<float>(bits ^ (bits >> 31 & 0x7FFFFFFF));
  };
  std::int64_t first = -0x7F800001, last = 0x7F800000;  // of infinities
  while (first < last) {
    const std::int64_t middle = first + (last - first + 1) / 2;
    const float least = float_at(middle);
    int reached = 0;
    for (int i = 0; i < parts; ++i) reached += largest[i] >= least;
    if (reached >= count)
      first = middle;
    else
      last = middle - 1;
  }
  return float_at(first);
}

int largest_token(const float* logits, int size) {
  const float largest = largest_logit(logits, size);
  const v128_t wanted = wasm_f32x4_splat(largest);
  int token = 0;
  while (token + 4 <= size && !wasm_v128_any_true(wasm_f32x4_eq(wasm_v128_load(logits + token), wanted))) token += 4;
  return static_cast<int>(std::find(logits + token, logits + size, largest) - logits);
}

}  // namespace ropewalk
