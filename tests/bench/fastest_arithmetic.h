// The multiply-add of the kernels of this build.
#pragma once

#include "base/add_product.h"
#ifdef __wasm_relaxed_simd__
#include "base/relaxed_simd.h"
#endif

namespace ropewalk {

#ifdef __wasm_relaxed_simd__
using FastestArithmetic = RelaxedMultiplyAdd;
#else
using FastestArithmetic = MultiplyThenAdd;
#endif

}  // namespace ropewalk
