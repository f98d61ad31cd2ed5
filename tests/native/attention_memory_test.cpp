// The memory that attention holds does not depend on the number of tokens. Nothing it asks for is given back before the Attention goes, so
// what the heap holds afterwards is all there was.
#include <gtest/gtest.h>
#include <malloc.h>

#include "nn/attention.h"
#include "ropes.h"

// AddressSanitizer's heap, where it is linked.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes() __attribute__((weak));

namespace ropewalk {
namespace {

std::size_t heap_bytes() {
  if (__sanitizer_get_current_allocated_bytes != nullptr) return __sanitizer_get_current_allocated_bytes();
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;  // in the heap, and in mappings of their own
}

// Bytes that a call leaves in use. All queries, and all keys, lie in the same row: what they are does not matter here.
std::size_t bytes_held(int queries, int keys, int heads, int head_dim, const AttentionOptions& options = {}) {
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
  const std::size_t before = heap_bytes();
  EXPECT_EQ(attention.attend(kv, {row.data(), row.data(), 0, head_dim, queries, heads}, positions, options), Status::ok);
  return heap_bytes() - before;
}

// An allocator may give a request what little would be left beside it.
constexpr double kRemainder = 64;

TEST(AttentionMemory, DoesNotGrowWithThePrompt) {
  const std::size_t bytes = bytes_held(200, 200, 1, 4);
  EXPECT_GT(bytes, 0u);
  EXPECT_NEAR(bytes_held(1000, 1000, 1, 4), bytes, kRemainder);
  EXPECT_NEAR(bytes_held(4096, 4096, 1, 4), bytes, kRemainder);
}

TEST(AttentionMemory, DoesNotGrowWithTheKeys) {
  const std::size_t bytes = bytes_held(1, 1, 8, 64);
  EXPECT_NEAR(bytes_held(1, 33, 8, 64), bytes, kRemainder);
  EXPECT_NEAR(bytes_held(1, 20000, 8, 64), bytes, kRemainder);
}

TEST(AttentionMemory, DoesNotGrowWithTheTokensUnderAnEncoding) {
  ConfiguredRope rope(plain_config(8));
  for (const PositionScheme scheme : {PositionScheme::rope, PositionScheme::sinusoidal, PositionScheme::alibi}) {
    AttentionOptions options;
    options.position.scheme = scheme;
    options.position.rope = &rope;
    EXPECT_NEAR(bytes_held(900, 900, 1, 8, options), bytes_held(130, 130, 1, 8, options), kRemainder) << static_cast<int>(scheme);
  }
}

// As attention.h says, for 64 heads of 128.
TEST(AttentionMemory, IsAboutAMegabyteAtMost) {
  for (const int tokens : {1, 2, 3, 64}) EXPECT_LT(bytes_held(tokens, tokens, 64, 128), 1u << 20) << tokens;
}

}  // namespace
}  // namespace ropewalk
