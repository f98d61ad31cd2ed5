// Loads with a constant offset in the instruction.
#pragma once

#include <wasm_simd128.h>

#include "matmul/kernels/matmul_unrolled.h"

namespace ropewalk {

// The 32 bits at `Offset` bytes from `address`, in all lanes. Compilers add the offset to the address of such a load, and Binaryen undoes
// that only for plain loads.
template <int Offset>
ROPEWALK_INLINE inline v128_t load32_splat_at(const void* address) {
#ifdef __wasm__
  v128_t splat;
  asm("local.get %1\n\tv128.load32_splat %2:p2align=0\n\tlocal.set %0" : "=r"(splat) : "r"(address), "n"(Offset));
  return splat;
#else
  return wasm_v128_load32_splat(static_cast<const char*>(address) + Offset);
#endif
}

}  // namespace ropewalk
