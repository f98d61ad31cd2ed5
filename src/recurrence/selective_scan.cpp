#include "recurrence/selective_scan.h"

#include <wasm_simd128.h>

#include <algorithm>
#include <cstdint>

#include "base/float_math_wasmsimd.h"
#include "base/thread_pool.h"

namespace ropewalk {
namespace {

constexpr int kUnitChannels = 16;  // of a unit: B and C are read once for all of them

void scan_channel(const SelectiveScan& scan, int token, int channel, const float* from, float* to, float* out) {
  const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(token) * scan.channels + channel;
  const float* rates = scan.A + static_cast<std::ptrdiff_t>(channel) * scan.size;
  const float *B = scan.B + token * scan.stride, *C = scan.C + token * scan.stride;
  const float step = scan.step[at], added = step * scan.x[at];
  const v128_t steps = wasm_f32x4_splat(step), changes = wasm_f32x4_splat(added);
  v128_t sums = wasm_f32x4_splat(0);
  int n = 0;
  for (; n + 4 <= scan.size; n += 4) {
    const v128_t decay = exp_f32x4(wasm_f32x4_mul(steps, wasm_v128_load(rates + n)));
    const v128_t s = wasm_f32x4_add(wasm_f32x4_mul(decay, wasm_v128_load(from + n)), wasm_f32x4_mul(changes, wasm_v128_load(B + n)));
    wasm_v128_store(to + n, s);
    sums = wasm_f32x4_add(sums, wasm_f32x4_mul(s, wasm_v128_load(C + n)));
  }
  float sum = (wasm_f32x4_extract_lane(sums, 0) + wasm_f32x4_extract_lane(sums, 1)) +
              (wasm_f32x4_extract_lane(sums, 2) + wasm_f32x4_extract_lane(sums, 3));
  for (; n < scan.size; ++n) {
    to[n] = exp_f32(step * rates[n]) * from[n] + added * B[n];
    sum += to[n] * C[n];
  }
  out[at] = sum;
}

}  // namespace

void scan_channels(const SelectiveScan& scan, const float* from, float* to, float* out) {
  const int units = (scan.channels + kUnitChannels - 1) / kUnitChannels;
  const std::int64_t work = static_cast<std::int64_t>(scan.tokens) * kUnitChannels * scan.size * 24;
  each_in_parallel(units, work, [&](int unit) {
    const int last = std::min((unit + 1) * kUnitChannels, scan.channels);
    for (int t = 0; t < scan.tokens; ++t) {
      for (int c = unit * kUnitChannels; c < last; ++c) {
        const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(c) * scan.size;
        scan_channel(scan, t, c, (t == 0 ? from : to) + row, to + row, out);
      }
    }
  });
}

}  // namespace ropewalk
