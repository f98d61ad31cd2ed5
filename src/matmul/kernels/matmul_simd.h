// The product kernels in simd128, as templates over how floats are multiplied and added and how integers are multiplied: rounding of
// inputs, products of one token, and the table of all kernels.
#pragma once

#include "base/computed_here.h"
#include "matmul/kernels/matmul_few_simd.h"
#include "matmul/kernels/matmul_floats_simd.h"
#include "matmul/kernels/matmul_k_formats_simd.h"
#include "matmul/kernels/matmul_tiles_simd.h"
#include "matmul/kernels/matmul_turns_simd.h"
#include "matmul/transpose_four_simd.h"

namespace ropewalk {

inline std::int32_t sum_of_lanes(v128_t lanes) {
  lanes = wasm_i32x4_add(lanes, wasm_i32x4_shuffle(lanes, lanes, 2, 3, 0, 1));
  lanes = wasm_i32x4_add(lanes, wasm_i32x4_shuffle(lanes, lanes, 1, 0, 3, 2));
  return wasm_i32x4_extract_lane(lanes, 0);
}

// Lane i is the result of `join` for the lanes of vector i, which have any order.
template <class Join>
ROPEWALK_INLINE inline v128_t join_lanes(const v128_t (&of)[4], Join&& join) {
  const auto of_two = [&](v128_t a, v128_t b)
                          ROPEWALK_INLINE { return join(wasm_i32x4_shuffle(a, b, 0, 4, 1, 5), wasm_i32x4_shuffle(a, b, 2, 6, 3, 7)); };
  const v128_t first = of_two(of[0], of[1]), second = of_two(of[2], of[3]);
  return join(wasm_i64x2_shuffle(first, second, 0, 2), wasm_i64x2_shuffle(first, second, 1, 3));
}

// The largest magnitudes of 32 floats, in four lanes. Those in between don't wait for each other.
ROPEWALK_INLINE inline v128_t largest_lanes(const float* from) {
  v128_t largest[4];
  unrolled<4>([&]<int I>() ROPEWALK_INLINE {
    largest[I] = wasm_f32x4_pmax(wasm_f32x4_abs(wasm_v128_load(from + 8 * I)), wasm_f32x4_abs(wasm_v128_load(from + 8 * I + 4)));
  });
  return wasm_f32x4_pmax(wasm_f32x4_pmax(largest[0], largest[1]), wasm_f32x4_pmax(largest[2], largest[3]));
}

// Sixteen floats as words, and the words in the order of QuantizedRow.
struct RoundedWords {
  ROPEWALK_INLINE RoundedWords(const float* from, v128_t inverse) {
    const v128_t magic = wasm_f32x4_splat(0x1.8p23f);  // adding it rounds to an integer, which ends up in the low bits
    const auto integers = [&](int i) ROPEWALK_INLINE {
      return wasm_i32x4_sub(wasm_f32x4_add(wasm_f32x4_mul(wasm_v128_load(from + i), inverse), magic), magic);
    };
    low = wasm_i16x8_narrow_i32x4(integers(0), integers(4));
    high = wasm_i16x8_narrow_i32x4(integers(8), integers(12));
  }
  v128_t bytes() const { return wasm_i8x16_narrow_i16x8(low, high); }
  v128_t pair_sums() const { return wasm_i16x8_add(low, high); }
  static v128_t ordered(v128_t words) { return wasm_i16x8_shuffle(words, words, 0, 2, 1, 3, 4, 6, 5, 7); }

