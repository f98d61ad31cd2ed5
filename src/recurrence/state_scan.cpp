#include "recurrence/state_scan.h"

#include <wasm_simd128.h>

#include <cstdint>

#include "base/thread_pool.h"
#include "recurrence/state_rows_simd.h"

namespace ropewalk {
namespace {

// One token's numbers for a head.
struct Step {
  const float *k, *q, *v;
  float a, b;
  float kq;  // k · q
};

// Reads `Rows` rows from `from` and writes them to `to`, which may be the same.
template <int Rows, bool IsDelta>
void scan_rows(const Step& step, int padded, const float* from, float* to, float* out) {
  const v128_t a = wasm_f32x4_splat(step.a);
  v128_t with_k[Rows], with_q[Rows];
  if constexpr (IsDelta) {
    for (int r = 0; r < Rows; ++r) with_k[r] = with_q[r] = wasm_f32x4_splat(0);
    for (int i = 0; i < padded; i += 4) {
      const v128_t k = wasm_v128_load(step.k + i), q = wasm_v128_load(step.q + i);
      for (int r = 0; r < Rows; ++r) {
        const v128_t s = wasm_v128_load(from + r * padded + i);
        with_k[r] = wasm_f32x4_add(with_k[r], wasm_f32x4_mul(s, k));
        with_q[r] = wasm_f32x4_add(with_q[r], wasm_f32x4_mul(s, q));
      }
    }
    v128_t change[Rows];
    for (int r = 0; r < Rows; ++r) {
      const float added = step.b * (step.v[r] - step.a * sum_of_float_lanes(with_k[r]));
      change[r] = wasm_f32x4_splat(added);
      out[r] = step.a * sum_of_float_lanes(with_q[r]) + added * step.kq;
    }
    for (int i = 0; i < padded; i += 4) {
      const v128_t k = wasm_v128_load(step.k + i);
      for (int r = 0; r < Rows; ++r) {
        const v128_t s = wasm_v128_load(from + r * padded + i);
        wasm_v128_store(to + r * padded + i, wasm_f32x4_add(wasm_f32x4_mul(a, s), wasm_f32x4_mul(change[r], k)));
      }
    }
  } else {
    v128_t change[Rows];
    for (int r = 0; r < Rows; ++r) {
      with_q[r] = wasm_f32x4_splat(0);
      change[r] = wasm_f32x4_splat(step.b * step.v[r]);
    }
    for (int i = 0; i < padded; i += 4) {
      const v128_t k = wasm_v128_load(step.k + i), q = wasm_v128_load(step.q + i);
      for (int r = 0; r < Rows; ++r) {
        const v128_t s = wasm_v128_load(from + r * padded + i);
        const v128_t next = wasm_f32x4_add(wasm_f32x4_mul(a, s), wasm_f32x4_mul(change[r], k));
        wasm_v128_store(to + r * padded + i, next);
        with_q[r] = wasm_f32x4_add(with_q[r], wasm_f32x4_mul(next, q));
      }
    }
    for (int r = 0; r < Rows; ++r) out[r] = sum_of_float_lanes(with_q[r]);
  }
}

float dot(const float* x, const float* y, int padded) {
  v128_t sum = wasm_f32x4_splat(0);
  for (int i = 0; i < padded; i += 4) sum = wasm_f32x4_add(sum, wasm_f32x4_mul(wasm_v128_load(x + i), wasm_v128_load(y + i)));
  return sum_of_float_lanes(sum);
}

// Takes `Rows` rows of a head, from row `first` on, through all tokens.
template <int Rows, bool IsDelta>
void scan_head(const StateScan& scan, int head, int first, const float* from, float* to, float* out) {
  const int padded = padded_keys(scan.keys);
  const int key_head = scan.is_tiled ? head % scan.key_heads : head / (scan.heads / scan.key_heads);
  const std::ptrdiff_t row = (static_cast<std::ptrdiff_t>(head) * scan.values + first) * padded;
  const float* state = from + row;
  for (int t = 0; t < scan.tokens; ++t) {
    const std::ptrdiff_t keys = (static_cast<std::ptrdiff_t>(t) * scan.key_heads + key_head) * padded;
    const std::ptrdiff_t of_head = static_cast<std::ptrdiff_t>(t) * scan.heads + head;
    Step step = {scan.k + keys,   scan.q + keys,   scan.v + t * scan.v_stride + head * scan.values + first,
                 scan.a[of_head], scan.b[of_head], 0};
    if constexpr (IsDelta) step.kq = dot(step.k, step.q, padded);
    scan_rows<Rows, IsDelta>(step, padded, state, to + row, out + of_head * scan.values + first);
    state = to + row;
  }
}

template <bool IsDelta>
void scan_unit(const StateScan& scan, int head, int first, const float* from, float* to, float* out) {
  if (first + kStateRows <= scan.values) return scan_head<kStateRows, IsDelta>(scan, head, first, from, to, out);
  for (int row = first; row < scan.values; ++row) scan_head<1, IsDelta>(scan, head, row, from, to, out);
}

}  // namespace

void scan_states(const StateScan& scan, const float* from, float* to, float* out) {
  const int units = (scan.values + kStateRows - 1) / kStateRows;  // of a head
  const std::int64_t work = static_cast<std::int64_t>(scan.tokens) * kStateRows * padded_keys(scan.keys) * 8;
  each_in_parallel(scan.heads * units, work, [&](int unit) {
    const int head = unit / units, first = unit % units * kStateRows;
    if (scan.is_delta) {
      scan_unit<true>(scan, head, first, from, to, out);
    } else {
      scan_unit<false>(scan, head, first, from, to, out);
    }
  });
}

}  // namespace ropewalk
