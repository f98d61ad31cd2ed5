#include "nn/matmul_simd.h"
#include "rope/add_product.h"

namespace ropewalk {

const MatmulKernels kWasmSimdMatmulKernels = simd_matmul_kernels<MultiplyThenAdd, WordDot, WordDot, WordDot>("simd");

}  // namespace ropewalk
