#include "matmul/activations.h"

#include "base/thread_pool.h"

namespace ropewalk {
namespace {

// Operations per float (thread_pool.h).
constexpr std::int64_t kQuantizeWork = 16;

}  // namespace

void Activations::set(const float* x, std::ptrdiff_t stride, int tokens, int columns) {
  floats_ = x;
  stride_ = stride;
  tokens_ = tokens;
  columns_ = columns;
  is_quantized_ = false;
}

Status Activations::quantize(const MatmulKernels& kernels) {
  if (is_quantized_) return Status::ok;
  const std::uint64_t size = static_cast<std::uint64_t>(tokens_) * columns_;
  const bool has_room = bytes_.resize(size) && words_.resize(size) && scales_.resize(size / 32) && sums_.resize(size / 16);
  if (!has_room) return Status::out_of_memory;
  is_quantized_ = true;
  each_in_parallel(tokens_, kQuantizeWork * columns_, [&](int token) { kernels.quantize(floats(token), columns_, quantized(token, 0)); });
  return Status::ok;
}

QuantizedRow Activations::quantized(int token, int column) {
  if (!is_quantized_) return {};
  const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(token) * columns_ + column;
  return {bytes_.data() + first, words_.data() + first, scales_.data() + first / 32, sums_.data() + first / 16};
}

}  // namespace ropewalk