  v128_t low, high;
};

// Of columns 0 and 2 of each four: what products add for an offset of 128.
ROPEWALK_INLINE inline v128_t even_offsets(v128_t pair_sums) { return wasm_i32x4_dot_i16x8(pair_sums, wasm_i32x4_splat(-128 & 0xFFFF)); }

inline void quantize_row_simd(const float* x, int columns, const QuantizedRow& out) {
  for (int column = 0; column < columns; column += kActivationGroup) {
    const int group = column / kActivationGroup;
    v128_t largest = largest_lanes(x + column);
    largest = wasm_f32x4_pmax(largest, wasm_i32x4_shuffle(largest, largest, 2, 3, 0, 1));
    largest = wasm_f32x4_pmax(largest, wasm_i32x4_shuffle(largest, largest, 1, 0, 3, 2));
    const float scale = wasm_f32x4_extract_lane(largest, 0) / 127;
    const v128_t inverse = wasm_f32x4_splat(scale < kSmallestActivationScale ? 0 : 1 / scale);
    out.scales[group] = scale;
    v128_t even_offset = wasm_i32x4_splat(0);
    for (int i = 0; i < kActivationGroup; i += 16) {
      const RoundedWords rounded(x + column + i, inverse);
      if (out.bytes != nullptr) wasm_v128_store(out.bytes + column + i, rounded.bytes());
      if (out.words != nullptr) {
        even_offset = wasm_i32x4_add(even_offset, even_offsets(rounded.pair_sums()));
        const auto joined = [](v128_t words) { return wasm_i16x8_sub(words, wasm_i32x4_shl(words, 24)); };
        wasm_v128_store(out.words + column + i, RoundedWords::ordered(joined(rounded.low)));
        wasm_v128_store(out.words + column + i + 8, RoundedWords::ordered(joined(rounded.high)));
      }
      out.sums[2 * group + i / 16] = static_cast<std::int16_t>(sum_of_lanes(wasm_i32x4_extadd_pairwise_i16x8(rounded.pair_sums())));
    }
    if (out.words != nullptr) out.even_offsets[group] = sum_of_lanes(even_offset);
  }
}

inline void quantize_four_simd(const float* const (&x)[kTileTokens], int columns, const QuantizedRow& out) {
  const auto add = [](v128_t a, v128_t b) { return wasm_i32x4_add(a, b); };
  for (int column = 0; column < columns; column += kActivationGroup) {
    const int group = column / kActivationGroup * kTileTokens;
    v128_t largest[kTileTokens];
    unrolled<kTileTokens>([&]<int T>() ROPEWALK_INLINE { largest[T] = largest_lanes(x[T] + column); });
    const v128_t scale =
        wasm_f32x4_div(join_lanes(largest, [](v128_t a, v128_t b) { return wasm_f32x4_pmax(a, b); }), wasm_f32x4_splat(127));
    const v128_t is_small = wasm_f32x4_lt(scale, wasm_f32x4_splat(kSmallestActivationScale));
    const v128_t inverse = wasm_v128_andnot(wasm_f32x4_div(wasm_f32x4_splat(1), scale), is_small);
    wasm_v128_store(out.scales + group, scale);
    v128_t even_offset = wasm_i32x4_splat(0), sums = even_offset;
    ROPEWALK_ROLLED
    for (int half = 0; half < 2; ++half) {
      const int first = column + 16 * half;
      v128_t low[kTileTokens], high[kTileTokens], pairs[kTileTokens], bytes[kTileTokens];
      unrolled<kTileTokens>([&]<int T>() ROPEWALK_INLINE {
        const RoundedWords rounded(x[T] + first, splat_lane<T>(inverse));
        low[T] = RoundedWords::ordered(rounded.low);
        high[T] = RoundedWords::ordered(rounded.high);
        bytes[T] = rounded.bytes();
        pairs[T] = rounded.pair_sums();
      });
      if (out.bytes != nullptr) store_turns(out.bytes + first * kTileTokens, bytes[0], bytes[1], bytes[2], bytes[3]);
      if (out.words != nullptr) {
        store_turns(out.words + first * kTileTokens, low[0], low[1], low[2], low[3]);
        store_turns(out.words + (first + 8) * kTileTokens, high[0], high[1], high[2], high[3]);
        v128_t offsets[kTileTokens];
        unrolled<kTileTokens>([&]<int T>() ROPEWALK_INLINE { offsets[T] = even_offsets(pairs[T]); });
        even_offset = add(even_offset, join_lanes(offsets, add));
      }
      unrolled<kTileTokens>([&]<int T>() ROPEWALK_INLINE { pairs[T] = wasm_i32x4_extadd_pairwise_i16x8(pairs[T]); });
      const v128_t of_half = join_lanes(pairs, add);
      sums = half == 0 ? of_half : wasm_v128_bitselect(sums, wasm_i32x4_shl(of_half, 16), wasm_i32x4_splat(0xFFFF));
    }
    wasm_v128_store(out.sums + 2 * group, sums);
    if (out.words != nullptr) wasm_v128_store(out.even_offsets + group, even_offset);
  }
}

// The sums with which a run of columns starts: minus the offset of the quants, times the token's columns.
template <class Dot, class Block>
inline v128_t first_sum(const QuantizedRow& x, int column, int run) {
  if constexpr (Dot::template kOffsetsEven<Block>) return wasm_v128_load32_splat(x.even_offsets + column / kActivationGroup);
  constexpr int kOffset = -Dot::template kOffset<Block>;
  const std::int16_t* const x_sums = x.sums + column / 16;
  if constexpr (kOffset == 0) return wasm_i32x4_splat(0);
  if constexpr (Block::kRuns == 1) return wasm_i32x4_dot_i16x8(wasm_i16x8_splat(kOffset), wasm_v128_load32_splat(x_sums));
  return wasm_i32x4_dot_i16x8(wasm_i32x4_splat(kOffset & 0xFFFF), wasm_v128_load16_splat(x_sums + run));
}

// Whether units of four columns are added two by two, in a loop. Engines reorder longer code so that what waits doesn't fit in registers.
template <class Dot, class Block>
constexpr bool kInPairs = Dot::kAddsInPairs&& Block::kElements == 32 && requires {
  Block::kPlaneUnits;
};

// Adds I (matmul_kernels.h) of a run of columns to the products of all parts, for the rows of one or both halves.
template <class Dot, class Block, int Halves>
ROPEWALK_INLINE inline void add_run(const Block* blocks, int outer, int run, const QuantizedRow& x, int column,
                                    v128_t (&products)[Block::kParts * Halves]) {
  constexpr int kRunUnits = kUnits / Block::kRuns;
  typename Dot::Sum sums[Block::kParts * Halves];
  unrolled<Block::kParts>([&]<int Part>() ROPEWALK_INLINE {
    const v128_t first = first_sum<Dot, Block>(x, column + Part * kActivationGroup, run);
    unrolled<Halves>([&]<int Half>() ROPEWALK_INLINE { sums[Part * Halves + Half].total = first; });
  });
  if constexpr (kInPairs<Dot, Block>) {
    constexpr int kPlanes = kUnits / Block::kPlaneUnits, kTogether = 2 / kPlanes;
    const typename Dot::Element* from = Dot::elements(x) + column;
    ROPEWALK_ROLLED
    for (int i = 0; i < Block::kPlaneUnits; i += kTogether, from += 4 * kTogether) {
      unrolled<2>([&]<int Step>() ROPEWALK_INLINE {
        constexpr int kPlane = Step / kTogether, kNext = Step % kTogether;
        const typename Dot::Token token = Dot::template token_at<kPlane * Block::kPlaneUnits + kNext>(from);
        unrolled<Halves>([&]<int Half>() ROPEWALK_INLINE {
          Dot::template add<Block, Step>(sums[Half], blocks[Half].template plane<0, kPlane>(outer, run, i + kNext), token);
        });
        computed_here(sums[0].latest(), sums[Halves - 1].latest());
      });
    }
  } else {
    unrolled<kRunUnits>([&]<int Step>() ROPEWALK_INLINE {
      constexpr int kUnit = unit_at<Block>(Step);
      unrolled<Block::kParts>([&]<int Part>() ROPEWALK_INLINE {
        const typename Dot::Token token = Dot::template load<kUnit>(x, column + Part * kActivationGroup + run * 16);
        unrolled<Halves>([&]<int Half>() ROPEWALK_INLINE {
          Dot::template add<Block, Step>(sums[Part * Halves + Half], blocks[Half].template quants<Part, kUnit>(outer, run), token);
        });
      });
      // else compilers add up one sum after another, and what these share doesn't fit in registers
      unrolled<Block::kParts * Halves - 1>([&]<int I>() ROPEWALK_INLINE { computed_here(sums[0].latest(), sums[I + 1].latest()); });
    });
  }
  unrolled<Block::kParts * Halves>([&]<int I>() ROPEWALK_INLINE {
    v128_t total = sums[I].total;
    if constexpr (Block::kSubScales)
      total = wasm_i32x4_mul(total, blocks[I % Halves].sub_scale(2 * (outer * Block::kParts + I / Halves) + run));
    products[I] = wasm_i32x4_add(products[I], total);
  });
}

// Adds the products with a block, for the rows of one or both halves. Calls before(outer) before each `outer`.
template <class Arithmetic, class Dot, class Block, int Halves, class Before>
ROPEWALK_INLINE inline void add_block(const Block* blocks, const QuantizedRow& x, int first, v128_t* totals, Before&& before) {
  for (int outer = 0; outer < Block::kElements / kActivationGroup / Block::kParts; ++outer) {
    before(outer);
    const int column = first + outer * Block::kParts * kActivationGroup;
    v128_t products[Block::kParts * Halves] = {}, second_products[Block::kParts * Halves] = {};
    if constexpr (Block::kScalesOf16) {
      add_run<Dot, Block, Halves>(blocks, outer, 0, x, column, products);
      add_run<Dot, Block, Halves>(blocks, outer, 1, x, column, second_products);
    } else {
      ROPEWALK_ROLLED
      for (int run = 0; run < Block::kRuns; ++run) add_run<Dot, Block, Halves>(blocks, outer, run, x, column, products);
    }
    unrolled<Block::kParts>([&]<int Part>() ROPEWALK_INLINE {
      const int group = outer * Block::kParts + Part, x_group = column / kActivationGroup + Part;
      const v128_t x_scale = wasm_v128_load32_splat(x.scales + x_group);
      unrolled<Halves>([&]<int Half>() ROPEWALK_INLINE {
        const Block& block = blocks[Half];
        v128_t product = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(products[Part * Halves + Half]), block.scale(group));
        if constexpr (Block::kMinimums) {
          const v128_t of_minimums = wasm_i32x4_dot_i16x8(block.minimum_pairs(group), wasm_v128_load32_splat(x.sums + 2 * x_group));
          product = Arithmetic::subtract_product(product, wasm_f32x4_convert_i32x4(of_minimums), block.minimum_scale(group));
        }
        if constexpr (Block::kScalesOf16) {
          const v128_t second = wasm_f32x4_convert_i32x4(second_products[Part * Halves + Half]);
          product = Arithmetic::add_product(product, second, block.second_scale(group));
        }
        totals[Half] = Arithmetic::add_product(totals[Half], product, x_scale);
      });
    });
  }
}

