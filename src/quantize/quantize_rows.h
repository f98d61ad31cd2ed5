// Converts rows of floats to another weight format. Blocks have the same bits as those of ggml's reference quantization (ggml-quants.c,
// quantize_row_*_ref, without an importance matrix) compiled without fused multiply-add, which is how llama-quantize is built for x86-64.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "matmul/weight_format.h"

namespace ropewalk {

// Whether quantize_rows() can write a format.
bool is_quantization_target(WeightFormat format);

// Converts `rows` rows of `columns` elements from f32, f16 or bf16 to these, q8_0, q4_0, q5_0, q4_k or q6_k, on the threads of the
// pool. Rows are contiguous on both sides, without padding, and must not overlap. Allocates nothing. Returns weight_format_unknown for
// other formats, weight_shape if `columns` isn't a multiple of block_elements(to), weight_not_finite if an element is infinite, NaN
// or so large that the scale of its block is beyond f16; then the rows have been written in part.
Status quantize_rows(WeightFormat from, const void* source, int rows, int columns, WeightFormat to, void* target);

}  // namespace ropewalk
