// How four tokens take turns (quantized_row.h), for four units of each.
#pragma once

#include <wasm_simd128.h>

namespace ropewalk {

// Stores lane 0 of each vector, then lane 1 of each, and so on.
inline void store_turns(void* to, v128_t a, v128_t b, v128_t c, v128_t d) {
  v128_t* const turns = static_cast<v128_t*>(to);
  const v128_t low[2] = {wasm_i32x4_shuffle(a, b, 0, 4, 1, 5), wasm_i32x4_shuffle(c, d, 0, 4, 1, 5)};
  const v128_t high[2] = {wasm_i32x4_shuffle(a, b, 2, 6, 3, 7), wasm_i32x4_shuffle(c, d, 2, 6, 3, 7)};
  wasm_v128_store(turns, wasm_i64x2_shuffle(low[0], low[1], 0, 2));
  wasm_v128_store(turns + 1, wasm_i64x2_shuffle(low[0], low[1], 1, 3));
  wasm_v128_store(turns + 2, wasm_i64x2_shuffle(high[0], high[1], 0, 2));
  wasm_v128_store(turns + 3, wasm_i64x2_shuffle(high[0], high[1], 1, 3));
}

}  // namespace ropewalk
