// Rotates the heads of a tensor by given rows of cos and sin, in every pairing and layout.
//
// RoFormer (Su et al. 2021, arXiv:2104.09864), equation 15: pair j of a head at position m is rotated by the angle m · theta_j,
//
//   x' = x cos(m theta_j) − y sin(m theta_j)
//   y' = y cos(m theta_j) + x sin(m theta_j)
//
// The pairing (config.h) says which elements are x and y.
#pragma once

#include "rope/config.h"
#include "rope/kernels/rotate_kernels.h"

namespace ropewalk {

// Order of the dimensions of a tensor. The last is contiguous.
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

// Returns the number of elements, or -1 if a dimension is not positive or the number exceeds 2^40, more than memory can hold.
std::int64_t element_count(const Shape& shape);

// Elements from one batch row, token or head to the next. The elements of a head are contiguous.
struct Strides {
  int batch = 0;
  int token = 0;
  int head = 0;
};

// Strides of a tensor that is part of a larger one, such as the queries in a fused buffer of queries, keys and values.
struct HeadStrides {
  Strides source;
  Strides target;
};

// A tensor of heads, and where the result is written. target is source, or does not overlap it.
struct HeadTensor {
  const void* source = nullptr;
  void* target = nullptr;
  DType dtype = DType::f32;
  Layout layout = Layout::bthd;
  Shape shape;
  const HeadStrides* strides = nullptr;  // null: source and target are contiguous. Only rotate() reads it.
};

// Checks element type, layout and shape. Does not check the pointers.
Status check_tensor(const HeadTensor& tensor);

// Rows of cos and sin for the tokens of a tensor: [rows][tokens][pairs].
struct Rows {
  const float* cos = nullptr;
  const float* sin = nullptr;
  bool per_batch = false;  // each batch has its own `tokens` rows; else all batches share them
};

// The rotated span of a head.
struct Span {
  int offset = 0;  // first element
  int size = 0;    // elements, even
};

// Tokens [first, first + count) of batches [batch, batch + batches).
struct TokenBlock {
  int batch = 0;
  int batches = 1;
  int first = 0;
  int count = 0;
};

// Rotates a block of tokens. The first of the rows is that of (block.batch, block.first). Elements outside the span are copied if
// the target is not the source.
void rotate(const RotateKernels& kernels, Rotation rotation, const HeadTensor& tensor, Span span, const Rows& rows,
            const TokenBlock& block);

// Rotates all tokens of a tensor by given rows, after checking tensor, span and pairing. On failure nothing is written.
Status rotate_by_rows(const RotateKernels& kernels, Pairing pairing, const HeadTensor& tensor, Span span, const Rows& rows);

// Returns the rotation for a pairing, forward or inverse.
Rotation rotation_of(Pairing pairing, bool inverse);

}  // namespace ropewalk
