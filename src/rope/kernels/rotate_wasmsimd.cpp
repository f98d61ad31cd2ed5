#include "base/add_product.h"
#include "rope/kernels/rotate_simd.h"

namespace ropewalk {

const RotateKernels kWasmSimdRotateKernels = simd_kernels<MultiplyThenAdd>("simd");

}  // namespace ropewalk
