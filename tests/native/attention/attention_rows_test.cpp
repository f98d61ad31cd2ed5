// Loading and storing rows of keys and values: against the definition of each format, and SIMD against scalar bit for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attention/kernels/attention_kernels.h"
#include "native/attention/attention_rows.h"

namespace ropewalk {
namespace {

constexpr int kRows = 3;
constexpr int kLargestDim = 130;  // more than four blocks of q8_0 and q4_0, and all remainders of 4, 8 and 32

// Gaps between rows, which must not be touched. Gaps of stored rows keep floats aligned.
constexpr std::ptrdiff_t kByteGap = 12, kFloatGap = 5;

const AttentionKernels* const kBoth[] = {&kScalarAttentionKernels, &kWasmSimdAttentionKernels};

// kRows rows of a type and of floats, without bytes after the last.
struct RowMemory {
  RowMemory(RowType type_of_rows, int dim)
      : type(type_of_rows),
        head_dim(dim),
        rows{static_cast<std::ptrdiff_t>(stored_bytes(type, dim)) + kByteGap, padded_dim(dim) + kFloatGap, kRows, dim},
        stored((kRows - 1) * rows.row_stride + stored_bytes(type, dim)),
        floats((kRows - 1) * rows.float_stride + padded_dim(dim), kUntouched) {}

  std::uint8_t* row(int index) { return stored.data() + index * rows.row_stride; }
  float& at(int index, int element) { return floats[index * rows.float_stride + element]; }
  void load(const AttentionKernels& kernels) { kernels.load[static_cast<int>(type)](rows, stored.data(), floats.data()); }
  void store(const AttentionKernels& kernels) { kernels.store[static_cast<int>(type)](rows, floats.data(), stored.data()); }
  bool guards_are_intact() { return stored.guards_are_intact() && floats.guards_are_intact(); }

