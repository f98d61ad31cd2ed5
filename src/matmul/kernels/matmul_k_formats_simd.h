// Unpacks the formats q2_k to q6_k, as matmul_formats_simd.h says.
#pragma once

#include "matmul/kernels/matmul_formats_simd.h"

namespace ropewalk {

// Base of the formats with a sub-scale for each 16 columns: the bytes of four words.
template <int Offset, int Largest, bool Minimums>
struct BlockOf16 {
  static constexpr int kElements = 256, kParts = 4, kRuns = 2, kOffset = Offset, kLargest = Largest;
  static constexpr bool kSubScales = true, kMinimums = Minimums, kScalesOf16 = false;

  BlockOf16(const std::uint8_t* block, int half, const Scales& scales) : fields(block, half, scales) {}
  void set_sub_scales(int word, v128_t bytes) {
    for (int i = 0; i < 4; ++i) sub_scales[4 * word + i] = byte_of_lanes(bytes, i);
  }
  v128_t scale(int) const { return block_scale; }
  v128_t sub_scale(int s) const { return sub_scales[s]; }

  PanelFields fields;
  v128_t block_scale;
  v128_t sub_scales[16];
};

struct BlockQ2K : BlockOf16<0, 3, true> {
  static constexpr WeightFormat kFormat = WeightFormat::q2_k;
  BlockQ2K(const std::uint8_t* block, int half, const Scales& scales) : BlockOf16(block, half, scales) {
    block_scale = fields.half_floats(0, 20);
    for (int i = 0; i < 4; ++i) {
      set_sub_scales(i, bits_from<0>(fields.word(0, i), kLanes.bits_0_3));
      const v128_t bytes = bits_from<4>(fields.word(0, i), kLanes.bits_0_3);
      for (int j = 0; j < 2; ++j) pairs[2 * i + j] = pairs_of(byte_of_lanes(bytes, 2 * j), byte_of_lanes(bytes, 2 * j + 1));
    }
  }
  static constexpr int kPlaneUnits = 4;
  template <int Plane>
  ROPEWALK_INLINE static v128_t plane_of(const std::uint8_t* word, int) {
    return bits_from<2 * Plane>(wasm_v128_load(word), kLanes.bits_0_1);
  }
  ROPEWALK_INLINE const std::uint8_t* words(int outer, int run) const { return fields.word_at(0, 4 + 8 * outer + 4 * run); }
  template <int Part, int Unit>
  ROPEWALK_INLINE v128_t quants(int outer, int run) const {
    return plane_of<Part>(fields.word_at(0, 4 + 8 * outer + 4 * run + Unit), outer);
  }
  v128_t minimum_scale(int) const { return fields.half_floats(1, 20); }
  v128_t minimum_pairs(int group) const { return pairs[group]; }

  v128_t pairs[8];
};

struct BlockQ3K : BlockOf16<4, 7, false> {
  static constexpr WeightFormat kFormat = WeightFormat::q3_k;
  BlockQ3K(const std::uint8_t* block, int half, const Scales& scales) : BlockOf16(block, half, scales) {
    block_scale = fields.half_floats(0, 27);
    const v128_t first = fields.word(0, 24), second = fields.word(0, 25), upper = fields.word(0, 26);
    const auto joined = [](v128_t low, v128_t high) { return wasm_i8x16_sub(wasm_v128_or(low, high), wasm_i8x16_splat(32)); };
    set_sub_scales(0, joined(bits_from<0>(first, kLanes.bits_0_3), bits_from<-4>(upper, kLanes.bits_4_5)));
    set_sub_scales(1, joined(bits_from<0>(second, kLanes.bits_0_3), bits_from<-2>(upper, kLanes.bits_4_5)));
    set_sub_scales(2, joined(bits_from<4>(first, kLanes.bits_0_3), bits_from<0>(upper, kLanes.bits_4_5)));
    set_sub_scales(3, joined(bits_from<4>(second, kLanes.bits_0_3), bits_from<2>(upper, kLanes.bits_4_5)));
  }
  template <int Part, int Unit>
  ROPEWALK_INLINE v128_t quants(int outer, int run) const {
    const v128_t third_bits = wasm_u16x8_shr(fields.word(0, 4 * outer + Part), 4 * run);
    return wasm_v128_or(bits_from<2 * Part>(fields.word(0, 8 + 8 * outer + 4 * run + Unit), kLanes.bits_0_1),
                        bits_from<Unit - 2>(third_bits, kLanes.bit_2));
  }
};

struct BlockQ6K : BlockOf16<32, 63, false> {
  static constexpr WeightFormat kFormat = WeightFormat::q6_k;
  BlockQ6K(const std::uint8_t* block, int half, const Scales& scales) : BlockOf16(block, half, scales) {
    block_scale = fields.half_floats(0, 52);
    for (int i = 0; i < 4; ++i) set_sub_scales(i, fields.word(0, 48 + i));
  }
  static constexpr int kPlaneUnits = 4;
  // Three words have the lower six bits of three parts, and the fourth in those above.
  template <int Plane>
  ROPEWALK_INLINE static v128_t plane_of(const std::uint8_t* word, int outer) {
    const auto load = [&](int i) ROPEWALK_INLINE { return wasm_v128_load(word + (i < 2 ? 8 * i : 32 - 8 * outer) * 4 * kPanelRows); };
    const v128_t lower = lanes(kLanes.bits_0_5);
    if constexpr (Plane < 3) return wasm_v128_and(load(Plane), lower);
    const auto upper = [&](int i) ROPEWALK_INLINE { return wasm_v128_andnot(load(i), lower); };
    return wasm_v128_or(wasm_v128_or(wasm_u16x8_shr(upper(0), 6), wasm_u16x8_shr(upper(1), 4)), wasm_u16x8_shr(upper(2), 2));
  }
  ROPEWALK_INLINE const std::uint8_t* words(int outer, int run) const { return fields.word_at(0, 16 * outer + 4 * run); }
  template <int Part, int Unit>
  ROPEWALK_INLINE v128_t quants(int outer, int run) const {
    return plane_of<Part>(fields.word_at(0, 16 * outer + 4 * run + Unit), outer);
  }
};

// Base of q4_k and q5_k, which have scales of six bits for each 32 columns. The upper two bits of the last four are stored in the bytes of
// the first four. Their products with the scale of the block are exact.
template <int Largest>
struct BlockOf32 {
  static constexpr int kElements = 256, kParts = 2, kRuns = 1, kOffset = 0, kLargest = Largest;
  static constexpr bool kSubScales = false, kMinimums = true, kScalesOf16 = false;

