// Decodes stored rows of keys and values by the definition of each format, without code from src/.
#pragma once

#include "attention/row_storage.h"
#include "native/attention/attention_guarded.h"

namespace ropewalk {

inline const RowType kEveryRowType[] = {RowType::f32, RowType::f16, RowType::bf16, RowType::q8_0};

inline const char* name_of(RowType type) {
  const char* names[] = {"f32", "f16", "bf16", "q8_0"};
  return names[static_cast<int>(type)];
}

// A block of GGUF's q8_0 has 34 bytes: an f16 scale, then 32 signed bytes.
inline std::size_t q8_offset(int element) { return element / 32 * 34; }

inline std::size_t stored_bytes(RowType type, int head_dim) {
  return type == RowType::q8_0 ? q8_offset(head_dim + 31) : static_cast<std::size_t>(head_dim) * (type == RowType::f32 ? 4 : 2);
}

// The value of one element of a stored row.
inline double decoded(RowType type, const std::uint8_t* row, int element) {
  if (type == RowType::q8_0) {
    const std::uint8_t* block = row + q8_offset(element);
    const std::uint32_t scale = block[0] | block[1] << 8;
    return static_cast<double>(oracle::decode(scale, DType::f16)) * static_cast<std::int8_t>(block[2 + element % 32]);
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
  if (type == RowType::q8_0) {
    for (int i = 0; i < head_dim; i += 32) {
      const std::uint32_t scale = oracle::encode(random.between(0.5, 1) * 2 / 127, DType::f16);
      row[q8_offset(i)] = static_cast<std::uint8_t>(scale), row[q8_offset(i) + 1] = static_cast<std::uint8_t>(scale >> 8);
      for (int j = 0; j < 32; ++j) {
        const int quant = i + j < head_dim ? static_cast<int>(random.next() * 63.5) : 0;
        row[q8_offset(i) + 2 + j] = static_cast<std::uint8_t>(quant);
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
