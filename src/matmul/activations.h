// The inputs of products: floats and, for quantized weights, the same numbers rounded to bytes. Both are prepared once for all weights that
// use them.
#pragma once

#include "base/buffer.h"
#include "base/status.h"
#include "matmul/kernels/matmul_kernels.h"

namespace ropewalk {

class Activations {
 public:
  // Refers to [tokens, columns] floats, rows `stride` floats apart. They must stay in place until the products are computed.
  void set(const float* x, std::ptrdiff_t stride, int tokens, int columns);

  // Prepares what products with float weights read, or rounds the floats for quantized weights to `inputs`, unless that's already done.
  // `columns` must then be a multiple of 32. All calls after a set() have the same kernels. Return ok or out_of_memory.
  Status prepare_floats(const MatmulKernels& kernels);
  Status quantize(const MatmulKernels& kernels, RoundedInputs inputs);

  // Whether tokens take turns, as tiles read them. Then the last four are filled up with copies of the last token.
  bool in_tiles() const { return turns_ > 1; }

  // A token from `column` on, which is the first of four if these take turns. Null pointers for what isn't prepared.
  TokenRows rows(int token, int column, int count);

  // The first of the last tokens that follow each other: all tokens if none take turns, else the one or two that don't fill a four. They
  // may take turns as well.
  int first_alone() const;
  TokenRows alone(int token, int column);
  int tokens() const { return tokens_; }
  int columns() const { return columns_; }

 private:
  void choose_turns(const MatmulKernels& kernels);
  int filled_tokens() const { return (tokens_ + turns_ - 1) / turns_ * turns_; }
  QuantizedRow quantized(std::ptrdiff_t element);
  template <class Act>
  void each_four(std::int64_t work, Act&& act) const;

  const float* floats_ = nullptr;
  std::ptrdiff_t stride_ = 0;
  int tokens_ = 0;
  int columns_ = 0;
  int turns_ = 1;
  bool is_prepared_ = false;
  RoundedInputs rounded_ = {};
  Buffer<float> turned_;
  Buffer<std::int8_t> bytes_;
  Buffer<std::int16_t> words_;
  Buffer<float> scales_;
  Buffer<std::int16_t> sums_;
  Buffer<std::int32_t> even_offsets_;
};

}  // namespace ropewalk
