// The product kernels in simd128, as templates over how floats are multiplied and added and how integers are multiplied.
#pragma once

#include "matmul/matmul_floats_simd.h"
#include "matmul/matmul_formats_simd.h"
#include "matmul/matmul_integer_dot.h"
#include "matmul/matmul_kernels.h"
#include "matmul/matmul_read_ahead.h"
#include "matmul/matmul_unrolled.h"

namespace ropewalk {

constexpr int kUnits = kActivationGroup / 4;  // units of four columns per group

inline void quantize_row_simd(const float* x, int columns, const QuantizedRow& out) {
  const v128_t magic = wasm_f32x4_splat(0x1.8p23f);  // adding it rounds to an integer, which ends up in the low bits
  for (int column = 0; column < columns; column += kActivationGroup) {
    const float* from = x + column;
    v128_t largest = wasm_f32x4_splat(0);
    for (int i = 0; i < kActivationGroup; i += 4) largest = wasm_f32x4_pmax(largest, wasm_f32x4_abs(wasm_v128_load(from + i)));
    largest = wasm_f32x4_pmax(largest, wasm_i32x4_shuffle(largest, largest, 2, 3, 0, 1));
    largest = wasm_f32x4_pmax(largest, wasm_i32x4_shuffle(largest, largest, 1, 0, 3, 2));
    const float scale = wasm_f32x4_extract_lane(largest, 0) / 127;
    const v128_t inverse = wasm_f32x4_splat(scale < kSmallestActivationScale ? 0 : 1 / scale);
    out.scales[column / kActivationGroup] = scale;

    const auto integers = [&](int i) {
      return wasm_i32x4_sub(wasm_f32x4_add(wasm_f32x4_mul(wasm_v128_load(from + i), inverse), magic), magic);
    };
    for (int i = 0; i < kActivationGroup; i += 16) {
      const v128_t low = wasm_i16x8_narrow_i32x4(integers(i), integers(i + 4));
      const v128_t high = wasm_i16x8_narrow_i32x4(integers(i + 8), integers(i + 12));
      wasm_v128_store(out.bytes + column + i, wasm_i8x16_narrow_i16x8(low, high));
      wasm_v128_store(out.words + column + i, wasm_i16x8_shuffle(low, low, 0, 2, 1, 3, 4, 6, 5, 7));
      wasm_v128_store(out.words + column + i + 8, wasm_i16x8_shuffle(high, high, 0, 2, 1, 3, 4, 6, 5, 7));
      v128_t sum = wasm_i32x4_extadd_pairwise_i16x8(wasm_i16x8_add(low, high));
      sum = wasm_i32x4_add(sum, wasm_i32x4_shuffle(sum, sum, 2, 3, 0, 1));
      sum = wasm_i32x4_add(sum, wasm_i32x4_shuffle(sum, sum, 1, 0, 3, 2));
      out.sums[(column + i) / 16] = static_cast<std::int16_t>(wasm_i32x4_extract_lane(sum, 0));
    }
  }
}

// Computes I (matmul_kernels.h) of a group for all eight rows: the products of quants with a token, times the sub-scales.
template <int Part, class Block, class Dot>
ROPEWALK_INLINE inline void group_products(const Block (&blocks)[2], int outer, const QuantizedRow& x, int column, v128_t (&products)[2]) {
  constexpr int kRuns = Block::kSubScales == 2 ? 2 : 1;  // runs of columns that share a sub-scale
  const std::int16_t* x_sums = x.sums + column / 16;
  unrolled<kRuns>([&]<int Run>() ROPEWALK_INLINE {
    typename Dot::Sum low = Dot::zero(), high = Dot::zero();
    for (int unit = Run * kUnits / kRuns; unit < (Run + 1) * kUnits / kRuns; ++unit) {
      const typename Dot::Token token = Dot::load(x, column + 4 * unit);
      Dot::template add<Block::kSigned>(low, blocks[0].template quants<Part>(outer, unit), token);
      Dot::template add<Block::kSigned>(high, blocks[1].template quants<Part>(outer, unit), token);
    }
    v128_t totals[2] = {Dot::template total<Block::kSigned>(low), Dot::template total<Block::kSigned>(high)};
    const int x_sum = kRuns == 2 ? x_sums[Run] : x_sums[0] + x_sums[1];
    unrolled<2>([&]<int Half>() ROPEWALK_INLINE {
      v128_t& total = totals[Half];
      if constexpr (Block::kOffset != 0) total = wasm_i32x4_sub(total, wasm_i32x4_splat(Block::kOffset * x_sum));
      if constexpr (Block::kSubScales != 0) {
        total = wasm_i32x4_mul(total, blocks[Half].sub_scale(2 * (outer * Block::kParts + Part) + Run));
      }
      products[Half] = Run == 0 ? total : wasm_i32x4_add(products[Half], total);
    });
  });
}

template <int Part, class Block>
inline v128_t minimum_pairs(const Block& block, int outer) {
  const int s = 2 * (outer * Block::kParts + Part);
  return pairs_of(block.minimum(s), block.minimum(s + 1));
}

template <class Arithmetic, class Dot, class Block>
void quantized_token(const PanelPart& panel, const TokenRows& x, float* sums) {
  constexpr int kBytes = block_bytes(Block::kFormat) * kPanelRows, kOuter = Block::kElements / kActivationGroup / Block::kParts;
  v128_t totals[2] = {wasm_v128_load(sums), wasm_v128_load(sums + 4)};
  ReadAhead ahead(panel);
  const std::uint8_t* weights = panel.weights;
  for (int first = 0; first < panel.columns; first += Block::kElements, weights += kBytes) {
    const Block blocks[2] = {Block(weights, 0), Block(weights, 1)};
    for (int outer = 0; outer < kOuter; ++outer) {
      ahead.at(weights + outer * (kBytes / kOuter));
      unrolled<Block::kParts>([&]<int Part>() ROPEWALK_INLINE {
        const int column = first + (outer * Block::kParts + Part) * kActivationGroup;
        const v128_t x_scale = wasm_v128_load32_splat(x.quantized.scales + column / kActivationGroup);
        v128_t of_quants[2];
        group_products<Part, Block, Dot>(blocks, outer, x.quantized, column, of_quants);
        unrolled<2>([&]<int Half>() ROPEWALK_INLINE {
          const Block& block = blocks[Half];
          v128_t product = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(of_quants[Half]), block.scale);
          if constexpr (Block::kMinimums) {
            const v128_t of_minimums =
                wasm_i32x4_dot_i16x8(minimum_pairs<Part>(block, outer), wasm_v128_load32_splat(x.quantized.sums + column / 16));
            product = Arithmetic::subtract_product(product, wasm_f32x4_convert_i32x4(of_minimums), block.minimum_scale);
          }
          totals[Half] = Arithmetic::add_product(totals[Half], product, x_scale);
        });
      });
    }
  }
  wasm_v128_store(sums, totals[0]);
  wasm_v128_store(sums + 4, totals[1]);
}

