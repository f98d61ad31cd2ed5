// Panels that take turns (PanelParts, matmul_kernels.h), so that processors read ahead at the address of each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "matmul/kernels/matmul_kernels.h"
#include "matmul/kernels/matmul_unrolled.h"

namespace ropewalk {

// Some columns of a panel, and the panel's sums.
template <class Sums>
struct Turn {
  const std::uint8_t* weights;
  Sums* sums;
};

// Calls act(first column, turns) for `columns` columns of each `Together` panels, one or two, then for the next columns. They take `bytes`
// of a panel's weights. The sums of two panels are `apart` elements apart. A panel that is left over comes last and has both turns, so
// act() must read all sums before it writes any.
template <int Together, class Sums, class Act>
ROPEWALK_INLINE inline void each_turn(const PanelParts& panels, int columns, std::ptrdiff_t bytes, Sums* sums, std::ptrdiff_t apart,
                                      Act act) {
  const int last = panels.first.columns;
  const std::ptrdiff_t bytes_apart = panels.bytes_apart;
  Turn<Sums> start = {panels.first.weights, sums};
  for (int left = panels.count, count; left > 0; left -= count) {
    count = left < Together ? left : left / Together * Together;
    const std::ptrdiff_t to_next = count < Together ? 0 : bytes_apart, sums_to_next = count < Together ? 0 : apart;
    const Turn<Sums> next = {start.weights + count * bytes_apart, start.sums + count * apart};
    for (int first = 0; first < last; first += columns, start.weights += bytes) {
      Turn<Sums> turns[Together] = {start};
      ROPEWALK_ROLLED
      for (int panel = 0; panel < count; panel += Together) {
        if constexpr (Together == 2) turns[1] = {turns[0].weights + to_next, turns[0].sums + sums_to_next};
        act(first, turns);
        turns[0] = {turns[Together - 1].weights + bytes_apart, turns[Together - 1].sums + apart};
      }
    }
    start = next;
  }
}

}  // namespace ropewalk
