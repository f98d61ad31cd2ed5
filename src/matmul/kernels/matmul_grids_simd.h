// The formats whose columns come from tables or digits: their blocks are decoded first, then multiplied.
//
// Formats share one kernel, which calls the format's decoder. It writes what BlockOf16 (matmul_formats_simd.h) computes at each use.
#pragma once

#include <cstring>

#include "matmul/dequantize.h"
#include "matmul/kernels/matmul_formats_simd.h"

namespace ropewalk {

// Four rows of a block.
struct DecodedBlock {
  static constexpr int kElements = 256, kParts = 1, kRuns = 2, kOffset = 64, kLargest = 127;
  static constexpr bool kSubScales = true, kMinimums = false, kScalesOf16 = false;

  template <int, int Unit>
  v128_t quants(int outer, int run) const {
    return units[8 * outer + 4 * run + Unit];
  }
  v128_t scale(int) const { return block_scale; }
  v128_t sub_scale(int s) const { return sub_scales[s]; }

  v128_t units[64];
  v128_t sub_scales[16];
  v128_t block_scale;
};

// Decodes rows 0 to 3 (half 0) or 4 to 7 (half 1) of a block of a panel.
using DecodeBlock = void (*)(const std::uint8_t* block, int half, const Scales& scales, DecodedBlock& decoded);

struct BlockDecoder {
  DecodeBlock decode;
  int panel_bytes;  // of a block of eight rows
};

// One row of a block of a panel.
class PanelRow {
 public:
  PanelRow(const std::uint8_t* words, int row) : words_(words + 4 * row) {}

  std::uint32_t word(int i) const {
    std::uint32_t word;
    std::memcpy(&word, words_ + 4 * i * kPanelRows, sizeof word);
    return word;
  }
  int half(int i) const { return static_cast<int>(word(i / 2) >> i % 2 * 16 & 0xFFFF); }
  int byte(int i) const { return words_[i / 4 * 4 * kPanelRows + i % 4]; }
  int nibble(int i) const { return byte(i / 2) >> i % 2 * 4 & 15; }

 private:
  const std::uint8_t* words_;
};

// 16 columns of a row: two points with eight coordinates of two bits, or four points with four coordinates of four bits, as bytes.
inline v128_t eights(std::uint32_t first, std::uint32_t second) {
  const auto spread = [](std::uint64_t bits) {
    bits = (bits | bits << 24) & 0x000000FF000000FF;
    bits = (bits | bits << 12) & 0x000F000F000F000F;
    return static_cast<std::int64_t>((bits | bits << 6) & 0x0303030303030303);
  };
  return wasm_i64x2_make(spread(first), spread(second));
}

inline v128_t fours(std::uint32_t first, std::uint32_t second, std::uint32_t third, std::uint32_t fourth) {
  const auto spread = [](std::uint64_t bits) {
    bits = (bits | bits << 16) & 0x0000FFFF0000FFFF;
    bits = (bits | bits << 8) & 0x00FF00FF00FF00FF;
    return static_cast<std::int64_t>((bits | bits << 4) & 0x0F0F0F0F0F0F0F0F);
  };
  return wasm_i64x2_make(spread(first | second << 16), spread(third | fourth << 16));
}

// Bytes 0 to 7 are `first`, 8 to 15 `second`.
inline v128_t eight_each(int first, int second) {
  const auto spread = [](int byte) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(byte) * 0x0101010101010101); };
  return wasm_i64x2_make(spread(first), spread(second));
}

// Negates where a bit of `signs` is set, and adds the offset of DecodedBlock.
inline v128_t with_signs(v128_t values, int first_signs, int second_signs) {
  const v128_t bit = wasm_i8x16_const(1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128);
  const v128_t negative = wasm_i8x16_eq(wasm_v128_and(eight_each(first_signs, second_signs), bit), bit);
  const v128_t offset = wasm_i8x16_splat(DecodedBlock::kOffset);
  return wasm_i8x16_add(wasm_i8x16_sub(wasm_v128_xor(values, negative), negative), offset);
}

inline v128_t iq2_values(v128_t codes) {
  return wasm_i8x16_swizzle(wasm_i8x16_const(kIq2Values[0], kIq2Values[1], kIq2Values[2], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), codes);
}

inline v128_t iq3_values(const std::int8_t (&values)[8], v128_t codes) { return wasm_i8x16_swizzle(wasm_v128_load64_zero(values), codes); }

// A format: `columns` are 16 columns of a row as bytes plus kOffset, `sub_scale` is theirs. Both count from 0 to 15.
template <WeightFormat Format>
struct GridRow;

