// Embind declarations that tell which kernels run.
#include "bindings/embind.h"
#include "matmul/kernels/matmul_kernels.h"

using namespace emscripten;
using namespace ropewalk;
using namespace ropewalk::bindings;

namespace {

// A text in static memory.
Address dot_name(bool scalar, int format) {
  const MatmulKernels& kernels = scalar ? kScalarMatmulKernels : fastest_matmul_kernels();
  return reinterpret_cast<Address>(kernels.dot_name(static_cast<WeightFormat>(format)));
}

}  // namespace

EMSCRIPTEN_BINDINGS(ropewalk_kernels) { function("dot_name", &dot_name); }
