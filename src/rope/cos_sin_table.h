// Tables of cos and sin for export, in any element type, with one value per pair or per element.
#pragma once

#include "base/storage.h"
#include "rope/cos_sin_rows.h"

namespace ropewalk {

// Columns of a table: one value per pair, or one per element in either pairing.
enum class TableLayout : int {
  compact,      // [positions][rotary_dim/2]  c0 c1 …
  half,         // [positions][rotary_dim]    c0 c1 … c0 c1 …
  interleaved,  // [positions][rotary_dim]    c0 c0 c1 c1 …
};

// Writes cos and sin of every row and token of `positions`, [rows · tokens][columns] each, rounded once from f64 to `dtype`.
Status write_table(CosSinRows& rows, const Positions& positions, Purpose purpose, DType dtype, TableLayout layout, void* cos, void* sin);

// Converts `rows` rows of a given table, of cosines or of sines, to the rows that kernels rotate by: [rows][pairs]. Returns
// table_pairs_differ if a table with one value for each element has two different values for a pair.
Status read_table(const void* table, DType dtype, TableLayout layout, int rows, int pairs, float* target);

}  // namespace ropewalk
