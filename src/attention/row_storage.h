// How one head's key or value of one token is stored, a row of head_dim elements, and the exact meaning of each form.
#pragma once

#include <cstddef>

#include "base/storage.h"

namespace ropewalk {

// f32, f16 and bf16 are stored element by element. q8_0 is GGUF's: blocks of 32 elements, each an f16 scale and 32 signed bytes; the last
// block of a row is filled up with zeros.
enum class RowType : int { f32, f16, bf16, q8_0 };

constexpr int kRowTypes = 4;

constexpr int kQ8BlockSize = 32;

struct Q8Block {
  Float16 scale;
  std::int8_t quants[kQ8BlockSize];
};
static_assert(sizeof(Q8Block) == 34);

constexpr int q8_blocks(int head_dim) { return (head_dim + kQ8BlockSize - 1) / kQ8BlockSize; }

// Bytes of a row.
constexpr std::size_t row_bytes(RowType type, int head_dim) {
  switch (type) {
    case RowType::f32: return static_cast<std::size_t>(head_dim) * 4;
    case RowType::f16:
    case RowType::bf16: return static_cast<std::size_t>(head_dim) * 2;
    case RowType::q8_0: return q8_blocks(head_dim) * sizeof(Q8Block);
  }
  return 0;
}

constexpr RowType row_type_of(DType dtype) { return static_cast<RowType>(dtype); }

// Largest magnitude that a row can hold. For q8_0 the scale is an f16.
constexpr float largest_storable(RowType type) {
  switch (type) {
    case RowType::f32:
    case RowType::bf16: return 3.38e38f;
    case RowType::f16: return 65504.0f;
    case RowType::q8_0: return 65504.0f * 127.0f;
  }
  return 0;
}

}  // namespace ropewalk
