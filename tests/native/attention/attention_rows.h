// Decodes stored rows of keys and values by the definition of each format, without code from src/.
#pragma once

#include "attention/row_storage.h"
#include "native/attention/attention_guarded.h"

namespace ropewalk {

inline const RowType kEveryRowType[] = {RowType::f32, RowType::f16, RowType::bf16, RowType::q8_0, RowType::q4_0};

inline const char* name_of(RowType type) {
  const char* names[] = {"f32", "f16", "bf16", "q8_0", "q4_0"};
  return names[static_cast<int>(type)];
}

// A block of GGUF's q8_0 has 34 bytes: an f16 scale, then 32 signed bytes. One of q4_0 has 18: an f16 scale, then 16 bytes of two elements.
inline bool is_quantized(RowType type) { return type == RowType::q8_0 || type == RowType::q4_0; }
inline std::size_t block_offset(RowType type, int element) { return element / 32 * (type == RowType::q8_0 ? 34 : 18); }

inline std::size_t stored_bytes(RowType type, int head_dim) {
  if (is_quantized(type)) return block_offset(type, head_dim + 31);
  return static_cast<std::size_t>(head_dim) * (type == RowType::f32 ? 4 : 2);
}

// The value of one element of a stored row.
inline double decoded(RowType type, const std::uint8_t* row, int element) {
  if (is_quantized(type)) {
    const std::uint8_t* block = row + block_offset(type, element);
    const double scale = static_cast<double>(oracle::decode(block[0] | block[1] << 8, DType::f16));
    if (type == RowType::q8_0) return scale * static_cast<std::int8_t>(block[2 + element % 32]);
    const int both = block[2 + element % 16];  // elements 0 to 15 in the low halves, 16 to 31 in the high halves
    return scale * ((element % 32 < 16 ? both % 16 : both / 16) - 8);
  }
  if (type == RowType::f32) {
    float value;
    std::memcpy(&value, row + static_cast<std::size_t>(element) * sizeof value, sizeof value);
    return value;
  }
  const DType dtype = static_cast<DType>(type);
  std::uint32_t bits = 0;
  std::memcpy(&bits, row + static_cast<std::size_t>(element) * size_of(dtype), size_of(dtype));
  return static_cast<double>(oracle::decode(bits, dtype));
}

// Fills a row with random values, uniform on [-2, 2), rounded to the storage format.
inline void fill_row(RowType type, std::uint8_t* row, int head_dim, Random& random) {
  if (is_quantized(type)) {
    for (int i = 0; i < head_dim; i += 32) {
      std::uint8_t* block = row + block_offset(type, i);
      const std::uint32_t scale = oracle::encode(random.between(0.5, 1) * 2 / (type == RowType::q8_0 ? 127 : 8), DType::f16);
      block[0] = static_cast<std::uint8_t>(scale), block[1] = static_cast<std::uint8_t>(scale >> 8);
      for (int j = 0; j < 32; ++j) {
        const double value = i + j < head_dim ? random.next() : 0;
        if (type == RowType::q8_0) {
          block[2 + j] = static_cast<std::uint8_t>(static_cast<int>(value * 63.5));
        } else {
          const int quant = static_cast<int>(value * 4 + 8);  // 0 to 15
          block[2 + j % 16] = static_cast<std::uint8_t>(j < 16 ? quant : block[2 + j % 16] | quant << 4);
        }
      }
    }
    return;
  }
  const DType dtype = static_cast<DType>(type);
  for (int i = 0; i < head_dim; ++i) {
    const float value = static_cast<float>(random.next());
    const std::uint32_t bits = type == RowType::f32 ? std::bit_cast<std::uint32_t>(value) : oracle::encode(value, dtype);
    std::memcpy(row + static_cast<std::size_t>(i) * size_of(dtype), &bits, size_of(dtype));
  }
}

}  // namespace ropewalk
