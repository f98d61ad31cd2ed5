// Products of quantized weights with many tokens: a chunk of a panel is unpacked once, then multiplied with four tokens at a time.
#pragma once

#include <type_traits>

#include "base/computed_here.h"
#include "matmul/kernels/matmul_formats_simd.h"
#include "matmul/kernels/matmul_grids_simd.h"
#include "matmul/kernels/matmul_integer_dot.h"
#include "matmul/kernels/matmul_kernels.h"
#include "matmul/kernels/matmul_unrolled.h"

namespace ropewalk {

// The next four tokens of `columns` columns.
inline QuantizedRow next_four(const QuantizedRow& x, int columns) {
  const int elements = kTileTokens * columns;
  return {x.bytes == nullptr ? nullptr : x.bytes + elements, x.words == nullptr ? nullptr : x.words + elements, x.scales + elements / 32,
          x.sums + elements / 16, x.even_offsets == nullptr ? nullptr : x.even_offsets + elements / 32};
}

// From the columns of a token to those of the next, in elements of a dot product, scales and sums.
struct TokenDistances {
  int elements, scales, sums;
};

template <class Dot>
constexpr TokenDistances kInTurns = {Dot::kElementsPerStep, 1, 2};

// Adds the products of a step with the eight rows of a panel to those of some tokens.
template <class Dot, int Tokens>
ROPEWALK_INLINE inline void add_tile_step(v128_t (&products)[Tokens][2], v128_t low, v128_t high, const typename Dot::Element* from,
                                          const TokenDistances& distances) {
  unrolled<Tokens>([&]<int T>() ROPEWALK_INLINE {
    const v128_t both = wasm_v128_load32_splat(from + T * distances.elements);
    products[T][0] = Dot::add_step(products[T][0], low, both);
    products[T][1] = Dot::add_step(products[T][1], high, both);
  });
}

// The scales of a group of 32 columns, for rows 0 to 3 (half 0) or 4 to 7 (half 1): those of a chunk.
struct ChunkScales {
  const PanelChunk& chunk;
  int group;

  v128_t scale(int half) const { return wasm_v128_load(chunk.scales[group] + 4 * half); }
  v128_t minimum_scale(int half) const { return wasm_v128_load(chunk.minimum_scales[group] + 4 * half); }
  v128_t minimum_pairs(int half) const { return wasm_v128_load(chunk.minimums[group][4 * half]); }
};

// Those of two blocks, with four rows each.
template <class Block>
struct BlockScales {
  const Block* blocks;
  int group;

  v128_t scale(int half) const { return blocks[half].scale(group); }
  v128_t minimum_scale(int half) const { return blocks[half].minimum_scale(group); }
  v128_t minimum_pairs(int half) const { return blocks[half].minimum_pairs(group); }
};

// Scales the products of a group and adds them to the sums.
template <class Arithmetic, bool Minimums, class GroupScales, int Tokens>
ROPEWALK_INLINE inline void add_tile_group(const GroupScales& group, const v128_t (&products)[Tokens][2], const float* x_scales,
                                           const std::int16_t* x_sums, const TokenDistances& distances, float* sums) {
  const v128_t scales[2] = {group.scale(0), group.scale(1)};
  unrolled<Tokens>([&]<int T>() ROPEWALK_INLINE {
    const v128_t x_scale = wasm_v128_load32_splat(x_scales + T * distances.scales);
    v128_t values[2];
    unrolled<2>([&]<int Half>() ROPEWALK_INLINE {
      values[Half] = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(products[T][Half]), scales[Half]);
      if constexpr (Minimums) {
        const v128_t x_sum = wasm_v128_load32_splat(x_sums + T * distances.sums);
        const v128_t of_minimums = wasm_f32x4_convert_i32x4(wasm_i32x4_dot_i16x8(group.minimum_pairs(Half), x_sum));
        values[Half] = Arithmetic::subtract_product(values[Half], of_minimums, group.minimum_scale(Half));
      }
    });
    // not before both values, which share what they have in common only if no store is in between
    unrolled<2>([&]<int Half>() ROPEWALK_INLINE {
      float* const sum = sums + T * kPanelRows + 4 * Half;
      wasm_v128_store(sum, Arithmetic::add_product(wasm_v128_load(sum), values[Half], x_scale));
    });
  });
}

