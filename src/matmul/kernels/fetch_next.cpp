#include "matmul/kernels/fetch_next.h"

#include <algorithm>

#include "base/touch.h"

namespace ropewalk {

void set_next(const PanelPart& panel, std::ptrdiff_t bytes, PanelChunk& chunk) {
  const std::uint8_t* const next = panel.weights + bytes;
  chunk.next = reinterpret_cast<const char*>(next);
  chunk.next_lines = static_cast<int>(std::min(bytes, panel.end - next) / kLineBytes);
}

void fetch_next(const PanelChunk& chunk, int piece, int pieces) {
  const int first = chunk.next_lines * piece / pieces, last = chunk.next_lines * (piece + 1) / pieces;
  touch_lines(chunk.next + first * kLineBytes, (last - first) * kLineBytes);
}

}  // namespace ropewalk
