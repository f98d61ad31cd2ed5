#include "rope/rotate_simd.h"

namespace ropewalk {
namespace {

// One rounding where the processor fuses, two where it does not: the last bit is the engine's choice.
struct RelaxedMultiplyAdd {
  static v128_t add_product(v128_t sum, v128_t a, v128_t b) { return wasm_f32x4_relaxed_madd(a, b, sum); }
  static v128_t subtract_product(v128_t sum, v128_t a, v128_t b) { return wasm_f32x4_relaxed_nmadd(a, b, sum); }
};

}  // namespace

const RotateKernels kRelaxedKernels = simd_kernels<RelaxedMultiplyAdd>("relaxed");

}  // namespace ropewalk