// Multiplies a chunk with four tokens. Eight rows times four sums stay in registers during each group. Formats with and without minimums
// have loops of their own: between branches, engines move sums out of registers.
template <class Arithmetic, class Dot, bool Minimums>
inline void quantized_tile(const PanelChunk& chunk, int columns, const QuantizedRow& x, float* sums) {
  const typename Dot::Element* from = Dot::elements(x);
  const float* x_scales = x.scales;
  const std::int16_t* x_sums = x.sums;
  const std::uint8_t* weights = chunk.from;
  const int between = chunk.group_bytes - Dot::kSteps * 32;
  const v128_t offset = wasm_i16x8_splat(static_cast<std::int16_t>(-chunk.offset));
  const int groups = columns / kActivationGroup;
  for (int group = 0; group < groups; ++group, x_scales += kTileTokens, x_sums += 2 * kTileTokens) {
    v128_t products[kTileTokens][2];
    unrolled<kTileTokens>([&]<int T>() ROPEWALK_INLINE {
      products[T][0] = products[T][1] = Dot::kSubtractsOffsets ? wasm_i32x4_splat(0) : Dot::start(offset, x_sums + 2 * T);
    });
    const std::uint8_t* const end = weights + Dot::kSteps * 32;
    ROPEWALK_ROLLED
    for (; weights != end; weights += 32, from += kTileTokens * Dot::kElementsPerStep) {
      add_tile_step<Dot>(products, wasm_v128_load(weights), wasm_v128_load(weights + 16), from, kInTurns<Dot>);
    }
    loaded_again(sums);
    add_tile_group<Arithmetic, Minimums>(ChunkScales{chunk, group}, products, x_scales, x_sums, kInTurns<Dot>, sums);
    weights += between;
  }
}

// The same for formats with a scale for each 16 columns.
template <class Arithmetic, class Dot>
inline void quantized_tile_of_16(const PanelChunk& chunk, int columns, const QuantizedRow& x, float* sums) {
  const typename Dot::Element* from = Dot::elements(x);
  const float* x_scales = x.scales;
  const std::int16_t* x_sums = x.sums;
  const std::uint8_t* weights = chunk.weights;
  const int groups = columns / kActivationGroup;
  for (int group = 0; group < groups; ++group, x_scales += kTileTokens, x_sums += 2 * kTileTokens) {
    v128_t values[kTileTokens][2] = {};
    for (int run = 0; run < 2; ++run) {
      // of the sums of both runs, times the offset or zero
      const v128_t offset = wasm_i32x4_splat(run == 0 ? -chunk.offset & 0xFFFF : -chunk.offset * 0x10000);
      v128_t products[kTileTokens][2];
      unrolled<kTileTokens>([&]<int T>() ROPEWALK_INLINE { products[T][0] = products[T][1] = Dot::start(offset, x_sums + 2 * T); });
      const std::uint8_t* const end = weights + Dot::kSteps / 2 * 32;
      ROPEWALK_ROLLED
      for (; weights != end; weights += 32, from += kTileTokens * Dot::kElementsPerStep) {
        add_tile_step<Dot>(products, wasm_v128_load(weights), wasm_v128_load(weights + 16), from, kInTurns<Dot>);
      }
      const float* scales = (run == 0 ? chunk.scales : chunk.second_scales)[group];
      unrolled<kTileTokens>([&]<int T>() ROPEWALK_INLINE {
        unrolled<2>([&]<int Half>() ROPEWALK_INLINE {
          const v128_t sum = wasm_f32x4_convert_i32x4(products[T][Half]), scale = wasm_v128_load(scales + 4 * Half);
          values[T][Half] = run == 0 ? wasm_f32x4_mul(sum, scale) : Arithmetic::add_product(values[T][Half], sum, scale);
        });
      });
    }
    unrolled<kTileTokens>([&]<int T>() ROPEWALK_INLINE {
      const v128_t x_scale = wasm_v128_load32_splat(x_scales + T);
      unrolled<2>([&]<int Half>() ROPEWALK_INLINE {
        float* sum = sums + T * kPanelRows + 4 * Half;
        wasm_v128_store(sum, Arithmetic::add_product(wasm_v128_load(sum), values[T][Half], x_scale));
      });
    });
  }
}

template <auto Tile>
void quantized_tokens(const PanelChunk& chunk, int columns, const TokenRows& x, float* sums) {
  QuantizedRow four = x.quantized;
  NextLines next = chunk.next;
  const std::ptrdiff_t fetched = next.per_step((x.count + kTileTokens - 1) / kTileTokens);
  for (int token = 0; token < x.count; token += kTileTokens, sums += kTileTokens * kPanelRows) {
    next.fetch(fetched);
    Tile(chunk, columns, four, sums);
    four = next_four(four, x.columns);
  }
}

// Whether code for a block is so short that both halves have their own. Else compilers keep what they know of a half in memory.
template <class Block>
constexpr bool kIsShort = requires {
  Block::kQuantsAt;
};

