// Unpacks quantized formats in simd128: four rows of a panel at a time, one row per 32-bit lane.
//
// Each format is a struct over four rows of one block. It has constants that describe the block, and
// - quants<Part>(outer, unit): columns 4 · unit to 4 · unit + 3 of a group of 32, group = outer · kParts + Part, one byte each,
// - scale and minimum_scale: f32 lanes,
// - sub_scale(s), minimum(s): i32 lanes, for columns 16 · s to 16 · s + 15 of the block.
// Unsigned quants are below 128. An element is its quant minus kOffset.
#pragma once

#include <wasm_simd128.h>

#include <cstdint>

#include "base/storage_wasmsimd.h"
#include "matmul/dequantize.h"
#include "matmul/packed_rows.h"

namespace ropewalk {

// Fields of a block of a panel, for rows 0 to 3 (half 0) or 4 to 7 (half 1).
class PanelFields {
 public:
  PanelFields(const std::uint8_t* block, int half) : block_(block), half_(half) {}

  // The 16-bit field after `halves` 16-bit fields and `words` 32-bit words, as f32.
  v128_t half_floats(int halves, int words) const {
    return half_bits_to_float(wasm_i32x4_load16x4(block_ + (halves * 2 + words * 4) * kPanelRows + half_ * 8));
  }
  // The 32-bit word at the same kind of offset.
  v128_t word(int halves, int words) const { return wasm_v128_load(block_ + (halves * 2 + words * 4) * kPanelRows + half_ * 16); }

 private:
  const std::uint8_t* block_;
  int half_;
};

inline v128_t low_bits(v128_t bytes, int mask) { return wasm_v128_and(bytes, wasm_i8x16_splat(static_cast<std::int8_t>(mask))); }

// Shifts bytes right by a constant and masks them. There is no byte shift: the mask removes bits that come from the neighboring byte.
template <int Shift>
v128_t bits_from(v128_t bytes, int mask) {
  if constexpr (Shift == 0) return low_bits(bytes, mask);
  return low_bits(wasm_u16x8_shr(bytes, Shift), mask);
}

// `value` in each byte that has the bit set, and 0 in the others.
inline v128_t where_bit(v128_t bytes, v128_t bit, int value) { return low_bits(wasm_i8x16_eq(wasm_v128_and(bytes, bit), bit), value); }

inline v128_t bit_of_bytes(int bit) { return wasm_i8x16_splat(static_cast<std::int8_t>(1 << bit)); }

// Byte `index` of each lane, sign-extended.
inline v128_t byte_of_lanes(v128_t words, int index) { return wasm_i32x4_shr(wasm_i32x4_shl(words, 24 - 8 * index), 24); }

// Base of the formats without sub-scales.
template <int Offset, bool Signed = false, bool Minimums = false>
struct SimpleBlock {
  static constexpr int kElements = 32, kParts = 1, kOffset = Offset, kSubScales = 0;
  static constexpr bool kSigned = Signed, kMinimums = Minimums;

  SimpleBlock(const std::uint8_t* block, int half) : fields(block, half), scale(fields.half_floats(0, 0)) {
    if constexpr (Minimums) minimum_scale = wasm_f32x4_neg(fields.half_floats(1, 0));
  }
  v128_t sub_scale(int) const { return wasm_i32x4_splat(1); }
  v128_t minimum(int) const { return wasm_i32x4_splat(1); }

