#include "vectors/scale_rows.h"

#include <wasm_simd128.h>

#include "base/thread_pool.h"
#include "vectors/row_work.h"

namespace ropewalk {

void scale_rows(float* rows, int count, int size, float factor, int stride) {
  if (factor == 1) return;
  each_in_parallel(count, kRowWork * size, [&](int i) {
    float* row = rows + elements(i, stride);
    for (int j = 0; j < size; ++j) row[j] *= factor;
  });
}

void add_row(const float* row, int size, float factor, float* x) {
  int i = 0;
  for (; i + 4 <= size; i += 4) {
    const v128_t product = wasm_f32x4_mul(wasm_v128_load(row + i), wasm_f32x4_splat(factor));
    wasm_v128_store(x + i, wasm_f32x4_add(wasm_v128_load(x + i), product));
  }
  for (; i < size; ++i) x[i] += factor * row[i];
}

}  // namespace ropewalk
