// Reads ahead by hand: loads that nobody waits for bring a piece from memory together, where a kernel's own loads would wait one by one
// behind its arithmetic.
#pragma once

#include <cstddef>

namespace ropewalk {

constexpr int kLineBytes = 64;

// Loads one byte of each cache line.
inline void touch_lines(const char* data, std::ptrdiff_t bytes) {
  for (std::ptrdiff_t i = 0; i < bytes; i += kLineBytes) static_cast<void>(*static_cast<const volatile char*>(data + i));
}

}  // namespace ropewalk
