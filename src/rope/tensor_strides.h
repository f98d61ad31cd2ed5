// Strides of a tensor's batch rows, tokens and heads, in bytes. In 64 bits, because a tensor in wasm memory may have more bytes than a
// 32-bit ptrdiff_t can count.
#pragma once

#include "rope/rotate.h"

namespace ropewalk {

struct TensorStrides {
  std::int64_t batch;
  std::int64_t token;
  std::int64_t head;
};

inline TensorStrides strides_of(const HeadTensor& tensor) {
  const std::int64_t dim = static_cast<std::int64_t>(tensor.shape.head_dim) * size_of(tensor.dtype);
  const std::int64_t batch = dim * tensor.shape.heads * tensor.shape.tokens;
  if (tensor.layout == Layout::bhtd) return {batch, dim, dim * tensor.shape.tokens};
  return {batch, dim * tensor.shape.heads, dim};
}

}  // namespace ropewalk
