// The inputs of products: floats and, for quantized weights, the same numbers rounded to bytes once for all weights that use them.
#pragma once

#include "base/buffer.h"
#include "base/status.h"
#include "matmul/matmul_kernels.h"

namespace ropewalk {

class Activations {
 public:
  // Refers to [tokens, columns] floats, rows `stride` floats apart. They must stay in place until the products are computed.
  void set(const float* x, std::ptrdiff_t stride, int tokens, int columns);

  // Rounds the floats, unless that's already done. `columns` must be a multiple of 32. Returns ok or out_of_memory.
  Status quantize(const MatmulKernels& kernels);

  const float* floats(int token) const { return floats_ + token * stride_; }

  // A token from `column` on; null pointers before quantize().
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