// Detects scales that are infinite or NaN: the 16-bit fields of a panel's blocks.
template <WeightFormat Format>
class LargestScale {
 public:
  void add(const std::uint8_t* block) {
    constexpr const BlockShape& kShape = block_shape(Format);
    unrolled<leading_f16(Format)>([&]<int I>() ROPEWALK_INLINE { add_field(block + 2 * I * kPanelRows); });
    constexpr int kBefore = 2 * kShape.leading_halves + 4 * kShape.words;
    unrolled<kShape.trailing_halves>([&]<int I>() ROPEWALK_INLINE { add_field(block + (kBefore + 2 * I) * kPanelRows); });
  }
  bool is_finite() const { return !wasm_v128_any_true(wasm_u16x8_ge(largest_, wasm_i16x8_splat(static_cast<std::int16_t>(0xF800)))); }

 private:
  void add_field(const std::uint8_t* halves) { largest_ = wasm_u16x8_max(largest_, wasm_i16x8_shl(wasm_v128_load(halves), 1)); }

  v128_t largest_ = wasm_i16x8_splat(0);  // without the sign
};

template <class Arithmetic, class Dot, class Block>
bool quantized_token(const PanelParts& panels, const TokenRows& x, float* sums) {
  constexpr int kBytes = block_bytes(Block::kFormat) * kPanelRows;
  LargestScale<Block::kFormat> largest_scale;
  const QuantizedRow row = x.quantized;
  const PanelPart part = panels.first;
  const Scales scales = Scales::finite(part);
  const int turn = columns_in_turn<Block>(part);
  const auto add = [&](int start, const std::uint8_t* weights, float* to) ROPEWALK_INLINE {
    v128_t totals[2] = {wasm_v128_load(to), wasm_v128_load(to + 4)};
    for (int first = start; first < start + turn; first += Block::kElements, weights += kBytes) {
      largest_scale.add(weights);
      if constexpr (Block::kParts == 4) {  // the sums of both halves don't fit in registers
        ROPEWALK_ROLLED
        for (int half = 0; half < 2; ++half) {
          const Block block(weights, half, scales);
          constexpr int kOuters = Block::kElements / kActivationGroup / Block::kParts;
          add_block<Arithmetic, typename Dot::Alone, Block, 1>(&block, row, first, totals + half, [&](int outer) ROPEWALK_INLINE {
            read_ahead<Block, 2 * kOuters>(part, weights, half * kOuters + outer);
          });
        }
      } else {
        const Block blocks[2] = {Block(weights, 0, scales), Block(weights, 1, scales)};
        add_block<Arithmetic, typename Dot::Alone, Block, 2>(blocks, row, first, totals, [](int) {});
      }
    }
    wasm_v128_store(to, totals[0]);
    wasm_v128_store(to + 4, totals[1]);
  };
  each_turn(panels, turn, turn / Block::kElements * kBytes, sums, panels.sums_apart, add);
  return largest_scale.is_finite();
}

