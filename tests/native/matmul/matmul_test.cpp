// Products with weights of all formats: the scalar kernels compared with double, and simd128 with scalar bit for bit.
#include "matmul/matmul.h"

#include <gtest/gtest.h>

#include <cmath>

#include "matmul/dequantize.h"
#include "native/matmul/random_weights.h"

namespace ropewalk {
namespace {

constexpr double kHalfUlp = 0x1p-24;  // half an ulp of f32, relative: the largest error of one operation
constexpr float kUntouched = -7;

Guarded<float> random_floats(int tokens, int columns, std::ptrdiff_t stride, std::uint32_t seed) {
  Random random(seed);
  Guarded<float> x((tokens - 1) * stride + columns, std::nanf(""));
  for (int t = 0; t < tokens; ++t) {
    for (int c = 0; c < columns; ++c) x[t * stride + c] = static_cast<float>(random.next() * (c % 32 == 5 ? 3 : 1));
  }
  return x;
}

struct Case {
  WeightFormat format;
  int rows, columns, tokens;

  std::ptrdiff_t stride() const { return columns + 3; }
  std::ptrdiff_t out_stride() const { return rows + 2; }
};

std::vector<Case> every_case() {
  std::vector<Case> cases;
  for (const WeightFormat format : every_format()) {
    const std::vector<int> columns = is_float(format)                ? std::vector<int>{1, 2, 3, 4, 7, 64, 255, 257, 518}
                                     : block_elements(format) == 32  ? std::vector<int>{32, 64, 288, 544}
                                     : block_elements(format) == 256 ? std::vector<int>{256, 768}
                                                                     : std::vector<int>{128, 384, 640};
    for (const int c : columns) {
      for (const int rows : {1, 7, 8, 9, 24, 33}) {
        for (const int tokens : {1, 2, 3, 4, 5, 6, 7, 8, 12, 14, 16, 17}) cases.push_back({format, rows, c, tokens});
      }
      cases.push_back({format, 17, c, 133});
    }
  }
  return cases;
}

std::string name_of(const Case& c) {
  return "format " + std::to_string(static_cast<int>(c.format)) + ", " + std::to_string(c.rows) + " x " + std::to_string(c.columns) +
         ", tokens " + std::to_string(c.tokens);
}

struct Product {
  Product(const Case& c, std::uint32_t seed = 1, float factor = 1)
      : weights(random_weights(c.format, c.rows, c.columns, seed, factor)), x(random_floats(c.tokens, c.columns, c.stride(), seed + 1)) {}

  Guarded<float> of(const Case& c, const MatmulKernels& kernels, bool packed) {
    Guarded<std::uint8_t> copy(weights.values());
    WeightMatrix matrix = {c.format, c.rows, c.columns, copy.data(), 0};
    if (packed) {
      EXPECT_EQ(pack_rows(matrix, copy.data(), matrix.rows), Status::ok);
    }
    Guarded<float> out((c.tokens - 1) * c.out_stride() + c.rows, kUntouched);
    Activations activations;
    activations.set(x.data(), c.stride(), c.tokens, c.columns);
    EXPECT_EQ(multiply(kernels, {{::ropewalk::Product{&matrix, nullptr, out.data(), c.out_stride()}}}, activations), Status::ok);
    EXPECT_TRUE(copy.guards_are_intact());
    EXPECT_TRUE(out.guards_are_intact());
    return out;
  }

