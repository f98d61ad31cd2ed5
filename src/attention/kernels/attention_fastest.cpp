#include "attention/kernels/attention_kernels.h"

namespace ropewalk {

// The only place in this folder that knows which instruction sets the build has.
const AttentionKernels& fastest_attention_kernels() {
#ifdef __wasm_relaxed_simd__
  return kRelaxedAttentionKernels;
#else
  return kWasmSimdAttentionKernels;
#endif
}

}  // namespace ropewalk
