#include <cstring>
#include <type_traits>

#include "base/add_product.h"
#include "base/relaxed_simd.h"
#include "matmul/kernels/matmul_pairs_simd.h"
#include "matmul/kernels/matmul_simd.h"
#include "matmul/kernels/matmul_sixes_simd.h"

namespace ropewalk {
namespace {

// Blocks of a format whose products are words.
template <class Block>
using OfWords = std::conditional_t<std::is_same_v<Block, BlockQ8_0>, BlockQ8_0OfWords, Block>;

// Calls act.operator()<Dot, Block>() with the fastest dot product of any bytes in this engine.
template <class Block, class Act>
auto with_any_bytes(Act&& act) {
  switch (relaxed_sign()) {
    case RelaxedSign::is_signed: return act.template operator()<RelaxedByteDot<true>, Block>();
    case RelaxedSign::is_unsigned: return act.template operator()<RelaxedByteDot<false>, Block>();
    case RelaxedSign::neither: return act.template operator()<WordDot, OfWords<Block>>();
  }
}

template <class BlockOfAny>
void multiply_any_bytes(const PanelParts& panels, const TokenRows& x, float* sums) {
  return with_any_bytes<BlockOfAny>([&]<class Dot, class Block>() { quantized_token<RelaxedMultiplyAdd, Dot, Block>(panels, x, sums); });
}

template <bool Minimums>
void multiply_in_sixes(PanelChunk& chunk) {
  chunk.multiply = quantized_tokens_in_sixes<RelaxedMultiplyAdd, RelaxedByteDot<false>, Minimums>;
}

template <class BlockOfAny>
void unpack_any_bytes(const PanelPart& panel, PanelChunk& chunk) {
  with_any_bytes<BlockOfAny>([&]<class Dot, class Block>() {
    unpack_quantized<Dot, Block>(panel, chunk);
    if constexpr (std::is_same_v<Dot, WordDot>) {
      multiply_with<RelaxedMultiplyAdd, Dot, Block>(chunk);
    } else {
      multiply_in_sixes<Block::kMinimums>(chunk);
    }
  });
}

template <class BlockOfAny, int Tokens>
void multiply_few_any_bytes(const PanelParts& panels, const TokenRows& x, float* sums) {
  with_any_bytes<BlockOfAny>([&]<class Dot, class Block>() { quantized_few<RelaxedMultiplyAdd, Dot, Block, Tokens>(panels, x, sums); });
}

// Quants below 128. More formats would gain from pairs too, but each kernel is 1 to 3 KB.
template <class Block>
void multiply_bytes(const PanelParts& panels, const TokenRows& x, float* sums) {
  if (relaxed_sign() == RelaxedSign::neither) return quantized_token<RelaxedMultiplyAdd, RelaxedPairDot, Block>(panels, x, sums);
  return quantized_token<RelaxedMultiplyAdd, RelaxedByteDot<false>, Block>(panels, x, sums);
}

template <class Block, int Tokens>
void multiply_few_bytes(const PanelParts& panels, const TokenRows& x, float* sums) {
  if (relaxed_sign() == RelaxedSign::neither) return quantized_few<RelaxedMultiplyAdd, RelaxedPairFew, Block, Tokens>(panels, x, sums);
  return quantized_few<RelaxedMultiplyAdd, RelaxedByteDot<false>, Block, Tokens>(panels, x, sums);
}

template <class Block>
void unpack_bytes(const PanelPart& panel, PanelChunk& chunk) {
  unpack_quantized<RelaxedPairs, Block>(panel, chunk);
  if (!Block::kSubScales && holds_twelve_sums()) return multiply_in_sixes<Block::kMinimums>(chunk);
  multiply_in_pairs<RelaxedMultiplyAdd, Block>(chunk);
}

template <WeightFormat Format>
void unpack_decoded_bytes(const PanelPart& panel, PanelChunk& chunk) {
  unpack_decoded<RelaxedPairs>(block_decoder<Format>(), panel, chunk);
  multiply_in_pairs<RelaxedMultiplyAdd, DecodedBlock>(chunk);
}

template <UnpackChunk Unpack>
void unpack_floats(const PanelPart& panel, PanelChunk& chunk) {
  Unpack(panel, chunk);
  if (holds_twelve_sums()) chunk.multiply = float_tokens_in_sixes<RelaxedMultiplyAdd>;
}

const char* relaxed_dot_name(WeightFormat format) {
  const char* name = dot_name<RelaxedByteDot<false>, WordDot>(format);
  if (format != WeightFormat::q8_0 && format != WeightFormat::iq4_nl && format != WeightFormat::iq4_xs) return name;
  switch (relaxed_sign()) {
    case RelaxedSign::is_signed: return "signed bytes";
    case RelaxedSign::is_unsigned: return "unsigned bytes";
    case RelaxedSign::neither: return name;
  }
}

RoundedInputs relaxed_inputs(WeightFormat format) {
  const bool as_words = std::strcmp(relaxed_dot_name(format), WordDot::kName) == 0;
  return {!as_words, as_words};
}

int relaxed_most_in_fours(WeightFormat format) {
  const bool adds_four_products = relaxed_sign() != RelaxedSign::neither;  // in one instruction
  switch (format) {
    case WeightFormat::q8_0: return adds_four_products ? 16 : most_in_fours(format);
    case WeightFormat::q4_0: return adds_four_products ? 16 : 4;  // else tiles in pairs are faster
    case WeightFormat::q5_0:
    case WeightFormat::q5_k: return 16;
    case WeightFormat::q4_k:
    case WeightFormat::q6_k: return adds_four_products ? 16 : most_in_fours(format);
    default: return most_in_fours(format);
  }
}

constexpr MatmulKernels relaxed_matmul_kernels() {
  MatmulKernels kernels = simd_matmul_kernels<RelaxedMultiplyAdd, RelaxedByteDot<false>, WordDot>("relaxed");
  kernels.dot_name = relaxed_dot_name;
  kernels.inputs = relaxed_inputs;
  kernels.most_in_fours = relaxed_most_in_fours;
  const auto set = [&]<class... Blocks>() {
    ((kernels.token[static_cast<int>(Blocks::kFormat)] = multiply_any_bytes<Blocks>,
      kernels.unpack[static_cast<int>(Blocks::kFormat)] = unpack_any_bytes<Blocks>),
     ...);
  };
  set.template operator()<BlockQ8_0, BlockIq4Nl, BlockIq4Xs>();
  const auto set_tokens = [&]<class... Blocks>() { ((kernels.token[static_cast<int>(Blocks::kFormat)] = multiply_bytes<Blocks>), ...); };
  set_tokens.template operator()<BlockQ4_0, BlockQ4K, BlockQ6K, BlockQ1_0, BlockQ2_0, BlockTQ2_0, BlockMxfp4, BlockNvfp4>();
  const auto set_tiles = [&]<class... Blocks>() { ((kernels.unpack[static_cast<int>(Blocks::kFormat)] = unpack_bytes<Blocks>), ...); };
  set_tiles.template operator()<BlockQ4_0, BlockQ4_1, BlockQ5_0, BlockQ5_1, BlockQ2K, BlockQ3K, BlockQ4K, BlockQ5K, BlockQ6K, BlockQ1_0,
                                BlockQ2_0, BlockTQ2_0, BlockMxfp4>();
  with_decoded_formats([&]<WeightFormat... Formats>() {
    ((kernels.unpack[static_cast<int>(Formats)] = unpack_decoded_bytes<Formats>), ...);
  });
  kernels.unpack[static_cast<int>(WeightFormat::f32)] = unpack_floats<use_floats<RelaxedMultiplyAdd>>;
  kernels.unpack[static_cast<int>(WeightFormat::f16)] = unpack_floats<unpack_f16<RelaxedMultiplyAdd>>;
  kernels.unpack[static_cast<int>(WeightFormat::bf16)] = unpack_floats<unpack_bf16<RelaxedMultiplyAdd>>;
  kernels.two[static_cast<int>(WeightFormat::q8_0)] = multiply_few_any_bytes<BlockQ8_0, 2>;
  kernels.four[static_cast<int>(WeightFormat::q8_0)] = multiply_few_any_bytes<BlockQ8_0, kTileTokens>;
  const auto set_few = [&]<class... Blocks>() {
    ((kernels.two[static_cast<int>(Blocks::kFormat)] = multiply_few_bytes<Blocks, 2>,
      kernels.four[static_cast<int>(Blocks::kFormat)] = multiply_few_bytes<Blocks, kTileTokens>),
     ...);
  };
  set_few.template operator()<BlockQ4_0, BlockQ5_0, BlockQ4K, BlockQ5K, BlockQ6K>();
  return kernels;
}

}  // namespace

const MatmulKernels kRelaxedMatmulKernels = relaxed_matmul_kernels();

}  // namespace ropewalk