  BlockOf32(const std::uint8_t* block, int half, const Scales& stored) : fields(block, half, stored) {
    const v128_t first = fields.word(2, 0), second = fields.word(2, 1), last = fields.word(2, 2);
    const auto multiply = [](v128_t scale, v128_t bytes, v128_t* products) {
      computed_here(bytes);  // else it becomes a conversion of unsigned integers, which x86-64 lacks
      for (int i = 0; i < 4; ++i) products[i] = wasm_f32x4_mul(scale, wasm_f32x4_convert_i32x4(byte_of_lanes(bytes, i)));
    };
    const v128_t block_scale = fields.half_floats(0, 0), block_minimum_scale = fields.half_floats(1, 0);
    multiply(block_scale, bits_from<0>(first, kLanes.bits_0_5), scales);
    multiply(block_scale, wasm_v128_or(bits_from<0>(last, kLanes.bits_0_3), bits_from<2>(first, kLanes.bits_4_5)), scales + 4);
    multiply(block_minimum_scale, bits_from<0>(second, kLanes.bits_0_5), minimum_scales);
    multiply(block_minimum_scale, wasm_v128_or(bits_from<4>(last, kLanes.bits_0_3), bits_from<2>(second, kLanes.bits_4_5)),
             minimum_scales + 4);
  }
  v128_t scale(int group) const { return scales[group]; }
  v128_t minimum_scale(int group) const { return minimum_scales[group]; }
  v128_t minimum_pairs(int) const { return lanes(kLanes.ones); }

  PanelFields fields;
  v128_t scales[8], minimum_scales[8];
};

struct BlockQ4K : BlockOf32<15> {
  static constexpr WeightFormat kFormat = WeightFormat::q4_k;
  using BlockOf32::BlockOf32;
  static constexpr int kPlaneUnits = 8;
  template <int Plane>
  ROPEWALK_INLINE static v128_t plane_of(const std::uint8_t* word, int) {
    return bits_from<4 * Plane>(wasm_v128_load(word), kLanes.bits_0_3);
  }
  ROPEWALK_INLINE const std::uint8_t* words(int outer, int) const { return fields.word_at(2, 3 + 8 * outer); }
  template <int Part, int Unit>
  ROPEWALK_INLINE v128_t quants(int outer, int) const {
    return plane_of<Part>(fields.word_at(2, 3 + 8 * outer + Unit), outer);
  }
};

struct BlockQ5K : BlockOf32<31> {
  static constexpr WeightFormat kFormat = WeightFormat::q5_k;
  static constexpr int kParts = 1;
  static constexpr auto& kUnitOrder = kOrderOfFives;
  using BlockOf32::BlockOf32;
  template <int, int Unit>
  ROPEWALK_INLINE v128_t quants(int outer, int) const {
    return joined_five<Unit>(fields, 2, 3 + 5 * outer);
  }
};

}  // namespace ropewalk
