#include "matmul/dequantize.h"

#include <algorithm>
#include <cstring>

#include "base/storage.h"

namespace ropewalk {
namespace {

float half_at(const std::uint8_t* bytes) {
  Float16 half;
  std::memcpy(&half, bytes, sizeof half);
  return to_float(half);
}

template <class Element>
void widen(const void* row, int columns, float* out) {
  for (int i = 0; i < columns; ++i) {
    Element element;
    std::memcpy(&element, static_cast<const char*>(row) + i * sizeof element, sizeof element);
    out[i] = to_float(element);
  }
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
  }
}

void dequantize(WeightFormat format, const void* row, int columns, float* out) {
  if (format == WeightFormat::f32) return widen<float>(row, columns, out);
  if (format == WeightFormat::f16) return widen<Float16>(row, columns, out);
  if (format == WeightFormat::bf16) return widen<BFloat16>(row, columns, out);
  const std::uint8_t* block = static_cast<const std::uint8_t*>(row);
  const int elements = block_elements(format);
  UnpackedBlock unpacked;
  for (int first = 0; first < columns; first += elements, block += block_bytes(format)) {
    unpack_block(format, block, unpacked);
    for (int i = 0; i < elements; ++i) {
      const float scale = unpacked.scale * unpacked.sub_scales[i / 16];
      const float minimum = unpacked.minimum_scale * unpacked.minimums[i / 16];
      out[first + i] = scale * unpacked.quants[i] - minimum;
    }
  }
}

}  // namespace ropewalk
