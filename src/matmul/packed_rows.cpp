#include "matmul/packed_rows.h"

#include <wasm_simd128.h>

#include <cstring>
#include <type_traits>

#include "matmul/panel_bits.h"
#include "matmul/transpose_four_simd.h"

namespace ropewalk {
namespace {

// Number of fields in each run of a block. A whole row of floats is treated as one block.
struct Runs {
  Runs(WeightFormat of, int columns)
      : format(of), shape(block_shape(of)), blocks(columns / shape.elements), repeat(1), signs(flipped_signs()) {
    if (shape.elements == 1) {
      repeat = blocks;
      blocks = 1;
    }
  }
  int leading_bytes() const { return shape.leading_bytes; }
  int leading_halves() const { return shape.leading_halves * repeat; }
  int words() const { return shape.words * repeat; }
  int trailing_halves() const { return shape.trailing_halves * repeat; }

  WeightFormat format;
  BlockShape shape;
  int blocks;
  int repeat;
  std::uint32_t signs;  // flipped_signs()
};

// Interleaves four words of eight rows: v[2 · i] and v[2 · i + 1] become word i of rows 0 to 3 and of rows 4 to 7.
void transpose_words(v128_t (&v)[kPanelRows]) {
  v128_t halves[2][4];
  for (int row = 0; row < kPanelRows; ++row) halves[row / 4][row % 4] = v[row];
  for (v128_t(&half)[4] : halves) transpose_four(half);
  for (int i = 0; i < kPanelRows; ++i) v[i] = halves[i % 2][i / 2];
}

// Interleaves eight 16-bit fields of eight rows: v[i] becomes field i of all rows. Each step interleaves row r with row r + 4, and three of
// them exchange fields and rows.
void transpose_halves(v128_t (&v)[kPanelRows]) {
  for (int step = 0; step < 3; ++step) {
    v128_t next[kPanelRows];
    for (int i = 0; i < 4; ++i) {
      next[2 * i] = wasm_i16x8_shuffle(v[i], v[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      next[2 * i + 1] = wasm_i16x8_shuffle(v[i], v[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    for (int i = 0; i < kPanelRows; ++i) v[i] = next[i];
  }
}

// Copies `count` fields of `Bytes` bytes: field i of row r, with rows `row_bytes` apart, becomes field 8 · i + r of the panel. Advances
// both pointers.
template <int Bytes, class Rows>
void pack_run(const std::uint8_t*& fields, std::size_t row_bytes, Rows rows, int count, std::uint8_t*& panel) {
  for (int i = 0; i < count; ++i, fields += Bytes, panel += kPanelRows * Bytes) {
    for (int row = 0; row < rows; ++row) std::memcpy(panel + row * Bytes, fields + row * row_bytes, Bytes);
  }
}

// The same for eight rows, 16 bytes of each at a time.
using EightRows = std::integral_constant<int, kPanelRows>;

template <int Bytes>
void pack_run(const std::uint8_t*& fields, std::size_t row_bytes, EightRows rows, int count, std::uint8_t*& panel) {
  constexpr int kFields = 16 / Bytes;
  for (; count >= kFields; count -= kFields, fields += 16, panel += 16 * kPanelRows) {
    v128_t v[kPanelRows];
    for (int row = 0; row < kPanelRows; ++row) v[row] = wasm_v128_load(fields + row * row_bytes);
    if constexpr (Bytes == 2) {
      transpose_halves(v);
    } else {
      transpose_words(v);
    }
    for (int i = 0; i < kPanelRows; ++i) wasm_v128_store(panel + 16 * i, v[i]);
  }
  pack_run<Bytes, int>(fields, row_bytes, rows, count, panel);
}

// `rows` is EightRows for all panels but the last.
template <class Rows>
void pack_runs(const Runs& runs, const std::uint8_t* weights, std::size_t row_bytes, Rows rows, std::uint8_t* panel) {
  for (int block = 0; block < runs.blocks; ++block) {
    pack_run<1, int>(weights, row_bytes, rows, runs.leading_bytes(), panel);
    pack_run<2>(weights, row_bytes, rows, runs.leading_halves(), panel);
    std::uint8_t* const words = panel;
    pack_run<4>(weights, row_bytes, rows, runs.words(), panel);
    for (int row = 0; row < kPanelRows; row += 4) {
      to_panel_bits(runs.format, runs.signs, Words<FourWords>(words + row * 4, kPanelRows * 4));
    }
    pack_run<2>(weights, row_bytes, rows, runs.trailing_halves(), panel);
  }
}

template <int Bytes>
void unpack_run(const std::uint8_t*& panel, int row, int count, std::uint8_t*& fields) {
  for (int i = 0; i < count; ++i, fields += Bytes, panel += kPanelRows * Bytes) std::memcpy(fields, panel + row * Bytes, Bytes);
}

}  // namespace

void pack_panel(WeightFormat format, const std::uint8_t* weights, std::size_t row_bytes, int rows, int columns, std::uint8_t* panel) {
  const Runs runs(format, columns);
  if (rows == kPanelRows) return pack_runs(runs, weights, row_bytes, EightRows(), panel);
  std::memset(panel, 0, weight_row_bytes(format, columns) * kPanelRows);
  pack_runs(runs, weights, row_bytes, rows, panel);
}

void unpack_panel_row(WeightFormat format, const std::uint8_t* panel, int row, int columns, std::uint8_t* out) {
  const Runs runs(format, columns);
  for (int block = 0; block < runs.blocks; ++block) {
    unpack_run<1>(panel, row, runs.leading_bytes(), out);
    unpack_run<2>(panel, row, runs.leading_halves(), out);
    std::uint8_t* const words = out;
    unpack_run<4>(panel, row, runs.words(), out);
    from_panel_bits(format, runs.signs, Words<std::uint32_t>(words, 4));
    unpack_run<2>(panel, row, runs.trailing_halves(), out);
  }
}

}  // namespace ropewalk
