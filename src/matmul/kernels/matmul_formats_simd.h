// Unpacks quantized formats in simd128: four rows of a panel at a time, one row per 32-bit lane.
//
// Each format is a struct over four rows of one block. Groups of 32 columns whose quants come from the same words are parts of one another:
// group = outer · kParts + Part. A group has kRuns runs that are unpacked one after another, of 32 / kRuns columns. The members are
// - quants<Part, Unit>(outer, run): columns 4 · Unit to 4 · Unit + 3 of a run, one byte each,
// - words(outer, run), in formats whose units are unpacked in the same way: the address of a run's words,
// - plane_of<Plane>(word, outer), in these: unit i of a plane from the address of word i. A plane has kPlaneUnits units, and the planes of
//   a part follow one another,
// - kUnitOrder, in some: units that share words follow one another,
// - scale(group), minimum_scale(group): f32 lanes,
// - sub_scale(s), if kSubScales: i32 lanes, for columns 16 · s to 16 · s + 15 of the block,
// - second_scale(group), if kScalesOf16: f32 lanes, for columns 16 to 31 of the group, while scale(group) is for columns 0 to 15,
// - minimum_pairs(group): two 16-bit integers per row, for columns 0 to 15 and 16 to 31.
// An element is its quant minus kOffset. Quants are unsigned, up to kLargest, which is below 128 unless kOffset is 128. With kSignedOdds,
// those of columns 1 and 3 of each four are signed and have no offset.
#pragma once

#include <wasm_simd128.h>

#include <cstdint>

#include "base/computed_here.h"
#include "base/storage_wasmsimd.h"
#include "base/touch.h"
#include "matmul/kernels/lane_constants.h"
#include "matmul/kernels/matmul_kernels.h"
#include "matmul/kernels/matmul_unrolled.h"
#include "matmul/packed_rows.h"
#include "matmul/weight_format.h"

namespace ropewalk {

// Whether the scales of a block may be infinite or NaN, as scales that are finite are faster to read, and what corrects their exponents.
struct Scales {
  ROPEWALK_INLINE static Scales any(const PanelPart& panel) { return {false, f16_bias(panel.unit)}; }
  // The same, but reads them faster if they are known to be finite. Units other than 1 are only for those (panel_exponent.h).
  ROPEWALK_INLINE static Scales known(const PanelPart& panel) { return {panel.unit != 1, f16_bias(panel.unit)}; }
  ROPEWALK_INLINE static Scales finite(const PanelPart& panel) { return {true, f16_bias(panel.unit)}; }

  bool are_finite;
  v128_t bias;
};

// Fields of a block of a panel, for rows 0 to 3 (half 0) or 4 to 7 (half 1).
class PanelFields {
 public:
  PanelFields(const std::uint8_t* block, int half, const Scales& scales) : block_(block), half_(half), scales_(scales) {}

  // The 16-bit field after `halves` 16-bit fields and `words` 32-bit words, as f32.
  ROPEWALK_INLINE v128_t half_floats(int halves, int words) const {
    const v128_t bits = wasm_i32x4_load16x4(block_ + (halves * 2 + words * 4) * kPanelRows + half_ * 8);
    if (!scales_.are_finite) return half_bits_to_float(bits, scales_.bias);
    return wasm_f32x4_mul(wasm_v128_and(wasm_i32x4_shl(bits, 13), lanes(kLanes.f16_bits)), scales_.bias);
  }
  // The 32-bit word at the same kind of offset, and its address.
  ROPEWALK_INLINE v128_t word(int halves, int words) const { return wasm_v128_load(word_at(halves, words)); }
  ROPEWALK_INLINE const std::uint8_t* word_at(int halves, int words) const {
    return block_ + (halves * 2 + words * 4) * kPanelRows + half_ * 16;
  }

