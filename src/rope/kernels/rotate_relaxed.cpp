// The rotation kernels with relaxed multiply-add. Only in the relaxed build.
#include "base/relaxed_simd.h"
#include "rope/kernels/rotate_simd.h"

namespace ropewalk {

const RotateKernels kRelaxedRotateKernels = simd_kernels<RelaxedMultiplyAdd>("relaxed");

}  // namespace ropewalk
