#include "rope/pairing.h"

#include <cstring>

#include "rope/kernels/pair_layout.h"

namespace ropewalk {
namespace {

// Returns the index in pairing `from` of element i of pairing `to`.
int source_row(int i, int pairs, Pairing from, Pairing to) {
  const bool to_half = to == Pairing::half;
  const int pair = to_half ? i % pairs : i / 2;
  const bool is_y = to_half ? i >= pairs : i % 2 == 1;
  if (from == Pairing::half) return is_y ? Half::y(pair, pairs) : Half::x(pair, pairs);
  return is_y ? Interleaved::y(pair, pairs) : Interleaved::x(pair, pairs);
}

}  // namespace

Status convert_pairing(const void* source, void* target, int element_size, const ProjectionShape& shape, Pairing from, Pairing to) {
  for (const Pairing pairing : {from, to}) {
    if (pairing != Pairing::half && pairing != Pairing::interleaved) return Status::pairing_unknown;
  }
  if (element_size < 1 || shape.heads < 1 || shape.columns < 1 || shape.head_dim < 2 || shape.head_dim > kMaxHeadDim)
    return Status::shape_out_of_range;
  if (shape.rotary_dim % 2 != 0) return Status::rotary_dim_odd;
  if (shape.rotary_dim < 2 || shape.rotary_dim > shape.head_dim) return Status::rotary_dim_out_of_range;
  if (shape.rotary_offset < 0 || shape.rotary_offset > shape.head_dim - shape.rotary_dim) return Status::rotary_span_outside_head;

  const std::size_t row_bytes = static_cast<std::size_t>(shape.columns) * element_size;
  const char* read = static_cast<const char*>(source);
  char* write = static_cast<char*>(target);
  for (int head = 0; head < shape.heads; ++head) {
    for (int row = 0; row < shape.head_dim; ++row) {
      const int in_span = row - shape.rotary_offset;
      const bool is_rotated = in_span >= 0 && in_span < shape.rotary_dim;
      const int from_row = is_rotated ? shape.rotary_offset + source_row(in_span, shape.rotary_dim / 2, from, to) : row;
      std::memcpy(write + row * row_bytes, read + from_row * row_bytes, row_bytes);
    }
    read += shape.head_dim * row_bytes;
    write += shape.head_dim * row_bytes;
  }
  return Status::ok;
}

}  // namespace ropewalk
