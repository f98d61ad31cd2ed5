#include "vectors/normalize.h"

#include <wasm_simd128.h>

#include <cmath>

namespace ropewalk {
namespace {

v128_t low_f64(v128_t x) { return wasm_f64x2_promote_low_f32x4(x); }
v128_t high_f64(v128_t x) { return low_f64(wasm_i32x4_shuffle(x, x, 2, 3, 2, 3)); }

// The mean of term(x) in f64. Its eight sums, over the elements that are 0 to 7 modulo 8, don't wait for each other.
template <class Term>
double mean_of(const float* x, int size, const Term& term) {
  v128_t sums[4] = {};
  int i = 0;
  for (; i + 8 <= size; i += 8) {
    const v128_t low = wasm_v128_load(x + i), high = wasm_v128_load(x + i + 4);
    sums[0] = wasm_f64x2_add(sums[0], term(low_f64(low)));
    sums[1] = wasm_f64x2_add(sums[1], term(high_f64(low)));
    sums[2] = wasm_f64x2_add(sums[2], term(low_f64(high)));
    sums[3] = wasm_f64x2_add(sums[3], term(high_f64(high)));
  }
  const v128_t both = wasm_f64x2_add(wasm_f64x2_add(sums[0], sums[1]), wasm_f64x2_add(sums[2], sums[3]));
  double sum = wasm_f64x2_extract_lane(both, 0) + wasm_f64x2_extract_lane(both, 1);
  for (; i < size; ++i) sum += wasm_f64x2_extract_lane(term(wasm_f64x2_splat(x[i])), 0);
  return sum / size;
}

}  // namespace

void normalize(const Norm& norm, const float* x, int size, const float* weight, const float* bias, float* out) {
  const bool is_centered = norm.kind == NormKind::layer;
  const double center = is_centered ? mean_of(x, size, [](v128_t value) { return value; }) : 0;
  const v128_t centers = wasm_f64x2_splat(center);
  const double mean_square = mean_of(x, size, [&](v128_t value) {
    const v128_t distance = wasm_f64x2_sub(value, centers);
    return wasm_f64x2_mul(distance, distance);
  });
  const float factor = static_cast<float>(1 / std::sqrt(mean_square + norm.epsilon));
  const bool shifts = is_centered && bias != nullptr;
  int i = 0;
  if (weight != nullptr) {
    for (; i + 4 <= size; i += 4) {
      v128_t unit = wasm_v128_load(x + i);
      if (is_centered) {  // else there is nothing to subtract in f64
        const v128_t low = wasm_f32x4_demote_f64x2_zero(wasm_f64x2_sub(low_f64(unit), centers));
        const v128_t high = wasm_f32x4_demote_f64x2_zero(wasm_f64x2_sub(high_f64(unit), centers));
        unit = wasm_i32x4_shuffle(low, high, 0, 1, 4, 5);
      }
      const v128_t scaled = wasm_f32x4_mul(wasm_f32x4_mul(unit, wasm_f32x4_splat(factor)), wasm_v128_load(weight + i));
      wasm_v128_store(out + i, shifts ? wasm_f32x4_add(scaled, wasm_v128_load(bias + i)) : scaled);
    }
  }
  for (; i < size; ++i) {
    const float unit = static_cast<float>(x[i] - center) * factor;
    out[i] = unit * (weight == nullptr ? 1 : weight[i]) + (shifts ? bias[i] : 0);
  }
}

}  // namespace ropewalk
