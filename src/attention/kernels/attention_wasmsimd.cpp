#include "attention/kernels/attention_simd.h"
#include "base/add_product.h"

namespace ropewalk {

const AttentionKernels kWasmSimdAttentionKernels = simd_attention_kernels<MultiplyThenAdd>("simd", 4);

}  // namespace ropewalk
