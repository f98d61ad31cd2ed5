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

// Touches a piece in equal steps between other work, so that it arrives while that goes on.
class ReadAhead {
 public:
  ReadAhead(const char* data, std::ptrdiff_t bytes, int steps) : at_(data), end_(data + bytes), step_(bytes / steps + kLineBytes) {}

  void step() {
    const std::ptrdiff_t left = end_ - at_;
    if (left <= 0) return;
    touch_lines(at_, left < step_ ? left : step_);
    at_ += step_;
  }

 private:
  const char* at_;
  const char* end_;
  std::ptrdiff_t step_;
};

}  // namespace ropewalk
