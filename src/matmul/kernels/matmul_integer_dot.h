// Integer dot products for quantized weights: 16-bit words, or relaxed products of bytes. Both are exact, so they give the same numbers.
//
// For one token, load() reads four columns of the token, and add() adds their products with the same columns of four rows (one byte each)
// to a Sum. Step counts the four columns of a run. Tokens that lie alone have a dot product of their own (Alone).
//
// For two or four tokens, weights_of_step() reorders those bytes for add_step(), in kUnitSteps vectors. A loop adds up to kTogether units
// to Latest.
//
// For many tokens, unpack_group() writes four rows of 32 columns in the order of add_step(), as kSteps vectors 32 bytes apart, unless they
// lie in the panel like that (kReadsPanel). The first step adds to start(): minus the offset of the quants times the sums of the token's
// columns.
#pragma once

#include <bit>

#ifdef __wasm_relaxed_simd__
#include "base/relaxed_simd.h"
#endif
#include "matmul/kernels/load_at.h"
#include "matmul/kernels/matmul_formats_simd.h"
#include "matmul/kernels/matmul_unrolled.h"
#include "matmul/quantized_row.h"

namespace ropewalk {

constexpr int kUnits = kActivationGroup / 4;  // units of four columns per group

template <int Lane>
ROPEWALK_INLINE inline v128_t splat_lane(v128_t lanes) {
  return wasm_i32x4_shuffle(lanes, lanes, Lane, Lane, Lane, Lane);
}

// The sum of a run of columns, in i32 lanes. Compilers see that latest() changes with each step.
struct IntegerSum {
  v128_t total;
  v128_t& latest() { return total; }
};

// Latest sums that are the totals: those of some tokens and the rows of both halves of a panel.
template <int Tokens>
struct TotalSums {
  ROPEWALK_INLINE explicit TotalSums(v128_t (&totals)[Tokens][2]) : sums(totals) {}
  v128_t (&sums)[Tokens][2];
};

// Whether the quants of columns 1 and 3 of each four are signed, and have no offset.
template <class Block>
constexpr bool kHasSignedOdds = false;
template <class Block>
requires requires { Block::kSignedOdds; }
constexpr bool kHasSignedOdds<Block> = Block::kSignedOdds;

struct JoinedDot;

// Products of 16-bit words. A vector of bytes is split into columns 0 and 2 and columns 1 and 3, the order of QuantizedRow::words.
struct WordDot {
  static constexpr const char* kName = "words";
  using Tile = WordDot;
  using Alone = JoinedDot;
  template <class Block>
  static constexpr int kOffset = Block::kOffset;
  template <class Block>
  static constexpr int kTileOffset = Block::kScalesOf16 ? Block::kOffset : 0;
  template <class Block>
  static constexpr bool kOffsetsEven = kHasSignedOdds<Block>;  // only columns 0 and 2 of each four have the offset
  static constexpr bool kSubtractsOffsets = true;              // while unpacking for tiles, unless there are two scales in a group
  static constexpr bool kStoresSubScales = false;
  template <class Block>
  static constexpr bool kReadsPanel = false;
  using Element = std::int16_t;
  static constexpr int kSteps = 16, kUnitSteps = 2, kElementsPerStep = 2;

  static const std::int16_t* elements(const QuantizedRow& x) { return x.words; }

  ROPEWALK_INLINE static v128_t even(v128_t bytes) { return wasm_v128_and(bytes, lanes(kLanes.low_bytes)); }
  template <class Block>
  ROPEWALK_INLINE static v128_t odd(v128_t bytes) {
    return kHasSignedOdds<Block> ? wasm_i16x8_shr(bytes, 8) : wasm_u16x8_shr(bytes, 8);
  }

  ROPEWALK_INLINE static v128_t start(v128_t offset, const std::int16_t* x_sums) {
    return wasm_i32x4_dot_i16x8(offset, wasm_v128_load32_splat(x_sums));
  }
  ROPEWALK_INLINE static v128_t add_step(v128_t sum, v128_t weights, v128_t x) {
    return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(weights, x));
  }

  template <int Step, class Block>
  ROPEWALK_INLINE static v128_t weights_of_step(v128_t quants) {
    return Step == 0 ? even(quants) : odd<Block>(quants);
  }
  template <int Tokens>
  using Latest = TotalSums<Tokens>;
  template <class Block>
  static constexpr int kTogether = kUnits;

