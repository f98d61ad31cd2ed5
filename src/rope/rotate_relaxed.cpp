#include "rope/add_product.h"
#include "rope/rotate_simd.h"

namespace ropewalk {

const RotateKernels kRelaxedKernels = simd_kernels<RelaxedMultiplyAdd>("relaxed");

}  // namespace ropewalk
