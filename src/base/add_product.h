// The two ways to add a product that kernels are compiled with.
#pragma once

#include <wasm_simd128.h>

namespace ropewalk {

// Two roundings, as the scalar kernels: bit-equal to them.
struct MultiplyThenAdd {
  static v128_t add_product(v128_t sum, v128_t a, v128_t b) { return wasm_f32x4_add(sum, wasm_f32x4_mul(a, b)); }
  static v128_t subtract_product(v128_t sum, v128_t a, v128_t b) { return wasm_f32x4_sub(sum, wasm_f32x4_mul(a, b)); }
};

#ifdef __wasm_relaxed_simd__
// One rounding where the processor fuses, two where it does not: the last bit is the engine's choice.
struct RelaxedMultiplyAdd {
  static v128_t add_product(v128_t sum, v128_t a, v128_t b) { return wasm_f32x4_relaxed_madd(a, b, sum); }
  static v128_t subtract_product(v128_t sum, v128_t a, v128_t b) { return wasm_f32x4_relaxed_nmadd(a, b, sum); }
};
#endif

}  // namespace ropewalk
