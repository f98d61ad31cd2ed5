// The two pairings as memory layouts: the indices of a pair's elements, and loads and stores of eight pairs at once.
#pragma once

#include "base/storage_wasmsimd.h"

namespace ropewalk {

// The x and y elements of eight pairs.
struct Pairs8 {
  F32x8 x;
  F32x8 y;
};

// [x0 x1 … y0 y1 …]: x and y are contiguous, so no shuffles are needed.
struct Half {
  static int x(int j, int) { return j; }
  static int y(int j, int pairs) { return j + pairs; }

  template <class Element>
  static Pairs8 load(const Element* span, int j, int pairs) {
    return {load8(span + j), load8(span + j + pairs)};
  }

  template <class Element>
  static void store(Element* span, int j, int pairs, const Pairs8& values) {
    store8(span + j, values.x);
    store8(span + j + pairs, values.y);
  }
};

// [x0 y0 x1 y1 …]
struct Interleaved {
  static int x(int j, int) { return 2 * j; }
  static int y(int j, int) { return 2 * j + 1; }

  template <class Element>
  static Pairs8 load(const Element* span, int j, int) {
    const F32x8 a = load_pairs(span + 2 * j), b = load_pairs(span + 2 * j + 8);
    return {{a.low, b.low}, {a.high, b.high}};
  }

  template <class Element>
  static void store(Element* span, int j, int, const Pairs8& values) {
    store_pairs(span + 2 * j, {values.x.low, values.y.low});
    store_pairs(span + 2 * j + 8, {values.x.high, values.y.high});
  }
};

}  // namespace ropewalk