// Multiplies a chunk with Tokens tokens. Eight rows times Tokens sums stay in registers during each group.
template <class Arithmetic, class Dot, int Tokens>
inline void quantized_tile(const PanelChunk& chunk, int columns, const TokenRows& x, int token, float* sums) {
  const int stride = x.columns, scale_stride = stride / kActivationGroup, sum_stride = stride / 16;
  const typename Dot::Element* from = Dot::elements(x.quantized) + token * stride;
  const float* x_scales = x.quantized.scales + token * scale_stride;
  const std::int16_t* x_sums = x.quantized.sums + token * sum_stride;
  const std::uint8_t* weights = chunk.weights;
  const bool has_minimums = chunk.has_minimums;
  const v128_t offset = wasm_i16x8_splat(static_cast<std::int16_t>(-chunk.offset));
  for (int group = 0; group < columns / kActivationGroup; ++group, ++x_scales, x_sums += 2) {
    v128_t products[Tokens][2];
    unrolled<Tokens>([&]<int T>() ROPEWALK_INLINE { products[T][0] = products[T][1] = Dot::first_sum(offset, x_sums + T * sum_stride); });
    for (int step = 0; step < Dot::kSteps; ++step, weights += 32, from += Dot::kElementsPerStep) {
      const v128_t low = wasm_v128_load(weights), high = wasm_v128_load(weights + 16);
      unrolled<Tokens>([&]<int T>() ROPEWALK_INLINE {
        const v128_t both = wasm_v128_load32_splat(from + T * stride);
        products[T][0] = Dot::add_step(products[T][0], low, both);
        products[T][1] = Dot::add_step(products[T][1], high, both);
      });
    }
    const float *scales = chunk.scales[group], *minimum_scales = chunk.minimum_scales[group];
    const std::int16_t* minimums = chunk.minimums[group][0];
    unrolled<Tokens>([&]<int T>() ROPEWALK_INLINE {
      const v128_t x_scale = wasm_v128_load32_splat(x_scales + T * scale_stride);
      unrolled<2>([&]<int Half>() ROPEWALK_INLINE {
        v128_t value = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(products[T][Half]), wasm_v128_load(scales + 4 * Half));
        if (has_minimums) {
          const v128_t x_sum = wasm_v128_load32_splat(x_sums + T * sum_stride);
          const v128_t of_minimums = wasm_i32x4_dot_i16x8(wasm_v128_load(minimums + 8 * Half), x_sum);
          value = Arithmetic::subtract_product(value, wasm_f32x4_convert_i32x4(of_minimums), wasm_v128_load(minimum_scales + 4 * Half));
        }
        float* sum = sums + T * kSumsPerToken + 4 * Half;
        wasm_v128_store(sum, Arithmetic::add_product(wasm_v128_load(sum), value, x_scale));
      });
    });
  }
}