  Guarded<std::uint8_t> weights;
  Guarded<float> x;
};

TEST(Matmul, HasTheSameBitsInSimdPackedOrNotAndWritesNothingElse) {
  for (const Case& c : every_case()) {
    SCOPED_TRACE(name_of(c));
    Product product(c);
    const Guarded<float> expected = product.of(c, kScalarMatmulKernels, false);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (static_cast<int>(i % c.out_stride()) >= c.rows) ASSERT_EQ(expected[i], kUntouched);
    }
    ASSERT_TRUE(product.of(c, kScalarMatmulKernels, true).same_bits(expected));
    ASSERT_TRUE(product.of(c, kWasmSimdMatmulKernels, false).same_bits(expected));
    ASSERT_TRUE(product.of(c, kWasmSimdMatmulKernels, true).same_bits(expected));
  }
}

TEST(Matmul, IsTheSumOfProductsWithinItsRounding) {
  for (const Case& c : every_case()) {
    if (c.tokens > 4) continue;
    SCOPED_TRACE(name_of(c));
    Product product(c);
    const Guarded<float> out = product.of(c, kWasmSimdMatmulKernels, true);
    std::vector<float> row(c.columns);
    for (int r = 0; r < c.rows; ++r) {
      dequantize(c.format, product.weights.data() + r * weight_row_bytes(c.format, c.columns), c.columns, row.data());
      for (int t = 0; t < c.tokens; ++t) {
        const float* x = product.x.data() + t * c.stride();
        double exact = 0, size_of_terms = 0, of_rounding = 0;
        for (int first = 0; first < c.columns; first += 32) {
          const int last = std::min(first + 32, c.columns);
          float largest = 0;
          for (int i = first; i < last; ++i) largest = std::max(largest, std::fabs(x[i]));
          for (int i = first; i < last; ++i) {
            exact += double{row[i]} * x[i];
            size_of_terms += std::fabs(double{row[i]} * x[i]);
            // an activation is off by half a step of largest / 127, plus a little f32 rounding
            of_rounding += std::fabs(row[i]) * largest / 127 * (0.5 + 1e-5);
          }
        }
        // floats: a product, columns/4 additions per partial sum and two that join them; each rounds by half an ulp
        double bound = (c.columns / 4 + 4) * kHalfUlp * size_of_terms;
        if (!is_float(c.format)) {
          // rounded activations, plus f32 rounding of a weight (maybe the difference of parts up to 32 times larger) and of each group's
          // sum
          bound = of_rounding + (c.columns / 32 + 200) * kHalfUlp * (size_of_terms + of_rounding);
        }
        ASSERT_NEAR(out[t * c.out_stride() + r], exact, bound) << "row " << r << ", token " << t;
      }
    }
  }
}

TEST(Matmul, GivesATokenTheSameBitsAloneAndWithOthers) {
  for (const WeightFormat format : every_format()) {
    const Case c = {format, 19, 512, 131};
    SCOPED_TRACE(name_of(c));
    Product product(c);
    WeightMatrix matrix = {format, c.rows, c.columns, product.weights.data(), 0};
    ASSERT_EQ(pack_rows(matrix, product.weights.data(), matrix.rows), Status::ok);
    const auto multiplied = [&](int first, int count) {
      Activations x;
      x.set(product.x.data() + first * c.stride(), c.stride(), count, c.columns);
      std::vector<float> out(count * c.rows);
      EXPECT_EQ(multiply(kWasmSimdMatmulKernels, {{::ropewalk::Product{&matrix, nullptr, out.data(), c.rows}}}, x), Status::ok);
      return out;
    };
    const std::vector<float> together = multiplied(0, c.tokens);
    for (const int token : {0, 1, 127, 128, 130}) {
      for (int count = 1; count <= 2 && token + count <= c.tokens; ++count) {
        const std::vector<float> few = multiplied(token, count);
        ASSERT_EQ(std::memcmp(few.data(), together.data() + token * c.rows, few.size() * sizeof(float)), 0) << "token " << token;
      }
    }
  }
}

TEST(Matmul, SumsTheLargestIntegersExactly) {
  // all quants and sub-scales at their maximum: their sums stay below 2^24, so f32 is exact
  for (const WeightFormat format : every_format()) {
    if (is_float(format)) continue;
    for (const int fill : {0x00, 0x7F, 0x80, 0xFF}) {
      const Case c = {format, 8, 256, 4};
      SCOPED_TRACE(name_of(c) + ", bytes " + std::to_string(fill));
      Product product(c);
      const BlockShape& shape = block_shape(format);
      for (std::size_t i = 0; i < product.weights.size(); ++i) {
        const int within = static_cast<int>(i) % shape.bytes(), halves = shape.leading_bytes + 2 * shape.leading_halves;
        if (within >= halves && within < halves + 4 * shape.words) product.weights[i] = static_cast<std::uint8_t>(fill);
        if (format == WeightFormat::iq1_m && within == shape.bytes() - 1) product.weights[i] &= 0xBF;  // a finite scale
      }
      for (int t = 0; t < c.tokens; ++t) {
        for (int i = 0; i < c.columns; ++i) product.x[t * c.stride() + i] = t % 2 == 0 ? 127 : -127;
      }
      const Guarded<float> expected = product.of(c, kScalarMatmulKernels, false);
      ASSERT_TRUE(product.of(c, kWasmSimdMatmulKernels, true).same_bits(expected));
      std::vector<float> row(c.columns);
      dequantize(format, product.weights.data(), c.columns, row.data());
      double exact = 0, size_of_terms = 0;
      for (const float weight : row) {
        exact += 127 * double{weight};
        size_of_terms += 127 * std::fabs(weight);
      }
      ASSERT_NEAR(expected[0], exact, 250 * kHalfUlp * size_of_terms);  // x is exact; a weight rounds as above
    }
  }
}

TEST(Matmul, AcceptsEveryFiniteHalfAndInfinities) {
  const Case c = {WeightFormat::f16, 40, 70, 1};
  for (const bool has_infinity : {false, true}) {
    Product product(c);
    constexpr std::uint16_t kHalves[] = {0x8000, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0xFBFF, 0x3C00};
    for (std::size_t i = 0; i < product.weights.size(); i += 2) std::memcpy(product.weights.data() + i, &kHalves[i / 2 % 7], 2);
    const std::uint16_t infinity = 0xFC00;
    if (has_infinity) std::memcpy(product.weights.data() + 2 * (5 * c.columns + 9), &infinity, 2);
    const Guarded<float> expected = product.of(c, kScalarMatmulKernels, false);
    EXPECT_TRUE(product.of(c, kWasmSimdMatmulKernels, true).same_bits(expected));
    EXPECT_EQ(std::isinf(expected[5]), has_infinity);
    EXPECT_TRUE(std::isfinite(expected[4]));
  }
}

TEST(Matmul, HasTheSameBitsForSubnormalAndLargeF16) {
  for (const WeightFormat format : every_format()) {
    for (const float factor : {0x1p-20f, 0x1p8f, 65000.0f}) {
      for (const int tokens : {1, 2, 4, 9}) {
        const Case c = {format, 17, block_elements(format) == 1 ? 70 : 512, tokens};
        SCOPED_TRACE(name_of(c) + ", times " + std::to_string(factor));
        Product product(c, 7, factor);
        const Guarded<float> expected = product.of(c, kScalarMatmulKernels, false);
        ASSERT_TRUE(product.of(c, kScalarMatmulKernels, true).same_bits(expected));
        ASSERT_TRUE(product.of(c, kWasmSimdMatmulKernels, false).same_bits(expected));
        ASSERT_TRUE(product.of(c, kWasmSimdMatmulKernels, true).same_bits(expected));
      }
    }
  }
}

TEST(Matmul, HasTheSameBitsForInfiniteScales) {
  for (const WeightFormat format : every_format()) {
    const BlockShape& shape = block_shape(format);
    if (is_float(format) || shape.leading_halves + shape.trailing_halves == 0) continue;
    for (const int tokens : {1, 2, 4, 5}) {
      const Case c = {format, 40, 512, tokens};
      SCOPED_TRACE(name_of(c));
      Product product(c);
      const std::size_t last_scale = leading_f16(format) > 0 ? 2 * leading_f16(format) - 2 : shape.bytes() - 2;
      const std::uint16_t infinity = 0xFC00, nan = 0x7E01;
      std::memcpy(product.weights.data() + 5 * weight_row_bytes(format, c.columns) + last_scale, &infinity, 2);
      std::memcpy(product.weights.data() + 11 * weight_row_bytes(format, c.columns) + last_scale, &nan, 2);
      const Guarded<float> expected = product.of(c, kScalarMatmulKernels, false);
      const Guarded<float> out = product.of(c, kWasmSimdMatmulKernels, true);
      for (int t = 0; t < tokens; ++t) {
        for (int row = 0; row < c.rows; ++row) {
          const float a = expected[t * c.out_stride() + row], b = out[t * c.out_stride() + row];
          EXPECT_EQ(std::isnan(a), std::isnan(b));
          EXPECT_EQ(std::isfinite(a), row != 5 && row != 11) << "row " << row;
          if (!std::isnan(a)) {
            EXPECT_EQ(a, b) << "row " << row;
          }
        }
      }
    }
  }
}

TEST(Matmul, HasTheSameBitsIfOnlyAnUnpackedRowIsInfinite) {
  for (const WeightFormat format : every_format()) {
    if (leading_f16(format) == 0) continue;
    for (const int tokens : {1, 2, 4, 12, 20}) {
      const Case c = {format, 17, block_elements(format) == 1 ? 70 : 256, tokens};
      SCOPED_TRACE(name_of(c));
      Product product(c, 1, 0x1p-18f);
      const std::uint16_t infinity = 0x7C00;
      std::memcpy(product.weights.data() + 16 * weight_row_bytes(format, c.columns), &infinity, sizeof infinity);
      const Guarded<float> expected = product.of(c, kScalarMatmulKernels, false), out = product.of(c, kWasmSimdMatmulKernels, true);
      for (int t = 0; t < tokens; ++t) {
        const std::ptrdiff_t row = t * c.out_stride();
        ASSERT_EQ(std::memcmp(&out[row], &expected[row], 16 * sizeof(float)), 0) << "token " << t;
        ASSERT_FALSE(std::isfinite(out[row + 16]));
      }
    }
  }
}

TEST(Matmul, HasFoursForTheFormatsThatCountThem) {
  for (const WeightFormat format : every_format())
    EXPECT_EQ(kWasmSimdMatmulKernels.most_in_fours(format) > 0, kWasmSimdMatmulKernels.four[static_cast<int>(format)] != nullptr);
}

TEST(Matmul, RoundsInputsToWhatItsDotProductsRead) {
  for (const WeightFormat format : every_format()) {
    if (is_float(format)) continue;
    EXPECT_TRUE(kWasmSimdMatmulKernels.inputs(format).as_words && !kWasmSimdMatmulKernels.inputs(format).as_bytes);
    EXPECT_TRUE(kScalarMatmulKernels.inputs(format).as_bytes && !kScalarMatmulKernels.inputs(format).as_words);
  }
}

TEST(Matmul, NamesItsDotProducts) {
  for (const WeightFormat format : every_format()) {
    EXPECT_STREQ(kWasmSimdMatmulKernels.dot_name(format), is_float(format) ? "floats" : "words");
    EXPECT_STREQ(kScalarMatmulKernels.dot_name(format), is_float(format) ? "floats" : "words");
  }
}

TEST(Activations, AreRoundedToTheNearestByteOfTheirGroup) {
  for (const int columns : {32, 64, 320}) {
    Guarded<float> x = random_floats(1, columns, columns, 5);
    for (int i = 0; i < 32; ++i) x[columns - 32 + i] = 0;
    x[3] = 0x1p-140f;
    struct Rounded {
      explicit Rounded(int columns)
          : bytes(columns), words(columns), scales(columns / 32), sums(columns / 16), even_offsets(columns / 32) {}
      QuantizedRow row() { return {bytes.data(), words.data(), scales.data(), sums.data(), even_offsets.data()}; }
      Guarded<std::int8_t> bytes;
      Guarded<std::int16_t> words;
      Guarded<float> scales;
      Guarded<std::int16_t> sums;
      Guarded<std::int32_t> even_offsets;
    } scalar(columns), simd(columns);
    kScalarMatmulKernels.quantize(x.data(), columns, scalar.row());
    kWasmSimdMatmulKernels.quantize(x.data(), columns, simd.row());
    EXPECT_TRUE(simd.bytes.same_bits(scalar.bytes) && simd.words.same_bits(scalar.words));
    EXPECT_TRUE(simd.scales.same_bits(scalar.scales) && simd.sums.same_bits(scalar.sums));
    EXPECT_TRUE(simd.even_offsets.same_bits(scalar.even_offsets));
    for (const MatmulKernels* kernels : {&kScalarMatmulKernels, &kWasmSimdMatmulKernels}) {
      Rounded only(columns);
      QuantizedRow bytes = only.row(), words = only.row();
      bytes.words = nullptr;
      words.bytes = nullptr;
      kernels->quantize(x.data(), columns, bytes);
      kernels->quantize(x.data(), columns, words);
      EXPECT_TRUE(only.bytes.same_bits(scalar.bytes) && only.words.same_bits(scalar.words)) << kernels->name;
    }
    for (int i = 0; i < columns; ++i) {
      const float scale = scalar.scales[i / 32];
      EXPECT_NEAR(scale * scalar.bytes[i], x[i], scale * (0.5 + 1e-5) + 127 * kSmallestActivationScale);
      constexpr int kPlaces[4] = {0, 2, 1, 3};
      const int joined = i % 2 == 0 ? scalar.bytes[i] : scalar.bytes[i] - 256 * scalar.bytes[i - 1];
      EXPECT_EQ(scalar.words[i / 4 * 4 + kPlaces[i % 4]], joined);
    }
    for (int first = 0; first < columns; first += 32) {
      int sum = 0;
      for (int i = 0; i < 32; i += 2) sum += scalar.bytes[first + i];
      EXPECT_EQ(scalar.even_offsets[first / 32], -128 * sum);
    }
    for (int first = 0; first < columns; first += 16) {
      int sum = 0;
      for (int i = 0; i < 16; ++i) sum += scalar.bytes[first + i];
      EXPECT_EQ(scalar.sums[first / 16], sum);
    }
    EXPECT_EQ(scalar.scales[columns / 32 - 1], columns == 32 ? scalar.scales[0] : 0);
    EXPECT_TRUE(simd.bytes.guards_are_intact() && simd.words.guards_are_intact());
    EXPECT_TRUE(simd.scales.guards_are_intact() && simd.sums.guards_are_intact() && simd.even_offsets.guards_are_intact());
  }
}

TEST(Activations, TakeTurnsInUnitsOf32Bits) {
  constexpr int kColumns = 96, kGroups = kColumns / 32;
  Guarded<float> x = random_floats(kTileTokens, kColumns, kColumns, 6);
  for (int i = 0; i < 32; ++i) x[kColumns + i] = 0;  // a group without a scale, of the second token
  x[2 * kColumns + 3] = 0x1p-140f;
  x[3 * kColumns + 40] = -1e30f;
  struct Rounded {
    explicit Rounded(int turns)
        : bytes(kColumns * turns),
          words(kColumns * turns),
          scales(kGroups * turns),
          sums(2 * kGroups * turns),
          even_offsets(kGroups * turns) {}
    QuantizedRow row() { return {bytes.data(), words.data(), scales.data(), sums.data(), even_offsets.data()}; }
    Guarded<std::int8_t> bytes;
    Guarded<std::int16_t> words;
    Guarded<float> scales;
    Guarded<std::int16_t> sums;
    Guarded<std::int32_t> even_offsets;
  } turned(kTileTokens), only(kTileTokens);
  const float* rows[kTileTokens];
  for (int t = 0; t < kTileTokens; ++t) rows[t] = x.data() + t * kColumns;
  kWasmSimdMatmulKernels.quantize_four(rows, kColumns, turned.row());
  for (int t = 0; t < kTileTokens; ++t) {
    Rounded alone(1);
    kScalarMatmulKernels.quantize(rows[t], kColumns, alone.row());
    for (int i = 0; i < kColumns; ++i) {
      ASSERT_EQ(turned.bytes[i / 4 * 16 + 4 * t + i % 4], alone.bytes[i]) << "byte " << i << " of " << t;
      const int joined = i % 4 < 2 ? 0 : 256 * alone.words[i - 2];
      ASSERT_EQ(turned.words[i / 2 * 8 + 2 * t + i % 2], alone.words[i] + joined) << "word " << i << " of " << t;
    }
    for (int i = 0; i < kGroups; ++i) ASSERT_EQ(turned.scales[4 * i + t], alone.scales[i]);
    for (int i = 0; i < kGroups; ++i) ASSERT_EQ(turned.even_offsets[4 * i + t], alone.even_offsets[i]);
    for (int i = 0; i < 2 * kGroups; ++i) ASSERT_EQ(turned.sums[i / 2 * 8 + 2 * t + i % 2], alone.sums[i]);
  }
  QuantizedRow bytes = only.row(), words = only.row();
  bytes.words = nullptr;
  words.bytes = nullptr;
  kWasmSimdMatmulKernels.quantize_four(rows, kColumns, bytes);
  kWasmSimdMatmulKernels.quantize_four(rows, kColumns, words);
  EXPECT_TRUE(only.bytes.same_bits(turned.bytes) && only.words.same_bits(turned.words));
  EXPECT_TRUE(turned.bytes.guards_are_intact() && turned.words.guards_are_intact());
  EXPECT_TRUE(turned.scales.guards_are_intact() && turned.sums.guards_are_intact() && turned.even_offsets.guards_are_intact());
}

}  // namespace
}  // namespace ropewalk
