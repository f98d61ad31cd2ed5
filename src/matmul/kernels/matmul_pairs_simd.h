// Tiles of quants below 128 that add products in pairs of 16 bits, for the relaxed build.
//
// Where processors have no instruction for sums of four products, an engine takes five for each relaxed dot product, and one for its
// products in pairs. As many steps are added in 16 bits as fit. What then adds the two numbers of a pair in 32 bits multiplies them too, so
// sub-scales cost nothing.
#pragma once

#include "matmul/kernels/matmul_tiles_simd.h"

namespace ropewalk {

ROPEWALK_INLINE inline v128_t add_scaled(v128_t total, v128_t pairs, v128_t sub_scale) {
  return wasm_i32x4_add(total, wasm_i32x4_dot_i16x8(pairs, sub_scale));
}

// The totals before anything is added: minus the offsets.
template <bool Minimums>
ROPEWALK_INLINE inline void start_totals(const ChunkScales& scales, const std::int16_t* x_sums, v128_t (&totals)[kTileTokens][2]) {
  unrolled<kTileTokens>([&]<int T>() ROPEWALK_INLINE {
    unrolled<2>([&]<int Half>() ROPEWALK_INLINE {
      totals[T][Half] = Minimums ? wasm_i32x4_splat(0) : RelaxedPairs::start(scales.minimum_pairs(Half), x_sums + 2 * T);
    });
  });
}

// Multiplies a chunk with four tokens, in runs of several steps. The sums of a run stay in registers, and the totals in memory.
template <class Arithmetic, bool Minimums>
inline void pairs_tile(const PanelChunk& chunk, int columns, const QuantizedRow& x, float* sums) {
  const std::int8_t* from = x.bytes;
  const float* x_scales = x.scales;
  const std::int16_t *x_sums = x.sums, *sub_scales = chunk.sub_scales[0][0];
  const std::uint8_t* weights = chunk.from;
  const int run_bytes = chunk.steps_in_run * 32, between_sub_scales = chunk.between_sub_scales;
  const int groups = columns / kActivationGroup;
  for (int group = 0; group < groups; ++group, x_scales += kTileTokens, x_sums += 2 * kTileTokens) {
    const ChunkScales scales = {chunk, group};
    v128_t totals[kTileTokens][2];
    start_totals<Minimums>(scales, x_sums, totals);
    const std::uint8_t* const end = weights + RelaxedPairs::kSteps * 32;
    ROPEWALK_ROLLED
    for (; weights != end; sub_scales += between_sub_scales) {
      v128_t pairs[kTileTokens][2] = {};
      const std::uint8_t* const run_end = weights + run_bytes;
      ROPEWALK_ROLLED
      for (; weights != run_end; weights += 32, from += kTileTokens * RelaxedPairs::kElementsPerStep) {
        add_tile_step<RelaxedPairs>(pairs, wasm_v128_load(weights), wasm_v128_load(weights + 16), from, kInTurns<RelaxedPairs>);
      }
      const v128_t sub_scale[2] = {wasm_v128_load(sub_scales), wasm_v128_load(sub_scales + 8)};
      unrolled<2 * kTileTokens>(
          [&]<int I>() ROPEWALK_INLINE { totals[I / 2][I % 2] = add_scaled(totals[I / 2][I % 2], pairs[I / 2][I % 2], sub_scale[I % 2]); });
    }
    loaded_again(sums);
    add_tile_group<Arithmetic, Minimums>(scales, totals, x_scales, x_sums, kInTurns<RelaxedPairs>, sums);
  }
}

// The same with runs of one step, whose pairs are added to totals in registers.
template <class Arithmetic>
inline void single_pairs_tile(const PanelChunk& chunk, int columns, const QuantizedRow& x, float* sums) {
  const std::int8_t* from = x.bytes;
  const float* x_scales = x.scales;
  const std::int16_t *x_sums = x.sums, *sub_scales = chunk.sub_scales[0][0];
  const std::uint8_t* weights = chunk.from;
  const int groups = columns / kActivationGroup;
  for (int group = 0; group < groups; ++group, x_scales += kTileTokens, x_sums += 2 * kTileTokens) {
    const ChunkScales scales = {chunk, group};
    v128_t totals[kTileTokens][2];
    start_totals<false>(scales, x_sums, totals);
    ROPEWALK_ROLLED
    for (int run = 0; run < 2; ++run, sub_scales += 2 * kPanelRows) {
      const v128_t sub_scale[2] = {wasm_v128_load(sub_scales), wasm_v128_load(sub_scales + 8)};
      const std::uint8_t* const end = weights + RelaxedPairs::kSteps / 2 * 32;
      ROPEWALK_ROLLED
      for (; weights != end; weights += 32, from += kTileTokens * RelaxedPairs::kElementsPerStep) {
        const v128_t rows[2] = {wasm_v128_load(weights), wasm_v128_load(weights + 16)};
        unrolled<kTileTokens>([&]<int T>() ROPEWALK_INLINE {
          const v128_t both = wasm_v128_load32_splat(from + T * RelaxedPairs::kElementsPerStep);
          unrolled<2>([&]<int Half>() ROPEWALK_INLINE {
            const v128_t pairs = wasm_i16x8_relaxed_dot_i8x16_i7x16(both, rows[Half]);
            totals[T][Half] = add_scaled(totals[T][Half], pairs, sub_scale[Half]);
          });
        });
      }
    }
    loaded_again(sums);
    add_tile_group<Arithmetic, false>(scales, totals, x_scales, x_sums, kInTurns<RelaxedPairs>, sums);
  }
}

// Number of steps whose sums fit in pairs: those of 32 columns, or of 16, which have one sub-scale. Else one.
template <class Block>
constexpr int kStepsInPairs = 2 * 127 * 8 * Block::kLargest <= 32767 && !Block::kSubScales ? 8
                              : 2 * 127 * 4 * Block::kLargest <= 32767                     ? 4
                                                                                           : 1;

// Sets what multiplies a chunk that was unpacked to bytes.
template <class Arithmetic, class Block>
void multiply_in_pairs(PanelChunk& chunk) {
  constexpr int kStepsInRun = kStepsInPairs<Block>;
  if constexpr (!Block::kSubScales) {
    for (int half = 0; half < 2; ++half) wasm_v128_store(chunk.sub_scales[0][4 * half], lanes(kLanes.ones));
    if constexpr (!Block::kMinimums) {
      const v128_t offset = wasm_i16x8_splat(-Block::kOffset);
      for (auto& minimums : chunk.minimums) wasm_v128_store(minimums[0], offset), wasm_v128_store(minimums[4], offset);
    }
  }
  chunk.steps_in_run = kStepsInRun;
  chunk.between_sub_scales = Block::kSubScales ? 2 * kPanelRows : 0;
  if constexpr (kStepsInRun > 1) {
    chunk.multiply = quantized_tokens<pairs_tile<Arithmetic, Block::kMinimums>>;
  } else {
    static_assert(Block::kSubScales && !Block::kMinimums);
    chunk.multiply = quantized_tokens<single_pairs_tile<Arithmetic>>;
  }
}

}  // namespace ropewalk
