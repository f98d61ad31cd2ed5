// Memory that starts on a cache line: a vector that straddles two lines takes twice as long to load.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace ropewalk {

constexpr std::size_t kCacheLine = 64;

// Returns memory aligned to kCacheLine, or null. `bytes` is a multiple of kCacheLine. Free it with free_aligned().
#ifdef _MSC_VER
inline void* allocate_aligned(std::size_t bytes) { return _aligned_malloc(bytes, kCacheLine); }
inline void free_aligned(void* memory) { _aligned_free(memory); }
#else
inline void* allocate_aligned(std::size_t bytes) { return std::aligned_alloc(kCacheLine, bytes); }
inline void free_aligned(void* memory) { std::free(memory); }
#endif

}  // namespace ropewalk
