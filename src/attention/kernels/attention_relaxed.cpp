#include "attention/kernels/attention_simd.h"
#include "base/relaxed_simd.h"

namespace ropewalk {

const AttentionKernels kRelaxedAttentionKernels = simd_attention_kernels<RelaxedMultiplyAdd>("relaxed", 8);

}  // namespace ropewalk
