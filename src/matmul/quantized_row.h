// One token's activations rounded to bytes, as the kernels for quantized weights read them.
#pragma once

#include <cstdint>

namespace ropewalk {

// Activations are rounded in groups of 32: x ≈ scale · byte, scale = max|x| / 127 in f32, ties to even.
constexpr int kActivationGroup = 32;

// A smaller scale could have an infinite inverse, so its group is rounded to zeros.
constexpr float kSmallestActivationScale = 0x1p-126f;

// The next token's numbers follow `columns` (scales: columns / 32, sums: columns / 16) elements later.
struct QuantizedRow {
  std::int8_t* bytes;   // [columns]
  std::int16_t* words;  // [columns], the same numbers, each four in the order 0, 2, 1, 3, which matches how kernels widen weight bytes
  float* scales;        // [columns / 32]
  std::int16_t* sums;   // [columns / 16], the sum of each 16 bytes
};

}  // namespace ropewalk
