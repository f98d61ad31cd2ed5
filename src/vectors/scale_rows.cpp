#include "vectors/scale_rows.h"

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

}  // namespace ropewalk
