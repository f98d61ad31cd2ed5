// The largest, the smallest and no numbers of f16 in a cache, whose kernels read f16 as it is stored.
#include <gtest/gtest.h>

#include "native/cache/kv_tokens.h"

namespace ropewalk {
namespace {

constexpr int kTokens = 70, kDim = 64, kKvHeads = 2;

// Numbers that f16 stores exactly: both zeros, subnormal and normal ones from the smallest to the largest.
void set_extremes(GuardedTensor& tensor, std::uint32_t seed) {
  const float extremes[] = {65504, 0x1p-24f, 0x1.ff8p-15f, 0x1p-14f, 0, 0x1.554p0f, 0x1.cp-20f};
  Random random(seed);
  for (std::size_t i = 0; i < tensor.count(); ++i) {
    const float extreme = extremes[static_cast<int>(random.between(0, 7))];
    tensor.set_bits(i, std::bit_cast<std::uint32_t>(random.between(0, 1) < 0.5 ? -extreme : extreme));
  }
}

std::vector<std::uint8_t> outputs_of(RowType type, bool is_simd, int group, int queries, float query_size) {
  const KvLayer layer = {kKvHeads, kDim, kNoRope};
  ConfiguredCache cache({{layer}, {}, type});
  is_simd ? cache.use_kernels(kWasmSimdAttentionKernels, kWasmSimdRotateKernels)
          : cache.use_kernels(kScalarAttentionKernels, kScalarRotateKernels);
  Tokens tokens(layer, kTokens, 1);
  set_extremes(tokens.k, 2), set_extremes(tokens.v, 3);
  EXPECT_EQ(cache.append(0, 0, tokens.without_queries()), Status::ok);
  Tokens asked(layer, queries, 4, 1, DType::f32, Layout::bthd, group);
  for (std::size_t i = 0; i < asked.q.count(); ++i)
    asked.q.set_bits(i, std::bit_cast<std::uint32_t>(static_cast<float>(asked.q.value(i)) * query_size));
  AttentionOptions options;
  options.scale = 1e-4 / query_size;
  EXPECT_EQ(cache.attend(0, 0, asked.q.in_place(), options), Status::ok);
  return asked.q.bytes();
}

TEST(KvExtremes, F16GivesTheBitsOfF32) {
  for (const int group : {1, 2, 3, 4, 7, 9}) {
    for (const int queries : {1, 3}) {
      for (const float size : {1.0f, 0x1p-100f, 0x1p40f}) {
        const std::vector<std::uint8_t> expected = outputs_of(RowType::f32, false, group, queries, size);
        for (const bool is_simd : {false, true}) {
          for (const RowType type : {RowType::f32, RowType::f16})
            EXPECT_EQ(outputs_of(type, is_simd, group, queries, size), expected) << group << ", " << queries << ", " << size;
        }
      }
    }
  }
}

// A query that isn't a number gives NaN, and doesn't change other heads.
TEST(KvExtremes, NotANumberStaysInItsHead) {
  const KvLayer layer = {kKvHeads, kDim, kNoRope};
  ConfiguredCache cache({{layer}, {}, RowType::f16});
  Tokens tokens(layer, kTokens, 1);
  ASSERT_EQ(cache.append(0, 0, tokens.without_queries()), Status::ok);
  Tokens plain(layer, 1, 4), broken(layer, 1, 4);
  broken.q.set_bits(5, oracle::encode(std::nan(""), DType::f32));
  ASSERT_EQ(cache.attend(0, 0, plain.q.in_place(), {}), Status::ok);
  ASSERT_EQ(cache.attend(0, 0, broken.q.in_place(), {}), Status::ok);
  for (std::size_t i = 0; i < plain.q.count(); ++i) {
    if (i < kDim)
      EXPECT_TRUE(std::isnan(static_cast<float>(broken.q.value(i))));
    else
      EXPECT_EQ(broken.q.bits(i), plain.q.bits(i));
  }
}

}  // namespace
}  // namespace ropewalk
