// Products of quantized weights with two tokens that follow each other, or four that take turns, unpacked in registers. Up to
// `most_in_fours` tokens (matmul_kernels.h), unpacking weights for each four costs less than writing them to memory first, as tiles do.
//
// Loops are so small that their sums and weights stay in registers: one for each step of the units of a plane, whose quants are unpacked in
// the same way. Quants that take long to unpack are unpacked once for all steps, though some sums then leave their registers. Units that
// are unpacked in different ways need no loop.
#pragma once

#include <algorithm>
#include <type_traits>

#include "matmul/kernels/matmul_formats_simd.h"
#include "matmul/kernels/matmul_integer_dot.h"
#include "matmul/kernels/matmul_kernels.h"
#include "matmul/kernels/matmul_tiles_simd.h"
#include "matmul/kernels/matmul_turns_simd.h"
#include "matmul/kernels/matmul_unrolled.h"

namespace ropewalk {

// How many units lie from one unit of a token to its next.
constexpr int turns_of(int tokens) { return tokens == kTileTokens ? kTileTokens : 1; }

// Adds the products of `Count` units of a plane, from unit `First`, to the latest sums.
template <class Dot, class Block, int Plane, int First, int Count, int Tokens>
ROPEWALK_INLINE inline void add_plane(const Block (&blocks)[2], int outer, const typename Dot::Element* x, const TokenDistances& distances,
                                      v128_t (&sums)[Tokens][2]) {
  constexpr int kStepElements = turns_of(Tokens) * Dot::kElementsPerStep, kStepsTogether = Block::kElements == 32 ? 1 : Dot::kUnitSteps;
  unrolled<Dot::kUnitSteps / kStepsTogether>([&]<int FirstStep>() ROPEWALK_INLINE {
    typename Dot::template Latest<Tokens> latest(sums);
    const typename Dot::Element* from = x + FirstStep * kStepElements;
    ROPEWALK_ROLLED
    for (int i = First; i < First + Count; ++i, from += Dot::kUnitSteps * kStepElements) {
      const auto unit = [&](const Block& block)
                            ROPEWALK_INLINE { return Block::template plane_of<Plane>(block.words(outer, 0) + i * 4 * kPanelRows, outer); };
      const v128_t low = unit(blocks[0]), high = unit(blocks[1]);
      unrolled<kStepsTogether>([&]<int I>() ROPEWALK_INLINE {
        constexpr int kStep = FirstStep + I;
        add_tile_step<Dot>(latest.sums, Dot::template weights_of_step<kStep, Block>(low), Dot::template weights_of_step<kStep, Block>(high),
                           from + I * kStepElements, distances);
      });
    }
  });
}

// Adds the products of `Count` units, from step `First` of the run, to the latest sums.
template <class Dot, class Block, int Part, int First, int Count, int Tokens>
ROPEWALK_INLINE inline void add_units(const Block (&blocks)[2], int outer, int run, const typename Dot::Element* x,
                                      const TokenDistances& distances, v128_t (&sums)[Tokens][2]) {
  constexpr int kStepElements = turns_of(Tokens) * Dot::kElementsPerStep;
  typename Dot::template Latest<Tokens> latest(sums);
  unrolled<Count>([&]<int I>() ROPEWALK_INLINE {
    constexpr int kUnit = unit_at<Block>(First + I);
    const v128_t low = blocks[0].template quants<Part, kUnit>(outer, run), high = blocks[1].template quants<Part, kUnit>(outer, run);
    unrolled<Dot::kUnitSteps>([&]<int Step>() ROPEWALK_INLINE {
      add_tile_step<Dot>(latest.sums, Dot::template weights_of_step<Step, Block>(low), Dot::template weights_of_step<Step, Block>(high),
                         x + (kUnit * Dot::kUnitSteps + Step) * kStepElements, distances);
    });
    // else compilers unpack more units than there are registers
    unrolled<2 * Tokens - 1>([&]<int S>() ROPEWALK_INLINE {
      constexpr int kNext = S + 1;
      computed_here(latest.sums[0][0], latest.sums[kNext / 2][kNext % 2]);
    });
  });
}

// Adds the products of a run of columns, whose first unit is at `x`, to the sums of the tokens and the rows of both halves.
template <class Dot, class Block, int Part, int Tokens>
ROPEWALK_INLINE inline void add_run_of_few(const Block (&blocks)[2], int outer, int run, const typename Dot::Element* x,
                                           const TokenDistances& distances, v128_t (&sums)[Tokens][2]) {
  constexpr int kRunUnits = kUnits / Block::kRuns;
  if constexpr (kHasPlanes<Block> && Block::kRuns == 1) {
    constexpr int kCount = std::min(Block::kPlaneUnits, Dot::template kTogether<Block>);
    unrolled<kRunUnits / kCount>([&]<int Loop>() ROPEWALK_INLINE {
      constexpr int kFirst = Loop * kCount, kPlane = Part * kPlanes<Block> / Block::kParts + kFirst / Block::kPlaneUnits;
      add_plane<Dot, Block, kPlane, kFirst % Block::kPlaneUnits, kCount>(
          blocks, outer, x + kFirst * Dot::kUnitSteps * Dot::kElementsPerStep * turns_of(Tokens), distances, sums);
    });
  } else {
    constexpr int kCount = std::min(kRunUnits, Dot::template kTogether<Block>);
    unrolled<kRunUnits / kCount>(
        [&]<int Group>() ROPEWALK_INLINE { add_units<Dot, Block, Part, Group * kCount, kCount>(blocks, outer, run, x, distances, sums); });
  }
}

// Inputs of the next columns.
template <class Dot>
struct NextInputs {
  const typename Dot::Element* elements;
  const float* scales;
  const std::int16_t* sums;
  const std::int32_t* even_offsets;
};

// Adds the products with a block to the sums of the first `Tokens` tokens. Moves on the inputs.
template <class Arithmetic, class Dot, class Block, int Tokens>
ROPEWALK_INLINE inline void add_block_of_few(const PanelPart& panel, const std::uint8_t* weights, const Scales& scales,
                                             const TokenDistances& distances, NextInputs<Dot>& x, float* sums) {
  constexpr int kOffset = -Dot::template kOffset<Block>, kTurns = turns_of(Tokens);
  const Block blocks[2] = {Block(weights, 0, scales), Block(weights, 1, scales)};
  ROPEWALK_ROLLED
  for (int outer = 0; outer < Block::kElements / kActivationGroup / Block::kParts; ++outer) {
    unrolled<Block::kParts>([&]<int Part>() ROPEWALK_INLINE {
      const int group = outer * Block::kParts + Part;
      v128_t products[Tokens][2] = {};
      ROPEWALK_ROLLED
      for (int run = 0; run < Block::kRuns; ++run, x.elements += kActivationGroup / Block::kRuns * kTurns) {
        read_ahead<Block, Block::kElements / kActivationGroup * Block::kRuns>(panel, weights, group * Block::kRuns + run);
        // of the sums of both halves of the columns, times the offset or zero
        v128_t offset = Block::kRuns == 1 ? wasm_i16x8_splat(kOffset) : wasm_i32x4_splat(run == 0 ? kOffset & 0xFFFF : kOffset * 0x10000);
        computed_here(offset);  // else engines build the constant anew for each token
        v128_t run_sums[Tokens][2];
        unrolled<Tokens>([&]<int T>() ROPEWALK_INLINE {
          v128_t& first = run_sums[T][0];
          if constexpr (Dot::template kOffsetsEven<Block>) {
            first = wasm_v128_load32_splat(x.even_offsets + T * distances.scales);
          } else {
            first = kOffset == 0 ? wasm_i32x4_splat(0) : WordDot::start(offset, x.sums + T * distances.sums);
          }
          run_sums[T][1] = first;
        });
        add_run_of_few<Dot, Block, Part>(blocks, outer, run, x.elements, distances, run_sums);
        unrolled<2 * Tokens>([&]<int I>() ROPEWALK_INLINE {
          v128_t total = run_sums[I / 2][I % 2];
          if constexpr (Block::kSubScales) total = wasm_i32x4_mul(total, blocks[I % 2].sub_scale(2 * group + run));
          products[I / 2][I % 2] = Block::kRuns == 1 ? total : wasm_i32x4_add(products[I / 2][I % 2], total);
        });
      }
      add_tile_group<Arithmetic, Block::kMinimums>(BlockScales<Block>{blocks, group}, products, x.scales, x.sums, distances, sums);
      x.scales += kTurns;
      if constexpr (Dot::template kOffsetsEven<Block>) x.even_offsets += kTurns;
      x.sums += 2 * kTurns;
    });
  }
}

// Adds the products with parts of panels to the sums of the first `Tokens` tokens.
template <class Arithmetic, class OfMany, class Block, int Tokens>
void quantized_few(const PanelParts& panels, const TokenRows& x, float* sums) {
  static_assert(!Block::kScalesOf16);
  constexpr int kBytes = block_bytes(Block::kFormat) * kPanelRows;
  using Dot = std::conditional_t<turns_of(Tokens) == 1, typename OfMany::Alone, OfMany>;
  const TokenDistances distances = turns_of(Tokens) > 1 ? kInTurns<Dot> : TokenDistances{x.columns, x.columns / 32, x.columns / 16};
  const PanelPart part = panels.first;
  const Scales scales = Scales::finite(part);
  const int turn = columns_in_turn<Block>(part);
  const QuantizedRow row = x.quantized;
  const auto add = [&](int start, const Turn<float>(&turns)[1]) ROPEWALK_INLINE {
    auto [weights, to] = turns[0];
    const int inputs = start * turns_of(Tokens), groups = inputs / kActivationGroup;
    NextInputs<Dot> next = {Dot::elements(row) + inputs, row.scales + groups, row.sums + 2 * groups,
                            Dot::template kOffsetsEven<Block> ? row.even_offsets + groups : nullptr};
    for (int first = start; first < start + turn; first += Block::kElements, weights += kBytes)
      add_block_of_few<Arithmetic, Dot, Block, Tokens>(part, weights, scales, distances, next, to);
  };
  each_turn<1>(panels, turn, turn / Block::kElements * kBytes, sums, panels.sums_apart, add);
}

}  // namespace ropewalk
