// Score and blend: the scalar kernels against double, and SIMD against scalar bit for bit. Weights are in attention_weigh_test.cpp, rows in
// attention_rows_test.cpp.
#include "attention/kernels/attention_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "native/attention/attention_guarded.h"

namespace ropewalk {
namespace attention_kernels_test {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kHalfUlp = 0x1p-24;  // half an ulp of f32, relative: the largest error of one operation

struct Size {
  int rows, count, dim;
};

// All numbers of rows and keys for some widths, and all widths for some numbers of rows and keys.
std::vector<Size> every_size() {
  std::vector<Size> sizes;
  for (int rows = 1; rows <= 9; ++rows) {
    for (int count = 1; count <= kBlockTokens; ++count) {
      for (const int dim : {4, 8, 20, 68}) sizes.push_back({rows, count, dim});
    }
  }
  for (int dim = 4; dim <= 260; dim += 4) {
    for (const int rows : {1, 2, 3, 4}) {
      for (const int count : {1, 3, 32}) sizes.push_back({rows, count, dim});
    }
  }
  return sizes;
}

// Rows of floats with gaps between them, and nothing after the last. Gaps are NaN, so that reading them would show.
struct RowsOfFloats {
  RowsOfFloats(int count, int dim, std::ptrdiff_t gap, std::uint32_t seed) : stride(dim + gap), floats((count - 1) * stride + dim, kNaN) {
    Random random(seed);
    for (int row = 0; row < count; ++row) {
      for (int i = 0; i < dim; ++i) floats[row * stride + i] = static_cast<float>(random.next());
    }
  }
  float at(int row, int i) const { return floats[row * stride + i]; }

