// Products of quantized weights with one token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/computed_here.h"
#include "matmul/kernels/matmul_formats_simd.h"
#include "matmul/kernels/matmul_grids_simd.h"
#include "matmul/kernels/matmul_integer_dot.h"
#include "matmul/kernels/matmul_kernels.h"
#include "matmul/kernels/matmul_turns_simd.h"
#include "matmul/kernels/matmul_unrolled.h"

namespace ropewalk {

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

// Whether columns are added word by word, in a loop. Some engines load all that a longer step needs before they multiply, which doesn't fit
// in registers.
template <class Dot, class Block>
constexpr bool kInWords = Dot::kAddsInWords&& kHasPlanes<Block>;

// How many panels are multiplied with each word of the token, as far as registers suffice.
template <class Dot, class Block>
constexpr int panels_in_step() {
  if constexpr (kInWords<Dot, Block>) return kPlanes<Block> == 1 ? 2 : 1;
  return 1;
}

// Adds the products of a run of all parts to their sums, for the rows of one half, of both, or of those of two panels. `x` is the token
// from the first part's first column on.
template <class Dot, class Block, int Halves>
ROPEWALK_INLINE inline void add_words(const Block* blocks, int outer, int run, const typename Dot::Element* x,
                                      typename Dot::Sum (&sums)[Block::kParts * Halves]) {
  constexpr int kPlanesOfPart = kPlanes<Block> / Block::kParts;
  const std::uint8_t* words = blocks[0].words(outer, run);
  const std::ptrdiff_t apart = Halves == 4 ? blocks[Halves - 2].words(outer, run) - words : 0;
  ROPEWALK_ROLLED
  for (const auto* const end = x + 4 * Block::kPlaneUnits; x != end; x += 4, words += 4 * kPanelRows) {
    loaded_again(words);  // else compilers compute each address anew
    const std::uint8_t* second = words + apart;
    if constexpr (Halves == 4) loaded_again(second);
    unrolled<kPlanes<Block>>([&]<int Plane>() ROPEWALK_INLINE {
      constexpr int kPart = Plane / kPlanesOfPart;
      const typename Dot::Token token = Dot::template token_at<kPart * kUnits + Plane % kPlanesOfPart * Block::kPlaneUnits>(x);
      unrolled<Halves>([&]<int I>() ROPEWALK_INLINE {
        typename Dot::Sum& sum = sums[kPart * Halves + I];
        Dot::template add<Block, Plane>(sum, Block::template plane_of<Plane>((I < 2 ? words : second) + I % 2 * 16, outer), token);
        computed_here(sum.latest());
      });
    });
  }
}

// Adds I (matmul_kernels.h) of a run of columns to the products of all parts, for the rows of one half, of both, or of those of two panels.
template <class Dot, class Block, int Halves>
ROPEWALK_INLINE inline void add_run(const Block* blocks, int outer, int run, const QuantizedRow& x, int column,
                                    v128_t (&products)[Block::kParts * Halves]) {
  constexpr int kRunUnits = kUnits / Block::kRuns;
  typename Dot::Sum sums[Block::kParts * Halves];
  unrolled<Block::kParts>([&]<int Part>() ROPEWALK_INLINE {
    const v128_t first = first_sum<Dot, Block>(x, column + Part * kActivationGroup, run);
    unrolled<Halves>([&]<int Half>() ROPEWALK_INLINE { sums[Part * Halves + Half].total = first; });
  });
  if constexpr (kInWords<Dot, Block>) {
    add_words<Dot, Block, Halves>(blocks, outer, run, Dot::elements(x) + column + run * 16, sums);
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

// A sum of four rows that stays in memory until something is added. What is loaded before the products would only wait on the stack.
struct StoredSum {
  ROPEWALK_INLINE operator v128_t() const { return wasm_v128_load(at); }
  ROPEWALK_INLINE void operator=(v128_t sum) { wasm_v128_store(at, sum); }

  float* at;
};

// Adds the products with a block to totals (v128_t or StoredSum), for the rows of one half, of both, or of those of two panels. Calls
// before(outer) before each `outer`.
template <class Arithmetic, class Dot, class Block, int Halves, class Total, class Before>
ROPEWALK_INLINE inline void add_block(const Block* blocks, const QuantizedRow& x, int first, Total* totals, Before&& before) {
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
      v128_t sums[Halves];
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
        sums[Half] = Arithmetic::add_product(totals[Half], product, x_scale);
      });
      unrolled<Halves>([&]<int Half>() ROPEWALK_INLINE { totals[Half] = sums[Half]; });  // each_turn() requires this order
    });
  }
}

