#include "recurrence/wkv_scan.h"

#include <wasm_simd128.h>

#include <cstdint>

#include "base/thread_pool.h"
#include "recurrence/state_rows_simd.h"

namespace ropewalk {
namespace {

// Takes `Rows` rows of a head, from row `first` on, through all tokens.
template <int Rows>
void scan_rows(const WkvScan& scan, int head, int first, const float* from, float* to, float* out) {
  const int padded = padded_keys(scan.keys);
  const std::ptrdiff_t row = (static_cast<std::ptrdiff_t>(head) * scan.values + first) * padded;
  const float* state = from + row;
  float* next = to + row;
  for (int t = 0; t < scan.tokens; ++t) {
    const std::ptrdiff_t of_head = static_cast<std::ptrdiff_t>(t) * scan.heads + head, keys = of_head * padded;
    const float* values = scan.v + of_head * scan.values + first;
    v128_t removed[Rows], added[Rows], sums[Rows];
    for (int r = 0; r < Rows; ++r) removed[r] = sums[r] = wasm_f32x4_splat(0);
    for (int i = 0; i < padded; i += 4) {
      const v128_t key = wasm_v128_load(scan.removed + keys + i);
      for (int r = 0; r < Rows; ++r) removed[r] = wasm_f32x4_add(removed[r], wasm_f32x4_mul(wasm_v128_load(state + r * padded + i), key));
    }
    for (int r = 0; r < Rows; ++r) {
      removed[r] = wasm_f32x4_splat(sum_of_float_lanes(removed[r]));
      added[r] = wasm_f32x4_splat(values[r]);
    }
    for (int i = 0; i < padded; i += 4) {
      const v128_t w = wasm_v128_load(scan.w + keys + i), b = wasm_v128_load(scan.b + keys + i);
      const v128_t k = wasm_v128_load(scan.k + keys + i), q = wasm_v128_load(scan.q + keys + i);
      for (int r = 0; r < Rows; ++r) {
        const v128_t kept = wasm_f32x4_sub(wasm_f32x4_mul(w, wasm_v128_load(state + r * padded + i)), wasm_f32x4_mul(removed[r], b));
        const v128_t s = wasm_f32x4_add(kept, wasm_f32x4_mul(added[r], k));
        wasm_v128_store(next + r * padded + i, s);
        sums[r] = wasm_f32x4_add(sums[r], wasm_f32x4_mul(s, q));
      }
    }
    for (int r = 0; r < Rows; ++r) out[of_head * scan.values + first + r] = sum_of_float_lanes(sums[r]);
    state = next;
  }
}

}  // namespace

void scan_wkv(const WkvScan& scan, const float* from, float* to, float* out) {
  const int units = (scan.values + kStateRows - 1) / kStateRows;  // of a head
  const std::int64_t work = static_cast<std::int64_t>(scan.tokens) * kStateRows * padded_keys(scan.keys) * 8;
  each_in_parallel(scan.heads * units, work, [&](int unit) {
    const int head = unit / units, first = unit % units * kStateRows;
    if (first + kStateRows <= scan.values) return scan_rows<kStateRows>(scan, head, first, from, to, out);
    for (int row = first; row < scan.values; ++row) scan_rows<1>(scan, head, row, from, to, out);
  });
}

}  // namespace ropewalk
