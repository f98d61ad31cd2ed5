#include "nn/packed_rows.h"

#include <cstring>

namespace ropewalk {
namespace {

// Copies `count` fields of one row, standing together, to or from their places in a panel, and returns how many bytes of the panel it passed.
template <int Bytes>
std::size_t spread(const std::uint8_t* fields, int count, std::uint8_t* panel) {
  for (int i = 0; i < count; ++i) std::memcpy(panel + i * kPanelRows * Bytes, fields + i * Bytes, Bytes);
  return static_cast<std::size_t>(count) * kPanelRows * Bytes;
}

template <int Bytes>
std::size_t gather(const std::uint8_t* panel, int count, std::uint8_t* fields) {
  for (int i = 0; i < count; ++i) std::memcpy(fields + i * Bytes, panel + i * kPanelRows * Bytes, Bytes);
  return static_cast<std::size_t>(count) * kPanelRows * Bytes;
}

}  // namespace

void pack_panel(WeightFormat format, const std::uint8_t* weights, std::size_t row_bytes, int rows, int columns, std::uint8_t* panel) {
  const BlockShape& shape = block_shape(format);
  const std::size_t bytes = weight_row_bytes(format, columns);
  if (rows < kPanelRows) std::memset(panel, 0, bytes * kPanelRows);
  for (int row = 0; row < rows; ++row) {
    const std::uint8_t* block = weights + row * row_bytes;
    std::uint8_t* to = panel;
    for (int first = 0; first < columns; first += shape.elements, block += shape.bytes()) {
      to += spread<2>(block, shape.leading_halves, to + row * 2);
      to += spread<4>(block + shape.leading_halves * 2, shape.words, to + row * 4);
      to += spread<2>(block + shape.leading_halves * 2 + shape.words * 4, shape.trailing_halves, to + row * 2);
    }
  }
}

void unpack_panel_row(WeightFormat format, const std::uint8_t* panel, int row, int columns, std::uint8_t* out) {
  const BlockShape& shape = block_shape(format);
  for (int first = 0; first < columns; first += shape.elements, out += shape.bytes()) {
    panel += gather<2>(panel + row * 2, shape.leading_halves, out);
    panel += gather<4>(panel + row * 4, shape.words, out + shape.leading_halves * 2);
    panel += gather<2>(panel + row * 2, shape.trailing_halves, out + shape.leading_halves * 2 + shape.words * 4);
  }
}

}  // namespace ropewalk
