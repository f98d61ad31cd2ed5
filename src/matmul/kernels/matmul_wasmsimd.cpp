#include "base/add_product.h"
#include "matmul/kernels/matmul_simd.h"

namespace ropewalk {

const MatmulKernels kWasmSimdMatmulKernels = simd_matmul_kernels<MultiplyThenAdd, WordDot, WordDot>("simd");

}  // namespace ropewalk
