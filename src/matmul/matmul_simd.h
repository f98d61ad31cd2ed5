// The product kernels in simd128, as templates over how floats are multiplied and added and how integers are multiplied.
#pragma once

#include "matmul/computed_here.h"
#include "matmul/matmul_floats_simd.h"
#include "matmul/matmul_formats_simd.h"
#include "matmul/matmul_grids_simd.h"
#include "matmul/matmul_integer_dot.h"
#include "matmul/matmul_kernels.h"
#include "matmul/matmul_unrolled.h"

namespace ropewalk {

constexpr int kUnits = kActivationGroup / 4;  // units of four columns per group

// Stores four units of a token that takes turns, or lies alone.
inline void store_units(void* to, v128_t units, int turns) {
  if (turns == 1) return wasm_v128_store(to, units);
  std::uint32_t* const lanes = static_cast<std::uint32_t*>(to);
  unrolled<4>([&]<int I>() ROPEWALK_INLINE { wasm_v128_store32_lane(lanes + I * kTileTokens, units, I); });
}

inline void quantize_row_simd(const float* x, int columns, const QuantizedRow& out) {
  const v128_t magic = wasm_f32x4_splat(0x1.8p23f);  // adding it rounds to an integer, which ends up in the low bits
  const int turns = out.turns;
  for (int column = 0; column < columns; column += kActivationGroup) {
    const float* from = x + column;
    v128_t largest = wasm_f32x4_splat(0);
    for (int i = 0; i < kActivationGroup; i += 4) largest = wasm_f32x4_pmax(largest, wasm_f32x4_abs(wasm_v128_load(from + i)));
    largest = wasm_f32x4_pmax(largest, wasm_i32x4_shuffle(largest, largest, 2, 3, 0, 1));
    largest = wasm_f32x4_pmax(largest, wasm_i32x4_shuffle(largest, largest, 1, 0, 3, 2));
    const float scale = wasm_f32x4_extract_lane(largest, 0) / 127;
    const v128_t inverse = wasm_f32x4_splat(scale < kSmallestActivationScale ? 0 : 1 / scale);
    out.scales[column / kActivationGroup * turns] = scale;

    const auto integers = [&](int i) {
      return wasm_i32x4_sub(wasm_f32x4_add(wasm_f32x4_mul(wasm_v128_load(from + i), inverse), magic), magic);
    };
    for (int i = 0; i < kActivationGroup; i += 16) {
      const v128_t low = wasm_i16x8_narrow_i32x4(integers(i), integers(i + 4));
      const v128_t high = wasm_i16x8_narrow_i32x4(integers(i + 8), integers(i + 12));
      store_units(out.bytes + (column + i) * turns, wasm_i8x16_narrow_i16x8(low, high), turns);
      store_units(out.words + (column + i) * turns, wasm_i16x8_shuffle(low, low, 0, 2, 1, 3, 4, 6, 5, 7), turns);
      store_units(out.words + (column + i + 8) * turns, wasm_i16x8_shuffle(high, high, 0, 2, 1, 3, 4, 6, 5, 7), turns);
      v128_t sum = wasm_i32x4_extadd_pairwise_i16x8(wasm_i16x8_add(low, high));
      sum = wasm_i32x4_add(sum, wasm_i32x4_shuffle(sum, sum, 2, 3, 0, 1));
      sum = wasm_i32x4_add(sum, wasm_i32x4_shuffle(sum, sum, 1, 0, 3, 2));
      out.sums[column / kActivationGroup * 2 * turns + i / 16] = static_cast<std::int16_t>(wasm_i32x4_extract_lane(sum, 0));
    }
  }
}

// The sums with which a run of columns starts: minus the offset of the quants, times the token's columns.
template <class Dot, class Block>
inline v128_t first_sum(const std::int16_t* x_sums, int run) {
  constexpr int kOffset = -Dot::template kOffset<Block>;
  if constexpr (kOffset == 0) return wasm_i32x4_splat(0);
  if constexpr (Block::kRuns == 1) return wasm_i32x4_dot_i16x8(wasm_i16x8_splat(kOffset), wasm_v128_load32_splat(x_sums));
  return wasm_i32x4_dot_i16x8(wasm_i32x4_splat(kOffset & 0xFFFF), wasm_v128_load16_splat(x_sums + run));
}

// Adds I (matmul_kernels.h) of a run of columns to the products of all parts, for the rows of one or both halves.
template <class Dot, class Block, int Halves>
ROPEWALK_INLINE inline void add_run(const Block* blocks, int outer, int run, const QuantizedRow& x, int column,
                                    v128_t (&products)[Block::kParts * Halves]) {
  constexpr int kRunUnits = kUnits / Block::kRuns;
  typename Dot::Sum sums[Block::kParts * Halves];
  unrolled<Block::kParts>([&]<int Part>() ROPEWALK_INLINE {
    const v128_t first = first_sum<Dot, Block>(x.sums + column / 16 + 2 * Part, run);
    unrolled<Halves>([&]<int Half>() ROPEWALK_INLINE { sums[Part * Halves + Half].total = first; });
  });
  unrolled<kRunUnits>([&]<int Step>() ROPEWALK_INLINE {
    // quants from the same words follow one another: parts, or in blocks of 32 units i and i + 4
    constexpr int kUnit = Block::kElements == 32 ? Step / 2 + Step % 2 * 4 : Step;
    unrolled<Block::kParts>([&]<int Part>() ROPEWALK_INLINE {
      const typename Dot::Token token = Dot::template load<kUnit>(x, column + Part * kActivationGroup + run * 16);
      unrolled<Halves>([&]<int Half>() ROPEWALK_INLINE {
        Dot::template add<Block, Step>(sums[Part * Halves + Half], blocks[Half].template quants<Part, kUnit>(outer, run), token);
      });
    });
    // else compilers add up one sum after another, and what these share doesn't fit in registers
    unrolled<Block::kParts * Halves - 1>([&]<int I>() ROPEWALK_INLINE { computed_here(sums[0].latest(), sums[I + 1].latest()); });
  });
  unrolled<Block::kParts * Halves>([&]<int I>() ROPEWALK_INLINE {
    v128_t total = sums[I].total;
    if constexpr (Block::kSubScales)
      total = wasm_i32x4_mul(total, blocks[I % Halves].sub_scale(2 * (outer * Block::kParts + I / Halves) + run));
    products[I] = wasm_i32x4_add(products[I], total);
  });
}

// Adds the products with a block, for the rows of one or both halves.
template <class Arithmetic, class Dot, class Block, int Halves>
ROPEWALK_INLINE inline void add_block(const Block* blocks, const QuantizedRow& x, int first, v128_t* totals) {
  for (int outer = 0; outer < Block::kElements / kActivationGroup / Block::kParts; ++outer) {
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
    constexpr int kLeadingScales = Format == WeightFormat::iq4_xs ? 1 : kShape.leading_halves;
    unrolled<kLeadingScales>([&]<int I>() ROPEWALK_INLINE { add_field(block + 2 * I * kPanelRows); });
    constexpr int kBefore = 2 * kShape.leading_halves + 4 * kShape.words;
    unrolled<kShape.trailing_halves>([&]<int I>() ROPEWALK_INLINE { add_field(block + (kBefore + 2 * I) * kPanelRows); });
  }
  bool is_finite() const { return !wasm_v128_any_true(wasm_u16x8_ge(largest_, wasm_i16x8_splat(static_cast<std::int16_t>(0xF800)))); }

 private:
  void add_field(const std::uint8_t* halves) { largest_ = wasm_u16x8_max(largest_, wasm_i16x8_shl(wasm_v128_load(halves), 1)); }

  v128_t largest_ = wasm_i16x8_splat(0);  // without the sign
};

template <class Arithmetic, class Dot, class Block>
void quantized_token(const PanelPart& panel, const TokenRows& x, float* sums) {
  constexpr int kBytes = block_bytes(Block::kFormat) * kPanelRows;
  v128_t totals[2] = {wasm_v128_load(sums), wasm_v128_load(sums + 4)};
  LargestScale<Block::kFormat> largest_scale;
  const std::uint8_t* weights = panel.weights;
  for (int first = 0; first < panel.columns; first += Block::kElements, weights += kBytes) {
    largest_scale.add(weights);
    if constexpr (Block::kParts == 4) {  // the sums of both halves don't fit in registers
      ROPEWALK_ROLLED
      for (int half = 0; half < 2; ++half) {
        const Block block(weights, half, Scales::finite);
        add_block<Arithmetic, Dot, Block, 1>(&block, x.quantized, first, totals + half);
      }
    } else {
      const Block blocks[2] = {Block(weights, 0, Scales::finite), Block(weights, 1, Scales::finite)};
      add_block<Arithmetic, Dot, Block, 2>(blocks, x.quantized, first, totals);
    }
  }
  if (!largest_scale.is_finite()) return kScalarMatmulKernels.token[static_cast<int>(Block::kFormat)](panel, x, sums);
  wasm_v128_store(sums, totals[0]);
  wasm_v128_store(sums + 4, totals[1]);
}

// The next four tokens of `columns` columns.
inline QuantizedRow next_four(const QuantizedRow& x, int columns) {
  const int elements = kTileTokens * columns;
  return {x.bytes + elements, x.words + elements, x.scales + elements / 32, x.sums + elements / 16, x.turns};
}

// Adds the products of a step with the eight rows of a panel to those of four tokens.
template <class Dot>
ROPEWALK_INLINE inline void add_tile_step(v128_t (&products)[kTileTokens][2], const std::uint8_t* weights,
                                          const typename Dot::Element* from) {
  const v128_t low = wasm_v128_load(weights), high = wasm_v128_load(weights + 16);
  unrolled<kTileTokens>([&]<int T>() ROPEWALK_INLINE {
    const v128_t both = wasm_v128_load32_splat(from + T * Dot::kElementsPerStep);
    products[T][0] = Dot::add_step(products[T][0], low, both);
    products[T][1] = Dot::add_step(products[T][1], high, both);
  });
}

// Scales the products of a group and adds them to the sums.
template <class Arithmetic, class Dot, bool Minimums>
ROPEWALK_INLINE inline void add_tile_group(const PanelChunk& chunk, int group, const v128_t (&products)[kTileTokens][2], v128_t offset,
                                           const float* x_scales, const std::int16_t* x_sums, float* sums) {
  const v128_t scales[2] = {wasm_v128_load(chunk.scales[group]), wasm_v128_load(chunk.scales[group] + 4)};
  unrolled<kTileTokens>([&]<int T>() ROPEWALK_INLINE {
    const v128_t x_scale = wasm_v128_load32_splat(x_scales + T);
    unrolled<2>([&]<int Half>() ROPEWALK_INLINE {
      const v128_t total = Dot::total(products[T][Half], offset, x_sums + 2 * T);
      v128_t value = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(total), scales[Half]);
      if constexpr (Minimums) {
        const v128_t x_sum = wasm_v128_load32_splat(x_sums + 2 * T);
        const v128_t of_minimums = wasm_f32x4_convert_i32x4(wasm_i32x4_dot_i16x8(wasm_v128_load(chunk.minimums[group][4 * Half]), x_sum));
        value = Arithmetic::subtract_product(value, of_minimums, wasm_v128_load(chunk.minimum_scales[group] + 4 * Half));
      }
      float* sum = sums + T * kPanelRows + 4 * Half;
      wasm_v128_store(sum, Arithmetic::add_product(wasm_v128_load(sum), value, x_scale));
    });
  });
}

