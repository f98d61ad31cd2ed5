#include "matmul/kernels/matmul_kernels.h"

namespace ropewalk {

// The only place in this folder that knows which instruction sets the build has.
const MatmulKernels& fastest_matmul_kernels() {
#ifdef __wasm_relaxed_simd__
  return kRelaxedMatmulKernels;
#else
  return kWasmSimdMatmulKernels;
#endif
}

}  // namespace ropewalk
