#include "base/aligned_memory.h"

#include <gtest/gtest.h>

#include "base/buffer.h"

namespace ropewalk {
namespace {

TEST(AlignedMemory, StartsOnACacheLine) {
  for (const std::uint64_t bytes : {0, 1, 63, 64, 65, 100000}) {
    void* memory = allocate_aligned(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % kCacheLine, 0u) << bytes;
    free_aligned(memory);
  }
}

// Sizes whose rounding, or whose bytes, would wrap.
TEST(AlignedMemory, RefusesMoreThanAnyMemory) {
  for (const std::uint64_t bytes : {kLargestAllocation + 1, UINT64_MAX - kCacheLine, UINT64_MAX})
    EXPECT_EQ(allocate_aligned(bytes), nullptr);
  Buffer<double> buffer;
  ASSERT_TRUE(buffer.resize(3));
  buffer[2] = 42;
  for (const std::uint64_t size : {kLargestAllocation / 8 + 1, std::uint64_t{1} << 61, (std::uint64_t{1} << 61) + 1, UINT64_MAX}) {
    EXPECT_FALSE(buffer.resize(size)) << size;
    EXPECT_EQ(buffer.size(), 3u);
    EXPECT_EQ(buffer[2], 42);
  }
  ASSERT_TRUE(buffer.resize(0));
  EXPECT_TRUE(buffer.empty());
}

}  // namespace
}  // namespace ropewalk
