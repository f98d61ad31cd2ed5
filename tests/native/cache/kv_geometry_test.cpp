#include "cache/kv_geometry.h"

#include <gtest/gtest.h>

#include <cmath>

#include "native/cache/kv_tokens.h"

namespace ropewalk {
namespace {

std::size_t bytes_of_row(RowType type, int head_dim) {
  switch (type) {
    case RowType::f32: return 4 * head_dim;
    case RowType::f16:
    case RowType::bf16: return 2 * head_dim;
    case RowType::q8_0: return 34 * ((head_dim + 31) / 32);
    case RowType::q4_0: return 18 * ((head_dim + 31) / 32);
  }
  return 0;
}

TEST(KvGeometry, PagesHaveTheSizeOfTheFormula) {
  const std::vector<KvLayer> layers = {{1, 1, kNoRope}, {2, 33, 0}, {8, 128, 1}, {3, 40, 0}};
  for (const RowType type : kTestedRowTypes) {
    for (int axes = 1; axes <= 4; ++axes) {
      KvGeometry geometry;
      ASSERT_EQ(geometry.prepare(layers, type, axes), Status::ok);
      std::size_t token = 8 * axes;
      for (const KvLayer& layer : layers) token += 2 * layer.kv_heads * bytes_of_row(type, layer.head_dim);
      EXPECT_EQ(geometry.page_bytes(), (32 * token + 63) / 64 * 64);
      for (const int tokens : {0, 1, 31, 32, 33, 64, 65, 1 << 30}) {
        const int pages = tokens / 32 + (tokens % 32 != 0);
        EXPECT_EQ(pages_of(tokens), pages);
        EXPECT_EQ(geometry.bytes(tokens), static_cast<double>(pages) * geometry.page_bytes());
      }
    }
  }
}

TEST(KvGeometry, RowsFillAPageWithoutGapOrOverlap) {
  const std::vector<KvLayer> layers = {{2, 5, 0}, {1, 64, kNoRope}, {3, 33, 0}};
  for (const RowType type : kTestedRowTypes) {
    KvGeometry geometry;
    ASSERT_EQ(geometry.prepare(layers, type, 3), Status::ok);
    std::vector<int> uses(geometry.page_bytes(), 0);
    const auto use = [&](std::size_t first, std::size_t count) {
      for (std::size_t i = first; i < first + count; ++i) ++uses.at(i);
    };
    use(0, 3 * kBlockTokens * sizeof(double));
    for (int index = 0; index < geometry.layers(); ++index) {
      const KvGeometry::Layer& layer = geometry.layer(index);
      EXPECT_EQ(layer.rope, layers[index].rope);
      for (int head = 0; head < layer.heads; ++head) {
        for (int token = 0; token < kBlockTokens; ++token) {
          use(layer.key_offset + layer.row(head, token), layer.row_bytes);
          use(layer.value_offset + layer.row(head, token), layer.row_bytes);
        }
      }
    }
    EXPECT_EQ(std::count(uses.begin(), uses.end(), 1),
              static_cast<std::ptrdiff_t>(uses.size()));  // all sizes here are multiples of a cache line
  }
}

TEST(KvGeometry, RefusesValuesOutOfRangeAndDoesNotChange) {
  KvGeometry geometry;
  const std::vector<KvLayer> good = {{2, 16, 0}};
  ASSERT_EQ(geometry.prepare(good, RowType::f16, 2), Status::ok);
  const std::size_t bytes = geometry.page_bytes();
  const auto expect_refused = [&](const std::vector<KvLayer>& layers, RowType type, Status status) {
    EXPECT_EQ(geometry.prepare(layers, type, 1), status);
    EXPECT_EQ(geometry.page_bytes(), bytes);
    EXPECT_EQ(geometry.axes(), 2);
    EXPECT_EQ(geometry.layers(), 1);
    EXPECT_EQ(geometry.layer(0).head_dim, 16);
  };
  expect_refused(good, RowType{kCacheTypes}, Status::row_type_unknown);
  expect_refused(good, RowType{-1}, Status::row_type_unknown);
  expect_refused(std::vector<KvLayer>(kMaxCacheLayers + 1, good[0]), RowType::f32, Status::cache_layers_out_of_range);
  for (const KvLayer& layer : {KvLayer{0, 16, 0}, KvLayer{-1, 16, 0}, KvLayer{65537, 16, 0}, KvLayer{1, 0, 0}, KvLayer{1, 8193, 0}}) {
    expect_refused({good[0], layer}, RowType::f32, Status::cache_layers_out_of_range);
  }
}

// A model without attention.
TEST(KvGeometry, MayHaveNoLayers) {
  KvGeometry geometry;
  ASSERT_EQ(geometry.prepare({}, RowType::f32, 1), Status::ok);
  EXPECT_EQ(geometry.layers(), 0);
  EXPECT_EQ(geometry.page_bytes(), sizeof(double) * kBlockTokens);  // positions
}

// 4096 layers of 65536 heads of 8192 are 2^49 bytes per page. The size must be correct, although it can't be allocated.
TEST(KvGeometry, TheLargestPageSizeIsCorrect) {
  if (sizeof(std::size_t) < 8) GTEST_SKIP() << "refused as out_of_memory";
  KvGeometry geometry;
  ASSERT_EQ(geometry.prepare(std::vector<KvLayer>(kMaxCacheLayers, {65536, 8192, kNoRope}), RowType::f32, 1), Status::ok);
  EXPECT_EQ(static_cast<double>(geometry.page_bytes()), std::ldexp(1, 49) + 256);
  EXPECT_EQ(geometry.bytes(kMaxCacheTokens), std::ldexp(geometry.page_bytes(), 25));
}

}  // namespace
}  // namespace ropewalk
