#include "matmul/matmul_kernels.h"

namespace ropewalk {

// The one place of this stage that knows which instruction sets this build has.
const MatmulKernels& fastest_matmul_kernels() {
#ifdef __wasm_relaxed_simd__
  return kRelaxedMatmulKernels;
#else
  return kWasmSimdMatmulKernels;
#endif
}

}  // namespace ropewalk