  PanelFields fields;
  v128_t scale, minimum_scale;
};

struct BlockQ8_0 : SimpleBlock<0, true> {
  static constexpr WeightFormat kFormat = WeightFormat::q8_0;
  using SimpleBlock::SimpleBlock;
  template <int>
  v128_t quants(int, int unit) const {
    return fields.word(1, unit);
  }
};

template <WeightFormat Format, int Offset, bool Minimums>
struct BlockOfNibbles : SimpleBlock<Offset, false, Minimums> {
  static constexpr WeightFormat kFormat = Format;
  using SimpleBlock<Offset, false, Minimums>::SimpleBlock;
  template <int>
  v128_t quants(int, int unit) const {
    const v128_t both = this->fields.word(Minimums ? 2 : 1, unit % 4);
    return unit < 4 ? low_bits(both, 15) : bits_from<4>(both, 15);
  }
};
using BlockQ4_0 = BlockOfNibbles<WeightFormat::q4_0, 8, false>;
using BlockQ4_1 = BlockOfNibbles<WeightFormat::q4_1, 0, true>;

template <WeightFormat Format, int Offset, bool Minimums>
struct BlockOfFiveBits : SimpleBlock<Offset, false, Minimums> {
  static constexpr WeightFormat kFormat = Format;
  static constexpr int kHalves = Minimums ? 2 : 1;
  using SimpleBlock<Offset, false, Minimums>::SimpleBlock;
  template <int>
  v128_t quants(int, int unit) const {
    const v128_t both = this->fields.word(kHalves, 1 + unit % 4);
    const v128_t nibbles = unit < 4 ? low_bits(both, 15) : bits_from<4>(both, 15);
    // repeats the byte that contains this unit's bits four times per row
    const v128_t places = wasm_i8x16_const(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
    const v128_t fifths =
        wasm_i8x16_swizzle(this->fields.word(kHalves, 0), wasm_i8x16_add(places, wasm_i8x16_splat(static_cast<std::int8_t>(unit / 2))));
    const v128_t bit = wasm_i32x4_splat(unit % 2 == 0 ? 0x08040201 : static_cast<std::int32_t>(0x80402010u));
    return wasm_v128_or(nibbles, where_bit(fifths, bit, 16));
  }
};
using BlockQ5_0 = BlockOfFiveBits<WeightFormat::q5_0, 16, false>;
using BlockQ5_1 = BlockOfFiveBits<WeightFormat::q5_1, 0, true>;

struct BlockIq4Nl : SimpleBlock<0, true> {
  static constexpr WeightFormat kFormat = WeightFormat::iq4_nl;
  using SimpleBlock::SimpleBlock;
  template <int>
  v128_t quants(int, int unit) const {
    const v128_t both = fields.word(1, unit % 4);
    return wasm_i8x16_swizzle(wasm_v128_load(kIq4Values), unit < 4 ? low_bits(both, 15) : bits_from<4>(both, 15));
  }
};

// Base of the formats with sub-scales. Sub-scales are bytes, four per word; columns from 16 · s on have number s / SharedBy.
template <int SharedBy, int Offset, bool Minimums>
struct SuperBlock {
  static constexpr int kElements = 256, kOffset = Offset, kSubScales = 2 / SharedBy;
  static constexpr bool kSigned = false, kMinimums = Minimums;

  SuperBlock(const std::uint8_t* block, int half) : fields(block, half) {}
  v128_t sub_scale(int s) const { return byte_of_lanes(sub_scales[s / SharedBy / 4], s / SharedBy % 4); }
  v128_t minimum(int s) const { return byte_of_lanes(minimums[s / SharedBy / 4], s / SharedBy % 4); }

