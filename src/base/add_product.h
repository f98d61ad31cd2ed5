// For SIMD kernels: multiply-add with two roundings (relaxed_simd.h has the other), and loops that are unrolled or aren't.
#pragma once

#include <wasm_simd128.h>

// Before a loop that is larger, and no faster, when the compiler unrolls it.
#ifdef __clang__
#define ROPEWALK_ROLLED _Pragma("clang loop unroll(disable)")
// Before a loop with a constant number of steps that is faster without a loop, and too large for the compiler to see that.
#define ROPEWALK_UNROLLED _Pragma("clang loop unroll(full)")
#else
#define ROPEWALK_ROLLED
#define ROPEWALK_UNROLLED
#endif

namespace ropewalk {

// Two roundings, like the scalar kernels, so that results are bit-equal to theirs.
struct MultiplyThenAdd {
  static v128_t add_product(v128_t sum, v128_t a, v128_t b) { return wasm_f32x4_add(sum, wasm_f32x4_mul(a, b)); }
  static v128_t subtract_product(v128_t sum, v128_t a, v128_t b) { return wasm_f32x4_sub(sum, wasm_f32x4_mul(a, b)); }
};

}  // namespace ropewalk
