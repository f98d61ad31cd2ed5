// A page of a cache: memory that several sequences may hold. It is freed when the last of them lets go of it.
#pragma once

#include <cstdint>
#include <new>

#include "base/aligned_memory.h"

namespace ropewalk {

// The number of sequences that hold a page is kept before it, in a cache line of its own.
inline std::int32_t& page_holders(char* page) { return *reinterpret_cast<std::int32_t*>(page - kCacheLine); }

// Returns a page that one sequence holds, aligned to kCacheLine, or null.
inline char* allocate_page(std::size_t bytes) {
  char* start = static_cast<char*>(allocate_aligned(std::uint64_t{bytes} + kCacheLine));
  if (start == nullptr) return nullptr;
  new (start) std::int32_t(1);
  return start + kCacheLine;
}

inline char* hold_page(char* page) {
  ++page_holders(page);
  return page;
}

inline void release_page(char* page) {
  if (--page_holders(page) == 0) free_aligned(page - kCacheLine);
}

}  // namespace ropewalk
