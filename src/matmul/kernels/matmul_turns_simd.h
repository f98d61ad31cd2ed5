// Panels that take turns (PanelParts, matmul_kernels.h), so that processors read ahead at the address of each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "matmul/kernels/matmul_kernels.h"
#include "matmul/kernels/matmul_unrolled.h"

namespace ropewalk {

// Calls act(first column, weights, sums) for `columns` columns of each panel, then for the next ones. They take `bytes` of a panel's
// weights. The sums of two panels are `apart` elements apart.
template <class Sums, class Act>
ROPEWALK_INLINE inline void each_turn(const PanelParts& panels, int columns, std::ptrdiff_t bytes, Sums* sums, std::ptrdiff_t apart,
                                      Act act) {
  const int count = panels.count, last = panels.first.columns;
  const std::ptrdiff_t bytes_apart = panels.bytes_apart;
  const std::uint8_t* of_turn = panels.first.weights;
  for (int first = 0; first < last; first += columns, of_turn += bytes) {
    const std::uint8_t* weights = of_turn;
    Sums* to = sums;
    ROPEWALK_ROLLED
    for (int panel = 0; panel < count; ++panel, weights += bytes_apart, to += apart) act(first, weights, to);
  }
}

}  // namespace ropewalk
