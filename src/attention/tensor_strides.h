// Strides of a tensor's batch rows, tokens and heads, in bytes.
#pragma once

#include "rope/rotate.h"

namespace ropewalk {

struct TensorStrides {
  std::ptrdiff_t batch;
  std::ptrdiff_t token;
  std::ptrdiff_t head;
};

inline TensorStrides strides_of(const HeadTensor& tensor) {
  const std::ptrdiff_t dim = static_cast<std::ptrdiff_t>(tensor.shape.head_dim) * size_of(tensor.dtype);
  const std::ptrdiff_t batch = dim * tensor.shape.heads * tensor.shape.tokens;
  if (tensor.layout == Layout::bhtd) return {batch, dim, dim * tensor.shape.tokens};
  return {batch, dim * tensor.shape.heads, dim};
}

}  // namespace ropewalk
