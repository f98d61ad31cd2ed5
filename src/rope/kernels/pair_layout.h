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
    const F32x8 a = load8(span + 2 * j), b = load8(span + 2 * j + 8);
    return {{wasm_i32x4_shuffle(a.low, a.high, 0, 2, 4, 6), wasm_i32x4_shuffle(b.low, b.high, 0, 2, 4, 6)},
            {wasm_i32x4_shuffle(a.low, a.high, 1, 3, 5, 7), wasm_i32x4_shuffle(b.low, b.high, 1, 3, 5, 7)}};
  }

  template <class Element>
  static void store(Element* span, int j, int, const Pairs8& values) {
    const v128_t x0 = values.x.low, x1 = values.x.high, y0 = values.y.low, y1 = values.y.high;
    store8(span + 2 * j, {wasm_i32x4_shuffle(x0, y0, 0, 4, 1, 5), wasm_i32x4_shuffle(x0, y0, 2, 6, 3, 7)});
    store8(span + 2 * j + 8, {wasm_i32x4_shuffle(x1, y1, 0, 4, 1, 5), wasm_i32x4_shuffle(x1, y1, 2, 6, 3, 7)});
  }
};

}  // namespace ropewalk
