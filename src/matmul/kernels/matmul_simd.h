// The product kernels in simd128, as templates over how floats are multiplied and added and how integers are multiplied: rounding of
// inputs, and the table of all kernels.
#pragma once

#include "matmul/kernels/matmul_few_simd.h"
#include "matmul/kernels/matmul_floats_simd.h"
#include "matmul/kernels/matmul_k_formats_simd.h"
#include "matmul/kernels/matmul_tiles_simd.h"
#include "matmul/kernels/matmul_token_simd.h"
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

template <class Bytes, class Words>
const char* dot_name(WeightFormat format) {
  if (is_float(format)) return "floats";
  switch (format) {
    case WeightFormat::q8_0:
    case WeightFormat::iq4_nl:
    case WeightFormat::iq4_xs: return Words::kName;
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
  kernels.unpack[static_cast<int>(Block::kFormat)] = [](const PanelPart& panel, PanelChunk& chunk) {
    unpack_quantized<TileDot, Block>(panel, chunk);
    multiply_with<Arithmetic, TileDot, Block>(chunk);
  };
}

template <class Arithmetic, class Bytes, class Words, WeightFormat Format>
constexpr void set_decoded_kernels(MatmulKernels& kernels) {
  kernels.token[static_cast<int>(Format)] = [](const PanelParts& panels, const TokenRows& x, float* sums) {
    decoded_token<Arithmetic, Bytes>(block_decoder<Format>(), panels, x, sums);
  };
  kernels.unpack[static_cast<int>(Format)] = [](const PanelPart& panel, PanelChunk& chunk) {
    unpack_decoded<Words>(block_decoder<Format>(), panel, chunk);
    multiply_with<Arithmetic, Words, DecodedBlock>(chunk);
  };
}

// Calls act.operator()<...>() with the formats whose columns come from tables.
template <class Act>
constexpr void with_decoded_formats(Act&& act) {
  using enum WeightFormat;
  act.template operator()<tq1_0, iq3_s, iq3_xxs, iq2_s, iq2_xs, iq2_xxs, iq1_s, iq1_m>();
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
  with_decoded_formats(set_decoded);
  return kernels;
}

}  // namespace ropewalk
