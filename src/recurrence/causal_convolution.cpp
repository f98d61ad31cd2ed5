#include "recurrence/causal_convolution.h"

#include <wasm_simd128.h>

#include <algorithm>
#include <cstdint>

#include "base/thread_pool.h"

namespace ropewalk {
namespace {

constexpr int kChannels = 64;  // of a unit: few enough that its inputs stay in the first-level cache

// One row of channels [first, last). `rows` are the input rows of the taps.
void convolve_row(const Convolution& c, int first, int last, const float* const* rows, float* out) {
  int i = first;
  for (; i + 4 <= last; i += 4) {
    v128_t sum = c.bias == nullptr ? wasm_f32x4_splat(0) : wasm_v128_load(c.bias + i);
    const float* weights = c.weights + i;
    for (int j = 0; j < c.kernel; ++j, weights += c.channels)
      sum = wasm_f32x4_add(sum, wasm_f32x4_mul(wasm_v128_load(weights), wasm_v128_load(rows[j] + i)));
    wasm_v128_store(out + i, sum);
  }
  for (; i < last; ++i) {
    float sum = c.bias == nullptr ? 0 : c.bias[i];
    for (int j = 0; j < c.kernel; ++j) sum += c.weights[static_cast<std::ptrdiff_t>(j) * c.channels + i] * rows[j][i];
    out[i] = sum;
  }
}

}  // namespace

void convolve(const Convolution& c, const float* x, int tokens, const float* from, float* to, float* out) {
  const int before = c.kernel - 1;
  // row `index` of the earlier inputs followed by x
  const auto input = [&](int index) {
    const float* rows = index < before ? from : x;
    return rows + static_cast<std::ptrdiff_t>(index < before ? index : index - before) * c.channels;
  };
  const int units = (c.channels + kChannels - 1) / kChannels;
  each_in_parallel(units, static_cast<std::int64_t>(tokens) * c.kernel * kChannels, [&](int unit) {
    const int first = unit * kChannels, last = std::min(first + kChannels, c.channels);
    const float* rows[kMaxTaps];
    for (int t = 0; t < tokens; ++t) {
      for (int j = 0; j < c.kernel; ++j) rows[j] = input(t + j);
      convolve_row(c, first, last, rows, out + static_cast<std::ptrdiff_t>(t) * c.channels);
    }
    for (int j = 0; j < before; ++j)
      std::copy(input(tokens + j) + first, input(tokens + j) + last, to + static_cast<std::ptrdiff_t>(j) * c.channels + first);
  });
}

}  // namespace ropewalk
