#include "matmul/dequantize.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/storage_wasmsimd.h"

namespace ropewalk {
namespace {

float half_at(const std::uint8_t* bytes) {
  Float16 half;
  std::memcpy(&half, bytes, sizeof half);
  return to_float(half);
}

void unpack_bytes(const std::uint8_t* block, UnpackedBlock& unpacked) {
  unpacked.scale = half_at(block);
  std::memcpy(unpacked.quants, block + 2, 32);
}

// Low nibbles first: elements 0 to 15 of 32, then 16 to 31.
int nibble(const std::uint8_t* nibbles, int i) { return i < 16 ? nibbles[i] & 15 : nibbles[i - 16] >> 4; }

void unpack_nibbles(const std::uint8_t* nibbles, int offset, UnpackedBlock& unpacked) {
  for (int i = 0; i < 32; ++i) unpacked.quants[i] = static_cast<std::int8_t>(nibble(nibbles, i) - offset);
}

void unpack_five_bits(const std::uint8_t* bits, int offset, UnpackedBlock& unpacked) {
  for (int i = 0; i < 32; ++i) {
    const int fifth = bits[i / 8] >> (i % 8) & 1;
    unpacked.quants[i] = static_cast<std::int8_t>((nibble(bits + 4, i) | fifth << 4) - offset);
  }
}

// q4_1 and q5_1 add the minimum, but UnpackedBlock subtracts it, so its sign changes.
void unpack_scale_and_minimum(const std::uint8_t* block, UnpackedBlock& unpacked) {
  unpacked.scale = half_at(block);
  unpacked.minimum_scale = -half_at(block + 2);
  std::fill_n(unpacked.minimums, 2, std::int16_t{1});
}

void unpack_q2_k(const std::uint8_t* block, UnpackedBlock& unpacked) {
  const std::uint8_t* scales = block;
  const std::uint8_t* quants = block + 16;
  unpacked.scale = half_at(block + 80);
  unpacked.minimum_scale = half_at(block + 82);
  for (int s = 0; s < 16; ++s) {
    unpacked.sub_scales[s] = scales[s] & 15;
    unpacked.minimums[s] = scales[s] >> 4;
  }
  for (int i = 0; i < 256; ++i) unpacked.quants[i] = quants[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
}

void unpack_q3_k(const std::uint8_t* block, UnpackedBlock& unpacked) {
  const std::uint8_t* third_bits = block;
  const std::uint8_t* quants = block + 32;
  const std::uint8_t* scales = block + 96;
  unpacked.scale = half_at(block + 108);
  for (int s = 0; s < 16; ++s) {
    const int low = scales[s % 8] >> (s / 8 * 4) & 15, high = scales[8 + s % 4] >> (s / 4 * 2) & 3;
    unpacked.sub_scales[s] = static_cast<std::int16_t>((low | high << 4) - 32);
  }
  for (int i = 0; i < 256; ++i) {
    const int low = quants[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3, third = third_bits[i % 32] >> (i / 32) & 1;
    unpacked.quants[i] = static_cast<std::int8_t>((low | third << 2) - 4);
  }
}

// The scales of q4_k and q5_k have six bits each. The upper two bits of the last four scales are stored in the bytes of the first four.
void unpack_k_scales(const std::uint8_t* block, UnpackedBlock& unpacked) {
  const std::uint8_t* scales = block + 4;
  unpacked.scale = half_at(block);
  unpacked.minimum_scale = half_at(block + 2);
  for (int group = 0; group < 8; ++group) {
    const int k = group % 4;
    const int scale = group < 4 ? scales[k] & 63 : (scales[8 + k] & 15) | (scales[k] >> 6 << 4);
    const int minimum = group < 4 ? scales[4 + k] & 63 : scales[8 + k] >> 4 | (scales[4 + k] >> 6 << 4);
    std::fill_n(unpacked.sub_scales + 2 * group, 2, static_cast<std::int16_t>(scale));
    std::fill_n(unpacked.minimums + 2 * group, 2, static_cast<std::int16_t>(minimum));
  }
}

int k_nibble(const std::uint8_t* nibbles, int i) { return nibbles[i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15; }

void unpack_q4_k(const std::uint8_t* block, UnpackedBlock& unpacked) {
  unpack_k_scales(block, unpacked);
  for (int i = 0; i < 256; ++i) unpacked.quants[i] = static_cast<std::int8_t>(k_nibble(block + 16, i));
}

void unpack_q5_k(const std::uint8_t* block, UnpackedBlock& unpacked) {
  const std::uint8_t* fifth_bits = block + 16;
  unpack_k_scales(block, unpacked);
  for (int i = 0; i < 256; ++i) {
    const int fifth = fifth_bits[i % 32] >> (i / 32) & 1;
    unpacked.quants[i] = static_cast<std::int8_t>(k_nibble(block + 48, i) | fifth << 4);
  }
}

void unpack_q6_k(const std::uint8_t* block, UnpackedBlock& unpacked) {
  const std::uint8_t* nibbles = block;
  const std::uint8_t* upper_bits = block + 128;
  unpacked.scale = half_at(block + 208);
  for (int s = 0; s < 16; ++s) unpacked.sub_scales[s] = static_cast<std::int8_t>(block[192 + s]);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128;
    const int low = nibbles[half * 64 + i % 64] >> (i / 64 % 2 * 4) & 15;
    const int high = upper_bits[half * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
    unpacked.quants[i] = static_cast<std::int8_t>((low | high << 4) - 32);
  }
}

void unpack_iq4_nl(const std::uint8_t* block, UnpackedBlock& unpacked) {
  unpacked.scale = half_at(block);
  for (int i = 0; i < 32; ++i) unpacked.quants[i] = kIq4Values[nibble(block + 2, i)];
}

void unpack_q1_0(const std::uint8_t* block, UnpackedBlock& unpacked) {
  unpacked.scale = half_at(block);
  for (int i = 0; i < 128; ++i) unpacked.quants[i] = (block[2 + i / 8] >> i % 8 & 1) == 1 ? 1 : -1;
}

void unpack_q2_0(const std::uint8_t* block, UnpackedBlock& unpacked) {
  unpacked.scale = half_at(block);
  for (int i = 0; i < 64; ++i) unpacked.quants[i] = static_cast<std::int8_t>((block[2 + i / 4] >> i % 4 * 2 & 3) - 1);
}

// Digit n of a byte: base 3, in units of 1/243 of 256.
int ternary_digit(std::uint8_t byte, int n) {
  constexpr int kPowers[5] = {1, 3, 9, 27, 81};
  return (byte * kPowers[n] & 255) * 3 >> 8;
}

void unpack_tq1_0(const std::uint8_t* block, UnpackedBlock& unpacked) {
  unpacked.scale = half_at(block + 52);
  for (int i = 0; i < 256; ++i) {
    const int digit = i < 160   ? ternary_digit(block[i % 32], i / 32)
                      : i < 240 ? ternary_digit(block[32 + i % 16], (i - 160) / 16)
                                : ternary_digit(block[48 + i % 4], (i - 240) / 4);
    unpacked.quants[i] = static_cast<std::int8_t>(digit - 1);
  }
}

void unpack_tq2_0(const std::uint8_t* block, UnpackedBlock& unpacked) {
  unpacked.scale = half_at(block + 64);
  for (int i = 0; i < 256; ++i) unpacked.quants[i] = static_cast<std::int8_t>((block[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3) - 1);
}

// Half of 2^(exponent - 127), because the values are twice those of E2M1. The smallest two are subnormal.
float e8m0_at(const std::uint8_t* exponent) {
  return std::bit_cast<float>(*exponent < 2 ? 0x00200000u << *exponent : (*exponent - 1u) << 23);
}

void unpack_mxfp4(const std::uint8_t* block, UnpackedBlock& unpacked) {
  unpacked.scale = e8m0_at(block);
  for (int i = 0; i < 32; ++i) unpacked.quants[i] = kFp4Values[nibble(block + 1, i)];
}

// Half of an unsigned E4M3. The sign bit has no meaning, and NaN is read as 0.
float ue4m3_at(const std::uint8_t* byte) {
  const int exponent = *byte >> 3 & 15, mantissa = *byte & 7;
  if (*byte == 0x7F) return 0;
  return static_cast<float>(exponent == 0 ? mantissa : (8 + mantissa) << (exponent - 1)) * 0x1p-10f;
}

void unpack_nvfp4(const std::uint8_t* block, UnpackedBlock& unpacked) {
  for (int s = 0; s < 4; ++s) unpacked.scales_of_16[s] = ue4m3_at(block + s);
  for (int i = 0; i < 64; ++i) unpacked.quants[i] = kFp4Values[block[4 + i / 16 * 8 + i % 8] >> i % 16 / 8 * 4 & 15];
}

// Sub-scales of six bits: four in one run, two in another.
void unpack_iq4_xs(const std::uint8_t* block, UnpackedBlock& unpacked) {
  const std::uint8_t *upper = block + 2, *lower = block + 4;
  unpacked.scale = half_at(block);
  for (int group = 0; group < 8; ++group) {
    const int sub_scale = (lower[group / 2] >> group % 2 * 4 & 15) | (upper[group / 4] >> group % 4 * 2 & 3) << 4;
    std::fill_n(unpacked.sub_scales + 2 * group, 2, static_cast<std::int16_t>(sub_scale - 32));
    for (int i = 0; i < 32; ++i) unpacked.quants[group * 32 + i] = kIq4Values[nibble(block + 8 + 16 * group, i)];
  }
}

int half_word_at(const std::uint8_t* bytes) { return bytes[0] | bytes[1] << 8; }

// Writes eight quants: a point of a grid with eight coordinates, and the bits of those that are negative.
void put_eight(int point, const std::int8_t* values, int signs, std::int8_t* quants) {
  for (int i = 0; i < 8; ++i) {
    const int value = values[point >> 2 * i & 3];
    quants[i] = static_cast<std::int8_t>((signs >> i & 1) == 1 ? -value : value);
  }
}

// The same from two points with four coordinates.
void put_two_fours(int first, int second, const std::int8_t* values, int signs, std::int8_t* quants) {
  for (int i = 0; i < 8; ++i) {
    const int value = values[(i < 4 ? first : second) >> i % 4 * 4 & 7];
    quants[i] = static_cast<std::int8_t>((signs >> i & 1) == 1 ? -value : value);
  }
}

// In these formats `eight` counts the 32 times eight elements of a block.
void unpack_iq3_s(const std::uint8_t* block, UnpackedBlock& unpacked) {
  const std::uint8_t *lower = block + 2, *upper = block + 66, *signs = block + 74, *scales = block + 106;
  unpacked.scale = half_at(block);
  for (int s = 0; s < 16; ++s) unpacked.sub_scales[s] = static_cast<std::int16_t>(2 * (scales[s / 4] >> s / 2 % 2 * 4 & 15) + 1);
  for (int eight = 0; eight < 32; ++eight) {
    const auto point = [&](int i) { return kIq3SGrid[lower[i] | (upper[i / 8] >> i % 8 & 1) << 8]; };
    put_two_fours(point(2 * eight), point(2 * eight + 1), kIq3SValues, signs[eight], unpacked.quants + 8 * eight);
  }
}

std::uint32_t word_at(const std::uint8_t* bytes) { return half_word_at(bytes) | static_cast<std::uint32_t>(half_word_at(bytes + 2)) << 16; }

void unpack_iq3_xxs(const std::uint8_t* block, UnpackedBlock& unpacked) {
  const std::uint8_t* indices = block + 2;
  unpacked.scale = half_at(block) * 0.25f;
  for (int eight = 0; eight < 32; ++eight) {
    const std::uint32_t word = word_at(block + 66 + eight / 4 * 4);
    unpacked.sub_scales[eight / 2] = static_cast<std::int16_t>(2 * (word >> 28) + 1);
    put_two_fours(kIq3XxsGrid[indices[2 * eight]], kIq3XxsGrid[indices[2 * eight + 1]], kIq3XxsValues,
                  signs_of(word >> eight % 4 * 7 & 127), unpacked.quants + 8 * eight);
  }
}

void unpack_iq2_s(const std::uint8_t* block, UnpackedBlock& unpacked) {
  const std::uint8_t *lower = block + 2, *signs = block + 34, *upper = block + 66, *scales = block + 74;
  unpacked.scale = half_at(block) * 0.125f;
  for (int eight = 0; eight < 32; ++eight) {
    unpacked.sub_scales[eight / 2] = static_cast<std::int16_t>(2 * (scales[eight / 4] >> eight / 2 % 2 * 4 & 15) + 1);
    const int index = lower[eight] | (upper[eight / 4] >> eight % 4 * 2 & 3) << 8;
    put_eight(kIq2SGrid[index], kIq2Values, signs[eight], unpacked.quants + 8 * eight);
  }
}

void unpack_iq2_xs(const std::uint8_t* block, UnpackedBlock& unpacked) {
  const std::uint8_t* scales = block + 66;
  unpacked.scale = half_at(block) * 0.125f;
  for (int eight = 0; eight < 32; ++eight) {
    unpacked.sub_scales[eight / 2] = static_cast<std::int16_t>(2 * (scales[eight / 4] >> eight / 2 % 2 * 4 & 15) + 1);
    const int field = half_word_at(block + 2 + 2 * eight);
    put_eight(kIq2XsGrid[field & 511], kIq2Values, signs_of(field >> 9), unpacked.quants + 8 * eight);
  }
}

void unpack_iq2_xxs(const std::uint8_t* block, UnpackedBlock& unpacked) {
  unpacked.scale = half_at(block) * 0.125f;
  for (int eight = 0; eight < 32; ++eight) {
    const std::uint8_t* group = block + 2 + eight / 4 * 8;
    const std::uint32_t word = word_at(group + 4);
    unpacked.sub_scales[eight / 2] = static_cast<std::int16_t>(2 * (word >> 28) + 1);
    put_eight(kIq2XxsGrid[group[eight % 4]], kIq2Values, signs_of(word >> eight % 4 * 7 & 127), unpacked.quants + 8 * eight);
  }
}

// The grids of iq1_s and iq1_m are shifted up or down by an eighth.
void put_shifted(int point, bool is_down, std::int8_t* quants) {
  for (int i = 0; i < 8; ++i) quants[i] = static_cast<std::int8_t>(kIq1Values[point >> 2 * i & 3] + (is_down ? -1 : 1));
}

void unpack_iq1_s(const std::uint8_t* block, UnpackedBlock& unpacked) {
  const std::uint8_t* lower = block + 2;
  unpacked.scale = half_at(block) * 0.125f;
  for (int eight = 0; eight < 32; ++eight) {
    const int field = half_word_at(block + 34 + eight / 4 * 2);
    unpacked.sub_scales[eight / 2] = static_cast<std::int16_t>(2 * (field >> 12 & 7) + 1);
    const int index = lower[eight] | (field >> eight % 4 * 3 & 7) << 8;
    put_shifted(kIq1SGrid[index], field >> 15 == 1, unpacked.quants + 8 * eight);
  }
}

void unpack_iq1_m(const std::uint8_t* block, UnpackedBlock& unpacked) {
  const std::uint8_t *lower = block, *upper = block + 32, *scales = block + 48;
  Float16 scale = {0};
  for (int i = 0; i < 4; ++i) scale.bits = static_cast<std::uint16_t>(scale.bits | half_word_at(scales + 2 * i) >> 12 << 4 * i);
  unpacked.scale = to_float(scale) * 0.125f;
  for (int s = 0; s < 16; ++s)
    unpacked.sub_scales[s] = static_cast<std::int16_t>(2 * (half_word_at(scales + s / 4 * 2) >> s % 4 * 3 & 7) + 1);
  for (int eight = 0; eight < 32; ++eight) {
    const int bits = upper[eight / 2] >> eight % 2 * 4;
    put_shifted(kIq1SGrid[lower[eight] | (bits & 7) << 8], (bits & 8) != 0, unpacked.quants + 8 * eight);
  }
}

}  // namespace

void unpack_block(WeightFormat format, const std::uint8_t* block, UnpackedBlock& unpacked) {
  unpacked.scale = unpacked.minimum_scale = 0;
  std::fill_n(unpacked.sub_scales, block_elements(format) / 16, std::int16_t{1});
  std::fill_n(unpacked.minimums, block_elements(format) / 16, std::int16_t{0});
  switch (format) {
    case WeightFormat::f32:
    case WeightFormat::f16:
    case WeightFormat::bf16: return;  // not quantized: no blocks
    case WeightFormat::q8_0: return unpack_bytes(block, unpacked);
    case WeightFormat::q4_0: unpacked.scale = half_at(block); return unpack_nibbles(block + 2, 8, unpacked);
    case WeightFormat::q4_1: unpack_scale_and_minimum(block, unpacked); return unpack_nibbles(block + 4, 0, unpacked);
    case WeightFormat::q5_0: unpacked.scale = half_at(block); return unpack_five_bits(block + 2, 16, unpacked);
    case WeightFormat::q5_1: unpack_scale_and_minimum(block, unpacked); return unpack_five_bits(block + 4, 0, unpacked);
    case WeightFormat::q2_k: return unpack_q2_k(block, unpacked);
    case WeightFormat::q3_k: return unpack_q3_k(block, unpacked);
    case WeightFormat::q4_k: return unpack_q4_k(block, unpacked);
    case WeightFormat::q5_k: return unpack_q5_k(block, unpacked);
    case WeightFormat::q6_k: return unpack_q6_k(block, unpacked);
    case WeightFormat::iq4_nl: return unpack_iq4_nl(block, unpacked);
    case WeightFormat::q1_0: return unpack_q1_0(block, unpacked);
    case WeightFormat::q2_0: return unpack_q2_0(block, unpacked);
    case WeightFormat::tq1_0: return unpack_tq1_0(block, unpacked);
    case WeightFormat::tq2_0: return unpack_tq2_0(block, unpacked);
    case WeightFormat::mxfp4: return unpack_mxfp4(block, unpacked);
    case WeightFormat::nvfp4: return unpack_nvfp4(block, unpacked);
    case WeightFormat::iq4_xs: return unpack_iq4_xs(block, unpacked);
    case WeightFormat::iq3_s: return unpack_iq3_s(block, unpacked);
    case WeightFormat::iq3_xxs: return unpack_iq3_xxs(block, unpacked);
    case WeightFormat::iq2_s: return unpack_iq2_s(block, unpacked);
    case WeightFormat::iq2_xs: return unpack_iq2_xs(block, unpacked);
    case WeightFormat::iq2_xxs: return unpack_iq2_xxs(block, unpacked);
    case WeightFormat::iq1_s: return unpack_iq1_s(block, unpacked);
    case WeightFormat::iq1_m: return unpack_iq1_m(block, unpacked);
  }
}

void dequantize(WeightFormat format, const void* row, int columns, float* out) {
  if (format == WeightFormat::f32) return convert_elements<float, float>(row, columns, out);
  if (format == WeightFormat::f16) return convert_elements<Float16, float>(row, columns, out);
  if (format == WeightFormat::bf16) return convert_elements<BFloat16, float>(row, columns, out);
  const std::uint8_t* block = static_cast<const std::uint8_t*>(row);
  const int elements = block_elements(format);
  UnpackedBlock unpacked;
  for (int first = 0; first < columns; first += elements, block += block_bytes(format)) {
    unpack_block(format, block, unpacked);
    for (int i = 0; i < elements; ++i) {
      const float scale = has_scales_of_16(format) ? unpacked.scales_of_16[i / 16] : unpacked.scale * unpacked.sub_scales[i / 16];
      const float minimum = unpacked.minimum_scale * unpacked.minimums[i / 16];
      out[first + i] = scale * unpacked.quants[i] - minimum;
    }
  }
}

}  // namespace ropewalk