// Multiplies a chunk with four tokens. Eight rows times four sums stay in registers during each group.
template <class Arithmetic, class Dot>
inline void quantized_tile(const PanelChunk& chunk, int columns, const QuantizedRow& x, float* sums) {
  const typename Dot::Element* from = Dot::elements(x);
  const float* x_scales = x.scales;
  const std::int16_t* x_sums = x.sums;
  const std::uint8_t* weights = chunk.weights;
  const v128_t offset = wasm_i16x8_splat(static_cast<std::int16_t>(-chunk.offset));
  const int groups = columns / kActivationGroup;
  for (int group = 0; group < groups; ++group, x_scales += kTileTokens, x_sums += 2 * kTileTokens) {
    v128_t products[kTileTokens][2];
    unrolled<kTileTokens>([&]<int T>() ROPEWALK_INLINE { products[T][0] = products[T][1] = Dot::start(offset, x_sums + 2 * T); });
    const std::uint8_t* const end = weights + Dot::kSteps * 32;
    ROPEWALK_ROLLED
    for (; weights != end; weights += 32, from += kTileTokens * Dot::kElementsPerStep) add_tile_step<Dot>(products, weights, from);
    const auto add = [&]<bool Minimums>() ROPEWALK_INLINE {
      add_tile_group<Arithmetic, Dot, Minimums>(chunk, group, products, offset, x_scales, x_sums, sums);
    };
    // one branch: between branches, engines move sums out of registers
    if (chunk.has_minimums) {
      add.template operator()<true>();
    } else {
      add.template operator()<false>();
    }
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
      for (; weights != end; weights += 32, from += kTileTokens * Dot::kElementsPerStep) add_tile_step<Dot>(products, weights, from);
      const float* scales = (run == 0 ? chunk.scales : chunk.second_scales)[group];
      unrolled<kTileTokens>([&]<int T>() ROPEWALK_INLINE {
        unrolled<2>([&]<int Half>() ROPEWALK_INLINE {
          const v128_t total = Dot::total(products[T][Half], offset, x_sums + 2 * T);
          const v128_t sum = wasm_f32x4_convert_i32x4(total), scale = wasm_v128_load(scales + 4 * Half);
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

template <class Arithmetic, class Dot, bool ScalesOf16>
void quantized_tokens(const PanelChunk& chunk, int columns, const TokenRows& x, float* sums) {
  QuantizedRow four = x.quantized;
  for (int token = 0; token < x.count; token += kTileTokens, sums += kTileTokens * kPanelRows) {
    if constexpr (ScalesOf16) quantized_tile_of_16<Arithmetic, Dot>(chunk, columns, four, sums);
    if constexpr (!ScalesOf16) quantized_tile<Arithmetic, Dot>(chunk, columns, four, sums);
    four = next_four(four, x.columns);
  }
}

// `block_at(panel, half)` reads or decodes four rows of a block.
template <class Arithmetic, class Dot, class Block, class BlockAt>
void unpack_blocks(const std::uint8_t* panel, int panel_bytes, int columns, PanelChunk& chunk, const BlockAt& block_at) {
  chunk.multiply = quantized_tokens<Arithmetic, typename Dot::Tile, Block::kScalesOf16>;
  chunk.offset = Dot::template kTileOffset<Block>;
  chunk.has_minimums = Block::kMinimums;
  std::uint8_t* weights = chunk.weights;
  for (int first = 0; first < columns; first += Block::kElements, panel += panel_bytes) {
    const Block blocks[2] = {block_at(panel, 0), block_at(panel, 1)};
    for (int outer = 0; outer < Block::kElements / kActivationGroup / Block::kParts; ++outer) {
      unrolled<Block::kParts>([&]<int Part>() ROPEWALK_INLINE {
        const int group = first / kActivationGroup + outer * Block::kParts + Part;
        for (int half = 0; half < 2; ++half) {
          const Block& block = blocks[half];
          Dot::template unpack_group<Part>(block, outer, weights + half * 16);
          const int in_block = outer * Block::kParts + Part;
          wasm_v128_store(chunk.scales[group] + 4 * half, block.scale(in_block));
          if constexpr (Block::kScalesOf16) wasm_v128_store(chunk.second_scales[group] + 4 * half, block.second_scale(in_block));
          if constexpr (Block::kMinimums) {
            wasm_v128_store(chunk.minimum_scales[group] + 4 * half, block.minimum_scale(in_block));
            wasm_v128_store(chunk.minimums[group][4 * half], block.minimum_pairs(in_block));
          }
        }
        weights += Dot::kSteps * 32;
      });
    }
  }
}

template <class Arithmetic, class Dot, class Block>
void unpack_quantized(const std::uint8_t* panel, int columns, PanelChunk& chunk) {
  unpack_blocks<Arithmetic, Dot, Block>(panel, block_bytes(Block::kFormat) * kPanelRows, columns, chunk,
                                        [](const std::uint8_t* block, int half)
                                            ROPEWALK_INLINE { return Block(block, half, Scales::any); });
}

// All formats of matmul_grids_simd.h share these two.
template <class Arithmetic, class Dot>
void decoded_token(const BlockDecoder& decoder, const PanelPart& panel, const TokenRows& x, float* sums) {
  v128_t totals[2] = {wasm_v128_load(sums), wasm_v128_load(sums + 4)};
  const std::uint8_t* weights = panel.weights;
  for (int first = 0; first < panel.columns; first += DecodedBlock::kElements, weights += decoder.panel_bytes) {
    DecodedBlock blocks[2];
    for (int half = 0; half < 2; ++half) decoder.decode(weights, half, blocks[half]);
    add_block<Arithmetic, Dot, DecodedBlock, 2>(blocks, x.quantized, first, totals);
  }
  wasm_v128_store(sums, totals[0]);
  wasm_v128_store(sums + 4, totals[1]);
}

template <class Arithmetic, class Dot>
void unpack_decoded(const BlockDecoder& decoder, const std::uint8_t* panel, int columns, PanelChunk& chunk) {
  unpack_blocks<Arithmetic, Dot, DecodedBlock>(panel, decoder.panel_bytes, columns, chunk, [&](const std::uint8_t* block, int half) {
    DecodedBlock decoded;
    decoder.decode(block, half, decoded);
    return decoded;
  });
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

template <class Arithmetic, class TokenDot, class TileDot, class Block>
constexpr void set_kernels(MatmulKernels& kernels) {
  kernels.token[static_cast<int>(Block::kFormat)] = quantized_token<Arithmetic, TokenDot, Block>;
  kernels.unpack[static_cast<int>(Block::kFormat)] = unpack_quantized<Arithmetic, TileDot, Block>;
}

template <class Arithmetic, class Bytes, class Words, WeightFormat Format>
constexpr void set_decoded_kernels(MatmulKernels& kernels) {
  kernels.token[static_cast<int>(Format)] = [](const PanelPart& panel, const TokenRows& x, float* sums) {
    decoded_token<Arithmetic, Bytes>(block_decoder<Format>(), panel, x, sums);
  };
  kernels.unpack[static_cast<int>(Format)] = [](const std::uint8_t* panel, int columns, PanelChunk& chunk) {
    unpack_decoded<Arithmetic, Words>(block_decoder<Format>(), panel, columns, chunk);
  };
}

// The kernel table of a build. `Bytes` multiplies quants below 128, and `Words` any quants. In tiles, words have their sub-scale.
template <class Arithmetic, class Bytes, class Words>
constexpr MatmulKernels simd_matmul_kernels(const char* name) {
  MatmulKernels kernels = {name,
                           dot_name<Bytes, Words>,
                           quantize_row_simd,
                           {float_token<Arithmetic, F32Column>, f16_token<Arithmetic>, float_token<Arithmetic, BF16Column>},
                           {unpack_floats<Arithmetic, float>, unpack_floats<Arithmetic, Float16>, unpack_floats<Arithmetic, BFloat16>}};
  const auto set = [&]<class TokenDot, class TileDot, class... Blocks>() {
    (set_kernels<Arithmetic, TokenDot, TileDot, Blocks>(kernels), ...);
  };
  set.template operator()<Words, Words, BlockQ8_0, BlockIq4Nl, BlockIq4Xs>();
  set.template operator()<Bytes, Words, BlockQ2K, BlockQ3K, BlockQ6K>();
  set.template operator()<Bytes, Bytes, BlockQ4_0, BlockQ4_1, BlockQ5_0, BlockQ5_1, BlockQ4K, BlockQ5K, BlockQ1_0, BlockQ2_0, BlockTQ2_0,
                          BlockMxfp4, BlockNvfp4>();
  const auto set_decoded = [&]<WeightFormat... Formats>() { (set_decoded_kernels<Arithmetic, Bytes, Words, Formats>(kernels), ...); };
  using enum WeightFormat;
  set_decoded.template operator()<tq1_0, iq3_s, iq3_xxs, iq2_s, iq2_xs, iq2_xxs, iq1_s, iq1_m>();
  return kernels;
}

}  // namespace ropewalk
