// Products of tokens with weight matrices, in the format the weights are stored in.
#pragma once

#include "matmul/matmul_kernels.h"
#include "matmul/quantize_activations.h"
#include "matmul/weight_format.h"

namespace ropewalk {

// [rows][columns], as GGUF and PyTorch's Linear store them; `columns` is a multiple of block_elements(format). Packed, each eight rows are
// a panel (packed_rows.h), and what is left over of them rows as before.
struct WeightMatrix {
  WeightFormat format = WeightFormat::f32;
  int rows = 0;
  int columns = 0;
  const void* data = nullptr;
  bool packed = false;
};

// Packs weights in place: `data` is weights.data, writable. Fails with out_of_memory, and nothing changed, where there is no room for eight
// rows beside them.
Status pack_rows(WeightMatrix& weights, void* data);

// One row as floats, packed or not.
void read_row(const WeightMatrix& weights, int row, float* out);

// out[t · out_stride + row] = sum over c of x[t][c] · w[row][c]. `x` has weights.columns columns. With quantized weights x is rounded
// (quantize_activations.h). A token's results do not depend on what other tokens there are.
Status multiply(const MatmulKernels& kernels, const WeightMatrix& weights, Activations& x, float* out, std::ptrdiff_t out_stride);

}  // namespace ropewalk
