// Packed rows: nothing of them is lost, and their f16 numbers are normal.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "matmul/dequantize.h"
#include "matmul/matmul.h"
#include "matmul/packed_rows.h"
#include "matmul/panel_exponent.h"
#include "native/matmul/random_weights.h"

namespace ropewalk {
namespace {

// The f16 numbers of a row as it is stored.
std::vector<std::uint16_t> f16_of_row(WeightFormat format, const std::uint8_t* row, int columns) {
  const BlockShape& shape = block_shape(format);
  std::vector<std::uint16_t> found;
  for (const std::uint8_t* end = row + weight_row_bytes(format, columns); row < end; row += shape.bytes()) {
    const auto take = [&](const std::uint8_t* at) {
      std::uint16_t bits;
      std::memcpy(&bits, at, sizeof bits);
      found.push_back(bits);
    };
    for (int i = 0; i < leading_f16(format); ++i) take(row + 2 * i);
    for (int i = 0; i < shape.trailing_halves; ++i) take(row + shape.bytes() - 2 * shape.trailing_halves + 2 * i);
  }
  return found;
}

// Random weights as they were stored, and packed.
struct Packed {
  Packed(WeightFormat format, float factor)
      : columns(is_float(format) ? 64 : 2 * block_elements(format)), stored(random_weights(format, kRows, columns, 3, factor)) {}

  void pack(WeightFormat format, int step) {
    packed = stored.values();
    matrix = {format, kRows, columns, packed.data()};
    for (int rows = step; rows <= kRows; rows += step) {
      ASSERT_EQ(pack_rows(matrix, packed.data(), rows), Status::ok);
    }
    std::vector<float> expected(columns), read(columns);
    for (int row = 0; row < kRows; ++row) {
      dequantize(format, stored.data() + row * weight_row_bytes(format, columns), columns, expected.data());
      read_row(matrix, row, read.data());
      ASSERT_EQ(std::memcmp(read.data(), expected.data(), columns * sizeof(float)), 0) << "row " << row;
    }
  }

