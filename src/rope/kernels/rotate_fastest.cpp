#include "rope/kernels/rotate_kernels.h"

namespace ropewalk {

// The one place that knows which instruction sets this build has.
const RotateKernels& fastest_rotate_kernels() {
#ifdef __wasm_relaxed_simd__
  return kRelaxedRotateKernels;
#else
  return kWasmSimdRotateKernels;
#endif
}

}  // namespace ropewalk
