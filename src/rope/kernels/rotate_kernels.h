// The innermost loops of a rotation: kernels that rotate each head of a run by a row of cos and sin.
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

// How a kernel goes over heads of f32. The bits don't depend on it. Which is fastest depends on where the data is, and on the processor
// (walk.h).
enum class HeadOrder : int {
  steps,  // a few pairs of several heads that share a row, then the next pairs
  whole,  // from the start of a head to its end
};

// `count` heads, or more precisely their rotated spans of 2 · pairs elements. A kernel reads x and y of each pair j and writes
//   x' = x · cos[j] − y · sin[j]
//   y' = y · cos[j] + x · sin[j]
// source and target are the same memory, or do not overlap.
struct HeadRun {
  const void* source;
  void* target;
  std::ptrdiff_t source_stride;  // elements from one head to the next
  std::ptrdiff_t target_stride;
  std::ptrdiff_t row_stride;  // floats from one row of cos and sin to the next; 0: all heads share one row
  const float* cos;           // [pairs]
  const float* sin;           // [pairs]
  int pairs;
  int count;
  HeadOrder order = HeadOrder::steps;
  const void* next = nullptr;  // as many heads that will be rotated next, which a kernel may fetch meanwhile. Null: it doesn't know them
};

using RotateKernel = void (*)(const HeadRun&);

// One kernel for each rotation and element type.
struct RotateKernels {
  const char* name;
  RotateKernel rotate[kRotations][kDTypes];
};

// Reference implementation: plain loops, compiled without vectorization.
extern const RotateKernels kScalarRotateKernels;

// simd128, bit-equal to the scalar kernels.
extern const RotateKernels kWasmSimdRotateKernels;

// simd128 with relaxed multiply-add, only in the relaxed build. The last bit may differ between engines.
extern const RotateKernels kRelaxedRotateKernels;

// The fastest kernels of this build.
const RotateKernels& fastest_rotate_kernels();

}  // namespace ropewalk
