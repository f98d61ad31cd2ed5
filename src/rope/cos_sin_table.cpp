#include "rope/cos_sin_table.h"

#include <bit>
#include <cmath>

namespace ropewalk {
namespace {

// Rounds f64 to f32 to odd: truncates, and sets the last bit if the result is inexact. Rounding that to 16 bits gives the same
// bits as rounding the f64 once.
float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value) return nearest;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) bits -= 1;
  return std::bit_cast<float>(bits | 1u);
}

void store(double value, float* target) { *target = static_cast<float>(value); }
void store(double value, Float16* target) { from_float(round_to_odd(value), *target); }
void store(double value, BFloat16* target) { from_float(round_to_odd(value), *target); }

template <class Element>
void store_row(const double* values, int pairs, TableLayout layout, Element* target) {
  for (int j = 0; j < pairs; ++j) {
    switch (layout) {
      case TableLayout::compact: store(values[j], target + j); break;
      case TableLayout::half:
        store(values[j], target + j);
        store(values[j], target + j + pairs);
        break;
      case TableLayout::interleaved:
        store(values[j], target + 2 * j);
        store(values[j], target + 2 * j + 1);
        break;
    }
  }
}

template <class Element>
void write_elements(CosSinRows& rows, const Positions& positions, Purpose purpose, TableLayout layout, Element* cos, Element* sin) {
  const FrequencyPlan& plan = rows.plan();
  const int pairs = plan.rotary_dim / 2, columns = layout == TableLayout::compact ? pairs : plan.rotary_dim;
  for (int row = 0; row < positions.rows; ++row) {
    for (int token = 0; token < positions.tokens; ++token, cos += columns, sin += columns) {
      double position[kMaxAxes];
      positions.on_axes(plan, row, token, position);
      rows.compute(position, purpose);
      store_row(rows.cos(), pairs, layout, cos);
      store_row(rows.sin(), pairs, layout, sin);
    }
  }
}

// Whether a pair's values are the same. Two NaN are.
bool are_equal(float a, float b) { return a == b || (a != a && b != b); }

template <class Element>
Status read_rows(const Element* table, TableLayout layout, int rows, int pairs, float* target) {
  const int columns = layout == TableLayout::compact ? pairs : 2 * pairs;
  for (int row = 0; row < rows; ++row, table += columns, target += pairs) {
    for (int j = 0; j < pairs; ++j) {
      const int x = layout == TableLayout::interleaved ? 2 * j : j;
      const int y = layout == TableLayout::interleaved ? 2 * j + 1 : layout == TableLayout::half ? j + pairs : j;
      target[j] = to_float(table[x]);
      if (!are_equal(target[j], to_float(table[y]))) return Status::table_pairs_differ;
    }
  }
  return Status::ok;
}

}  // namespace

Status read_table(const void* table, DType dtype, TableLayout layout, int rows, int pairs, float* target) {
  if (layout != TableLayout::compact && layout != TableLayout::half && layout != TableLayout::interleaved) return Status::layout_unknown;
  switch (dtype) {
    case DType::f32: return read_rows(static_cast<const float*>(table), layout, rows, pairs, target);
    case DType::f16: return read_rows(static_cast<const Float16*>(table), layout, rows, pairs, target);
    case DType::bf16: return read_rows(static_cast<const BFloat16*>(table), layout, rows, pairs, target);
  }
  return Status::dtype_unknown;
}

Status write_table(CosSinRows& rows, const Positions& positions, Purpose purpose, DType dtype, TableLayout layout, void* cos, void* sin) {
  if (const Status status = check_positions(rows.plan(), positions); status != Status::ok) return status;
  if (layout != TableLayout::compact && layout != TableLayout::half && layout != TableLayout::interleaved) return Status::layout_unknown;
  switch (dtype) {
    case DType::f32:
      if (layout == TableLayout::compact) {
        const std::size_t row_size = static_cast<std::size_t>(positions.tokens) * (rows.plan().rotary_dim / 2);
        for (int row = 0; row < positions.rows; ++row) {
          write_rows(rows, positions, {row, 0, positions.tokens}, purpose, static_cast<float*>(cos) + row * row_size,
                     static_cast<float*>(sin) + row * row_size);
        }
      } else {
        write_elements(rows, positions, purpose, layout, static_cast<float*>(cos), static_cast<float*>(sin));
      }
      return Status::ok;
    case DType::f16:
      write_elements(rows, positions, purpose, layout, static_cast<Float16*>(cos), static_cast<Float16*>(sin));
      return Status::ok;
    case DType::bf16:
      write_elements(rows, positions, purpose, layout, static_cast<BFloat16*>(cos), static_cast<BFloat16*>(sin));
      return Status::ok;
  }
  return Status::dtype_unknown;
}

}  // namespace ropewalk
