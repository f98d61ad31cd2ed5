#include "rope/add_product.h"
#include "rope/rotate_simd.h"

namespace ropewalk {

const RotateKernels kWasmSimdKernels = simd_kernels<MultiplyThenAdd>("simd");

}  // namespace ropewalk