// All formats of matmul_grids_simd.h share this one.
template <class Arithmetic, class Dot>
bool decoded_token(const BlockDecoder& decoder, const PanelParts& panels, const TokenRows& x, float* sums) {
  const Scales scales = Scales::any(panels.first);
  const auto add = [&](int first, const std::uint8_t* weights, float* to) ROPEWALK_INLINE {
    DecodedBlock blocks[2];
    for (int half = 0; half < 2; ++half) decoder.decode(weights, half, scales, blocks[half]);
    v128_t totals[2] = {wasm_v128_load(to), wasm_v128_load(to + 4)};
    add_block<Arithmetic, typename Dot::Alone, DecodedBlock, 2>(blocks, x.quantized, first, totals, [](int) {});
    wasm_v128_store(to, totals[0]);
    wasm_v128_store(to + 4, totals[1]);
  };
  each_turn(panels, DecodedBlock::kElements, decoder.panel_bytes, sums, panels.sums_apart, add);
  return true;
}

template <class Bytes, class Words>
const char* dot_name(WeightFormat format, bool is_one_token) {
  if (is_float(format)) return "floats";
  switch (format) {
    case WeightFormat::q8_0:
    case WeightFormat::iq4_nl:
    case WeightFormat::iq4_xs: return Words::kName;
    case WeightFormat::q2_k:
    case WeightFormat::q3_k:
    case WeightFormat::q6_k:
    case WeightFormat::tq1_0:
    case WeightFormat::iq3_s:
    case WeightFormat::iq3_xxs:
    case WeightFormat::iq2_s:
    case WeightFormat::iq2_xs:
    case WeightFormat::iq2_xxs:
    case WeightFormat::iq1_s:
    case WeightFormat::iq1_m: return is_one_token ? Bytes::kName : Words::kName;
    default: return Bytes::kName;
  }
}

