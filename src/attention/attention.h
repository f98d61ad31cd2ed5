// Softmax attention of one sequence: queries over keys and values in their existing memory layout, in a cache or in a tensor.
//
//   out = softmax(q k^T · scale, capped, biased, masked) v      Vaswani et al. 2017 (arXiv:1706.03762)
//
// It works in blocks, so memory does not depend on the number of tokens (attention_kernels.h). Query heads share key heads in groups
// (Ainslie et al. 2023, arXiv:2305.13245): query head h reads key head h / (heads / kv_heads).
#pragma once

#include "attention/attention_kernels.h"
#include "attention/attention_types.h"

namespace ropewalk {

// Checks shapes and options, and that everything a call needs is set. kv.tokens may be 0; the outputs are then zeros.
Status check_attention(const KeyValues& kv, const Queries& queries, const Positions& positions, const AttentionOptions& options);

// Attends with working memory that is kept between calls: at most about 1 MB for 64 heads of 128.
class Attention {
 public:
  void use_kernels(const AttentionKernels& kernels, const RotateKernels& rotate_kernels) {
    kernels_ = &kernels;
    rotate_kernels_ = &rotate_kernels;
  }

  // The queries are the newest tokens: query t has slot kv.tokens - queries.tokens + t, which the mask uses. `positions` are the positions
  // of the queries (one row). Returns what check_attention() returns, or out_of_memory. Writes nothing on failure.
  Status attend(const KeyValues& kv, const Queries& queries, const Positions& positions, const AttentionOptions& options);

 private:
  const AttentionKernels* kernels_ = &fastest_attention_kernels();
  const RotateKernels* rotate_kernels_ = &fastest_rotate_kernels();
  Buffer<float> memory_;
  Buffer<SoftmaxState> states_;
};

}  // namespace ropewalk
