// Reference implementation of the rotation kernels. It is compiled without vectorization, so that it checks the SIMD kernels
// independently.
#include "rope/kernels/rotate_kernels.h"

#include "rope/config.h"

namespace ropewalk {
namespace {

// Indices of the elements x and y of pair j.
struct Half {
  static int x(int j, int) { return j; }
  static int y(int j, int pairs) { return j + pairs; }
};
struct Interleaved {
  static int x(int j, int) { return 2 * j; }
  static int y(int j, int) { return 2 * j + 1; }
};

template <class Read, class Write, class Element>
void rotate_scalar(const HeadRun& run) {
  Element rotated[kMaxHeadDim];  // in place, a write in another pairing would overwrite unread elements
  for (int head = 0; head < run.count; ++head) {
    const Element* source = static_cast<const Element*>(run.source) + head * run.source_stride;
    Element* target = static_cast<Element*>(run.target) + head * run.target_stride;
    const float* cos = run.cos + head * run.row_stride;
    const float* sin = run.sin + head * run.row_stride;

    for (int j = 0; j < run.pairs; ++j) {
      const float x = to_float(source[Read::x(j, run.pairs)]);
      const float y = to_float(source[Read::y(j, run.pairs)]);
      from_float(x * cos[j] - y * sin[j], rotated[Write::x(j, run.pairs)]);
      from_float(y * cos[j] + x * sin[j], rotated[Write::y(j, run.pairs)]);
    }
    for (int i = 0; i < 2 * run.pairs; ++i) target[i] = rotated[i];
  }
}

}  // namespace

const RotateKernels kScalarRotateKernels = {
    "scalar",
    {
        {rotate_scalar<Half, Half, float>, rotate_scalar<Half, Half, Float16>, rotate_scalar<Half, Half, BFloat16>},
        {rotate_scalar<Interleaved, Interleaved, float>, rotate_scalar<Interleaved, Interleaved, Float16>,
         rotate_scalar<Interleaved, Interleaved, BFloat16>},
        {rotate_scalar<Interleaved, Half, float>, rotate_scalar<Interleaved, Half, Float16>, rotate_scalar<Interleaved, Half, BFloat16>},
        {rotate_scalar<Half, Interleaved, float>, rotate_scalar<Half, Interleaved, Float16>, rotate_scalar<Half, Interleaved, BFloat16>},
    },
};

}  // namespace ropewalk
