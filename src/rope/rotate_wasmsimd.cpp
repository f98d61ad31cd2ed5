#include "rope/rotate_simd.h"

namespace ropewalk {
namespace {

// Two roundings, as the scalar kernel: bit-equal to it.
struct MultiplyThenAdd {
  static v128_t add_product(v128_t sum, v128_t a, v128_t b) { return wasm_f32x4_add(sum, wasm_f32x4_mul(a, b)); }
  static v128_t subtract_product(v128_t sum, v128_t a, v128_t b) { return wasm_f32x4_sub(sum, wasm_f32x4_mul(a, b)); }
};

}  // namespace

const RotateKernels kWasmSimdKernels = simd_kernels<MultiplyThenAdd>("simd");

}  // namespace ropewalk
