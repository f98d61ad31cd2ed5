// Storage formats of a row: the key or value of one head and token, head_dim elements.
#pragma once

#include <cstddef>

#include "base/storage.h"

namespace ropewalk {

// f32, f16 and bf16 are stored element by element. q8_0 and q4_0 are GGUF's formats: blocks of 32 elements, each an f16 scale and 32 quants
// of 8 or 4 bits. The last block of a row is padded with zeros.
//
// q4_channel is a type of caches, not of rows: rows of f16, and closed groups of 32 tokens in which keys have four bits per channel and
// values are rows of q4_0 (channel_group.h).
enum class RowType : int { f32, f16, bf16, q8_0, q4_0, q4_channel };

constexpr int kRowTypes = 5;  // without q4_channel
constexpr int kCacheTypes = 6;

constexpr int kQuantBlockSize = 32;

// An element is its quant times the scale.
struct Q8Block {
  Float16 scale;
  std::int8_t quants[kQuantBlockSize];
};
static_assert(sizeof(Q8Block) == 34);

// An element is its quant, 0 to 15, minus 8, times the scale. The first 16 elements are in the low halves of the bytes.
struct Q4Block {
  Float16 scale;
  std::uint8_t quants[kQuantBlockSize / 2];
};
static_assert(sizeof(Q4Block) == 18);

inline int quant_of(const Q8Block& block, int i) { return block.quants[i]; }
inline int quant_of(const Q4Block& block, int i) {
  return (i < kQuantBlockSize / 2 ? block.quants[i] & 15 : block.quants[i - kQuantBlockSize / 2] >> 4) - 8;
}

// Whether elements share scales. Rows of such a type are read and stored whole.
constexpr bool has_blocks(RowType type) { return type == RowType::q8_0 || type == RowType::q4_0; }

constexpr int quant_blocks(int head_dim) { return (head_dim + kQuantBlockSize - 1) / kQuantBlockSize; }

// Size of a row in bytes.
constexpr std::size_t row_bytes(RowType type, int head_dim) {
  switch (type) {
    case RowType::f32: return static_cast<std::size_t>(head_dim) * 4;
    case RowType::f16:
    case RowType::bf16: return static_cast<std::size_t>(head_dim) * 2;
    case RowType::q8_0: return quant_blocks(head_dim) * sizeof(Q8Block);
    case RowType::q4_0: return quant_blocks(head_dim) * sizeof(Q4Block);
    case RowType::q4_channel: break;
  }
  return 0;
}

constexpr RowType row_type_of(DType dtype) { return static_cast<RowType>(dtype); }

// Largest magnitude that a row can store. For q8_0 and q4_0 the limit is the f16 scale.
constexpr float largest_storable(RowType type) {
  switch (type) {
    case RowType::f32:
    case RowType::bf16: return 3.38e38f;
    case RowType::f16: return 65504.0f;
    case RowType::q8_0: return 65504.0f * 127.0f;
    case RowType::q4_0: return 65504.0f * 8.0f;
    case RowType::q4_channel: break;
  }
  return 0;
}

}  // namespace ropewalk