  // Offsets, and sub-scales that multiply them, are applied to the words, which are large enough: the largest product is 32 · 128.
  template <int Part, class Block>
  static void unpack_group(const Block& block, int outer, std::uint8_t* weights) {
    for (int run = 0; run < Block::kRuns; ++run) {
      unrolled<kUnits / Block::kRuns>([&]<int Unit>() ROPEWALK_INLINE {
        const v128_t quants = block.template quants<Part, Unit>(outer, run);
        v128_t words[kUnitSteps] = {even(quants), odd<Block>(quants)};
        for (int i = 0; i < kUnitSteps; ++i, weights += 32) {
          if (kOffset<Block> != kTileOffset<Block> && !(kOffsetsEven<Block> && i == 1))
            words[i] = wasm_i16x8_sub(words[i], wasm_i16x8_splat(Block::kOffset));
          if constexpr (Block::kSubScales) {
            const v128_t sub_scale = block.sub_scale(2 * (outer * Block::kParts + Part) + run);
            words[i] = wasm_i16x8_mul(words[i], pairs_of(sub_scale, sub_scale));
          }
          wasm_v128_store(weights, words[i]);
        }
      });
    }
  }
};

// The same for tokens that lie alone, whose words are joined. Bytes a and b, the second signed, are the word a + 256 b. So
// a x + b y = (a + 256 b) x + b (y - 256 x): only the second byte has to be taken out of the word.
struct JoinedDot : WordDot {
  static constexpr bool kAddsInWords = true;
  template <class Block>
  static constexpr bool kOffsetsEven = Block::kOffset == 128;

  // The words of bytes.
  template <class Block>
  ROPEWALK_INLINE static v128_t joined(v128_t quants) {
    return kOffsetsEven<Block> && !kHasSignedOdds<Block> ? wasm_v128_xor(quants, lanes(kLanes.high_bit)) : quants;
  }
  template <int Step, class Block>
  ROPEWALK_INLINE static v128_t weights_of_step(v128_t quants) {
    return Step == 0 ? joined<Block>(quants) : wasm_i16x8_shr(joined<Block>(quants), 8);
  }

  struct Token {
    v128_t even, odd;
  };
  template <int Unit>
  ROPEWALK_INLINE static Token token_at(const std::int16_t* x) {
    return {load32_splat_at<8 * Unit>(x), load32_splat_at<8 * Unit + 4>(x)};
  }
  template <int Unit>
  ROPEWALK_INLINE static Token load(const QuantizedRow& x, int column) {
    return token_at<Unit>(x.words + column);
  }
  using Sum = IntegerSum;
  template <class Block, int>
  ROPEWALK_INLINE static void add(Sum& sum, v128_t quants, const Token& x) {
    sum.total = add_step(add_step(sum.total, weights_of_step<0, Block>(quants), x.even), weights_of_step<1, Block>(quants), x.odd);
  }
};

#ifdef __wasm_relaxed_simd__
// Relaxed products of bytes. If the second operand has its sign bit set, engines may return different results, so quants must be below 128
// unless the engine's behavior is known (RelaxedSign). Where it reads signed numbers, quants that use the eighth bit become signed: `Flip`.
template <bool Flip>
struct RelaxedByteDot {
  static constexpr const char* kName = "bytes";
  using Tile = RelaxedByteDot<false>;
  using Alone = RelaxedByteDot;
  template <class Block>
  static constexpr int kOffset = Flip ? 0 : Block::kOffset;
  template <class Block>
  static constexpr int kTileOffset = kOffset<Block>;
  template <class Block>
  static constexpr bool kOffsetsEven = false;
  static constexpr bool kSubtractsOffsets = false, kAddsInWords = false, kStoresSubScales = false;
  template <class Block>
  static constexpr bool kReadsPanel = !Flip && requires {
    Block::kQuantsAt;
  };
  using Element = std::int8_t;
  static constexpr int kSteps = 8, kUnitSteps = 1, kElementsPerStep = 4;

  static const std::int8_t* elements(const QuantizedRow& x) { return x.bytes; }