// The longer a format takes to unpack, the sooner it pays to write the weights to a tile.
inline int most_in_fours(WeightFormat format) {
  switch (format) {
    case WeightFormat::q8_0: return 11;
    case WeightFormat::q4_0:
    case WeightFormat::q4_k:
    case WeightFormat::q6_k: return 8;
    default: return 0;
  }
}

template <class Arithmetic, class TokenDot, class TileDot, class Block>
constexpr void set_kernels(MatmulKernels& kernels) {
  kernels.token[static_cast<int>(Block::kFormat)] = quantized_token<Arithmetic, TokenDot, Block>;
  kernels.unpack[static_cast<int>(Block::kFormat)] = unpack_quantized<Arithmetic, TileDot, Block>;
}

template <class Arithmetic, class Bytes, class Words, WeightFormat Format>
constexpr void set_decoded_kernels(MatmulKernels& kernels) {
  kernels.token[static_cast<int>(Format)] = [](const PanelParts& panels, const TokenRows& x, float* sums) {
    return decoded_token<Arithmetic, Bytes>(block_decoder<Format>(), panels, x, sums);
  };
  kernels.unpack[static_cast<int>(Format)] = [](const PanelPart& panel, PanelChunk& chunk) {
    unpack_decoded<Arithmetic, Words>(block_decoder<Format>(), panel, chunk);
  };
}