 private:
  const std::uint8_t* block_;
  int half_;
  Scales scales_;
};

// Reads ahead (touch.h) in formats whose fields are read in an order that processors don't foresee: one of `Pieces` pieces of the block
// that follows the one at `block`. All pieces at once would hold up the work on this block until they have come from memory.
template <class Block, int Pieces>
ROPEWALK_INLINE inline void read_ahead(const PanelPart& panel, const std::uint8_t* block, int piece) {
  constexpr int kBytes = block_bytes(Block::kFormat) * kPanelRows, kPieceBytes = kBytes / Pieces;
  if constexpr (Block::kParts == 4) {
    const std::uint8_t* const from = block + kBytes + piece * kPieceBytes;
    if (panel.end - from >= kPieceBytes) touch_lines(reinterpret_cast<const char*>(from), kPieceBytes);
  }
}

// How many columns of each panel are multiplied in turn (PanelParts): those of a block. Formats that are read ahead don't take turns.
template <class Block>
constexpr int columns_in_turn(const PanelPart& panel) {
  return Block::kParts == 4 ? panel.columns : Block::kElements;
}

// Shifts bytes right by a constant, or left by a negative one, and masks them. There is no byte shift: the mask removes bits that come from
// the neighboring byte.
template <int Shift>
ROPEWALK_INLINE inline v128_t bits_from(v128_t bytes, const LaneConstants::Bytes& mask) {
  const v128_t shifted = Shift < 0 ? wasm_i16x8_shl(bytes, -Shift) : Shift > 0 ? wasm_u16x8_shr(bytes, Shift) : bytes;
  return wasm_v128_and(shifted, lanes(mask));
}

// Byte `index` of each lane, sign-extended.
inline v128_t byte_of_lanes(v128_t words, int index) {
  return wasm_i32x4_shr(index == 3 ? words : wasm_i32x4_shl(words, 24 - 8 * index), 24);
}

// Packs two i32 lanes into the low and high half of one lane.
inline v128_t pairs_of(v128_t low, v128_t high) {
  return wasm_v128_or(wasm_v128_and(low, wasm_i32x4_splat(0xFFFF)), wasm_i32x4_shl(high, 16));
}

// The unit of a step of a run. Quants from the same words follow one another: parts, or in blocks of 32 units i and i + 4.
template <class Block>
constexpr int unit_at(int step) {
  if constexpr (requires { Block::kUnitOrder; }) return Block::kUnitOrder[step];
  return Block::kElements == 32 ? step / 2 + step % 2 * 4 : step;
}

template <class Block>
constexpr bool kHasPlanes = requires {
  Block::kPlaneUnits;
};

// Number of planes of a run, those of all parts.
template <class Block>
constexpr int kPlanes = Block::kParts* kActivationGroup / 4 / Block::kRuns / Block::kPlaneUnits;

// Table entries by index, 0 to 15.
inline v128_t looked_up(const LaneConstants::Bytes& table, v128_t indices) {
#ifdef __wasm_relaxed_simd__
  return wasm_i8x16_relaxed_swizzle(lanes(table), indices);
#else
  return wasm_i8x16_swizzle(lanes(table), indices);
#endif
}

// Base of the formats with one scale.
template <int Offset, int Largest, bool Minimums = false, int Elements = 32>
struct SimpleBlock {
  static constexpr int kElements = Elements, kParts = 1, kRuns = 1, kOffset = Offset, kLargest = Largest;
  static constexpr bool kSubScales = false, kMinimums = Minimums, kScalesOf16 = false;

  SimpleBlock(const std::uint8_t* block, int half, const Scales& scales) : fields(block, half, scales) {}
  v128_t scale(int) const { return fields.half_floats(0, 0); }
  v128_t minimum_scale(int) const { return wasm_f32x4_neg(fields.half_floats(1, 0)); }
  v128_t minimum_pairs(int) const { return lanes(kLanes.ones); }

