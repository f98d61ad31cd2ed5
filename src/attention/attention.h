// Softmax attention of one sequence: queries over keys and values in their existing memory layout, in a cache or in a tensor.
//
//   out = softmax(q k^T · scale, capped, biased, masked) v      Vaswani et al. 2017 (arXiv:1706.03762)
//
// It works in blocks, so memory does not depend on the number of tokens (attention_kernels.h). Chunks of 512 keys are merged in their order
// (attention_pass.h), so results don't depend on the number of threads, or on what else is in the call. Query heads share key heads in
// groups (Ainslie et al. 2023, arXiv:2305.13245): query head h reads key head h / (heads / kv_heads).
#pragma once

#include <span>

#include "attention/attention_types.h"
#include "attention/kernels/attention_kernels.h"
#include "base/thread_pool.h"

namespace ropewalk {

// Checks shapes and options, and that everything a call needs is set. kv.tokens may be 0; the outputs are then zeros.
Status check_attention(const KeyValues& kv, const Queries& queries, const Positions& positions, const AttentionOptions& options);

class Pass;

// What attend() gets. The queries are the newest tokens: query t has slot kv.tokens - queries.tokens + t, which the mask uses. `positions`
// are the positions of the queries (one row).
struct AttentionRequest {
  KeyValues kv;
  Queries queries;
  Positions positions;
  AttentionOptions options;
};

// Attends with working memory that is kept between calls: at most about 1 MB for each thread at 64 heads of 128.
class Attention {
 public:
  void use_kernels(const AttentionKernels& kernels, const RotateKernels& rotate_kernels) {
    kernels_ = &kernels;
    rotate_kernels_ = &rotate_kernels;
  }

  // Returns what check_attention() returns, or out_of_memory. Writes nothing on failure.
  Status attend(const KeyValues& kv, const Queries& queries, const Positions& positions, const AttentionOptions& options);

  // The same for requests that don't depend on each other, as one job.
  Status attend(std::span<const AttentionRequest> requests);

  // The weights of one query token, to look at: softmax(q k^T · scale, capped, biased, masked), [queries.heads][kv.tokens], 0 for keys that
  // it doesn't see. Their sum is 1, or less with sinks. Also writes what attend() does. Returns query_shape_out_of_range for several
  // tokens, and as attend(). Runs on one thread.
  Status weights(const KeyValues& kv, const Queries& query, const Positions& positions, const AttentionOptions& options, float* weights);

 private:
  // The memory of a thread for any of several passes.
  struct Memory {
    std::uint64_t floats = 0;
    int rows = 0;
    int pairs = 0;  // of a rope
    void include(const Pass& pass);
  };
  bool reserve(int threads);
  Pass on_thread(const Pass& pass, int thread);
  Status attend_chunks(const Pass& pass);

  const AttentionKernels* kernels_ = &fastest_attention_kernels();
  const RotateKernels* rotate_kernels_ = &fastest_rotate_kernels();
  Memory per_thread_;
  CosSinRows rows_[ThreadPool::kMaxThreads];  // of each thread
  Buffer<float> memory_;                      // of each thread
  Buffer<SoftmaxState> states_;
  Buffer<float> chunk_sums_;  // [1 + chunks][rows][dim]: the total, and the chunks that are computed at a time
  Buffer<SoftmaxState> chunk_states_;
};

}  // namespace ropewalk
