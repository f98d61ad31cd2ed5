// The innermost loops of softmax attention, over blocks of at most kBlockTokens keys. They know no layout, no mask and no position.
//
// Online softmax (Milakov and Gimelshein 2018, arXiv:1805.02867; FlashAttention, Dao et al. 2022, arXiv:2205.14135): blocks of keys go by
// one after the other, and a query keeps the largest score so far, the sum of its weights, and the weighted sum of values, the last two
// relative to that score. So no row of scores is ever held longer than a block.
#pragma once

#include <cstddef>

#include "attention/row_storage.h"

namespace ropewalk {

constexpr int kBlockTokens = 32;

// Rows of keys, values and queries are `dim` floats in the kernels: head_dim rounded up to this, zeros at the end.
constexpr int kRowFloats = 4;

constexpr int padded_dim(int head_dim) { return (head_dim + kRowFloats - 1) / kRowFloats * kRowFloats; }

// `count` stored rows, `row_stride` bytes apart, and as floats, `float_stride` apart.
struct StoredRows {
  std::ptrdiff_t row_stride;
  std::ptrdiff_t float_stride;
  int count;
  int head_dim;
};

// Writes rows as floats, up to padded_dim(head_dim).
using LoadRows = void (*)(const StoredRows& rows, const void* stored, float* floats);

// Stores rows of floats, each rounded once. q8_0 as GGUF defines it: the scale is max|x|/127, ties go to even.
using StoreRows = void (*)(const StoredRows& rows, const float* floats, void* stored);

// Smaller scales, whose inverse may be infinite, are zero in f16: so are the bytes beside them.
constexpr float kSmallestQ8Scale = 0x1p-126f;

// scores[row][key] = queries[row] · keys[key]. Four partial sums, over the dims that are 0, 1, 2, 3 modulo 4, are added as
// (0 + 1) + (2 + 3).
struct ScoreBlock {
  const float* queries;  // [rows] query_stride floats apart
  std::ptrdiff_t query_stride;
  int rows;
  const float* keys;  // [keys_count] key_stride floats apart
  std::ptrdiff_t key_stride;
  int count;      // keys, at most kBlockTokens
  int dim;        // a multiple of kRowFloats
  float* scores;  // [rows][kBlockTokens]
};
using Score = void (*)(const ScoreBlock& block);

// What a query keeps between blocks.
struct SoftmaxState {
  float maximum;  // largest score so far, the lowest float before the first
  float sum;      // of exp(score - maximum)
};

// Turns a row of scores into weights: s = score · scale, capped to soft_cap · tanh(s / soft_cap) unless soft_cap is 0, plus bias; the
// weight is exp(s - maximum) for keys in [first, last), of which there is at least one, and 0 for the others of the block.
struct WeighRow {
  float* scores;      // [kBlockTokens], overwritten by the weights
  const float* bias;  // [kBlockTokens], or null
  int first;
  int last;
  float scale;
  float soft_cap;
};
// Returns what sums made before this block are to be multiplied by. Four partial sums as in ScoreBlock.
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

// The definition: plain loops, compiled without vectorization.
extern const AttentionKernels kScalarAttentionKernels;

// simd128, bit-equal to the scalar ones.
extern const AttentionKernels kWasmSimdAttentionKernels;

// simd128 with relaxed multiply-add: the last bits may differ from engine to engine. Only in the relaxed build.
extern const AttentionKernels kRelaxedAttentionKernels;

// The fastest kernels of this build.
const AttentionKernels& fastest_attention_kernels();

}  // namespace ropewalk