template <>
struct GridRow<WeightFormat::iq3_s> {
  static v128_t columns(const PanelRow& row, int s) {
    const auto point = [&](int i) { return kIq3SGrid[row.byte(4 * s + i) | (row.byte(64 + s / 2) >> (s % 2 * 4 + i) & 1) << 8]; };
    return with_signs(iq3_values(kIq3SValues, fours(point(0), point(1), point(2), point(3))), row.byte(72 + 2 * s), row.byte(73 + 2 * s));
  }
  static int sub_scale(const PanelRow& row, int s) { return 2 * row.nibble(208 + s / 2) + 1; }
  static constexpr float kFactor = 1;
};

template <>
struct GridRow<WeightFormat::iq3_xxs> {
  static v128_t columns(const PanelRow& row, int s) {
    const auto point = [&](int i) { return kIq3XxsGrid[row.byte(4 * s + i)]; };
    const std::uint32_t signs = row.word(16 + s / 2) >> s % 2 * 14;
    return with_signs(iq3_values(kIq3XxsValues, fours(point(0), point(1), point(2), point(3))), signs_of(signs & 127),
                      signs_of(signs >> 7 & 127));
  }
  static int sub_scale(const PanelRow& row, int s) { return static_cast<int>(2 * (row.word(16 + s / 2) >> 28) + 1); }
  static constexpr float kFactor = 0.25f;
};

template <>
struct GridRow<WeightFormat::iq2_s> {
  static v128_t columns(const PanelRow& row, int s) {
    const auto point = [&](int i) { return kIq2SGrid[row.byte(2 * s + i) | (row.byte(64 + s / 2) >> (s % 2 * 4 + 2 * i) & 3) << 8]; };
    return with_signs(iq2_values(eights(point(0), point(1))), row.byte(32 + 2 * s), row.byte(33 + 2 * s));
  }
  static int sub_scale(const PanelRow& row, int s) { return 2 * row.nibble(144 + s) + 1; }
  static constexpr float kFactor = 0.125f;
};

template <>
struct GridRow<WeightFormat::iq2_xs> {
  static v128_t columns(const PanelRow& row, int s) {
    const int first = row.half(2 * s), second = row.half(2 * s + 1);
    return with_signs(iq2_values(eights(kIq2XsGrid[first & 511], kIq2XsGrid[second & 511])), signs_of(first >> 9), signs_of(second >> 9));
  }
  static int sub_scale(const PanelRow& row, int s) { return 2 * row.nibble(128 + s) + 1; }
  static constexpr float kFactor = 0.125f;
};

template <>
struct GridRow<WeightFormat::iq2_xxs> {
  static v128_t columns(const PanelRow& row, int s) {
    const auto point = [&](int i) { return kIq2XxsGrid[row.byte(s / 2 * 8 + s % 2 * 2 + i)]; };
    const std::uint32_t signs = row.word(s / 2 * 2 + 1) >> s % 2 * 14;
    return with_signs(iq2_values(eights(point(0), point(1))), signs_of(signs & 127), signs_of(signs >> 7 & 127));
  }
  static int sub_scale(const PanelRow& row, int s) { return static_cast<int>(2 * (row.word(s / 2 * 2 + 1) >> 28) + 1); }
  static constexpr float kFactor = 0.125f;
};

// Points of the grid of iq1_s and iq1_m, shifted up or down by one.
inline v128_t iq1_columns(int first, int second, bool is_first_down, bool is_second_down) {
  const v128_t values = wasm_i8x16_shl(eights(kIq1SGrid[first], kIq1SGrid[second]), 3);  // kIq1Values plus 8
  return wasm_i8x16_add(values,
                        eight_each(DecodedBlock::kOffset - (is_first_down ? 9 : 7), DecodedBlock::kOffset - (is_second_down ? 9 : 7)));
}

template <>
struct GridRow<WeightFormat::iq1_s> {
  static v128_t columns(const PanelRow& row, int s) {
    const int field = row.half(16 + s / 2);
    const auto index = [&](int i) { return row.byte(2 * s + i) | (field >> (s % 2 * 6 + 3 * i) & 7) << 8; };
    return iq1_columns(index(0), index(1), field >> 15 == 1, field >> 15 == 1);
  }
  static int sub_scale(const PanelRow& row, int s) { return 2 * (row.half(16 + s / 2) >> 12 & 7) + 1; }
  static constexpr float kFactor = 0.125f;
};

template <>
struct GridRow<WeightFormat::iq1_m> {
  static v128_t columns(const PanelRow& row, int s) {
    const int bits = row.byte(32 + s);
    const auto index = [&](int i) { return row.byte(2 * s + i) | (bits >> 4 * i & 7) << 8; };
    return iq1_columns(index(0), index(1), (bits & 0x08) != 0, (bits & 0x80) != 0);
  }
  static int sub_scale(const PanelRow& row, int s) { return 2 * (row.half(24 + s / 4) >> s % 4 * 3 & 7) + 1; }
  static constexpr float kFactor = 0.125f;
};