  ROPEWALK_INLINE static v128_t start(v128_t offset, const std::int16_t* x_sums) {
    return wasm_i32x4_dot_i16x8(offset, wasm_v128_load32_splat(x_sums));
  }
  ROPEWALK_INLINE static v128_t add_step(v128_t sum, v128_t weights, v128_t x) {
    return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(x, weights, sum);
  }

  ROPEWALK_INLINE static v128_t flipped(v128_t quants) { return Flip ? wasm_v128_xor(quants, lanes(kLanes.bit_7)) : quants; }
  template <int, class>
  ROPEWALK_INLINE static v128_t weights_of_step(v128_t quants) {
    return flipped(quants);
  }
  template <int Tokens>
  using Latest = TotalSums<Tokens>;
  template <class Block>
  static constexpr int kTogether = kUnits;

  using Token = v128_t;
  template <int Unit>
  ROPEWALK_INLINE static Token load(const QuantizedRow& x, int column) {
    return splat_lane<Unit % 4>(wasm_v128_load(x.bytes + column + Unit / 4 * 16));
  }
  using Sum = IntegerSum;
  template <class, int>
  ROPEWALK_INLINE static void add(Sum& sum, v128_t quants, Token x) {
    sum.total = add_step(sum.total, flipped(quants), x);
  }

  template <int Part, class Block>
  static void unpack_group(const Block& block, int outer, std::uint8_t* weights) {
    for (int run = 0; run < Block::kRuns; ++run) {
      unrolled<kSteps / Block::kRuns>([&]<int Unit>() ROPEWALK_INLINE {
        wasm_v128_store(weights, flipped(block.template quants<Part, Unit>(outer, run)));
        weights += 32;
      });
    }
  }
};

// The same products, added in pairs of 16 bits as long as they fit. Where processors have no instruction for sums of four products, an
// engine takes five for each relaxed dot product, and two of them for its products in pairs.
struct RelaxedPairDot : RelaxedByteDot<false> {
  using Alone = RelaxedPairDot;
  // Number of steps whose sums fit.
  template <class Block>
  static constexpr int kTogether = std::bit_floor(32767u / (2 * 127 * Block::kLargest));

  struct Sum {
    v128_t total, pairs;
    v128_t& latest() { return pairs; }
  };
  template <class Block, int Step>
  ROPEWALK_INLINE static void add(Sum& sum, v128_t quants, Token x) {
    const v128_t products = wasm_i16x8_relaxed_dot_i8x16_i7x16(x, quants);
    sum.pairs = Step % kTogether<Block> == 0 ? products : wasm_i16x8_add(sum.pairs, products);
    if constexpr (Step % kTogether<Block> == kTogether<Block> - 1 || Step == kActivationGroup / 4 / Block::kRuns - 1)
      sum.total = wasm_i32x4_add(sum.total, wasm_i32x4_extadd_pairwise_i16x8(sum.pairs));
  }
};

// The same for several tokens and any quants below 128. Tiles multiply pairs with sub-scales, which are stored beside the weights
// (matmul_pairs_simd.h).
struct RelaxedPairs : RelaxedByteDot<false> {
  static constexpr bool kStoresSubScales = true;

  ROPEWALK_INLINE static v128_t add_step(v128_t sum, v128_t weights, v128_t x) {
    return wasm_i16x8_add(sum, wasm_i16x8_relaxed_dot_i8x16_i7x16(x, weights));
  }
};

// For a few tokens: a loop adds to pairs, and its end adds these to the totals.
struct RelaxedPairFew : RelaxedPairs {
  using Alone = RelaxedPairFew;
  template <class Block>
  static constexpr int kTogether = RelaxedPairDot::kTogether<Block>;

  template <int Tokens>
  struct Latest {
    ROPEWALK_INLINE explicit Latest(v128_t (&totals)[Tokens][2]) : totals(totals) {}
    ROPEWALK_INLINE ~Latest() {
      unrolled<2 * Tokens>([&]<int I>() ROPEWALK_INLINE {
        v128_t& total = totals[I / 2][I % 2];
        total = wasm_i32x4_add(total, wasm_i32x4_extadd_pairwise_i16x8(sums[I / 2][I % 2]));
      });
    }
    v128_t (&totals)[Tokens][2];
    v128_t sums[Tokens][2] = {};  // pairs
  };
};
#endif

}  // namespace ropewalk
