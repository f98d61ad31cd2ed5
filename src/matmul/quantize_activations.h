// The inputs of products: floats, and for quantized weights the same rounded to bytes, made once for all weights that meet them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/buffer.h"
#include "base/status.h"

namespace ropewalk {

struct MatmulKernels;

// Activations are rounded in groups of 32: x ≈ scale · byte, scale = max|x| / 127 in f32, ties to even.
constexpr int kActivationGroup = 32;

// Smaller scales, whose inverse may be infinite, round to zeros.
constexpr float kSmallestActivationScale = 0x1p-126f;

// One token, rounded; what follows another is `columns` (or columns / 32, columns / 16) further.
struct QuantizedRow {
  std::int8_t* bytes;   // [columns]
  std::int16_t* words;  // [columns], the same numbers; of each four the order is 0, 2, 1, 3, as kernels take them out of vectors of bytes
  float* scales;        // [columns / 32]
  std::int16_t* sums;   // [columns / 16] of bytes, 16 at a time
};

// Rounds `columns` floats, a multiple of 32. Infinities and NaN give numbers without a meaning.
using QuantizeRow = void (*)(const float* x, int columns, const QuantizedRow& out);

class Activations {
 public:
  // Looks at [tokens, columns] floats, rows `stride` floats apart, that stay where they are until the products are done.
  void set(const float* x, std::ptrdiff_t stride, int tokens, int columns);

  // Rounds them, unless that was done. `columns` is a multiple of 32.
  Status quantize(const MatmulKernels& kernels);

  const float* floats(int token) const { return floats_ + token * stride_; }

  // A token from some column on; null before quantize().
  QuantizedRow quantized(int token, int column);
  std::ptrdiff_t stride() const { return stride_; }
  int tokens() const { return tokens_; }
  int columns() const { return columns_; }

 private:
  const float* floats_ = nullptr;
  std::ptrdiff_t stride_ = 0;
  int tokens_ = 0;
  int columns_ = 0;
  bool is_quantized_ = false;
  Buffer<std::int8_t> bytes_;
  Buffer<std::int16_t> words_;
  Buffer<float> scales_;
  Buffer<std::int16_t> sums_;
};

}  // namespace ropewalk