  std::ptrdiff_t stride;
  Guarded<float> floats;
};

constexpr float kUntouched = -7;

TEST(ScoreKernel, IsTheDotProductInFourPartialSums) {
  for (const Size& size : every_size()) {
    const int rows = size.rows, count = size.count, dim = size.dim;
    SCOPED_TRACE(testing::Message() << rows << " rows, " << count << " keys, " << dim << " elements");
    RowsOfFloats queries(rows, dim, 3, 1), keys(count, dim, 5, 2);
    Guarded<float> scalar((rows - 1) * kBlockTokens + count, kUntouched), simd(scalar.size(), kUntouched);
    const auto run = [&](const AttentionKernels& kernels, Guarded<float>& scores) {
      kernels.score({queries.floats.data(), queries.stride, rows, keys.floats.data(), keys.stride, count, dim, scores.data()});
    };
    run(kScalarAttentionKernels, scalar);
    run(kWasmSimdAttentionKernels, simd);
    ASSERT_TRUE(simd.same_bits(scalar));
    ASSERT_TRUE(simd.guards_are_intact() && scalar.guards_are_intact());
    for (int row = 0; row < rows; ++row) {
      for (int n = 0; n < (row < rows - 1 ? kBlockTokens : count); ++n) {
        const float score = scalar[row * kBlockTokens + n];
        if (n >= count) {
          ASSERT_EQ(score, kUntouched);
          continue;
        }
        double exact = 0, size_of_terms = 0;
        for (int i = 0; i < dim; ++i) {
          const double term = double{queries.at(row, i)} * keys.at(n, i);
          exact += term;
          size_of_terms += std::fabs(term);
        }
        // a product, dim/4 sums of each partial sum and two that join them; each rounds by half an ulp
        ASSERT_NEAR(score, exact, (dim / 4 + 3) * kHalfUlp * size_of_terms);
      }
    }
  }
}

TEST(ScoreKernel, AQueryThatIsNotFiniteStaysInItsRow) {
  for (const AttentionKernels* kernels : {&kScalarAttentionKernels, &kWasmSimdAttentionKernels}) {
    RowsOfFloats queries(9, 8, 0, 3), keys(5, 8, 0, 4);
    queries.floats[4 * 8 + 3] = kNaN;
    float scores[9 * kBlockTokens];
    kernels->score({queries.floats.data(), 8, 9, keys.floats.data(), 8, 5, 8, scores});
    for (int row = 0; row < 9; ++row) {
      for (int n = 0; n < 5; ++n) EXPECT_EQ(std::isnan(scores[row * kBlockTokens + n]), row == 4) << kernels->name;
    }
  }
}

TEST(BlendKernel, AddsWeightedValuesInTheOrderOfTheKeys) {
  for (const Size& size : every_size()) {
    const int rows = size.rows, count = size.count, dim = size.dim;
    SCOPED_TRACE(testing::Message() << rows << " rows, " << count << " keys, " << dim << " elements");
    RowsOfFloats values(count, dim, 5, 8), before(rows, dim, 3, 9), scalar(rows, dim, 3, 9), simd(rows, dim, 3, 9);
    Guarded<float> weights((rows - 1) * kBlockTokens + count), corrections(rows);
    Random random(10);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = i % 6 == 0 ? 0 : static_cast<float>(random.between(0, 1));
    for (std::size_t i = 0; i < corrections.size(); ++i) corrections[i] = i % 3 == 0 ? 0 : static_cast<float>(random.between(0, 1));
    const auto run = [&](const AttentionKernels& kernels, RowsOfFloats& out) {
      kernels.blend(
          {weights.data(), corrections.data(), rows, values.floats.data(), values.stride, count, dim, out.floats.data(), out.stride});
    };
    run(kScalarAttentionKernels, scalar);
    run(kWasmSimdAttentionKernels, simd);
    ASSERT_TRUE(simd.floats.same_bits(scalar.floats));
    ASSERT_TRUE(simd.floats.guards_are_intact() && scalar.floats.guards_are_intact());
    for (int row = 0; row < rows; ++row) {
      for (int i = 0; i < dim; ++i) {
        double exact = double{before.at(row, i)} * corrections[row], size_of_terms = std::fabs(exact);
        for (int n = 0; n < count; ++n) {
          const double term = double{weights[row * kBlockTokens + n]} * values.at(n, i);
          exact += term;
          size_of_terms += std::fabs(term);
        }
        ASSERT_NEAR(scalar.at(row, i), exact, (count + 1) * kHalfUlp * size_of_terms);  // a product and a sum a key
      }
    }
  }
}

// ---- Rows of one common distance, and rows of f16 as they are stored.

// Elements of rows as f16, some of them subnormal or the largest, and the same as floats.
struct HalfRows {
  HalfRows(int count, int dim, std::ptrdiff_t gap, std::uint32_t seed) : floats(count, dim, gap, seed), halves(floats.floats.size()) {
    for (std::size_t i = 0; i < halves.size(); ++i) {
      float& value = floats.floats[i];
      if (i % 7 == 3) value *= 0x1p-16f;
      if (i % 31 == 5) value = i % 2 == 0 ? 65504.0f : -65504.0f;
      if (i % 29 == 11) value = -0.0f;
      from_float(value, halves[i]);
      if (!std::isnan(value)) value = to_float(halves[i]);
    }
  }
  RowsOfFloats floats;
  Guarded<Float16> halves;
};

// Sizes that have loops of their own, dense or with gaps, beside others.
std::vector<Size> common_sizes() {
  std::vector<Size> sizes;
  for (int rows = 1; rows <= 9; ++rows) {
    for (const int count : {1, 4, 15, 16, 17, 31, 32}) {
      for (const int dim : {4, 8, 20, 64, 68, 128}) sizes.push_back({rows, count, dim});
    }
  }
  return sizes;
}

TEST(ScoreKernel, F16RowsGiveTheBitsOfConvertedRows) {
  for (const Size& size : common_sizes()) {
    for (const int gap : {0, 4}) {
      const int rows = size.rows, count = size.count, dim = size.dim;
      SCOPED_TRACE(testing::Message() << rows << " rows, " << count << " keys, " << dim << " elements, gap " << gap);
      RowsOfFloats queries(rows, dim, gap, 11);
      HalfRows keys(count, dim, gap, 12);
      RowsOfFloats scaled = RowsOfFloats(rows, dim, gap, 11);
      for (std::size_t i = 0; i < scaled.floats.size(); ++i) scaled.floats[i] *= kF16Unit;
      const auto scores_of = [&](const auto& run) {
        Guarded<float> scores((rows - 1) * kBlockTokens + count, kUntouched);
        run(scores.data());
        EXPECT_TRUE(scores.guards_are_intact());
        return scores.values();
      };
      const std::vector<float> expected = scores_of([&](float* scores) {
        const RowsOfFloats& floats = keys.floats;
        kScalarAttentionKernels.score(
            {queries.floats.data(), queries.stride, rows, floats.floats.data(), floats.stride, count, dim, scores});
      });
      for (const AttentionKernels* kernels : {&kScalarAttentionKernels, &kWasmSimdAttentionKernels}) {
        ASSERT_EQ(
            expected, scores_of([&](float* scores) {
              kernels->score_f16({scaled.floats.data(), scaled.stride, rows, keys.halves.data(), keys.floats.stride, count, dim, scores});
            }))
            << kernels->name;
        ASSERT_EQ(expected, scores_of([&](float* scores) {
                    const RowsOfFloats& floats = keys.floats;
                    kernels->score({queries.floats.data(), queries.stride, rows, floats.floats.data(), floats.stride, count, dim, scores});
                  }))
            << kernels->name;
      }
    }
  }
}

TEST(BlendKernel, F16RowsGiveTheBitsOfConvertedRows) {
  for (const Size& size : common_sizes()) {
    for (const int gap : {0, 4}) {
      const int rows = size.rows, count = size.count, dim = size.dim;
      SCOPED_TRACE(testing::Message() << rows << " rows, " << count << " keys, " << dim << " elements, gap " << gap);
      HalfRows values(count, dim, gap, 13);
      Guarded<float> weights((rows - 1) * kBlockTokens + count), scaled(weights.size()), corrections(rows);
      Random random(14);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] = i % 6 == 0 ? 0 : static_cast<float>(random.between(0, 1)) * (i % 5 == 0 ? 0x1p-120f : 1);
        scaled[i] = weights[i] * kF16Unit;
      }
      for (std::size_t i = 0; i < corrections.size(); ++i) corrections[i] = i % 3 == 0 ? 1 : static_cast<float>(random.between(0, 1));
      const auto sums_of = [&](const auto& run) {
        RowsOfFloats out(rows, dim, gap, 15);
        run(out);
        EXPECT_TRUE(out.floats.guards_are_intact());
        std::vector<float> sums;
        for (int row = 0; row < rows; ++row) {
          for (int i = 0; i < dim; ++i) sums.push_back(out.at(row, i));
        }
        return sums;
      };
      const RowsOfFloats& floats = values.floats;
      const std::vector<float> expected = sums_of([&](RowsOfFloats& out) {
        kScalarAttentionKernels.blend(
            {weights.data(), corrections.data(), rows, floats.floats.data(), floats.stride, count, dim, out.floats.data(), out.stride});
      });
      for (const AttentionKernels* kernels : {&kScalarAttentionKernels, &kWasmSimdAttentionKernels}) {
        ASSERT_EQ(expected, sums_of([&](RowsOfFloats& out) {
                    kernels->blend_f16({scaled.data(), corrections.data(), rows, values.halves.data(), floats.stride, count, dim,
                                        out.floats.data(), out.stride});
                  }))
            << kernels->name;
        ASSERT_EQ(expected, sums_of([&](RowsOfFloats& out) {
                    kernels->blend({weights.data(), corrections.data(), rows, floats.floats.data(), floats.stride, count, dim,
                                    out.floats.data(), out.stride});
                  }))
            << kernels->name;
      }
    }
  }
}

TEST(AttentionKernels, TheFastestOfThisBuildIsSimd) {
  EXPECT_EQ(&fastest_attention_kernels(), &kWasmSimdAttentionKernels);
  EXPECT_STREQ(kScalarAttentionKernels.name, "scalar");
  EXPECT_STREQ(kWasmSimdAttentionKernels.name, "simd");
}

}  // namespace attention_kernels_test
}  // namespace ropewalk
