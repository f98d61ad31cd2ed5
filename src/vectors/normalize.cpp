#include "vectors/normalize.h"

#include <wasm_simd128.h>

#include <cmath>

namespace ropewalk {
namespace {

double mean_of(const float* x, int size) {
  double sum = 0;
  for (int i = 0; i < size; ++i) sum += x[i];
  return sum / size;
}

double mean_square_of(const float* x, int size, double center) {
  double sum = 0;
  for (int i = 0; i < size; ++i) sum += (x[i] - center) * (x[i] - center);
  return sum / size;
}

}  // namespace

void normalize(const Norm& norm, const float* x, int size, const float* weight, const float* bias, float* out) {
  const double center = norm.kind == NormKind::layer ? mean_of(x, size) : 0;
  const float factor = static_cast<float>(1 / std::sqrt(mean_square_of(x, size, center) + norm.epsilon));
  const bool shifts = norm.kind == NormKind::layer && bias != nullptr;
  int i = 0;
  if (norm.kind != NormKind::layer && weight != nullptr) {  // of most models, and the same bits: there is no center to subtract in f64
    for (; i + 4 <= size; i += 4) {
      const v128_t unit = wasm_f32x4_mul(wasm_v128_load(x + i), wasm_f32x4_splat(factor));
      wasm_v128_store(out + i, wasm_f32x4_mul(unit, wasm_v128_load(weight + i)));
    }
  }
  for (; i < size; ++i) {
    const float unit = static_cast<float>(x[i] - center) * factor;
    out[i] = unit * (weight == nullptr ? 1 : weight[i]) + (shifts ? bias[i] : 0);
  }
}

}  // namespace ropewalk
