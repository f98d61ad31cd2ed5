// Unpacks and dequantizes weights. Formats as in ggml and in the gguf Python package; dequantized floats have the same bits as theirs.
#pragma once

#include <cstdint>

#include "matmul/weight_format.h"

namespace ropewalk {

// A block of any quantized format, unpacked. Element i is
//   scale · sub_scales[s] · quants[i] - minimum_scale · minimums[s],   s = i / 16,
// where the products of scales are exact and every other operation rounds to f32. Formats without sub-scales have sub-scales of 1, and
// formats without minimums have minimums of 0.
struct UnpackedBlock {
  std::int8_t quants[kLargestBlockElements];
  std::int16_t sub_scales[kLargestBlockElements / 16];
  std::int16_t minimums[kLargestBlockElements / 16];
  float scale;
  float minimum_scale;
};

// Unpacks one block of a quantized format.
void unpack_block(WeightFormat format, const std::uint8_t* block, UnpackedBlock& unpacked);

// Writes `columns` weights of one row as floats. Any format; `columns` is a multiple of block_elements(format).
void dequantize(WeightFormat format, const void* row, int columns, float* out);

// The values that iq4_nl indexes.
constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

}  // namespace ropewalk
