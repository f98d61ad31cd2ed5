#include "rope/rotate_kernels.h"

namespace ropewalk {

// The one place that knows which instruction sets this build has.
const RotateKernels& fastest_kernels() {
#ifdef __wasm_relaxed_simd__
  return kRelaxedKernels;
#else
  return kWasmSimdKernels;
#endif
}

}  // namespace ropewalk
