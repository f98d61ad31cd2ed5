// Products of tokens with weight matrices, computed directly from the stored weight format.
#pragma once

#include <span>

#include "matmul/activations.h"
#include "matmul/weight_format.h"

namespace ropewalk {

// [rows][columns], as GGUF and PyTorch's Linear store them. `columns` is a multiple of block_elements(format). Each eight of the first
// `packed_rows` rows, a multiple of eight, form a panel (packed_rows.h); the remaining rows are as they are stored.
struct WeightMatrix {
  WeightFormat format = WeightFormat::f32;
  int rows = 0;
  int columns = 0;
  const void* data = nullptr;
  int packed_rows = 0;
  int exponent = 0;  // the f16 numbers of packed rows are stored times 2^exponent (panel_exponent.h)
};

// Packs the first `rows` rows in place, at most weights.rows, except for those that are packed already, and for the last few that don't
// fill a panel. May change the exponent, and then scales the packed rows anew. `data` is weights.data, writable. Needs temporary memory for
// eight rows of each thread; if there is none, fails with out_of_memory and changes nothing. Fails with thread_lost if a thread ends in the
// middle, which leaves the matrix useless.
Status pack_rows(WeightMatrix& weights, void* data, int rows);

// Writes one row as floats, [columns], from packed or unpacked weights.
void read_row(const WeightMatrix& weights, int row, float* out);

// out[t · out_stride + row] = bias[row] + sum over c of x[t][c] · w[row][c]. Without a bias it is null. With `adds`, the product is
// added to what is at `out`, and the bias is not used.
struct Product {
  const WeightMatrix* weights;
  const float* bias;
  float* out;
  std::ptrdiff_t out_stride;
  bool adds = false;
};

// Computes products that share their input, on the threads of the pool. `x` must have weights.columns columns for each. For quantized
// weights x is rounded first (quantized_row.h), which may fail with out_of_memory. Fails with thread_lost if a thread ends in the middle. A
// token's results don't depend on the other tokens of the call.
Status multiply(const MatmulKernels& kernels, std::span<const Product> products, Activations& x);

}  // namespace ropewalk
