// Tiles of six tokens: of each three fours that take turns, the first with two tokens of the second, and the third with its other two.
//
// They are for instructions that multiply and add at once. Processors start two of them in each cycle, and take four or five cycles for
// each, so that more than the eight sums of a four must be under way. The twelve of a six, and what is multiplied, just fit in 15
// registers.
#pragma once

#include "base/computed_here.h"
#include "matmul/kernels/matmul_floats_simd.h"
#include "matmul/kernels/matmul_tiles_simd.h"

namespace ropewalk {

constexpr int kSixes = 3 * kTileTokens;  // tokens of two sixes

// Adds the products of a step to the sums of some tokens, one token after the other, so that only one's column waits in a register.
template <int Tokens, class AddStep>
ROPEWALK_INLINE inline void add_in_order(v128_t (&sums)[Tokens][2], AddStep&& add_step) {
  unrolled<Tokens>([&]<int T>() ROPEWALK_INLINE {
    add_step.template operator()<T>(sums[T]);
    computed_here(sums[T][0], sums[T][1]);
  });
}

// Six tokens: `x` and `sums` of a four, `two` and `two_sums` of two tokens of another.
template <class Arithmetic, class Dot, bool Minimums>
[[gnu::noinline]] void quantized_six(const PanelChunk& chunk, int columns, const QuantizedRow& x, float* sums, const QuantizedRow& two,
                                     float* two_sums) {
  const typename Dot::Element *from = Dot::elements(x), *two_from = Dot::elements(two);
  const std::uint8_t* weights = chunk.from;
  const int between = chunk.group_bytes - Dot::kSteps * 32;
  const v128_t offset = wasm_i16x8_splat(static_cast<std::int16_t>(-chunk.offset));
  const int groups = columns / kActivationGroup;
  for (int group = 0; group < groups; ++group, weights += between) {
    const std::int16_t *const x_sums = x.sums + 2 * kTileTokens * group, *const two_x_sums = two.sums + 2 * kTileTokens * group;
    v128_t products[kTileTokens][2], two_products[2][2];
    const auto start = [&](auto& products, const std::int16_t* x_sums) ROPEWALK_INLINE {
      unrolled<std::extent_v<std::remove_reference_t<decltype(products)>>>([&]<int T>() ROPEWALK_INLINE {
        products[T][0] = products[T][1] = Dot::kSubtractsOffsets ? wasm_i32x4_splat(0) : Dot::start(offset, x_sums + 2 * T);
      });
    };
    start(products, x_sums);
    start(two_products, two_x_sums);
    const std::uint8_t* const end = weights + Dot::kSteps * 32;
    ROPEWALK_ROLLED
    for (; weights != end; weights += 32) {
      const v128_t low = wasm_v128_load(weights), high = wasm_v128_load(weights + 16);
      const auto add = [&]<int T>(v128_t(&sums)[2], const typename Dot::Element* columns) ROPEWALK_INLINE {
        const v128_t both = wasm_v128_load32_splat(columns + T * Dot::kElementsPerStep);
        sums[0] = Dot::add_step(sums[0], low, both);
        sums[1] = Dot::add_step(sums[1], high, both);
      };
      add_in_order(products, [&]<int T>(v128_t(&sums)[2]) ROPEWALK_INLINE { add.template operator()<T>(sums, from); });
      add_in_order(two_products, [&]<int T>(v128_t(&sums)[2]) ROPEWALK_INLINE { add.template operator()<T>(sums, two_from); });
      from += kTileTokens * Dot::kElementsPerStep;
      two_from += kTileTokens * Dot::kElementsPerStep;
    }
    loaded_again(sums);
    loaded_again(two_sums);
    const ChunkScales scales = {chunk, group};
    add_tile_group<Arithmetic, Minimums>(scales, products, x.scales + kTileTokens * group, x_sums, kInTurns<Dot>, sums);
    add_tile_group<Arithmetic, Minimums>(scales, two_products, two.scales + kTileTokens * group, two_x_sums, kInTurns<Dot>, two_sums);
  }
}

// From the first of four tokens to the third.
inline QuantizedRow last_two(const QuantizedRow& x) {
  QuantizedRow two = x;
  if (two.bytes != nullptr) two.bytes += 2 * 4;
  if (two.words != nullptr) two.words += 2 * 2;
  two.scales += 2;
  two.sums += 2 * 2;
  return two;
}

template <class Arithmetic, class Dot, bool Minimums>
void quantized_tokens_in_sixes(const PanelChunk& chunk, int columns, const TokenRows& x, float* sums) {
  QuantizedRow first = x.quantized;
  NextLines next = chunk.next;
  const std::ptrdiff_t fetched = next.per_step(x.count / kTileTokens);
  int token = 0;
  for (; token + kSixes <= x.count; token += kSixes, sums += kSixes * kPanelRows) {
    const QuantizedRow second = next_four(first, x.columns), third = next_four(second, x.columns);
    float *const second_sums = sums + kTileTokens * kPanelRows, *const third_sums = second_sums + kTileTokens * kPanelRows;
    next.fetch(2 * fetched);
    quantized_six<Arithmetic, Dot, Minimums>(chunk, columns, first, sums, second, second_sums);
    next.fetch(fetched);
    quantized_six<Arithmetic, Dot, Minimums>(chunk, columns, third, third_sums, last_two(second), second_sums + 2 * kPanelRows);
    first = next_four(third, x.columns);
  }
  for (; token < x.count; token += kTileTokens, sums += kTileTokens * kPanelRows) {
    next.fetch(fetched);
    quantized_tile<Arithmetic, Dot, Minimums>(chunk, columns, first, sums);
    first = next_four(first, x.columns);
  }
}

// One of the partial sums (matmul_floats_simd.h).
template <class Arithmetic>
inline void float_six(const float* weights, int columns, const float* x, float* sums, const float* two, float* two_sums) {
  v128_t totals[kTileTokens][2], two_totals[2][2];
  const auto each_sum = [&](auto&& act) ROPEWALK_INLINE {
    unrolled<2 * kTileTokens>([&]<int I>() ROPEWALK_INLINE { act(totals[I / 2][I % 2], sums + I / 2 * kFloatSums + I % 2 * 4); });
    unrolled<4>([&]<int I>() ROPEWALK_INLINE { act(two_totals[I / 2][I % 2], two_sums + I / 2 * kFloatSums + I % 2 * 4); });
  };
  each_sum([](v128_t& total, const float* sum) ROPEWALK_INLINE { total = wasm_v128_load(sum); });
  for (; columns > 0; columns -= kPartialSums, weights += kPartialSums * kPanelRows) {
    const F32x8 w = load8(weights);
    const auto add = [&]<int T>(v128_t(&totals)[2], const float* columns) ROPEWALK_INLINE {
      const v128_t both = wasm_v128_load32_splat(columns + T);
      totals[0] = Arithmetic::add_product(totals[0], w.low, both);
      totals[1] = Arithmetic::add_product(totals[1], w.high, both);
    };
    add_in_order(totals, [&]<int T>(v128_t(&totals)[2]) ROPEWALK_INLINE { add.template operator()<T>(totals, x); });
    add_in_order(two_totals, [&]<int T>(v128_t(&totals)[2]) ROPEWALK_INLINE { add.template operator()<T>(totals, two); });
    x += kPartialSums * kTileTokens;
    two += kPartialSums * kTileTokens;
  }
  each_sum([](v128_t total, float* sum) ROPEWALK_INLINE { wasm_v128_store(sum, total); });
}

template <class Arithmetic>
void float_tokens_in_sixes(const PanelChunk& chunk, int columns, const TokenRows& x, float* sums) {
  const float *weights = reinterpret_cast<const float*>(chunk.from), *from = x.floats;
  NextLines next = chunk.next;
  const std::ptrdiff_t four = kTileTokens * x.columns, four_sums = kTileTokens * kFloatSums;
  const std::ptrdiff_t fetched = next.per_step(x.count / kTileTokens * kPartialSums);
  int token = 0;
  for (; token + kSixes <= x.count; token += kSixes, from += 3 * four, sums += 3 * four_sums) {
    for (int p = 0; p < kPartialSums; ++p) {
      const float *const of_columns = weights + p * kPanelRows, *const first = from + p * kTileTokens;
      float* const to = sums + p * kPanelRows;
      next.fetch(2 * fetched);
      float_six<Arithmetic>(of_columns, columns - p, first, to, first + four, to + four_sums);
      next.fetch(fetched);
      float_six<Arithmetic>(of_columns, columns - p, first + 2 * four, to + 2 * four_sums, first + four + 2,
                            to + four_sums + 2 * kFloatSums);
    }
  }
  for (; token < x.count; token += kTileTokens, from += four, sums += four_sums) {
    for (int p = 0; p < kPartialSums; ++p) {
      next.fetch(fetched);
      float_tile<Arithmetic>(weights + p * kPanelRows, columns - p, from + p * kTileTokens, sums + p * kPanelRows);
    }
  }
}

}  // namespace ropewalk
