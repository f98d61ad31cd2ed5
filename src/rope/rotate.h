// Turns the heads of a tensor by given rows of cos and sin. Knows pairings, spans and strides, and nothing of scaling.
//
// RoFormer (Su et al. 2021, arXiv:2104.09864), equation 15: pair j of a head at position m turns by m · theta_j,
//
//   x' = x cos(m theta_j) − y sin(m theta_j)
//   y' = y cos(m theta_j) + x sin(m theta_j)
//
// and where x and y stand is the pairing (config.h).
#pragma once

#include "rope/config.h"
#include "rope/kernels/rotate_kernels.h"

namespace ropewalk {

// Order of the dimensions of a tensor; the last is contiguous.
enum class Layout : int {
  bthd,  // [batch, tokens, heads, head_dim]
  bhtd,  // [batch, heads, tokens, head_dim]
  thd,   // [tokens, heads, head_dim]
};

struct Shape {
  int batches = 1;
  int tokens = 0;
  int heads = 0;
  int head_dim = 0;
};

// Elements of a tensor, as a 64-bit number so that no shape can overflow it unseen; -1 where an extent is not positive.
std::int64_t element_count(const Shape& shape);

// The heads of a tensor and where they are written. target is source, or does not overlap it.
struct HeadTensor {
  const void* source = nullptr;
  void* target = nullptr;
  DType dtype = DType::f32;
  Layout layout = Layout::bthd;
  Shape shape;
};

// Checks that element type and layout are known and the shape holds something. Says nothing of the pointers.
Status check_tensor(const HeadTensor& tensor);

// Rows of cos and sin for the tokens of a tensor: [rows][tokens][pairs].
struct Rows {
  const float* cos = nullptr;
  const float* sin = nullptr;
  bool per_batch = false;  // each batch has tokens rows of its own; else all share
};

// The rotated span of a head.
struct Span {
  int offset = 0;  // first element
  int size = 0;    // elements, even
};

// Turns tokens [first, first + count) of batches [batch, batch + batches). The rows begin with the row of (batch, first).
// Elements outside the span are copied where the target is not the source.
struct TokenBlock {
  int batch = 0;
  int batches = 1;
  int first = 0;
  int count = 0;
};

void rotate(const RotateKernels& kernels, Rotation rotation, const HeadTensor& tensor, Span span, const Rows& rows,
            const TokenBlock& block);

// The way to turn for a pairing, forward or inverse.
Rotation rotation_of(Pairing pairing, bool inverse);

}  // namespace ropewalk
