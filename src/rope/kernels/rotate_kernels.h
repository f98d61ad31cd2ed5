// The innermost loops of a rotation: a run of heads, each rotated by a row of cos and sin. They know no scaling and no batch.
#pragma once

#include <cstddef>

#include "base/storage.h"

namespace ropewalk {

// A rotation by the pairing it reads and the pairing it writes.
enum class Rotation : int {
  half,                 // reads and writes [x… y…]
  interleaved,          // reads and writes [x y x y …]
  interleaved_to_half,  // reads [x y x y …], writes [x… y…]
  half_to_interleaved,  // reads [x… y…], writes [x y x y …]
};

constexpr int kRotations = 4;

// `count` heads: only their rotated spans, 2 · pairs elements. For pair j of a head, with x, y read and x', y' written:
//   x' = x · cos[j] − y · sin[j]
//   y' = y · cos[j] + x · sin[j]
// source and target are the same memory or do not overlap.
struct HeadRun {
  const void* source;
  void* target;
  std::ptrdiff_t source_stride;  // elements from one head to the next
  std::ptrdiff_t target_stride;
  std::ptrdiff_t row_stride;  // floats from one row of cos and sin to the next; 0: all heads share one
  const float* cos;           // [pairs]
  const float* sin;           // [pairs]
  int pairs;
  int count;
};

using RotateKernel = void (*)(const HeadRun&);

// One kernel for each rotation and element type.
struct RotateKernels {
  const char* name;
  RotateKernel rotate[kRotations][kDTypes];
};

// The definition: plain loops, compiled without vectorization.
extern const RotateKernels kScalarRotateKernels;

// simd128, bit-equal to the scalar ones.
extern const RotateKernels kWasmSimdRotateKernels;

// simd128 with relaxed multiply-add: the last bit may differ from engine to engine. Only in the relaxed build.
extern const RotateKernels kRelaxedRotateKernels;

// The fastest kernels of this build.
const RotateKernels& fastest_rotate_kernels();

}  // namespace ropewalk
