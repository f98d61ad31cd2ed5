#include "recurrence/token_shift.h"

#include <wasm_simd128.h>

#include <cstddef>

#include "base/thread_pool.h"

namespace ropewalk {
namespace {

void shift_row(const float* x, const float* before, int size, const float* share, float* out) {
  int i = 0;
  for (; i + 4 <= size; i += 4) {
    const v128_t now = wasm_v128_load(x + i);
    const v128_t step = wasm_f32x4_sub(wasm_v128_load(before + i), now);
    wasm_v128_store(out + i, wasm_f32x4_add(now, wasm_f32x4_mul(wasm_v128_load(share + i), step)));
  }
  for (; i < size; ++i) out[i] = x[i] + share[i] * (before[i] - x[i]);
}

}  // namespace

void shift_tokens(const float* x, int tokens, int size, const float* share, const float* from, float* out) {
  each_in_parallel(tokens, 4 * size, [&](int t) {
    const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(t) * size;
    shift_row(x + row, t == 0 ? from : x + row - size, size, share, out + row);
  });
}

}  // namespace ropewalk
