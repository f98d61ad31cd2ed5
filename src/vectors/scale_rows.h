// Multiplies rows of activations by a factor.
#pragma once

#include "base/thread_pool.h"
#include "vectors/row_work.h"

namespace ropewalk {

// Multiplies `count` rows of `size` floats, `stride` floats apart, in place. Does nothing if the factor is 1.
inline void scale_rows(float* rows, int count, int size, float factor, int stride) {
  if (factor == 1) return;
  each_in_parallel(count, kRowWork * size, [&](int i) {
    float* row = rows + elements(i, stride);
    for (int j = 0; j < size; ++j) row[j] *= factor;
  });
}

inline void scale_rows(float* rows, int count, int size, float factor) { scale_rows(rows, count, size, factor, size); }

}  // namespace ropewalk