  PanelFields fields;
};

template <bool SignedOdds>
struct BlockOfBytes : SimpleBlock<128, 255> {
  static constexpr WeightFormat kFormat = WeightFormat::q8_0;
  using SimpleBlock::SimpleBlock;
  static constexpr bool kSignedOdds = SignedOdds;
  static constexpr int kPlaneUnits = 8;
  static constexpr int kQuantsAt = 2;  // bytes of a row before its quants, which are stored as tiles read them
  template <int>
  ROPEWALK_INLINE static v128_t plane_of(const std::uint8_t* word, int) {
    return wasm_v128_load(word);
  }
  ROPEWALK_INLINE const std::uint8_t* words(int, int) const { return fields.word_at(1, 0); }
  template <int, int Unit>
  ROPEWALK_INLINE v128_t quants(int, int) const {
    return fields.word(1, Unit);
  }
};

// In the relaxed build, whether odds are signed depends on the engine.
#ifdef __wasm_relaxed_simd__
using BlockQ8_0 = BlockOfBytes<false>;
using BlockQ8_0OfWords = BlockOfBytes<true>;
#else
using BlockQ8_0 = BlockOfBytes<true>;
#endif

template <WeightFormat Format, int Offset, bool Minimums>
struct BlockOfNibbles : SimpleBlock<Offset, 15, Minimums> {
  static constexpr WeightFormat kFormat = Format;
  static constexpr int kPlaneUnits = 4;
  static constexpr int kHalves = Minimums ? 2 : 1;
  using SimpleBlock<Offset, 15, Minimums>::SimpleBlock;
  template <int Plane>
  ROPEWALK_INLINE static v128_t plane_of(const std::uint8_t* word, int) {
    return bits_from<4 * Plane>(wasm_v128_load(word), kLanes.bits_0_3);
  }
  ROPEWALK_INLINE const std::uint8_t* words(int, int) const { return this->fields.word_at(kHalves, 0); }
  template <int, int Unit>
  ROPEWALK_INLINE v128_t quants(int outer, int) const {
    return plane_of<Unit / 4>(this->fields.word_at(kHalves, Unit % 4), outer);
  }
};
using BlockQ4_0 = BlockOfNibbles<WeightFormat::q4_0, 8, false>;
using BlockQ4_1 = BlockOfNibbles<WeightFormat::q4_1, 0, true>;

// Unit `Unit` of eight joined quants of five bits (joined_quants.h), which are in five words.
template <int Unit>
ROPEWALK_INLINE inline v128_t joined_five(const PanelFields& fields, int halves, int words) {
  const auto word = [&](int i) { return fields.word(halves, words + i); };
  const v128_t lower = lanes(kLanes.bits_0_4);
  if constexpr (Unit < 5) return wasm_v128_and(word(Unit), lower);
  const v128_t three = wasm_u16x8_shr(wasm_v128_andnot(word(Unit - 5), lower), 5);
  if constexpr (Unit < 7) return wasm_v128_or(three, wasm_u16x8_shr(wasm_v128_and(word(Unit - 2), lanes(kLanes.bits_6_7)), 3));
  const auto bit_5 = [&](int i) { return wasm_v128_and(word(i), lanes(kLanes.bit_5)); };
  return wasm_v128_or(three, wasm_v128_or(wasm_u16x8_shr(bit_5(3), 2), wasm_u16x8_shr(bit_5(4), 1)));
}
// Quants that share words follow one another.
constexpr int kOrderOfFives[] = {0, 5, 3, 1, 6, 4, 2, 7};

template <WeightFormat Format, int Offset, bool Minimums>
struct BlockOfFiveBits : SimpleBlock<Offset, 31, Minimums> {
  static constexpr WeightFormat kFormat = Format;
  static constexpr auto& kUnitOrder = kOrderOfFives;
  using SimpleBlock<Offset, 31, Minimums>::SimpleBlock;
  template <int, int Unit>
  ROPEWALK_INLINE v128_t quants(int, int) const {
    return joined_five<Unit>(this->fields, Minimums ? 2 : 1, 0);
  }
};
using BlockQ5_0 = BlockOfFiveBits<WeightFormat::q5_0, 16, false>;
using BlockQ5_1 = BlockOfFiveBits<WeightFormat::q5_1, 0, true>;

struct BlockIq4Nl : SimpleBlock<128, 255> {
  static constexpr WeightFormat kFormat = WeightFormat::iq4_nl;
  using SimpleBlock::SimpleBlock;
  template <int, int Unit>
  ROPEWALK_INLINE v128_t quants(int, int) const {
    const v128_t indices = bits_from<Unit / 4 * 4>(fields.word(1, Unit % 4), kLanes.bits_0_3);
    return looked_up(kLanes.iq4_quants, indices);
  }
};

// Base of q1_0 and q2_0, whose scale is for several groups of columns.
template <int Largest, int Elements>
struct BlockOfFewBits : SimpleBlock<1, Largest, false, Elements> {
  BlockOfFewBits(const std::uint8_t* block, int half, const Scales& scales)
      : SimpleBlock<1, Largest, false, Elements>(block, half, scales), block_scale(this->fields.half_floats(0, 0)) {}
  v128_t scale(int) const { return block_scale; }

