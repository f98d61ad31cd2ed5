// The memory that attention allocates doesn't depend on the number of tokens.
#include <gtest/gtest.h>

#include "attention/attention.h"
#include "native/requested_memory.h"
#include "native/rope/ropes.h"

namespace ropewalk {
namespace {

// Bytes that a first call allocates. All queries and all keys share one row, because their values don't matter here.
std::size_t bytes_requested(int queries, int keys, int heads, int head_dim, const AttentionOptions& options = {}) {
  std::vector<float> row = random_floats(static_cast<std::size_t>(heads) * head_dim, 1);
  KeyValues kv;
  kv.heads = 1;
  kv.head_dim = head_dim;
  kv.tokens = kv.positions.tokens = keys;
  kv.keys = kv.values = reinterpret_cast<const char*>(row.data());
  Positions positions;
  positions.offset = keys - queries;
  positions.tokens = queries;
  Attention attention;
  const std::size_t before = requested_bytes;
  EXPECT_EQ(attention.attend(kv, {row.data(), row.data(), 0, head_dim, queries, heads}, positions, options), Status::ok);
  return requested_bytes - before;
}

TEST(AttentionMemory, DoesNotGrowWithThePrompt) {
  const std::size_t bytes = bytes_requested(200, 200, 1, 4);
  EXPECT_GT(bytes, 0u);
  EXPECT_EQ(bytes_requested(1000, 1000, 1, 4), bytes);
  EXPECT_EQ(bytes_requested(4096, 4096, 1, 4), bytes);
}

TEST(AttentionMemory, DoesNotGrowWithTheKeys) {
  const std::size_t bytes = bytes_requested(1, 1, 8, 64);
  EXPECT_EQ(bytes_requested(1, 33, 8, 64), bytes);
  EXPECT_EQ(bytes_requested(1, 20000, 8, 64), bytes);
}

TEST(AttentionMemory, DoesNotGrowWithTheTokensUnderAnEncoding) {
  ConfiguredRope rope(plain_config(8));
  for (const PositionScheme scheme : {PositionScheme::rope, PositionScheme::sinusoidal, PositionScheme::alibi}) {
    AttentionOptions options;
    options.position.scheme = scheme;
    options.position.rope = &rope;
    EXPECT_EQ(bytes_requested(900, 900, 1, 8, options), bytes_requested(130, 130, 1, 8, options)) << static_cast<int>(scheme);
  }
}

// As attention.h says, for 64 heads of 128.
TEST(AttentionMemory, IsAtMostAboutAMegabyte) {
  for (const int tokens : {1, 2, 3, 64}) EXPECT_LT(bytes_requested(tokens, tokens, 64, 128), 1u << 20) << tokens;
}

}  // namespace
}  // namespace ropewalk
