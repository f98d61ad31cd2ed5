// Reads weights from memory ahead of the arithmetic.
#pragma once

#include "base/touch.h"
#include "matmul/matmul_kernels.h"

namespace ropewalk {

// Touches many cache lines of weights ahead of the arithmetic. Without it, the processor alternates between waiting for memory and
// computing.
class ReadAhead {
 public:
  explicit ReadAhead(const PanelPart& panel) : next_(panel.weights + kBytes), end_(panel.end) {}
  // To be called with the address of the weights that are used next.
  void at(const std::uint8_t* weights) {
    if (weights + kBytes < next_ || end_ - next_ < kBytes) return;
    touch_lines(reinterpret_cast<const char*>(next_), kBytes);
    next_ += kBytes;
  }

 private:
  static constexpr std::ptrdiff_t kBytes = 1024;  // as many lines as processors fetch at the same time
  const std::uint8_t* next_;
  const std::uint8_t* end_;
};

}  // namespace ropewalk
