// Conversions of f16 and bf16 compared with IEEE 754 in long double, and the SIMD conversions with the scalar ones.
#include "base/storage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/storage_wasmsimd.h"
#include "native/rope/guarded_tensor.h"

namespace ropewalk {
namespace {

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

template <class Element>
constexpr DType dtype_of() {
  return std::is_same_v<Element, Float16> ? DType::f16 : DType::bf16;
}

template <class Element>
std::uint16_t stored(float value) {
  Element element;
  from_float(value, element);
  return element.bits;
}

bool is_nan(std::uint16_t bits, DType dtype) { return (bits & 0x7FFF) > (dtype == DType::f16 ? 0x7C00 : 0x7F80); }

// Floats at all rounding boundaries: every upper half, combined with lower halves at and next to 0, at the ties of both formats, and at
// the ends.
std::vector<float> floats_of_every_kind() {
  std::vector<float> values;
  values.reserve(65536 * 16);
  for (std::uint32_t high = 0; high < 65536; ++high) {
    for (const std::uint32_t low : {0x0000u, 0x0001u, 0x0FFFu, 0x1000u, 0x1001u, 0x2000u, 0x2FFFu, 0x3000u, 0x3001u, 0x7FFFu, 0x8000u,
                                    0x8001u, 0xB000u, 0xEFFFu, 0xF000u, 0xFFFFu}) {
      values.push_back(std::bit_cast<float>(high << 16 | low));
    }
  }
  return values;
}

template <class Element>
void expect_every_pattern_exact() {
  const DType dtype = dtype_of<Element>();
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = to_float(Element{static_cast<std::uint16_t>(bits)});
    const oracle::Real exact = oracle::decode(bits, dtype);
    if (std::isnan(exact)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(oracle::Real{value}, exact) << bits;
    }
    ASSERT_EQ(std::signbit(value), bits >= 0x8000) << bits;
    // a round trip is the identity, except that NaN may become another NaN of the same sign
    if (std::isnan(exact)) {
      ASSERT_TRUE(is_nan(stored<Element>(value), dtype)) << bits;
      ASSERT_EQ(stored<Element>(value) & 0x8000, bits & 0x8000) << bits;
    } else {
      ASSERT_EQ(stored<Element>(value), bits);
    }
  }
}

TEST(Storage, EveryHalfPatternIsReadExactly) { expect_every_pattern_exact<Float16>(); }
TEST(Storage, EveryBfloatPatternIsReadExactly) { expect_every_pattern_exact<BFloat16>(); }

template <class Element>
void expect_rounded_to_nearest_even(const std::vector<float>& values) {
  const DType dtype = dtype_of<Element>();
  for (const float value : values) {
    const std::uint16_t bits = stored<Element>(value);
    if (std::isnan(value)) {
      ASSERT_TRUE(is_nan(bits, dtype)) << std::hex << bits_of(value);
      ASSERT_EQ(bits >> 15, bits_of(value) >> 31) << std::hex << bits_of(value);
    } else {
      ASSERT_EQ(bits, oracle::encode(value, dtype)) << std::hex << bits_of(value);
    }
  }
}

TEST(Storage, HalvesAreRoundedToNearestEven) { expect_rounded_to_nearest_even<Float16>(floats_of_every_kind()); }
TEST(Storage, BfloatsAreRoundedToNearestEven) { expect_rounded_to_nearest_even<BFloat16>(floats_of_every_kind()); }

TEST(Storage, KnownRoundings) {
  EXPECT_EQ(stored<Float16>(1.0f), 0x3C00);
  EXPECT_EQ(stored<Float16>(65504.0f), 0x7BFF);         // the largest finite value
  EXPECT_EQ(stored<Float16>(65519.996f), 0x7BFF);       // still rounds to it
  EXPECT_EQ(stored<Float16>(65520.0f), 0x7C00);         // a tie: infinity is even
  EXPECT_EQ(stored<Float16>(0x1p-24f), 0x0001);         // the smallest subnormal
  EXPECT_EQ(stored<Float16>(0x1p-25f), 0x0000);         // a tie with 0
  EXPECT_EQ(stored<Float16>(0x1.000002p-25f), 0x0001);  // just above it
  EXPECT_EQ(stored<Float16>(0x1.ffcp-15f), 0x0400);     // subnormal that rounds up to the first normal
  EXPECT_EQ(stored<Float16>(-0.0f), 0x8000);
  EXPECT_EQ(stored<BFloat16>(1.0f), 0x3F80);
  EXPECT_EQ(stored<BFloat16>(1.00390625f), 0x3F80);    // 1 + 2^-8, a tie
  EXPECT_EQ(stored<BFloat16>(1.01171875f), 0x3F82);    // 1 + 3 · 2^-8, a tie that rounds up
  EXPECT_EQ(stored<BFloat16>(3.4028235e38f), 0x7F80);  // the largest f32 is beyond bf16
  EXPECT_EQ(stored<BFloat16>(-INFINITY), 0xFF80);
  EXPECT_EQ(stored<BFloat16>(std::bit_cast<float>(1u)), 0x0000);
  EXPECT_EQ(stored<BFloat16>(std::bit_cast<float>(0x7F800001u)), 0x7FC0);  // a signaling NaN must not become infinity
}

template <class Element>
void expect_simd_equal(const std::vector<float>& values) {
  // every bit pattern, eight at a time
  for (std::uint32_t first = 0; first < 65536; first += 8) {
    Element elements[8];
    for (std::uint32_t i = 0; i < 8; ++i) elements[i].bits = static_cast<std::uint16_t>(first + i);
    float loaded[8];
    store8(loaded, load8(elements));
    for (int i = 0; i < 8; ++i) ASSERT_EQ(bits_of(loaded[i]), bits_of(to_float(elements[i]))) << first + i;
  }
  ASSERT_EQ(values.size() % 8, 0u);
  for (std::size_t first = 0; first < values.size(); first += 8) {
    Element elements[8];
    store8(elements, load8(values.data() + first));
    for (int i = 0; i < 8; ++i) ASSERT_EQ(elements[i].bits, stored<Element>(values[first + i])) << std::hex << bits_of(values[first + i]);
  }
}

TEST(Storage, SimdHalvesHaveTheSameBits) { expect_simd_equal<Float16>(floats_of_every_kind()); }
TEST(Storage, SimdBfloatsHaveTheSameBits) { expect_simd_equal<BFloat16>(floats_of_every_kind()); }

TEST(Storage, SimdFloatsAreCopied) {
  const std::vector<float> values = floats_of_every_kind();
  for (std::size_t first = 0; first < values.size(); first += 8) {
    float copied[8];
    store8(copied, load8(values.data() + first));
    ASSERT_EQ(std::memcmp(copied, values.data() + first, sizeof copied), 0);
  }
}

TEST(Storage, Sizes) {
  EXPECT_EQ(size_of(DType::f32), 4);
  EXPECT_EQ(size_of(DType::f16), 2);
  EXPECT_EQ(size_of(DType::bf16), 2);
}

}  // namespace
}  // namespace ropewalk
