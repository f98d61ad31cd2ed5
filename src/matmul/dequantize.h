// What the bytes of quantized weights mean. Formats as in ggml and in the gguf Python package, whose bits dequantization gives.
#pragma once

#include <cstdint>

#include "matmul/weight_format.h"

namespace ropewalk {

// A block of any quantized format, taken apart. Element i is
//   scale · sub_scales[s] · quants[i] - minimum_scale · minimums[s],   s = i / 16,
// where the products of scales are exact and every other operation rounds to f32. Sub-scales are 1 and minimums 0 where a format has none.
struct UnpackedBlock {
  std::int8_t quants[kLargestBlockElements];
  std::int16_t sub_scales[kLargestBlockElements / 16];
  std::int16_t minimums[kLargestBlockElements / 16];
  float scale;
  float minimum_scale;
};

// Takes one block of a quantized format apart.
void unpack_block(WeightFormat format, const std::uint8_t* block, UnpackedBlock& unpacked);

// `columns` weights of one row, of any format, as floats.
void dequantize(WeightFormat format, const void* row, int columns, float* out);

// The values that iq4_nl indexes.
constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

}  // namespace ropewalk
