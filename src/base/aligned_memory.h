// Memory that starts on a cache line: a vector that straddles two lines takes twice as long to load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace ropewalk {

constexpr std::size_t kCacheLine = 64;

// The most bytes of one allocation. Allocators add to the size they are asked for. Near the end of a 32-bit address space Emscripten's sum
// wraps, and it then claims memory that nobody can use.
constexpr std::uint64_t kLargestAllocation = sizeof(void*) == 4 ? 0xFFF00000u : std::uint64_t{1} << 47;

// Returns memory aligned to kCacheLine, or null. Sizes have 64 bits everywhere, so that sums of products can't wrap before they get here.
// Free it with free_aligned().
inline void* allocate_aligned(std::uint64_t bytes) {
  if (bytes > kLargestAllocation) return nullptr;
  const std::size_t size = bytes == 0 ? 1 : static_cast<std::size_t>(bytes);
#ifdef _MSC_VER
  return _aligned_malloc(size, kCacheLine);
#else
  // aligned_alloc() wants a multiple of the alignment, and rounding up would hide writes past the end from AddressSanitizer.
  void* memory = nullptr;
  return posix_memalign(&memory, kCacheLine, size) == 0 ? memory : nullptr;
#endif
}

inline void free_aligned(void* memory) {
#ifdef _MSC_VER
  _aligned_free(memory);
#else
  std::free(memory);
#endif
}

}  // namespace ropewalk