template <class Arithmetic, class Dot, class Block>
void quantized_token(const PanelParts& panels, const TokenRows& x, float* sums) {
  using Alone = typename Dot::Alone;
  constexpr int kBytes = block_bytes(Block::kFormat) * kPanelRows;
  const QuantizedRow row = x.quantized;
  const PanelPart part = panels.first;
  const Scales scales = Scales::finite(part);
  const int columns = columns_in_turn<Block>(part);
  constexpr int kPanels = panels_in_step<Alone, Block>();
  const auto add = [&](int start, const Turn<float>(&turns)[kPanels]) ROPEWALK_INLINE {
    if constexpr (Block::kParts == 4) {
      auto [weights, to] = turns[0];
      v128_t totals[2] = {wasm_v128_load(to), wasm_v128_load(to + 4)};
      for (int first = start; first < start + columns; first += Block::kElements, weights += kBytes) {
        ROPEWALK_ROLLED
        for (int half = 0; half < 2; ++half) {  // the sums of both halves don't fit in registers
          const Block block(weights, half, scales);
          constexpr int kOuters = Block::kElements / kActivationGroup / Block::kParts;
          add_block<Arithmetic, Alone, Block, 1>(&block, row, first, totals + half, [&, weights = weights](int outer) ROPEWALK_INLINE {
            read_ahead<Block, 2 * kOuters>(part, weights, half * kOuters + outer);
          });
        }
      }
      wasm_v128_store(to, totals[0]);
      wasm_v128_store(to + 4, totals[1]);
    } else {
      [&]<int... I>(std::integer_sequence<int, I...>) ROPEWALK_INLINE {
        const Block blocks[] = {Block(turns[I / 2].weights, I % 2, scales)...};
        StoredSum stored[] = {{turns[I / 2].sums + I % 2 * 4}...};
        if constexpr (Block::kElements == kActivationGroup) {
          add_block<Arithmetic, Alone, Block, 2 * kPanels>(blocks, row, start, stored, [](int) {});
        } else {
          v128_t totals[] = {stored[I]...};
          add_block<Arithmetic, Alone, Block, 2 * kPanels>(blocks, row, start, totals, [](int) {});
          ((stored[I] = totals[I]), ...);
        }
      }
      (std::make_integer_sequence<int, 2 * kPanels>());
    }
  };
  each_turn<kPanels>(panels, columns, kBytes, sums, panels.sums_apart, add);
}

// All formats of matmul_grids_simd.h share this one.
template <class Arithmetic, class Dot>
void decoded_token(const BlockDecoder& decoder, const PanelParts& panels, const TokenRows& x, float* sums) {
  const Scales scales = Scales::any(panels.first);
  const auto add = [&](int first, const Turn<float>(&turns)[1]) ROPEWALK_INLINE {
    const auto [weights, to] = turns[0];
    DecodedBlock blocks[2];
    for (int half = 0; half < 2; ++half) decoder.decode(weights, half, scales, blocks[half]);
    v128_t totals[2] = {wasm_v128_load(to), wasm_v128_load(to + 4)};
    add_block<Arithmetic, typename Dot::Alone, DecodedBlock, 2>(blocks, x.quantized, first, totals, [](int) {});
    wasm_v128_store(to, totals[0]);
    wasm_v128_store(to + 4, totals[1]);
  };
  each_turn<1>(panels, DecodedBlock::kElements, decoder.panel_bytes, sums, panels.sums_apart, add);
}

}  // namespace ropewalk