  v128_t block_scale;
};

// Looking up sums of four columns in tables (T-MAC, arXiv 2407.00088), 16 rows at a time, would be 1.4 times as fast for one token in the
// relaxed build and 2.2 times in the simd build, but only with 16 rows in a panel. Over two panels of eight it is less than half as fast
// when weights come from memory. With two bits there are twice as many lookups, which take as long as the products.
struct BlockQ1_0 : BlockOfFewBits<2, 128> {
  static constexpr WeightFormat kFormat = WeightFormat::q1_0;
  using BlockOfFewBits::BlockOfFewBits;
  template <int, int Unit>
  ROPEWALK_INLINE v128_t quants(int outer, int) const {
    return bits_from<Unit - 1>(fields.word(1, outer), kLanes.bit_1);
  }
};

struct BlockQ2_0 : BlockOfFewBits<3, 64> {
  static constexpr WeightFormat kFormat = WeightFormat::q2_0;
  using BlockOfFewBits::BlockOfFewBits;
  template <int, int Unit>
  ROPEWALK_INLINE v128_t quants(int outer, int) const {
    return bits_from<Unit % 4 * 2>(fields.word(1, 2 * outer + Unit / 4), kLanes.bits_0_1);
  }
};

struct BlockTQ2_0 {
  static constexpr WeightFormat kFormat = WeightFormat::tq2_0;
  static constexpr int kElements = 256, kParts = 4, kRuns = 1, kOffset = 1, kLargest = 3;
  static constexpr bool kSubScales = false, kMinimums = false, kScalesOf16 = false;

  BlockTQ2_0(const std::uint8_t* block, int half, const Scales& scales)
      : fields(block, half, scales), block_scale(fields.half_floats(0, 16)) {}
  static constexpr int kPlaneUnits = 8;
  template <int Plane>
  ROPEWALK_INLINE static v128_t plane_of(const std::uint8_t* word, int) {
    return bits_from<2 * Plane>(wasm_v128_load(word), kLanes.bits_0_1);
  }
  ROPEWALK_INLINE const std::uint8_t* words(int outer, int) const { return fields.word_at(0, 8 * outer); }
  template <int Part, int Unit>
  ROPEWALK_INLINE v128_t quants(int outer, int) const {
    return plane_of<Part>(fields.word_at(0, 8 * outer + Unit), outer);
  }
  v128_t scale(int) const { return block_scale; }

  PanelFields fields;
  v128_t block_scale;
};

struct BlockMxfp4 {
  static constexpr WeightFormat kFormat = WeightFormat::mxfp4;
  static constexpr int kElements = 32, kParts = 1, kRuns = 1, kOffset = 12, kLargest = 24;
  static constexpr bool kSubScales = false, kMinimums = false, kScalesOf16 = false;

  BlockMxfp4(const std::uint8_t* block, int half, const Scales& scales) : fields(block + kPanelRows, half, scales) {
    // 2^(e - 128): an exponent of e - 1, but subnormal below 2, where these bits are the larger ones
    const v128_t bytes = wasm_u16x8_load8x8(block);
    const v128_t exponents = half == 0 ? wasm_u32x4_extend_low_u16x8(bytes) : wasm_u32x4_extend_high_u16x8(bytes);
    const v128_t normal = wasm_i32x4_sub(wasm_i32x4_shl(exponents, 23), lanes(kLanes.f32_exponent_1));
    const v128_t subnormal = wasm_i32x4_add(wasm_i32x4_shl(exponents, 21), lanes(kLanes.f32_quarter_exponent_1));
    block_scale = wasm_i32x4_max(normal, subnormal);
  }
  template <int, int Unit>
  ROPEWALK_INLINE v128_t quants(int, int) const {
    return looked_up(kLanes.fp4_quants, bits_from<Unit / 4 * 4>(fields.word(0, Unit % 4), kLanes.bits_0_3));
  }
  v128_t scale(int) const { return block_scale; }

