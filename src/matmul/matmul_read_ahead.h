// Weights that come from memory, ahead of the arithmetic.
#pragma once

#include "base/touch.h"
#include "matmul/matmul_kernels.h"

namespace ropewalk {

// Fetches weights ahead of the arithmetic, many lines at once: left to themselves, loads from memory and the arithmetic behind them take
// turns.
class ReadAhead {
 public:
  explicit ReadAhead(const PanelPart& panel) : next_(panel.weights + kBytes), end_(panel.end) {}
  void at(const std::uint8_t* weights) {
    if (weights + kBytes < next_ || end_ - next_ < kBytes) return;
    touch_lines(reinterpret_cast<const char*>(next_), kBytes);
    next_ += kBytes;
  }

 private:
  static constexpr std::ptrdiff_t kBytes = 1024;  // as many lines as processors have on their way at a time
  const std::uint8_t* next_;
  const std::uint8_t* end_;
};

}  // namespace ropewalk
