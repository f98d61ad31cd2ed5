// Rows of weights in panels of eight, so that a product reads one stream, and four rows at a time fill a vector.
//
// Within a panel, blocks with the same columns stand together, and every field of theirs is kept eight times over: the field of row 0, of
// row 1, … of row 7. Bytes only change places, so a panel is as long as its rows and starts where they did.
#pragma once

#include <cstdint>

#include "matmul/weight_format.h"

namespace ropewalk {

constexpr int kPanelRows = 8;

// `columns` columns of `rows` rows, `row_bytes` apart, as a panel; rows that are missing of eight are zeros. Neither may overlap.
void pack_panel(WeightFormat format, const std::uint8_t* weights, std::size_t row_bytes, int rows, int columns, std::uint8_t* panel);

// One row of a panel as it was, of `columns` columns.
void unpack_panel_row(WeightFormat format, const std::uint8_t* panel, int row, int columns, std::uint8_t* out);

}  // namespace ropewalk
