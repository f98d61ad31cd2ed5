// A reference-counted page of a cache, which several sequences may share.
#pragma once

#include <cstdint>
#include <new>

#include "base/aligned_memory.h"

namespace ropewalk {

// The reference count, in the cache line before the page.
inline std::int32_t& page_holders(char* page) { return *reinterpret_cast<std::int32_t*>(page - kCacheLine); }

// Returns a page with a count of 1, aligned to kCacheLine, or null.
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
