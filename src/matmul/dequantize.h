// Unpacks and dequantizes weights. Formats as in ggml and in the gguf Python package; dequantized floats have the same bits as theirs.
#pragma once

#include <cstdint>

#include "matmul/weight_format.h"

namespace ropewalk {

// A block of any quantized format, unpacked. Element i is
//   scale · sub_scales[s] · quants[i] - minimum_scale · minimums[s],   s = i / 16,
// where the products of scales are exact and every other operation rounds to f32. Formats without sub-scales have sub-scales of 1, and
// formats without minimums have minimums of 0. nvfp4 has scales_of_16[s] instead of a scale.
struct UnpackedBlock {
  std::int8_t quants[kLargestBlockElements];
  std::int16_t sub_scales[kLargestBlockElements / 16];
  std::int16_t minimums[kLargestBlockElements / 16];
  float scale;
  float minimum_scale;
  float scales_of_16[4];
};

// Whether each 16 elements have a floating-point scale of their own.
constexpr bool has_scales_of_16(WeightFormat format) { return format == WeightFormat::nvfp4; }

// Unpacks one block of a quantized format.
void unpack_block(WeightFormat format, const std::uint8_t* block, UnpackedBlock& unpacked);

// Writes `columns` weights of one row as floats. Any format; `columns` is a multiple of block_elements(format).
void dequantize(WeightFormat format, const void* row, int columns, float* out);

// The values that iq4_nl and iq4_xs index.
constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// The values that mxfp4 and nvfp4 index: twice those of E2M1, so that they are integers.
constexpr std::int8_t kFp4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// The grids of the other IQ formats. A point has eight coordinates, two bits each, lowest first, or four coordinates of four bits. These
// are indices into the values that coordinates may have.
extern const std::uint16_t kIq2XxsGrid[256], kIq2XsGrid[512], kIq2SGrid[1024], kIq3XxsGrid[256], kIq3SGrid[512], kIq1SGrid[2048];
constexpr std::int8_t kIq2Values[3] = {8, 25, 43};
constexpr std::int8_t kIq3XxsValues[8] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr std::int8_t kIq3SValues[8] = {1, 3, 5, 7, 9, 11, 13, 15};
constexpr std::int8_t kIq1Values[3] = {-8, 0, 8};  // times 8, because the grid is shifted by an eighth

// Eight signs in seven bits: their number of ones is even.
constexpr int signs_of(int seven_bits) {
  const int folded = seven_bits ^ seven_bits >> 4;
  return seven_bits | (0x6996 >> (folded & 15) & 1) << 7;
}

}  // namespace ropewalk
