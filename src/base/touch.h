// Software prefetch: loads a block's cache lines before a kernel needs them. These loads don't depend on each other, so they
// overlap. A kernel's own loads would wait one by one behind its arithmetic.
#pragma once

#include <cstddef>

namespace ropewalk {

constexpr int kLineBytes = 64;

inline void touch_line(const void* data) { static_cast<void>(*static_cast<const volatile char*>(data)); }

// Loads one byte of each cache line.
inline void touch_lines(const char* data, std::ptrdiff_t bytes) {
  for (std::ptrdiff_t i = 0; i < bytes; i += kLineBytes) touch_line(data + i);
}

}  // namespace ropewalk
