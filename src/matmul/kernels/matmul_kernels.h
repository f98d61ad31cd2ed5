// The innermost loops of products with weights: one panel of eight rows (packed_rows.h) times one token or many.
//
// Sums have the same order in all kernels:
// - f32, f16 and bf16 weights: four partial sums, over the columns that are 0, 1, 2 and 3 modulo 4; multiply() adds them as
//   (0 + 1) + (2 + 3).
// - quantized weights: for each 32 columns in turn, s += (f32(I) · scale - f32(M) · minimum_scale) · x_scale. I (the sum over quants,
//   sub-scales and rounded activations) and M (the sum over minimums and sums of activations) are exact integers below 2^24.
// - nvfp4, with a scale for each 16 columns: s += (f32(I of the first 16) · scale + f32(I of the others) · scale) · x_scale.
#pragma once

#include <algorithm>
#include <cstddef>

#include "matmul/kernels/next_lines.h"
#include "matmul/packed_rows.h"
#include "matmul/quantized_row.h"

namespace ropewalk {

// Number of columns of a panel that a tile unpacks at a time.
constexpr int kChunkColumns = 512;

// Sums of one token and one panel: [kPartialSums][kPanelRows] for floats, [kPanelRows] for quantized weights. The next token's follow.
constexpr int kPartialSums = 4;
constexpr int sums_per_token(bool is_float) { return is_float ? kPartialSums * kPanelRows : kPanelRows; }

// A token from some column on, as floats or rounded; or tokens that take turns (quantized_row.h), the first four of which start here.
struct TokenRows {
  const float* floats;
  QuantizedRow quantized;
  int columns;  // of a whole token
  int count;    // those of a tile: a multiple of kTileTokens
};

// Rounds `columns` floats, a multiple of 32, to bytes and words unless these are null. Infinities and NaN give meaningless numbers.
using QuantizeRow = void (*)(const float* x, int columns, const QuantizedRow& out);

// The same for four tokens that take turns.
using QuantizeFour = void (*)(const float* const (&x)[kTileTokens], int columns, const QuantizedRow& out);

struct PanelChunk;

// Adds the products with `columns` columns to the sums of all tokens.
using ChunkTimesTokens = void (*)(const PanelChunk& chunk, int columns, const TokenRows& x, float* sums);

// Some columns of a panel, unpacked for tiles: the weights in the order in which the dot product of `multiply` reads them, and the scales
// of each 32 columns. Weights that lie in a panel in this order are read from there.
struct PanelChunk {
  static constexpr int kGroups = kChunkColumns / kActivationGroup;

  ChunkTimesTokens multiply;
  NextLines next;            // what the next chunk is likely to be unpacked from, to be fetched meanwhile
  const std::uint8_t* from;  // the weights
  int group_bytes;           // from those of 32 columns to the next, unless they are floats
  alignas(16) std::uint8_t weights[kPanelRows * kChunkColumns * sizeof(float)];
  alignas(16) float scales[kGroups][kPanelRows];
  alignas(16) float second_scales[kGroups][kPanelRows];  // of columns 16 to 31, if these have their own
  alignas(16) float minimum_scales[kGroups][kPanelRows];
  // Of columns 0 to 15 and 16 to 31. Where pairs are added in formats without minimums: minus the offset, times the sub-scale.
  alignas(16) std::int16_t minimums[kGroups][kPanelRows][2];
  int offset;  // still to be subtracted from each quant
  // If products are added in pairs (matmul_pairs_simd.h): steps of a run that fit, the sub-scales of each run twice, or ones, and how far
  // they are from those of the next.
  int steps_in_run, between_sub_scales;
  alignas(16) std::int16_t sub_scales[2 * kGroups][kPanelRows][2];
};

// `columns` columns of a panel, whose f16 numbers are to be multiplied by `unit`, a power of two (panel_exponent.h). What follows, up to
// `end`, can be read too, and is likely to be needed next.
struct PanelPart {
  const std::uint8_t* weights;
  int columns;
  float unit;
  const std::uint8_t* end;
};

// Number of panels that take turns, or whose sums are written together.
constexpr int kPanelsTogether = 4;

// The same columns of up to kPanelsTogether panels, whose weights are `bytes_apart` bytes apart, and whose sums `sums_apart` floats.
//
// Kernels of a few tokens multiply a few columns of each panel in turn: processors read ahead of each of several addresses, so that weights
// come faster from memory than from panels that follow each other.
struct PanelParts {
  PanelPart first;
  int count;
  std::ptrdiff_t bytes_apart;
  std::ptrdiff_t sums_apart;
};

// What follows `bytes` bytes of a panel: as many again, as far as they can be read.
inline NextLines next_of(const PanelPart& panel, std::ptrdiff_t bytes) {
  const char* const next = reinterpret_cast<const char*>(panel.weights + bytes);
  return {next, next + std::min<std::ptrdiff_t>(bytes, reinterpret_cast<const char*>(panel.end) - next)};
}

// Adds the products with parts of panels to the sums of the first token, the first two, or the first four. f16 numbers must be finite, but
// for the scalar kernels.
using PanelsTimesTokens = void (*)(const PanelParts& panels, const TokenRows& x, float* sums);

// Unpacks at most kChunkColumns columns.
using UnpackChunk = void (*)(const PanelPart& panel, PanelChunk& chunk);

// How weights of a format are multiplied: "floats", "words" (16 bits), "bytes" (relaxed dot products), or "signed bytes" and "unsigned
// bytes", after what the engine makes of the eighth bit.
using DotName = const char* (*)(WeightFormat format);

// What the kernels of a quantized format read.
using InputsOfFormat = RoundedInputs (*)(WeightFormat format);

// Up to how many tokens `four` is faster than tiles, four by four. 0 for formats without such a kernel.
using MostInFours = int (*)(WeightFormat format);

struct MatmulKernels {
  const char* name;
  DotName dot_name;
  QuantizeRow quantize;
  QuantizeFour quantize_four;  // null if `unpack` is
  InputsOfFormat inputs;
  PanelsTimesTokens token[kWeightFormats];
  UnpackChunk unpack[kWeightFormats];      // null: the kernels have no tiles, and tokens are multiplied one by one
  PanelsTimesTokens two[kWeightFormats];   // two tokens that follow each other. Null: none
  PanelsTimesTokens four[kWeightFormats];  // four tokens that take turns
  MostInFours most_in_fours;               // null if `unpack` is
};

// Reference implementation: plain loops, compiled without vectorization.
extern const MatmulKernels kScalarMatmulKernels;

// simd128, bit-equal to the scalar kernels.
extern const MatmulKernels kWasmSimdMatmulKernels;

// simd128 with relaxed multiply-add and relaxed dot products of bytes. Integers are the same in every engine, but the last bits of sums may
// differ. Only in the relaxed build.
extern const MatmulKernels kRelaxedMatmulKernels;

// The fastest kernels of this build.
const MatmulKernels& fastest_matmul_kernels();

}  // namespace ropewalk
