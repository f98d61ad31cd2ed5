#include "matmul/kernels/lane_constants.h"

#include "matmul/dequantize.h"

namespace ropewalk {
namespace {

constexpr LaneConstants lane_constants() {
  LaneConstants lanes = {};
  for (int i = 0; i < 16; ++i) {
    lanes.bits_0_1[i] = 0x03;
    lanes.bits_0_3[i] = 0x0F;
    lanes.bits_0_4[i] = 0x1F;
    lanes.bits_0_5[i] = 0x3F;
    lanes.bits_4_5[i] = 0x30;
    lanes.bits_6_7[i] = 0xC0;
    lanes.bit_1[i] = 0x02;
    lanes.bit_2[i] = 0x04;
    lanes.bit_5[i] = 0x20;
    lanes.bit_7[i] = 0x80;
    lanes.low_bytes[i] = i % 2 == 0 ? 0xFF : 0;
    lanes.high_bit[i] = i % 2 == 0 ? 0 : 0x80;
    lanes.ones[i] = i % 2 == 0 ? 1 : 0;
    lanes.f16_bits[i] = i % 4 == 0 ? 0 : i % 4 == 1 ? 0xE0 : i % 4 == 2 ? 0xFF : 0x8F;
    lanes.f32_exponent_1[i] = i % 4 == 2 ? 0x80 : 0;
    lanes.f32_quarter_exponent_1[i] = i % 4 == 2 ? 0x20 : 0;
    lanes.fp8_nan[i] = 0x7F;
    lanes.fp8_bits[i] = i % 4 == 2 ? 0xF0 : i % 4 == 3 ? 0x07 : 0;
    lanes.fp8_bias[i] = i % 4 == 3 ? 0x7B : 0;
    lanes.fp4_quants[i] = static_cast<std::uint8_t>(kFp4Values[i] + 12);
    lanes.iq4_quants[i] = static_cast<std::uint8_t>(kIq4Values[i] + 128);
  }
  return lanes;
}

}  // namespace

const LaneConstants kLanes = lane_constants();

}  // namespace ropewalk
