// Packs rows of weights in panels of eight, so that a product reads a single stream, and four rows at a time fill a vector.
//
// In a panel, the blocks of the same columns are next to each other, and their fields are interleaved: field 0 of row 0, of row 1, … of row
// 7, then field 1, and so on. Within words, some bits have another order (panel_bits.h). A panel has the size and the address of its rows.
#pragma once

#include <cstdint>

#include "matmul/weight_format.h"

namespace ropewalk {

constexpr int kPanelRows = 8;

// Packs `columns` columns of `rows` rows, which are `row_bytes` apart, as a panel. If there are fewer than eight rows, the others are
// zeros. Source and panel must not overlap.
void pack_panel(WeightFormat format, const std::uint8_t* weights, std::size_t row_bytes, int rows, int columns, std::uint8_t* panel);

// Copies one row of a panel with `columns` columns to `out`, in the original order. Its f16 numbers are as the panel has them
// (panel_exponent.h).
void unpack_panel_row(WeightFormat format, const std::uint8_t* panel, int row, int columns, std::uint8_t* out);

}  // namespace ropewalk
