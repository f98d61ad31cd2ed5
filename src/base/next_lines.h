// What is needed next, side by side. A kernel fetches its lines while it computes, so that whoever reads them doesn't wait for memory: keys
// and values of a long cache, or weights, which are rarely in a cache when all layers are read for a token or a text.
#pragma once

#include <cstddef>

#include "base/touch.h"

namespace ropewalk {

struct NextLines {
  const char* from = nullptr;
  const char* to = nullptr;

  // Fetches so many bytes, whole lines, or what is left.
  void fetch(std::ptrdiff_t bytes) {
    const char* const end = bytes < to - from ? from + bytes : to;
    for (; from < end; from += kLineBytes) touch_line(from);
  }
  void fetch_rest() { fetch(to - from); }

  // What to fetch in each of a loop's steps, so that nothing is left.
  std::ptrdiff_t per_step(int steps) const {
    const std::ptrdiff_t lines = (to - from + kLineBytes - 1) / kLineBytes;
    return (lines + steps - 1) / steps * kLineBytes;
  }
};

}  // namespace ropewalk
