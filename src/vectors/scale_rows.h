// Multiplies rows of activations by a factor, and adds rows.
#pragma once

namespace ropewalk {

// Multiplies `count` rows of `size` floats, `stride` floats apart, in place. Does nothing if the factor is 1.
void scale_rows(float* rows, int count, int size, float factor, int stride);
inline void scale_rows(float* rows, int count, int size, float factor) { scale_rows(rows, count, size, factor, size); }

// x += factor · row, each product rounded.
void add_row(const float* row, int size, float factor, float* x);

}  // namespace ropewalk
