// What the scans of states share.
#pragma once

#include <wasm_simd128.h>

namespace ropewalk {

// Rows of a state that are scanned together, so that keys and queries are read once for all.
constexpr int kStateRows = 4;

inline float sum_of_float_lanes(v128_t x) {
  const v128_t pairs = wasm_f32x4_add(x, wasm_i32x4_shuffle(x, x, 2, 3, 2, 3));
  return wasm_f32x4_extract_lane(pairs, 0) + wasm_f32x4_extract_lane(pairs, 1);
}

}  // namespace ropewalk
