// Embind declarations for quantization: a function, without logic.
#include "quantize/quantize_rows.h"

#include "bindings/embind.h"

using namespace emscripten;
using namespace ropewalk;
using namespace ropewalk::bindings;

namespace {

// From and to are formats. The source and the target are rows without padding.
StatusCode quantize(int from, Address source, int rows, int columns, int to, Address target) {
  return static_cast<int>(
      quantize_rows(static_cast<WeightFormat>(from), at<void>(source), rows, columns, static_cast<WeightFormat>(to), at<void>(target)));
}

}  // namespace

EMSCRIPTEN_BINDINGS(ropewalk_quantize) { function("quantize_rows", &quantize); }
