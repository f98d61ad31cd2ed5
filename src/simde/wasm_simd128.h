// Native builds only: the wasm intrinsics by SIMDe, so that the very same SIMD kernels are tested natively.
#pragma once
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/wasm/simd128.h>