  PanelFields fields;
  v128_t block_scale;
};

struct BlockNvfp4 {
  static constexpr WeightFormat kFormat = WeightFormat::nvfp4;
  static constexpr int kElements = 64, kParts = 1, kRuns = 2, kOffset = 12, kLargest = 24;
  static constexpr bool kSubScales = false, kMinimums = false, kScalesOf16 = true;

  BlockNvfp4(const std::uint8_t* block, int half, const Scales& scales) : fields(block, half, scales) {
    const v128_t stored = fields.word(0, 0), nan = lanes(kLanes.fp8_nan);
    const v128_t bytes = wasm_v128_andnot(stored, wasm_i8x16_eq(stored, nan));
    // The mantissa and the exponent are placed as those of an f32, and 2^119 corrects the exponent's bias. This also normalizes.
    const v128_t placed[4] = {wasm_i32x4_shl(bytes, 20), wasm_i32x4_shl(bytes, 12), wasm_i32x4_shl(bytes, 4), wasm_u32x4_shr(bytes, 4)};
    for (int i = 0; i < 4; ++i) scales_of_16[i] = wasm_f32x4_mul(wasm_v128_and(placed[i], lanes(kLanes.fp8_bits)), lanes(kLanes.fp8_bias));
  }
  template <int, int Unit>
  ROPEWALK_INLINE v128_t quants(int outer, int run) const {
    const v128_t indices = bits_from<Unit / 2 * 4>(fields.word(0, 1 + 4 * outer + 2 * run + Unit % 2), kLanes.bits_0_3);
    return looked_up(kLanes.fp4_quants, indices);
  }
  v128_t scale(int group) const { return scales_of_16[2 * group]; }
  v128_t second_scale(int group) const { return scales_of_16[2 * group + 1]; }

  PanelFields fields;
  v128_t scales_of_16[4];
};

struct BlockIq4Xs {
  static constexpr WeightFormat kFormat = WeightFormat::iq4_xs;
  static constexpr int kElements = 256, kParts = 1, kRuns = 1, kOffset = 128, kLargest = 255;
  static constexpr bool kSubScales = false, kMinimums = false, kScalesOf16 = false;

  BlockIq4Xs(const std::uint8_t* block, int half, const Scales& stored) : fields(block, half, stored) {
    const v128_t block_scale = fields.half_floats(0, 0), lower = fields.word(2, 0);
    const v128_t upper = wasm_i32x4_shl(wasm_u32x4_load16x4(block + 2 * kPanelRows + 8 * half), 4);
    for (int i = 0; i < 8; ++i) {
      const v128_t low = wasm_v128_and(wasm_u32x4_shr(lower, 4 * i), wasm_i32x4_splat(0x0F));
      const v128_t high = wasm_v128_and(wasm_u32x4_shr(upper, 2 * i), wasm_i32x4_splat(0x30));
      const v128_t sub_scale = wasm_i32x4_sub(wasm_v128_or(low, high), wasm_i32x4_splat(32));
      scales[i] = wasm_f32x4_mul(block_scale, wasm_f32x4_convert_i32x4(sub_scale));
    }
  }
  template <int, int Unit>
  ROPEWALK_INLINE v128_t quants(int outer, int) const {
    const v128_t indices = bits_from<Unit / 4 * 4>(fields.word(2, 1 + 4 * outer + Unit % 4), kLanes.bits_0_3);
    return looked_up(kLanes.iq4_quants, indices);
  }
  v128_t scale(int group) const { return scales[group]; }

  PanelFields fields;
  v128_t scales[8];
};

}  // namespace ropewalk