// Sets what multiplies a chunk.
template <class Arithmetic, class Dot, class Block>
void multiply_with(PanelChunk& chunk) {
  using Tile = typename Dot::Tile;
  if constexpr (Block::kScalesOf16) chunk.multiply = quantized_tokens<quantized_tile_of_16<Arithmetic, Tile>>;
  if constexpr (!Block::kScalesOf16) chunk.multiply = quantized_tokens<quantized_tile<Arithmetic, Tile, Block::kMinimums>>;
}

// `block_at(block, half)` reads or decodes four rows of a block, which has `block_bytes` for all eight.
template <class Dot, class Block, class BlockAt>
void unpack_blocks(const PanelPart& panel, int block_bytes, PanelChunk& chunk, const BlockAt& block_at) {
  chunk.offset = Dot::template kTileOffset<Block>;
  constexpr bool kReadsPanel = Dot::template kReadsPanel<Block>;
  chunk.from = chunk.weights;
  chunk.group_bytes = Dot::kSteps * 32;
  if constexpr (kReadsPanel) {
    chunk.from = panel.weights + Block::kQuantsAt * kPanelRows;
    chunk.group_bytes = block_bytes;
  }
  chunk.next = next_of(panel, panel.columns / Block::kElements * block_bytes);
  const std::uint8_t* from = panel.weights;
  std::uint8_t* weights = chunk.weights;
  for (int first = 0; first < panel.columns; first += Block::kElements, from += block_bytes) {
    const Block blocks[2] = {block_at(from, 0), block_at(from, 1)};
    for (int outer = 0; outer < Block::kElements / kActivationGroup / Block::kParts; ++outer) {
      unrolled<Block::kParts>([&]<int Part>() ROPEWALK_INLINE {
        const int group = first / kActivationGroup + outer * Block::kParts + Part;
        if constexpr (Block::kParts == 4) read_ahead<Block, Block::kElements / kActivationGroup>(panel, from, outer * Block::kParts + Part);
        const auto unpack_half = [&](auto half) ROPEWALK_INLINE {
          const Block& block = blocks[half];
          if constexpr (!kReadsPanel) Dot::template unpack_group<Part>(block, outer, weights + half * 16);
          const int in_block = outer * Block::kParts + Part;
          wasm_v128_store(chunk.scales[group] + 4 * half, block.scale(in_block));
          if constexpr (Block::kScalesOf16) wasm_v128_store(chunk.second_scales[group] + 4 * half, block.second_scale(in_block));
          if constexpr (Block::kMinimums) {
            wasm_v128_store(chunk.minimum_scales[group] + 4 * half, block.minimum_scale(in_block));
            wasm_v128_store(chunk.minimums[group][4 * half], block.minimum_pairs(in_block));
          }
          if constexpr (Dot::kStoresSubScales && Block::kSubScales) {
            const v128_t first = block.sub_scale(2 * in_block), second = block.sub_scale(2 * in_block + 1);
            wasm_v128_store(chunk.sub_scales[2 * group][4 * half], pairs_of(first, first));
            wasm_v128_store(chunk.sub_scales[2 * group + 1][4 * half], pairs_of(second, second));
            if constexpr (!Block::kMinimums)
              wasm_v128_store(chunk.minimums[group][4 * half], wasm_i16x8_mul(pairs_of(first, second), wasm_i16x8_splat(-Block::kOffset)));
          }
        };
        if constexpr (kIsShort<Block>) {
          unpack_half(std::integral_constant<int, 0>());
          unpack_half(std::integral_constant<int, 1>());
        } else {
          for (int half = 0; half < 2; ++half) unpack_half(half);
        }
        weights += Dot::kSteps * 32;
      });
    }
  }
}

template <class Dot, class Block>
void unpack_quantized(const PanelPart& panel, PanelChunk& chunk) {
  const Scales scales = kIsShort<Block> ? Scales::known(panel) : Scales::any(panel);
  unpack_blocks<Dot, Block>(panel, block_bytes(Block::kFormat) * kPanelRows, chunk,
                            [&](const std::uint8_t* block, int half) ROPEWALK_INLINE { return Block(block, half, scales); });
}

template <class Dot>
void unpack_decoded(const BlockDecoder& decoder, const PanelPart& panel, PanelChunk& chunk) {
  const Scales scales = Scales::any(panel);
  unpack_blocks<Dot, DecodedBlock>(panel, decoder.panel_bytes, chunk, [&](const std::uint8_t* block, int half) {
    DecodedBlock decoded;
    decoder.decode(block, half, scales, decoded);
    return decoded;
  });
}

}  // namespace ropewalk
