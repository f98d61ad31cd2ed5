// The innermost loops of products with weights: a panel of eight rows (packed_rows.h) and one token or many.
//
// The order of sums, the same in all kernels:
// - weights f32, f16, bf16: four partial sums, over the columns that are 0, 1, 2, 3 modulo 4, joined by multiply() as (0 + 1) + (2 + 3);
// - quantized weights, for each 32 columns, after another: s += (f32(I) · scale - f32(M) · minimum_scale) · x_scale, where I (of quants,
//   sub-scales and rounded activations) and M (of minimums and sums of activations) are exact integers below 2^24.
#pragma once

#include "matmul/packed_rows.h"
#include "matmul/quantize_activations.h"

namespace ropewalk {

// Tiles unpack as many columns of a panel at a time.
constexpr int kChunkColumns = 256;

// Partial sums of one token and one panel: [kPartialSums][kPanelRows] of them for floats, [kPanelRows] for quantized weights.
constexpr int kPartialSums = 4;
constexpr int kSumsPerToken = kPartialSums * kPanelRows;

// Tokens from some column on, floats or rounded: each pointer is the first token's.
struct TokenRows {
  const float* floats;
  std::ptrdiff_t stride;  // of floats
  QuantizedRow quantized;
  int columns;  // of a whole token, the stride of all that is rounded
  int count;
};

struct PanelChunk;

// Adds to the sums of all tokens, kSumsPerToken apart, the products with `columns` columns.
using ChunkTimesTokens = void (*)(const PanelChunk& chunk, int columns, const TokenRows& x, float* sums);

// A part of a panel, unpacked for tiles: what the dot product in `multiply` takes, in the order of its steps, and the scales of each 32
// columns.
struct PanelChunk {
  static constexpr int kGroups = kChunkColumns / kActivationGroup;

  ChunkTimesTokens multiply;
  alignas(16) std::uint8_t weights[kPanelRows * kChunkColumns * sizeof(float)];
  alignas(16) float scales[kGroups][kPanelRows];
  alignas(16) float minimum_scales[kGroups][kPanelRows];
  alignas(16) std::int16_t minimums[kGroups][kPanelRows][2];  // of columns 0 to 15 and 16 to 31
  int offset;                                                 // what is to be subtracted from each quant
  bool has_minimums;
};

// `columns` columns of a panel. Weights go on until `end`, so that as much may be read ahead (touch.h).
struct PanelPart {
  const std::uint8_t* weights;
  int columns;
  const std::uint8_t* end;
};

// Adds to the first token's sums the products with a part of a panel.
using PanelTimesToken = void (*)(const PanelPart& panel, const TokenRows& x, float* sums);

using UnpackChunk = void (*)(const std::uint8_t* panel, int columns, PanelChunk& chunk);

struct MatmulKernels {
  const char* name;
  QuantizeRow quantize;
  PanelTimesToken token[kWeightFormats];
  UnpackChunk unpack[kWeightFormats];  // null where tokens go one by one
};

// The definition: plain loops, compiled without vectorization.
extern const MatmulKernels kScalarMatmulKernels;

// simd128, bit-equal to the scalar ones.
extern const MatmulKernels kWasmSimdMatmulKernels;

// simd128 with relaxed multiply-add and relaxed dot products of bytes. Integers are the same in every engine, the last bits of sums may
// differ. Only in the relaxed build.
extern const MatmulKernels kRelaxedMatmulKernels;

// The fastest kernels of this build.
const MatmulKernels& fastest_matmul_kernels();

}  // namespace ropewalk