template <class Arithmetic, class Dot>
void quantized_tokens(const PanelChunk& chunk, int columns, const TokenRows& x, float* sums) {
  int token = 0;
  for (; token + 4 <= x.count; token += 4) quantized_tile<Arithmetic, Dot, 4>(chunk, columns, x, token, sums + token * kSumsPerToken);
  for (; token < x.count; ++token) quantized_tile<Arithmetic, Dot, 1>(chunk, columns, x, token, sums + token * kSumsPerToken);
}

template <class Arithmetic, class Dot, class Block>
void unpack_quantized(const std::uint8_t* panel, int columns, PanelChunk& chunk) {
  chunk.multiply = quantized_tokens<Arithmetic, typename Dot::Tile>;
  chunk.offset = Dot::template kOffset<Block>;
  chunk.has_minimums = Block::kMinimums;
  std::uint8_t* weights = chunk.weights;
  for (int first = 0; first < columns; first += Block::kElements, panel += block_bytes(Block::kFormat) * kPanelRows) {
    const Block blocks[2] = {Block(panel, 0), Block(panel, 1)};
    for (int outer = 0; outer < Block::kElements / kActivationGroup / Block::kParts; ++outer) {
      unrolled<Block::kParts>([&]<int Part>() ROPEWALK_INLINE {
        const int group = first / kActivationGroup + outer * Block::kParts + Part;
        for (int half = 0; half < 2; ++half) {
          const v128_t scale = Dot::template unpack_group<Part>(blocks[half], outer, weights + half * 16);
          wasm_v128_store(chunk.scales[group] + 4 * half, scale);
          if constexpr (Block::kMinimums) {
            wasm_v128_store(chunk.minimum_scales[group] + 4 * half, blocks[half].minimum_scale);
            wasm_v128_store(chunk.minimums[group][4 * half], minimum_pairs<Part>(blocks[half], outer));
          }
        }
        weights += Dot::kSteps * 32;
      });
    }
  }
}

// The kernel table of a build. `Bytes` multiplies quants below 128, `Signed` multiplies signed quants with one token, and `Words`
// multiplies any quants.
template <class Arithmetic, class Bytes, class Signed, class Words>
constexpr MatmulKernels simd_matmul_kernels(const char* name) {
  return {name,
          quantize_row_simd,
          {float_token<Arithmetic, F32Column>, f16_token<Arithmetic>, float_token<Arithmetic, BF16Column>,
           quantized_token<Arithmetic, Signed, BlockQ8_0>, quantized_token<Arithmetic, Bytes, BlockQ4_0>,
           quantized_token<Arithmetic, Bytes, BlockQ4_1>, quantized_token<Arithmetic, Bytes, BlockQ5_0>,
           quantized_token<Arithmetic, Bytes, BlockQ5_1>, quantized_token<Arithmetic, Bytes, BlockQ2K>,
           quantized_token<Arithmetic, Bytes, BlockQ3K>, quantized_token<Arithmetic, Bytes, BlockQ4K>,
           quantized_token<Arithmetic, Bytes, BlockQ5K>, quantized_token<Arithmetic, Bytes, BlockQ6K>,
           quantized_token<Arithmetic, Signed, BlockIq4Nl>},
          {unpack_floats<Arithmetic, float>, unpack_floats<Arithmetic, Float16>, unpack_floats<Arithmetic, BFloat16>,
           unpack_quantized<Arithmetic, Words, BlockQ8_0>, unpack_quantized<Arithmetic, Bytes, BlockQ4_0>,
           unpack_quantized<Arithmetic, Bytes, BlockQ4_1>, unpack_quantized<Arithmetic, Bytes, BlockQ5_0>,
           unpack_quantized<Arithmetic, Bytes, BlockQ5_1>, unpack_quantized<Arithmetic, Words, BlockQ2K>,
           unpack_quantized<Arithmetic, Words, BlockQ3K>, unpack_quantized<Arithmetic, Bytes, BlockQ4K>,
           unpack_quantized<Arithmetic, Bytes, BlockQ5K>, unpack_quantized<Arithmetic, Words, BlockQ6K>,
           unpack_quantized<Arithmetic, Words, BlockIq4Nl>}};
}

}  // namespace ropewalk
