// Storage formats of a row: the key or value of one head and token, head_dim elements.
#pragma once

#include <cstddef>

#include "base/storage.h"

namespace ropewalk {

// f32, f16 and bf16 are stored element by element. q8_0 is GGUF's format: blocks of 32 elements, each an f16 scale and 32 signed bytes. The
// last block of a row is padded with zeros.
enum class RowType : int { f32, f16, bf16, q8_0 };

constexpr int kRowTypes = 4;

constexpr int kQ8BlockSize = 32;

struct Q8Block {
  Float16 scale;
  std::int8_t quants[kQ8BlockSize];
};
static_assert(sizeof(Q8Block) == 34);

constexpr int q8_blocks(int head_dim) { return (head_dim + kQ8BlockSize - 1) / kQ8BlockSize; }

// Size of a row in bytes.
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

// Largest magnitude that a row can store. For q8_0 the limit is the f16 scale.
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
