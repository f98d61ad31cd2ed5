// The rotation kernels in simd128, bit-equal to the scalar kernels.
#include "base/add_product.h"
#include "rope/kernels/rotate_simd.h"

namespace ropewalk {

const RotateKernels kWasmSimdRotateKernels = simd_kernels<MultiplyThenAdd>("simd");

}  // namespace ropewalk
