// Element types of tensors and their conversions. Arithmetic is always f32. 16-bit results are rounded once, to nearest even.
#pragma once

#include <bit>
#include <cstdint>

namespace ropewalk {

enum class DType : int { f32, f16, bf16 };

constexpr int kDTypes = 3;

// Bytes of one element.
constexpr int size_of(DType dtype) { return dtype == DType::f32 ? 4 : 2; }

// IEEE 754 binary16.
struct Float16 {
  std::uint16_t bits;
};

// bfloat16: the upper half of an IEEE 754 binary32.
struct BFloat16 {
  std::uint16_t bits;
};

inline float to_float(float value) { return value; }

inline float to_float(Float16 value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  // exponent and mantissa are in place; multiplying by 2^112 corrects the exponent's bias and normalizes subnormals
  const float magnitude = std::bit_cast<float>(static_cast<std::uint32_t>(value.bits & 0x7FFFu) << 13) * 0x1p112f;
  const std::uint32_t special = magnitude >= 65536.0f ? 0x7F800000u : 0u;  // infinity and NaN
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | special | sign);
}

inline float to_float(BFloat16 value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16); }

inline void from_float(float value, float& result) { result = value; }

inline void from_float(float value, Float16& result) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  std::uint32_t half;
  if (magnitude < 0x38800000u) {
    // below 2^-14 an ulp is 2^-24, the ulp of f32 in [0.5, 1), so adding 0.5 rounds to it
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u;
  } else {
    const std::uint32_t clamped = magnitude < 0x47800000u ? magnitude : 0x47800000u;  // 65536 and above become infinity
    half = (clamped + 0xFFFu + ((clamped >> 13) & 1u) - 0x38000000u) >> 13;
  }
  const std::uint32_t quiet = magnitude > 0x7F800000u ? 0x200u : 0u;  // NaN
  result.bits = static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | half | quiet);
}

inline void from_float(float value, BFloat16& result) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  const std::uint32_t rounded = is_nan ? bits | 0x400000u : bits + 0x7FFFu + ((bits >> 16) & 1u);
  result.bits = static_cast<std::uint16_t>(rounded >> 16);
}

}  // namespace ropewalk