  PanelFields fields;
  v128_t scale, minimum_scale;
  v128_t sub_scales[4 / SharedBy], minimums[4 / SharedBy];
};

struct BlockQ2K : SuperBlock<1, 0, true> {
  static constexpr WeightFormat kFormat = WeightFormat::q2_k;
  static constexpr int kParts = 4;
  BlockQ2K(const std::uint8_t* block, int half) : SuperBlock(block, half) {
    scale = fields.half_floats(0, 20);
    minimum_scale = fields.half_floats(1, 20);
    for (int i = 0; i < 4; ++i) {
      sub_scales[i] = low_bits(fields.word(0, i), 15);
      minimums[i] = bits_from<4>(fields.word(0, i), 15);
    }
  }
  template <int Part>
  v128_t quants(int outer, int unit) const {
    return bits_from<2 * Part>(fields.word(0, 4 + 8 * outer + unit), 3);
  }
};

struct BlockQ3K : SuperBlock<1, 4, false> {
  static constexpr WeightFormat kFormat = WeightFormat::q3_k;
  static constexpr int kParts = 4;
  BlockQ3K(const std::uint8_t* block, int half) : SuperBlock(block, half) {
    scale = fields.half_floats(0, 27);
    const v128_t first = fields.word(0, 24), second = fields.word(0, 25), upper = fields.word(0, 26);
    const auto joined = [](v128_t low, v128_t high) {
      return wasm_i8x16_sub(wasm_v128_or(low, wasm_i16x8_shl(high, 4)), wasm_i8x16_splat(32));
    };
    sub_scales[0] = joined(low_bits(first, 15), low_bits(upper, 3));
    sub_scales[1] = joined(low_bits(second, 15), bits_from<2>(upper, 3));
    sub_scales[2] = joined(bits_from<4>(first, 15), bits_from<4>(upper, 3));
    sub_scales[3] = joined(bits_from<4>(second, 15), bits_from<6>(upper, 3));
  }
  template <int Part>
  v128_t quants(int outer, int unit) const {
    const v128_t third = where_bit(fields.word(0, unit), bit_of_bytes(4 * outer + Part), 4);
    return wasm_v128_or(bits_from<2 * Part>(fields.word(0, 8 + 8 * outer + unit), 3), third);
  }
};

// The scales of q4_k and q5_k have six bits each. The upper two bits of the last four scales are stored in the bytes of the first four.
struct SuperBlockOf8 : SuperBlock<2, 0, true> {
  static constexpr int kParts = 2;
  SuperBlockOf8(const std::uint8_t* block, int half) : SuperBlock(block, half) {
    scale = fields.half_floats(0, 0);
    minimum_scale = fields.half_floats(1, 0);
    const v128_t first = fields.word(2, 0), second = fields.word(2, 1), last = fields.word(2, 2);
    sub_scales[0] = low_bits(first, 63);
    minimums[0] = low_bits(second, 63);
    sub_scales[1] = wasm_v128_or(low_bits(last, 15), bits_from<2>(first, 0x30));
    minimums[1] = wasm_v128_or(bits_from<4>(last, 15), bits_from<2>(second, 0x30));
  }
};

struct BlockQ4K : SuperBlockOf8 {
  static constexpr WeightFormat kFormat = WeightFormat::q4_k;
  using SuperBlockOf8::SuperBlockOf8;
  template <int Part>
  v128_t quants(int outer, int unit) const {
    return bits_from<4 * Part>(fields.word(2, 3 + 8 * outer + unit), 15);
  }
};

struct BlockQ5K : SuperBlockOf8 {
  static constexpr WeightFormat kFormat = WeightFormat::q5_k;
  using SuperBlockOf8::SuperBlockOf8;
  template <int Part>
  v128_t quants(int outer, int unit) const {
    const v128_t fifth = where_bit(fields.word(2, 3 + unit), bit_of_bytes(2 * outer + Part), 16);
    return wasm_v128_or(bits_from<4 * Part>(fields.word(2, 11 + 8 * outer + unit), 15), fifth);
  }
};

struct BlockQ6K : SuperBlock<1, 32, false> {
  static constexpr WeightFormat kFormat = WeightFormat::q6_k;
  static constexpr int kParts = 4;
  BlockQ6K(const std::uint8_t* block, int half) : SuperBlock(block, half) {
    scale = fields.half_floats(0, 52);
    for (int i = 0; i < 4; ++i) sub_scales[i] = fields.word(0, 48 + i);
  }
  template <int Part>
  v128_t quants(int outer, int unit) const {
    const v128_t nibbles = bits_from<Part / 2 * 4>(fields.word(0, 16 * outer + Part % 2 * 8 + unit), 15);
    const v128_t upper = fields.word(0, 32 + 8 * outer + unit);
    if constexpr (Part == 0) return wasm_v128_or(nibbles, low_bits(wasm_i16x8_shl(upper, 4), 0x30));
    if constexpr (Part == 1) return wasm_v128_or(nibbles, low_bits(wasm_i16x8_shl(upper, 2), 0x30));
    return wasm_v128_or(nibbles, bits_from<2 * Part - 4>(upper, 0x30));
  }
};

}  // namespace ropewalk