  static constexpr int kRows = 24;
  int columns;
  Guarded<std::uint8_t> stored;
  std::vector<std::uint8_t> packed;
  WeightMatrix matrix;
};

TEST(PackRows, KeepsEveryRowAndItsBytes) {
  for (const WeightFormat format : every_format()) {
    for (const int rows : {1, 8, 21}) {
      const int columns = is_float(format) ? 27 : 3 * block_elements(format);
      SCOPED_TRACE("format " + std::to_string(static_cast<int>(format)) + ", " + std::to_string(rows) + " rows");
      const Guarded<std::uint8_t> weights = random_weights(format, rows, columns, 9);
      Guarded<std::uint8_t> packed(weights.values());
      WeightMatrix matrix = {format, rows, columns, packed.data(), 0};
      for (const int arrived : {0, 5, 8, 15, rows}) {
        if (arrived > rows) continue;
        ASSERT_EQ(pack_rows(matrix, packed.data(), arrived), Status::ok);
        EXPECT_EQ(matrix.packed_rows, arrived / kPanelRows * kPanelRows);
      }
      const std::size_t row_bytes = weight_row_bytes(format, columns);
      std::vector<std::uint8_t> bytes(row_bytes);
      for (int row = 0; row < rows; ++row) {
        const int first = row / kPanelRows * kPanelRows;
        const bool is_packed = first + kPanelRows <= rows;
        if (is_packed) {
          std::vector<std::uint8_t> panel(packed.data() + first * row_bytes, packed.data() + (first + kPanelRows) * row_bytes);
          scale_panel(format, panel.data(), columns, -matrix.exponent);
          unpack_panel_row(format, panel.data(), row - first, columns, bytes.data());
        }
        const std::uint8_t* kept = is_packed ? bytes.data() : packed.data() + row * row_bytes;
        EXPECT_EQ(std::memcmp(kept, weights.data() + row * row_bytes, row_bytes), 0) << "row " << row;
      }
      std::vector<float> expected(columns), read(columns);
      for (int row = 0; row < rows; ++row) {
        dequantize(format, weights.data() + row * weight_row_bytes(format, columns), columns, expected.data());
        read_row(matrix, row, read.data());
        EXPECT_EQ(std::memcmp(read.data(), expected.data(), columns * sizeof(float)), 0) << "row " << row;
      }
      EXPECT_TRUE(packed.guards_are_intact());
    }
  }
}

TEST(PackRows, LeavesNoF16Subnormal) {
  for (const WeightFormat format : every_format()) {
    if (!has_f16(format)) continue;
    SCOPED_TRACE("format " + std::to_string(static_cast<int>(format)));
    Packed weights(format, 0x1p-18f);
    weights.pack(format, kPanelRows);
    EXPECT_EQ(weights.matrix.exponent, kLargestPanelExponent);
    const std::size_t row_bytes = weight_row_bytes(format, weights.columns);
    std::vector<std::uint8_t> bytes(row_bytes);
    for (int row = 0; row < Packed::kRows; ++row) {
      const std::uint8_t* panel = weights.packed.data() + row / kPanelRows * kPanelRows * row_bytes;
      unpack_panel_row(format, panel, row % kPanelRows, weights.columns, bytes.data());
      const std::vector<std::uint16_t> before = f16_of_row(format, weights.stored.data() + row * row_bytes, weights.columns);
      const std::vector<std::uint16_t> after = f16_of_row(format, bytes.data(), weights.columns);
      for (std::size_t i = 0; i < after.size(); ++i) {
        ASSERT_EQ(to_float(Float16{after[i]}), std::ldexp(to_float(Float16{before[i]}), kLargestPanelExponent));
        ASSERT_TRUE((after[i] & 0x7C00) != 0 || (after[i] & 0x7FFF) == 0) << "row " << row << ", " << before[i];
      }
    }
  }
}

// Neighbours share a vector: all are normal, or some are subnormal or become so.
TEST(PackRows, ScalesEveryF16AsAFloat) {
  for (const std::uint16_t sign : {0, 0x8000}) {
    for (int n = -kLargestPanelExponent; n <= kLargestPanelExponent; ++n) {
      const int numbers = (31 - std::max(n, 0)) << 10;  // of one sign, that stay finite
      std::vector<std::uint16_t> panel(numbers);
      for (int i = 0; i < numbers; ++i) panel[i] = static_cast<std::uint16_t>(sign | i);
      scale_panel(WeightFormat::f16, reinterpret_cast<std::uint8_t*>(panel.data()), numbers / kPanelRows, n);
      for (int i = 0; i < numbers; ++i) {
        Float16 expected;
        from_float(std::ldexp(to_float(Float16{static_cast<std::uint16_t>(sign | i)}), n), expected);
        ASSERT_EQ(panel[i], expected.bits) << (sign | i) << " times 2^" << n;
      }
    }
  }
}

TEST(PackRows, LowersTheExponentForALargeNumberThatComesLater) {
  for (const WeightFormat format : every_format()) {
    if (!has_f16(format)) continue;
    // 65504 is the largest f16; infinity and NaN leave all numbers as they are
    for (const auto& [bits, exponent] : {std::pair{0x53FF, 10}, {0x5400, 9}, {0xD800, 8}, {0x7BFF, 0}, {0xFC00, 0}, {0x7E01, 0}}) {
      for (const int step : {kPanelRows, Packed::kRows}) {
        SCOPED_TRACE("format " + std::to_string(static_cast<int>(format)) + ", bits " + std::to_string(bits));
        Packed weights(format, 0x1p-18f);
        const BlockShape& shape = block_shape(format);
        const std::size_t field = leading_f16(format) > 0 ? 0 : shape.bytes() - 2;
        const auto large = static_cast<std::uint16_t>(bits);
        std::memcpy(weights.stored.data() + 13 * weight_row_bytes(format, weights.columns) + field, &large, sizeof large);
        weights.pack(format, step);
        EXPECT_EQ(weights.matrix.exponent, exponent);
      }
    }
  }
}

TEST(PackRows, LowersTheExponentAsOftenAsNeededAndNeverRaisesIt) {
  Packed weights(WeightFormat::q8_0, 0x1p-18f);
  const auto put = [&](int row, std::uint16_t bits) {
    std::memcpy(weights.stored.data() + row * weight_row_bytes(WeightFormat::q8_0, weights.columns), &bits, sizeof bits);
  };
  put(9, 0x5400);
  put(20, 0xD800);
  weights.pack(WeightFormat::q8_0, kPanelRows);
  EXPECT_EQ(weights.matrix.exponent, 8);
  put(2, 0x5C00);
  weights.pack(WeightFormat::q8_0, kPanelRows);
  EXPECT_EQ(weights.matrix.exponent, 7);
}

TEST(PackRows, LeavesOtherFormatsAsTheyAre) {
  for (const WeightFormat format : every_format()) {
    if (has_f16(format)) continue;
    Packed weights(format, 1);
    weights.pack(format, kPanelRows);
    EXPECT_EQ(weights.matrix.exponent, 0);
  }
}

}  // namespace
}  // namespace ropewalk
