// Integer dot products for quantized weights: 16-bit words, or relaxed products of bytes. Both are exact, so they give the same numbers.
//
// For one token, load() reads four columns of the token, add() multiplies them with the same columns of four rows (one byte each) and adds
// to a Sum, and total() returns the result of a Sum. For many tokens, unpack_group() writes four rows of 32 columns in the order of
// add_step(), as kSteps vectors 32 bytes apart, and returns the scales that are still to be applied. first_sum() returns the initial sum,
// from minus the offset of the quants and the sums of the token's columns.
#pragma once

#include "matmul/matmul_formats_simd.h"
#include "matmul/quantized_row.h"

namespace ropewalk {

// Packs two i32 lanes into the low and high half of one lane.
inline v128_t pairs_of(v128_t low, v128_t high) {
  return wasm_v128_or(wasm_v128_and(low, wasm_i32x4_splat(0xFFFF)), wasm_i32x4_shl(high, 16));
}

// Products of 16-bit words. A vector of bytes is split into columns 0 and 2 and columns 1 and 3, the order of QuantizedRow::words.
struct WordDot {
  using Tile = WordDot;
  template <class Block>
  static constexpr int kOffset = 0;
  using Element = std::int16_t;
  static constexpr int kSteps = 16, kElementsPerStep = 2;

  static const std::int16_t* elements(const QuantizedRow& x) { return x.words; }

  template <bool Signed>
  static v128_t even(v128_t bytes) {
    return Signed ? wasm_i16x8_shr(wasm_i16x8_shl(bytes, 8), 8) : wasm_v128_and(bytes, wasm_i16x8_splat(0xFF));
  }
  template <bool Signed>
  static v128_t odd(v128_t bytes) {
    return Signed ? wasm_i16x8_shr(bytes, 8) : wasm_u16x8_shr(bytes, 8);
  }

  static v128_t first_sum(v128_t, const std::int16_t*) { return wasm_i32x4_splat(0); }
  static v128_t add_step(v128_t sum, v128_t weights, v128_t x) { return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(weights, x)); }

  struct Sum {
    v128_t even, odd;  // for signed quants, `even` is 256 times too large until total()
  };
  struct Token {
    v128_t even, odd;
  };
  static Sum zero() { return {wasm_i32x4_splat(0), wasm_i32x4_splat(0)}; }
  static Token load(const QuantizedRow& x, int column) {
    return {wasm_v128_load32_splat(x.words + column), wasm_v128_load32_splat(x.words + column + 2)};
  }
  template <bool Signed>
  static void add(Sum& sum, v128_t quants, const Token& x) {
    sum.even = add_step(sum.even, Signed ? wasm_i16x8_shl(quants, 8) : even<false>(quants), x.even);
    sum.odd = add_step(sum.odd, odd<Signed>(quants), x.odd);
  }
  template <bool Signed>
  static v128_t total(const Sum& sum) {
    return wasm_i32x4_add(Signed ? wasm_i32x4_shr(sum.even, 8) : sum.even, sum.odd);
  }

  // Offsets and sub-scales are applied to the words, which are large enough: the largest product is 32 · 128.
  template <int Part, class Block>
  static v128_t unpack_group(const Block& block, int outer, std::uint8_t* weights) {
    const v128_t offset = wasm_i16x8_splat(Block::kOffset);
    for (int unit = 0; unit < kSteps / 2; ++unit, weights += 64) {
      const v128_t quants = block.template quants<Part>(outer, unit);
      v128_t words[2] = {even<Block::kSigned>(quants), odd<Block::kSigned>(quants)};
      for (int i = 0; i < 2; ++i) {
        if constexpr (Block::kOffset != 0) words[i] = wasm_i16x8_sub(words[i], offset);
        if constexpr (Block::kSubScales != 0) {
          const v128_t lanes = block.sub_scale(2 * (outer * Block::kParts + Part) + unit / 4);
          words[i] = wasm_i16x8_mul(words[i], pairs_of(lanes, lanes));
        }
        wasm_v128_store(weights + 32 * i, words[i]);
      }
    }
    return block.scale;
  }
};

#ifdef __wasm_relaxed_simd__
// Relaxed products of bytes, for quants below 128. If the second operand has its sign bit set, engines may return different results.
struct RelaxedByteDot {
  using Tile = RelaxedByteDot;
  template <class Block>
  static constexpr int kOffset = Block::kOffset;
  using Element = std::int8_t;
  static constexpr int kSteps = 8, kElementsPerStep = 4;

  static const std::int8_t* elements(const QuantizedRow& x) { return x.bytes; }

