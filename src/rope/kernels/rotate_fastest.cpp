// Selects the rotation kernels of this build. No other file of this folder depends on the instruction set.
#include "rope/kernels/rotate_kernels.h"

namespace ropewalk {

const RotateKernels& fastest_rotate_kernels() {
#ifdef __wasm_relaxed_simd__
  return kRelaxedRotateKernels;
#else
  return kWasmSimdRotateKernels;
#endif
}

}  // namespace ropewalk
