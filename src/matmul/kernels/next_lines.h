// Weights that are needed next, side by side. A kernel fetches their lines while it computes, so that whoever reads them doesn't wait for
// memory: all weights are read for each text, and those of a layer rarely are in a cache.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/touch.h"

namespace ropewalk {

struct NextLines {
  const char* from = nullptr;
  const char* to = nullptr;

  // Fetches so many bytes, whole lines, or what is left.
  void fetch(std::ptrdiff_t bytes) {
    const std::ptrdiff_t fetched = std::min(bytes, to - from);
    touch_lines(from, fetched);
    from += fetched;
  }

  // What to fetch in each of a loop's steps, so that nothing is left.
  std::ptrdiff_t per_step(int steps) const {
    const std::ptrdiff_t lines = (to - from + kLineBytes - 1) / kLineBytes;
    return (lines + steps - 1) / steps * kLineBytes;
  }
};

}  // namespace ropewalk