  static v128_t first_sum(v128_t offset, const std::int16_t* x_sums) {
    return wasm_i32x4_dot_i16x8(offset, wasm_v128_load32_splat(x_sums));
  }
  static v128_t add_step(v128_t sum, v128_t weights, v128_t x) { return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(x, weights, sum); }

  using Sum = v128_t;
  using Token = v128_t;
  static Sum zero() { return wasm_i32x4_splat(0); }
  static Token load(const QuantizedRow& x, int column) { return wasm_v128_load32_splat(x.bytes + column); }
  template <bool Signed>
  static void add(Sum& sum, v128_t quants, Token x) {
    static_assert(!Signed);
    sum = add_step(sum, quants, x);
  }
  template <bool Signed>
  static v128_t total(Sum sum) {
    return sum;
  }

  template <int Part, class Block>
  static v128_t unpack_group(const Block& block, int outer, std::uint8_t* weights) {
    static_assert(!Block::kSigned && Block::kSubScales < 2);
    for (int unit = 0; unit < kSteps; ++unit) wasm_v128_store(weights + 32 * unit, block.template quants<Part>(outer, unit));
    if constexpr (Block::kSubScales == 0) return block.scale;
    const v128_t sub_scale = block.sub_scale(2 * (outer * Block::kParts + Part));
    return wasm_f32x4_mul(block.scale, wasm_f32x4_convert_i32x4(sub_scale));
  }
};

// Signed quants times one token: the quant is the first operand, which may have its sign bit set, and the token is split into
// x = (x & 127) - 128 · (x < 0).
struct RelaxedSplitDot {
  struct Sum {
    v128_t low, sign;
  };
  struct Token {
    v128_t low, sign;
  };
  static Sum zero() { return {wasm_i32x4_splat(0), wasm_i32x4_splat(0)}; }
  static Token load(const QuantizedRow& x, int column) {
    const v128_t bytes = wasm_v128_load32_splat(x.bytes + column);
    return {low_bits(bytes, 127), bits_from<7>(bytes, 1)};
  }
  template <bool>
  static void add(Sum& sum, v128_t quants, const Token& x) {
    sum.low = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(quants, x.low, sum.low);
    sum.sign = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(quants, x.sign, sum.sign);
  }
  template <bool>
  static v128_t total(const Sum& sum) {
    return wasm_i32x4_sub(sum.low, wasm_i32x4_shl(sum.sign, 7));
  }
};

// Signed quants times many tokens, in engines whose behavior RelaxedSign has detected. Offset is 128 if the engine reads the operand as
// unsigned, and 0 if as signed.
template <int Offset>
struct RelaxedSignedDot {
  using Tile = RelaxedByteDot;
  template <class Block>
  static constexpr int kOffset = Offset;
  static constexpr int kSteps = RelaxedByteDot::kSteps;

  template <int Part, class Block>
  static v128_t unpack_group(const Block& block, int outer, std::uint8_t* weights) {
    const v128_t flip = wasm_i8x16_splat(static_cast<std::int8_t>(Offset));
    for (int unit = 0; unit < kSteps; ++unit) {
      wasm_v128_store(weights + 32 * unit, wasm_v128_xor(block.template quants<Part>(outer, unit), flip));
    }
    return block.scale;
  }
};

// How this engine reads the second operand of the relaxed dot product if its sign bit is set. WebAssembly leaves that to the engine, but
// requires the same behavior every time.
enum class RelaxedSign { is_signed, is_unsigned, neither };

inline RelaxedSign relaxed_sign() {
  const v128_t first = wasm_i8x16_const(127, 127, 127, 127, -127, -127, -127, -127, 127, -127, 127, -127, 1, 2, 3, 4);
  const v128_t second = wasm_i8x16_const(-1, -1, -1, -1, -1, -1, -1, -1, -128, -1, 127, -2, -128, -127, -1, 1);
  const v128_t dot = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(first, second, wasm_i32x4_splat(0));
  const auto is = [&](v128_t expected) { return wasm_i32x4_all_true(wasm_i32x4_eq(dot, expected)); };
  // these also detect engines that add pairs of products in 16 bits, where four times 127 · 255 doesn't fit
  if (is(wasm_i32x4_const(4 * 127 * -1, 4 * -127 * -1, 127 * (-128 + 1 + 127 + 2), -128 - 2 * 127 - 3 + 4))) return RelaxedSign::is_signed;
  if (is(wasm_i32x4_const(4 * 127 * 255, 4 * -127 * 255, 127 * (128 - 255 + 127 - 254), 128 + 2 * 129 + 3 * 255 + 4))) {
    return RelaxedSign::is_unsigned;
  }
  return RelaxedSign::neither;
}
#endif

}  // namespace ropewalk