  static constexpr float kUntouched = -7;
  RowType type;
  int head_dim;
  StoredRows rows;
  Guarded<std::uint8_t> stored;
  Guarded<float> floats;
};

class StoredRowsOf : public testing::TestWithParam<RowType> {
 protected:
  RowType type() const { return GetParam(); }
};

TEST_P(StoredRowsOf, HaveTheSizeOfTheirFormat) {
  for (int dim = 1; dim <= kLargestDim; ++dim) EXPECT_EQ(row_bytes(type(), dim), stored_bytes(type(), dim)) << dim;
}

TEST_P(StoredRowsOf, LoadAsTheirExactValues) {
  for (int dim = 1; dim <= kLargestDim; ++dim) {
    for (const AttentionKernels* kernels : kBoth) {
      SCOPED_TRACE(testing::Message() << kernels->name << ", " << dim << " elements");
      RowMemory memory(type(), dim);
      Random random(dim);
      for (int row = 0; row < kRows; ++row) fill_row(type(), memory.row(row), dim, random);
      const std::vector<std::uint8_t> before = memory.stored.values();
      memory.load(*kernels);
      for (int row = 0; row < kRows; ++row) {
        for (int i = 0; i < dim; ++i) ASSERT_EQ(memory.at(row, i), decoded(type(), memory.row(row), i)) << row << ", " << i;
        for (int i = dim; i < padded_dim(dim); ++i) ASSERT_EQ(memory.at(row, i), 0) << "padding";
        if (row == kRows - 1) break;
        for (int i = padded_dim(dim); i < memory.rows.float_stride; ++i) ASSERT_EQ(memory.at(row, i), RowMemory::kUntouched);
      }
      ASSERT_EQ(memory.stored.values(), before);
      ASSERT_TRUE(memory.guards_are_intact());
    }
  }
}

// Each bit pattern, including NaN, both inside a vector and in a tail.
TEST_P(StoredRowsOf, LoadAnyContentWithTheSameBits) {
  for (int dim = 1; dim <= kLargestDim; ++dim) {
    RowMemory scalar(type(), dim), simd(type(), dim);
    Random random(100 + dim);
    for (std::size_t i = 0; i < scalar.stored.size(); ++i) simd.stored[i] = scalar.stored[i] = random.next_bits() >> 24;
    scalar.load(kScalarAttentionKernels);
    simd.load(kWasmSimdAttentionKernels);
    ASSERT_TRUE(simd.floats.same_bits(scalar.floats)) << dim << " elements";
  }
}

TEST_P(StoredRowsOf, StoreWithTheSameBits) {
  for (int dim = 1; dim <= kLargestDim; ++dim) {
    for (const double size : {1e-42, 1e-37, 1e-30, 1e-6, 1.0, 1000.0, 65000.0}) {
      RowMemory scalar(type(), dim), simd(type(), dim);
      Random random(200 + dim);
      for (std::size_t i = 0; i < scalar.floats.size(); ++i) {
        simd.floats[i] = scalar.floats[i] = i % 7 == 3 ? 0 : static_cast<float>(random.next() / 2 * size);
      }
      scalar.store(kScalarAttentionKernels);
      simd.store(kWasmSimdAttentionKernels);
      ASSERT_TRUE(simd.stored.same_bits(scalar.stored)) << dim << " elements of " << size;
      ASSERT_TRUE(scalar.guards_are_intact() && simd.guards_are_intact());
    }
  }
}

// Largest difference of a stored value from the float: f32 none, the 16-bit formats half an ulp of theirs. q8_0 half a step, plus up to 127
// times half an ulp of the scale, which is rounded to f16; the scale and the quotient are computed in f32, hence 2^-20. q4_0 a whole step
// for elements that need a quant of 16, else half a step; and up to 8 times half an ulp of the scale.
double largest_error(RowType type, double value, double largest_of_block) {
  if (type == RowType::f32) return 0;
  if (!is_quantized(type)) return static_cast<double>(oracle::ulp(value, static_cast<DType>(type))) / 2;
  const double quants = type == RowType::q8_0 ? 127 : 8, step = largest_of_block / quants;
  const double rounding = type == RowType::q8_0 || std::fabs(value) < 7.5 * step ? step / 2 : step;
  return (rounding + quants * static_cast<double>(oracle::ulp(step, DType::f16)) / 2) * (1 + 0x1p-20);
}

TEST_P(StoredRowsOf, KeepValuesWithinTheirSteps) {
  for (int dim = 1; dim <= kLargestDim; ++dim) {
    for (const double size : {0.001, 1.0, 300.0}) {
      for (const AttentionKernels* kernels : kBoth) {
        SCOPED_TRACE(testing::Message() << kernels->name << ", " << dim << " elements of " << size);
        RowMemory memory(type(), dim);
        Random random(300 + dim);
        for (std::size_t i = 0; i < memory.floats.size(); ++i) memory.floats[i] = static_cast<float>(random.next() * size);
        memory.store(*kernels);
        for (int row = 0; row < kRows; ++row) {
          for (int i = 0; i < dim; ++i) {
            double largest = 0;
            for (int j = i / 32 * 32; j < std::min(dim, i / 32 * 32 + 32); ++j) largest = std::fmax(largest, std::fabs(memory.at(row, j)));
            const double value = memory.at(row, i);
            ASSERT_NEAR(decoded(type(), memory.row(row), i), value, largest_error(type(), value, largest)) << row << ", " << i;
          }
        }
        ASSERT_TRUE(memory.guards_are_intact());
      }
    }
  }
}

std::string type_name(const testing::TestParamInfo<RowType>& info) { return name_of(info.param); }

INSTANTIATE_TEST_SUITE_P(Each, StoredRowsOf, testing::ValuesIn(kEveryRowType), type_name);

TEST(StoredF16Rows, EveryBitPatternLoadsExactly) {
  constexpr int kDim = 9;  // a vector of eight, and one more
  for (const AttentionKernels* kernels : kBoth) {
    SCOPED_TRACE(kernels->name);
    for (std::uint32_t first = 0; first < 0x10000; first += 8) {
      RowMemory memory(RowType::f16, kDim);
      for (int row = 0; row < kRows; ++row) {
        for (int i = 0; i < kDim; ++i) {
          const std::uint32_t bits = (first + (i + row) % 8) & 0xFFFF;
          std::memcpy(memory.row(row) + 2 * i, &bits, 2);
        }
      }
      memory.load(*kernels);
      for (int row = 0; row < kRows; ++row) {
        for (int i = 0; i < kDim; ++i) {
          const std::uint32_t bits = (first + (i + row) % 8) & 0xFFFF;
          const double exact = static_cast<double>(oracle::decode(bits, DType::f16));
          if (std::isnan(exact)) {
            ASSERT_TRUE(std::isnan(memory.at(row, i))) << std::hex << bits;
          } else {
            ASSERT_EQ(memory.at(row, i), exact) << std::hex << bits;
            ASSERT_EQ(std::signbit(memory.at(row, i)), std::signbit(exact)) << std::hex << bits;
          }
        }
      }
    }
  }
}

struct Q8Case {
  std::vector<float> values;
  float scale;
  std::vector<int> quants;
};

TEST(StoredQ8Rows, FollowTheDefinition) {
  const Q8Case cases[] = {
      {{127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 126.5f, -126.5f}, 1, {127, 0, 2, 2, 0, -2, -2, 126, -126}},  // ties to even
      {{-254, 1, 3, 2, -253}, 2, {-127, 0, 2, 1, -126}},                                                         // the largest is negative
      {{0, -0.0f, 0}, 0, {0, 0, 0}},
      {{1e-37f, 0, -1e-38f}, 0, {}},                                    // a scale below f16's smallest: all elements load as zeros
      {{65504.0f * 127, -65504.0f * 64}, 65504, {127, -64}},            // the largest scale
      {{0x1p-24f * 127, 0x1p-24f, -0x1p-23f}, 0x1p-24f, {127, 1, -2}},  // the smallest
  };
  for (const AttentionKernels* kernels : kBoth) {
    for (const Q8Case& c : cases) {
      const int dim = static_cast<int>(c.values.size());
      SCOPED_TRACE(testing::Message() << kernels->name << ", " << c.values[0]);
      RowMemory memory(RowType::q8_0, dim);
      for (int i = 0; i < dim; ++i) memory.at(1, i) = c.values[i];
      memory.store(*kernels);
      const std::uint8_t* block = memory.row(1);
      EXPECT_EQ(oracle::decode(block[0] | block[1] << 8, DType::f16), c.scale);
      for (std::size_t i = 0; i < c.quants.size(); ++i) EXPECT_EQ(static_cast<std::int8_t>(block[2 + i]), c.quants[i]) << i;
      for (int i = dim; i < 32; ++i) EXPECT_EQ(block[2 + i], 0) << "padding " << i;
    }
  }
}

TEST(StoredQ8Rows, UseTheScaleOfEachBlock) {
  for (const AttentionKernels* kernels : kBoth) {
    RowMemory memory(RowType::q8_0, 70);
    for (int i = 0; i < 70; ++i) memory.at(0, i) = static_cast<float>(i < 32 ? 1 : i < 64 ? -10 : 100);
    memory.store(*kernels);
    for (const int block : {0, 1, 2}) {
      const std::uint8_t* bytes = memory.row(0) + 34 * block;
      const float largest = std::fabs(memory.at(0, 32 * block));
      EXPECT_EQ(static_cast<std::uint32_t>(bytes[0] | bytes[1] << 8), oracle::encode(largest / 127, DType::f16)) << kernels->name;
      EXPECT_EQ(static_cast<std::int8_t>(bytes[2]), block == 1 ? -127 : 127) << kernels->name;
    }
    for (int i = 6; i < 32; ++i) EXPECT_EQ(memory.row(0)[68 + 2 + i], 0) << kernels->name << ", element " << 64 + i;
  }
}

struct Q4Case {
  std::vector<float> values;
  float scale;
  std::vector<int> quants;
};

TEST(StoredQ4Rows, FollowTheDefinition) {
  const Q4Case cases[] = {
      {{-8, 0, 0.49f, 0.5f, -0.5f, -0.51f, 7, 7.4f, 7.5f, 7.9f}, 1, {0, 8, 8, 9, 8, 7, 15, 15, 15, 15}},  // 16 would need a fifth bit
      {{8, 1, -7, -7.9f}, -1, {0, 7, 15, 15}},  // the largest is positive: the scale is negative
      {{-16, 16, 2}, 2, {0, 15, 9}},            // of equal magnitudes, the first
      {{16, -16, 2}, -2, {0, 15, 7}},
      {{0, -0.0f, 0}, 0, {8, 8, 8}},
      {{1e-38f, 0, -1e-39f}, 0, {8, 8, 8}},        // a scale below f16's smallest: all elements load as zeros
      {{-65504.0f * 8, 65504.0f}, 65504, {0, 9}},  // the largest scale
  };
  for (const AttentionKernels* kernels : kBoth) {
    for (const Q4Case& c : cases) {
      const int dim = static_cast<int>(c.values.size());
      SCOPED_TRACE(testing::Message() << kernels->name << ", " << c.values[0]);
      RowMemory memory(RowType::q4_0, dim);
      for (int i = 0; i < dim; ++i) memory.at(1, i) = c.values[i];
      memory.store(*kernels);
      const std::uint8_t* block = memory.row(1);
      EXPECT_EQ(oracle::decode(block[0] | block[1] << 8, DType::f16), c.scale);
      for (int i = 0; i < dim; ++i) EXPECT_EQ(block[2 + i] & 15, c.quants[i]) << i;
      for (int i = dim; i < 16; ++i) EXPECT_EQ(block[2 + i] & 15, 8) << "padding " << i;
      for (int i = 0; i < 16; ++i) EXPECT_EQ(block[2 + i] >> 4, 8) << "padding " << 16 + i;
    }
  }
}

TEST(StoredQ4Rows, TheSecondHalfOfABlockIsInTheHighBits) {
  for (const AttentionKernels* kernels : kBoth) {
    RowMemory memory(RowType::q4_0, 32);
    for (int i = 0; i < 32; ++i) memory.at(0, i) = static_cast<float>(i % 16 - 8) / (i < 16 ? 1.0f : 2.0f);
    memory.store(*kernels);
    for (int i = 0; i < 16; ++i) {
      EXPECT_EQ(memory.row(0)[2 + i] & 15, i) << kernels->name;
      EXPECT_EQ(memory.row(0)[2 + i] >> 4, static_cast<int>((i - 8) / 2.0 + 8.5)) << kernels->name << ", element " << 16 + i;
    }
  }
}

}  // namespace
}  // namespace ropewalk
