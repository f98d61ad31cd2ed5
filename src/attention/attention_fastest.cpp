#include "attention/attention_kernels.h"

namespace ropewalk {

// The one place of this stage that knows which instruction sets this build has.
const AttentionKernels& fastest_attention_kernels() {
#ifdef __wasm_relaxed_simd__
  return kRelaxedAttentionKernels;
#else
  return kWasmSimdAttentionKernels;
#endif
}

}  // namespace ropewalk
