#include "vectors/normalize_rows.h"

#include "base/profile.h"
#include "base/thread_pool.h"
#include "vectors/row_work.h"

namespace ropewalk {

void normalize_rows(const Norm& norm, float* rows, int count, int size, const float* weight, int weights) {
  if (weight == nullptr) return;
  const StageTimer timer(Stage::norm);
  each_in_parallel(count, kRowWork * size, [&](int i) {
    float* row = rows + elements(i, size);
    normalize(norm, row, size, weight + elements(i % weights, size), nullptr, row);
  });
}

const float* normalized_rows(const Norm& norm, const float* rows, int count, int size, const float* weight, const float* bias, float* out) {
  if (weight == nullptr) return rows;
  const StageTimer timer(Stage::norm);
  each_in_parallel(count, kRowWork * size,
                   [&](int i) { normalize(norm, rows + elements(i, size), size, weight, bias, out + elements(i, size)); });
  return out;
}

}  // namespace ropewalk