// The kernel table of a build. `Bytes` multiplies quants below 128, and `Words` any quants. In tiles, words have their sub-scale.
template <class Arithmetic, class Bytes, class Words>
constexpr MatmulKernels simd_matmul_kernels(const char* name) {
  MatmulKernels kernels = {
      name,
      dot_name<Bytes, Words>,
      quantize_row_simd,
      quantize_four_simd,
      [](WeightFormat) {
        return RoundedInputs{false, true};
      },
      {float_token<Arithmetic, F32Column>, float_token<Arithmetic, FiniteF16Column>, float_token<Arithmetic, BF16Column>},
      {use_floats<Arithmetic>, unpack_f16<Arithmetic>, unpack_bf16<Arithmetic>},
      {},
      {},
      most_in_fours};
  const auto set = [&]<class TokenDot, class TileDot, class... Blocks>() {
    (set_kernels<Arithmetic, TokenDot, TileDot, Blocks>(kernels), ...);
  };
  set.template operator()<Words, Words, BlockQ8_0, BlockIq4Nl, BlockIq4Xs>();
  set.template operator()<Bytes, Words, BlockQ2K, BlockQ3K, BlockQ6K>();
  set.template operator()<Bytes, Bytes, BlockQ4_0, BlockQ4_1, BlockQ5_0, BlockQ5_1, BlockQ4K, BlockQ5K, BlockQ1_0, BlockQ2_0, BlockTQ2_0,
                          BlockMxfp4, BlockNvfp4>();
  const auto set_few = [&]<class... Blocks>() {
    ((kernels.two[static_cast<int>(Blocks::kFormat)] = quantized_few<Arithmetic, Words, Blocks, 2>,
      kernels.four[static_cast<int>(Blocks::kFormat)] = quantized_few<Arithmetic, Words, Blocks, kTileTokens>),
     ...);
  };
  set_few.template operator()<BlockQ8_0, BlockQ4_0, BlockQ4K, BlockQ6K>();
  kernels.two[static_cast<int>(WeightFormat::q5_0)] = quantized_few<Arithmetic, Words, BlockQ5_0, 2>;
  kernels.two[static_cast<int>(WeightFormat::q5_k)] = quantized_few<Arithmetic, Words, BlockQ5K, 2>;
  const auto set_decoded = [&]<WeightFormat... Formats>() { (set_decoded_kernels<Arithmetic, Bytes, Words, Formats>(kernels), ...); };
  using enum WeightFormat;
  set_decoded.template operator()<tq1_0, iq3_s, iq3_xxs, iq2_s, iq2_xs, iq2_xxs, iq1_s, iq1_m>();
  return kernels;
}

}  // namespace ropewalk
