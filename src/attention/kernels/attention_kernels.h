// The innermost loops of softmax attention, over blocks of at most kBlockTokens keys. They know nothing of layouts, masks and positions.
//
// Online softmax (Milakov and Gimelshein 2018, arXiv:1805.02867; FlashAttention, Dao et al. 2022, arXiv:2205.14135): keys are processed
// block by block. Each query keeps its largest score so far, and the sum of its weights and the weighted sum of values relative to that
// score. So scores are only ever stored for one block.
#pragma once

#include <cstddef>

#include "attention/row_storage.h"

namespace ropewalk {

constexpr int kBlockTokens = 32;

// In the kernels, rows of keys, values and queries have `dim` floats: head_dim rounded up to a multiple of this, padded with zeros.
constexpr int kRowFloats = 4;

constexpr int padded_dim(int head_dim) { return (head_dim + kRowFloats - 1) / kRowFloats * kRowFloats; }

// `count` rows: stored, `row_stride` bytes apart, and as floats, `float_stride` floats apart.
struct StoredRows {
  std::ptrdiff_t row_stride;
  std::ptrdiff_t float_stride;
  int count;
  int head_dim;
};

// Reads stored rows as floats. Elements from head_dim to padded_dim(head_dim) become zero.
using LoadRows = void (*)(const StoredRows& rows, const void* stored, float* floats);

// Stores rows of floats, each element rounded once. q8_0 as in GGUF: the scale is max|x|/127, ties go to even. q4_0 as in GGUF: the scale
// is the first element of the largest magnitude, divided by -8; a quant is x/scale + 8.5, cut to an integer, at most 15.
using StoreRows = void (*)(const StoredRows& rows, const float* floats, void* stored);

// Where the elements of pair j are in the rotated span: x at j · step, y `apart` elements after it.
struct ChannelPairs {
  int step = 1;
  int apart = 0;
};

// The rotation of a block of keys (rope/kernels/rotate_kernels.h), with a row of cos and sin for each pair instead of each token.
struct ChannelRotation {
  int offset = 0;  // of the rotated span
  int pairs = 0;   // 0: no rotation
  ChannelPairs read;
  ChannelPairs write;
  const float* cos = nullptr;  // [pairs][kBlockTokens]
  const float* sin = nullptr;
};

// A closed group of keys (channel_group.h), and where it is written, channel by channel: [padded_dim(head_dim)][kBlockTokens].
struct ChannelBlock {
  const void* stored;
  int head_dim;
  ChannelRotation rotation;
  float* floats;
};

// Reads the keys of a group as floats, rotated. Channels from head_dim on become zero. The tokens of a channel are next to each other, as
// they are stored: then they need no transposition, and Blend multiplies them by queries.
using LoadChannels = void (*)(const ChannelBlock& block);

// A smaller scale could have an infinite inverse. It is zero in f16 anyway, so the block's elements are set to zero.
constexpr float kSmallestQuantScale = 0x1p-126f;

// scores[row][key] = queries[row] · keys[key]. Four partial sums, over the elements that are 0, 1, 2 and 3 modulo 4, are added as
// (0 + 1) + (2 + 3).
template <class Element>
struct ScoreBlockOf {
  const float* queries;  // [rows] query_stride floats apart
  std::ptrdiff_t query_stride;
  int rows;
  const Element* keys;  // [count] key_stride elements apart
  std::ptrdiff_t key_stride;
  int count;      // keys, at most kBlockTokens
  int dim;        // a multiple of kRowFloats
  float* scores;  // [rows][kBlockTokens]
};
using ScoreBlock = ScoreBlockOf<float>;
using Score = void (*)(const ScoreBlock& block);

// Rows of f16 can be used as they are stored. Placing their bits as those of floats gives 2^-112 times their value (base/storage.h), and
// what they are multiplied by is multiplied by this before. Powers of two don't round, so results have the bits of Score and Blend over
// converted rows. All elements must be finite.
constexpr float kF16Unit = 0x1p112f;
// Queries of a larger magnitude would be infinite.
constexpr float kLargestF16Query = 0x1p15f;

// As Score. The queries are multiplied by kF16Unit.
using ScoreF16 = void (*)(const ScoreBlockOf<Float16>& block);

// The softmax state of a query between blocks.
struct SoftmaxState {
  float maximum;  // largest score so far; the lowest float before the first key
  float sum;      // of exp(score - maximum)
};

// Converts rows of scores to weights. s = score · scale, then soft_cap · tanh(s / soft_cap) unless soft_cap is 0, then plus bias. The
// weight is exp(s - maximum) for keys in [first, last), which must not be empty, and 0 for the other keys of the block. Weights are stored
// times `unit`, a power of two from 1 to kF16Unit.
struct WeighRows {
  float* scores;  // [rows][kBlockTokens], overwritten by the weights
  int rows;
  const float* bias;  // [kBlockTokens], the same for all rows, or null
  int first;
  int last;
  float scale;
  float soft_cap;
  float unit = 1;
};
// Updates the states of the rows and writes their corrections: the factors for sums made before this block. Four partial sums as in
// ScoreBlock.
using Weigh = void (*)(const WeighRows& rows, SoftmaxState* states, float* corrections);

// out[row] = out[row] · corrections[row] + sum over keys of weights[row][key] · values[key], in the order of the keys.
template <class Element>
struct BlendBlockOf {
  const float* weights;      // [rows][kBlockTokens]
  const float* corrections;  // [rows]
  int rows;
  const Element* values;  // [count] value_stride elements apart
  std::ptrdiff_t value_stride;
  int count;
  int dim;
  float* out;  // [rows] out_stride floats apart
  std::ptrdiff_t out_stride;
};
using BlendBlock = BlendBlockOf<float>;
using Blend = void (*)(const BlendBlock& block);

// As Blend. The weights are multiplied by kF16Unit.
using BlendF16 = void (*)(const BlendBlockOf<Float16>& block);

struct AttentionKernels {
  const char* name;
  LoadRows load[kRowTypes];
  StoreRows store[kRowTypes];
  LoadChannels load_channels;
  Score score;
  Weigh weigh;
  Blend blend;
  ScoreF16 score_f16;
  BlendF16 blend_f16;
  int max_f16_rows;  // with more rows of a key head, converting a block of keys or values to floats is as fast
};

// Reference implementation: plain loops, compiled without vectorization.
extern const AttentionKernels kScalarAttentionKernels;

// simd128, bit-equal to the scalar kernels.
extern const AttentionKernels kWasmSimdAttentionKernels;

// simd128 with relaxed multiply-add: the last bits may differ between engines. Only in the relaxed build.
extern const AttentionKernels kRelaxedAttentionKernels;

// The fastest kernels of this build.
const AttentionKernels& fastest_attention_kernels();

}  // namespace ropewalk
