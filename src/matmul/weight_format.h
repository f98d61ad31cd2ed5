// Weight formats: the element types of GGUF and safetensors, and the fields of a block of each. Their meaning is in dequantize.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ropewalk {

// Names as in GGUF. From q8_0 on, blocks of 32 to 256 elements share scales.
enum class WeightFormat : int {
  f32,
  f16,
  bf16,
  q8_0,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  iq4_nl,
  q1_0,
  q2_0,
  tq1_0,
  tq2_0,
  mxfp4,
  nvfp4,
  iq4_xs,
  iq3_s,
  iq3_xxs,
  iq2_s,
  iq2_xs,
  iq2_xxs,
  iq1_s,
  iq1_m
};

constexpr int kWeightFormats = 28;

// A block has a run of bytes, a run of 16-bit fields, a run of 32-bit words (quants and small scales, four bytes at a time), and another
// run of 16-bit fields. The 16-bit fields are scales, except the second of iq4_xs.
struct BlockShape {
  int elements;
  int leading_halves;
  int words;
  int trailing_halves;
  int leading_bytes = 0;

  constexpr int bytes() const { return leading_bytes + 2 * leading_halves + 4 * words + 2 * trailing_halves; }
};

constexpr BlockShape kBlockShapes[kWeightFormats] = {
    {1, 0, 1, 0},      // f32
    {1, 1, 0, 0},      // f16
    {1, 1, 0, 0},      // bf16
    {32, 1, 8, 0},     // q8_0: scale, 32 bytes
    {32, 1, 4, 0},     // q4_0: scale, 32 nibbles
    {32, 2, 4, 0},     // q4_1: scale, minimum, 32 nibbles
    {32, 1, 5, 0},     // q5_0: scale, 32 fifth bits, 32 nibbles
    {32, 2, 5, 0},     // q5_1: scale, minimum, 32 fifth bits, 32 nibbles
    {256, 0, 20, 2},   // q2_k: 16 sub-scales and minimums, 256 pairs of bits, scale, scale of minimums
    {256, 0, 27, 1},   // q3_k: 256 third bits, 256 pairs of bits, 16 sub-scales, scale
    {256, 2, 35, 0},   // q4_k: scale, scale of minimums, 8 sub-scales and minimums, 256 nibbles
    {256, 2, 43, 0},   // q5_k: the same with 256 fifth bits before the nibbles
    {256, 0, 52, 1},   // q6_k: 256 nibbles, 256 pairs of bits, 16 sub-scales, scale
    {32, 1, 4, 0},     // iq4_nl: scale, 32 indices into a table
    {128, 1, 4, 0},    // q1_0: scale, 128 signs
    {64, 1, 4, 0},     // q2_0: scale, 64 pairs of bits
    {256, 0, 13, 1},   // tq1_0: 52 bytes of five or four digits, scale
    {256, 0, 16, 1},   // tq2_0: 256 pairs of bits, scale
    {32, 0, 4, 0, 1},  // mxfp4: exponent, 32 indices into a table
    {64, 0, 9, 0},     // nvfp4: 4 scales of 8 bits, 64 indices into the same table
    {256, 2, 33, 0},   // iq4_xs: scale, upper and lower bits of 8 sub-scales, 256 indices into the table of iq4_nl
    {256, 1, 27, 0},   // iq3_s: scale, indices into a grid and their ninth bits, 256 signs, 8 sub-scales
    {256, 1, 24, 0},   // iq3_xxs: scale, indices, 8 words with 28 bits of signs and a sub-scale
    {256, 1, 20, 0},   // iq2_s: scale, indices, 256 signs, upper bits of indices, 16 sub-scales
    {256, 1, 18, 0},   // iq2_xs: scale, indices with 7 bits of signs, 16 sub-scales
    {256, 1, 16, 0},   // iq2_xxs: scale, 8 times indices, 28 bits of signs and a sub-scale
    {256, 1, 12, 0},   // iq1_s: scale, indices, 8 times their upper bits, a shift and a sub-scale
    {256, 0, 14, 0},   // iq1_m: indices, their upper bits and shifts, 16 sub-scales with the bits of the scale
};

constexpr const BlockShape& block_shape(WeightFormat format) { return kBlockShapes[static_cast<int>(format)]; }

// Elements and bytes of a block. For floats a block is one element.
constexpr int block_elements(WeightFormat format) { return block_shape(format).elements; }
constexpr int block_bytes(WeightFormat format) { return block_shape(format).bytes(); }

// Number of 16-bit fields at the start of a block that are f16. Those at its end all are.
constexpr int leading_f16(WeightFormat format) {
  if (format == WeightFormat::bf16) return 0;
  return format == WeightFormat::iq4_xs ? 1 : block_shape(format).leading_halves;
}

constexpr bool has_f16(WeightFormat format) { return leading_f16(format) + block_shape(format).trailing_halves > 0; }

constexpr int kLargestBlockElements = 256;
constexpr int kLargestBlockBytes = 210;

constexpr bool is_float(WeightFormat format) { return format <= WeightFormat::bf16; }

// Size in bytes of `rows` rows of `columns` elements, a multiple of block_elements(format). In 64 bits, so that no matrix wraps around.
constexpr std::uint64_t weight_bytes(WeightFormat format, int rows, int columns) {
  return static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns / block_elements(format)) * block_bytes(format);
}

// Size in bytes of one row of a matrix in memory.
constexpr std::size_t weight_row_bytes(WeightFormat format, int columns) {
  return static_cast<std::size_t>(weight_bytes(format, 1, columns));
}

}  // namespace ropewalk