// The scale of four rows: a 16-bit field, or in iq1_m the upper four bits of four.
template <WeightFormat Format>
v128_t grid_scale(const std::uint8_t* block, int half, const Scales& scales) {
  const PanelFields fields(block, half, scales);
  if constexpr (Format != WeightFormat::iq1_m) return fields.half_floats(0, 0);
  const v128_t low = fields.word(0, 12), high = fields.word(0, 13);
  const auto bits = [](v128_t words, int mask) { return wasm_v128_and(words, wasm_i32x4_splat(mask)); };
  return half_bits_to_float(wasm_i32x4_shr(
      wasm_i32x4_shl(wasm_v128_or(wasm_v128_or(bits(wasm_u32x4_shr(low, 12), 0x000F), bits(wasm_u32x4_shr(low, 24), 0x00F0)),
                                  wasm_v128_or(bits(wasm_u32x4_shr(high, 4), 0x0F00), bits(wasm_u32x4_shr(high, 16), 0xF000))),
                     16),
      16));
}

template <WeightFormat Format>
void decode_grid(const std::uint8_t* block, int half, const Scales& scales, DecodedBlock& decoded) {
  using Row = GridRow<Format>;
  const std::uint8_t* words = block + 2 * block_shape(Format).leading_halves * kPanelRows;
  const PanelRow rows[4] = {{words, 4 * half}, {words, 4 * half + 1}, {words, 4 * half + 2}, {words, 4 * half + 3}};
  decoded.block_scale = wasm_f32x4_mul(grid_scale<Format>(block, half, scales), wasm_f32x4_splat(Row::kFactor));
  for (int s = 0; s < 16; ++s) {
    v128_t v[4];
    for (int r = 0; r < 4; ++r) v[r] = Row::columns(rows[r], s);
    decoded.sub_scales[s] =
        wasm_i32x4_make(Row::sub_scale(rows[0], s), Row::sub_scale(rows[1], s), Row::sub_scale(rows[2], s), Row::sub_scale(rows[3], s));
    const v128_t low01 = wasm_i32x4_shuffle(v[0], v[1], 0, 4, 1, 5), high01 = wasm_i32x4_shuffle(v[0], v[1], 2, 6, 3, 7);
    const v128_t low23 = wasm_i32x4_shuffle(v[2], v[3], 0, 4, 1, 5), high23 = wasm_i32x4_shuffle(v[2], v[3], 2, 6, 3, 7);
    decoded.units[4 * s] = wasm_i64x2_shuffle(low01, low23, 0, 2);
    decoded.units[4 * s + 1] = wasm_i64x2_shuffle(low01, low23, 1, 3);
    decoded.units[4 * s + 2] = wasm_i64x2_shuffle(high01, high23, 0, 2);
    decoded.units[4 * s + 3] = wasm_i64x2_shuffle(high01, high23, 1, 3);
  }
}

// tq1_0: a byte times 3^n, modulo 256, has digit n in front.
inline void decode_tq1_0(const std::uint8_t* block, int half, const Scales& scales, DecodedBlock& decoded) {
  const PanelFields fields(block, half, scales);
  decoded.block_scale = fields.half_floats(0, 13);
  for (v128_t& sub_scale : decoded.sub_scales) sub_scale = wasm_i32x4_splat(1);
  const auto put_digits = [&](v128_t bytes, int digits, int unit, int step) {
    for (int n = 0; n < digits; ++n, unit += step) {
      // a digit of 1 starts at 86, one of 2 at 171; each comparison that holds is -1
      const v128_t below =
          wasm_i8x16_add(wasm_u8x16_le(bytes, wasm_i8x16_splat(85)), wasm_u8x16_le(bytes, wasm_i8x16_splat(static_cast<std::int8_t>(170))));
      decoded.units[unit] = wasm_i8x16_add(below, wasm_i8x16_splat(DecodedBlock::kOffset + 1));
      v128_t twice = wasm_i8x16_add(bytes, bytes);
      computed_here(twice);  // else this becomes a product of bytes, which wasm lacks
      bytes = wasm_i8x16_add(twice, bytes);
    }
  };
  for (int i = 0; i < 8; ++i) put_digits(fields.word(0, i), 5, i, 8);
  for (int i = 0; i < 4; ++i) put_digits(fields.word(0, 8 + i), 5, 40 + i, 4);
  put_digits(fields.word(0, 12), 4, 60, 1);
}

template <WeightFormat Format>
constexpr BlockDecoder block_decoder() {
  constexpr int kBytes = block_bytes(Format) * kPanelRows;
  if constexpr (Format == WeightFormat::tq1_0)
    return {decode_tq1_0, kBytes};
  else
    return {decode_grid<Format>, kBytes};
}

}  // namespace ropewalk
