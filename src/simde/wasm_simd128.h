// Native builds only: the wasm SIMD intrinsics from SIMDe, so that native tests run the same SIMD kernels.
#pragma once
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/wasm/simd128.h>
