// Transposes four words of four rows.
#pragma once

#include <wasm_simd128.h>

namespace ropewalk {

// v[i] becomes word i of all rows.
inline void transpose_four(v128_t (&v)[4]) {
  const v128_t low[2] = {wasm_i32x4_shuffle(v[0], v[1], 0, 4, 1, 5), wasm_i32x4_shuffle(v[2], v[3], 0, 4, 1, 5)};
  const v128_t high[2] = {wasm_i32x4_shuffle(v[0], v[1], 2, 6, 3, 7), wasm_i32x4_shuffle(v[2], v[3], 2, 6, 3, 7)};
  v[0] = wasm_i64x2_shuffle(low[0], low[1], 0, 2);
  v[1] = wasm_i64x2_shuffle(low[0], low[1], 1, 3);
  v[2] = wasm_i64x2_shuffle(high[0], high[1], 0, 2);
  v[3] = wasm_i64x2_shuffle(high[0], high[1], 1, 3);
}

// Stores four units of four tokens in turns (quantized_row.h).
inline void store_turns(void* to, v128_t a, v128_t b, v128_t c, v128_t d) {
  v128_t units[] = {a, b, c, d};
  transpose_four(units);
  for (int i = 0; i < 4; ++i) wasm_v128_store(static_cast<v128_t*>(to) + i, units[i]);
}

}  // namespace ropewalk
