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

// A smaller scale could have an infinite inverse. It is zero in f16 anyway, so the block's elements are set to zero.
constexpr float kSmallestQuantScale = 0x1p-126f;

// scores[row][key] = queries[row] · keys[key]. Four partial sums, over the elements that are 0, 1, 2 and 3 modulo 4, are added as
// (0 + 1) + (2 + 3).
struct ScoreBlock {
  const float* queries;  // [rows] query_stride floats apart
  std::ptrdiff_t query_stride;
  int rows;
  const float* keys;  // [count] key_stride floats apart
  std::ptrdiff_t key_stride;
  int count;      // keys, at most kBlockTokens
  int dim;        // a multiple of kRowFloats
  float* scores;  // [rows][kBlockTokens]
};
using Score = void (*)(const ScoreBlock& block);

// The softmax state of a query between blocks.
struct SoftmaxState {
  float maximum;  // largest score so far; the lowest float before the first key
  float sum;      // of exp(score - maximum)
};

// Converts a row of scores to weights. s = score · scale, then soft_cap · tanh(s / soft_cap) unless soft_cap is 0, then plus bias. The
// weight is exp(s - maximum) for keys in [first, last), which must not be empty, and 0 for the other keys of the block.
struct WeighRow {
  float* scores;      // [kBlockTokens], overwritten by the weights
  const float* bias;  // [kBlockTokens], or null
  int first;
  int last;
  float scale;
  float soft_cap;
};
// Updates `state` and returns the correction: the factor for sums made before this block. Four partial sums as in ScoreBlock.
using Weigh = float (*)(const WeighRow& row, SoftmaxState& state);

// out[row] = out[row] · corrections[row] + sum over keys of weights[row][key] · values[key], in the order of the keys.
struct BlendBlock {
  const float* weights;      // [rows][kBlockTokens]
  const float* corrections;  // [rows]
  int rows;
  const float* values;  // [count] value_stride floats apart
  std::ptrdiff_t value_stride;
  int count;
  int dim;
  float* out;  // [rows] out_stride floats apart
  std::ptrdiff_t out_stride;
};
using Blend = void (*)(const BlendBlock& block);

struct AttentionKernels {
  const char* name;
  LoadRows load[kRowTypes];
  StoreRows store[kRowTypes];
  Score score;
  Weigh weigh;
  Blend blend;
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
