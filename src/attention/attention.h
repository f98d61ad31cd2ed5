// Softmax attention of one sequence: queries of any number of tokens over keys and values that lie in memory as they lie, in a cache or
// not.
//
//   out = softmax(q k^T · scale, capped, biased, masked) v      Vaswani et al. 2017 (arXiv:1706.03762)
//
// Blocked, so memory does not depend on the number of tokens (attention_kernels.h). Query heads share key heads in groups (Ainslie et al.
// 2023, arXiv:2305.13245): head h reads key head h / (heads / kv_heads).
#pragma once

#include <climits>

#include "attention/attention_kernels.h"
#include "attention/position_scheme.h"
#include "rope/rope.h"

namespace ropewalk {

// Keys and values of one sequence. Rows lie either at keys + head · head_stride + token · token_stride (values alike), or in pages of
// kBlockTokens tokens, where that is the place in a page. All strides in bytes.
struct KeyValues {
  RowType type = RowType::f32;
  int heads = 0;
  int head_dim = 0;
  int tokens = 0;
  std::ptrdiff_t head_stride = 0;
  std::ptrdiff_t token_stride = 0;

  const char* keys = nullptr;
  const char* values = nullptr;
  Positions positions;  // of one row

  const char* const* pages = nullptr;  // [ceil(tokens / kBlockTokens)]; each begins with its positions, [axes][kBlockTokens] f64
  std::size_t key_offset = 0;          // bytes from the start of a page
  std::size_t value_offset = 0;
  int axes = 1;  // of the positions in pages
};

// Queries and outputs, [token][head][head_dim] or [head][token][head_dim] by their strides (in floats). out may be queries.
struct Queries {
  const float* queries = nullptr;
  float* out = nullptr;
  std::ptrdiff_t token_stride = 0;
  std::ptrdiff_t head_stride = 0;
  int tokens = 0;
  int heads = 0;
};

// How positions reach the scores. Fields of other schemes are not read.
struct PositionEncoding {
  PositionScheme scheme = PositionScheme::none;
  bool encodes_queries = true;    // false: they have been turned already
  Rope* rope = nullptr;           // its current plan is used
  double base = 10000;            // sinusoidal
  const float* table = nullptr;   // learned: [rows][head_dim]; t5: [buckets][heads]
  int table_rows = 0;             // learned
  const float* slopes = nullptr;  // alibi: [heads], or null for alibi_slopes()
  T5Buckets t5;
};

constexpr int kNoWindow = INT_MAX;

struct AttentionOptions {
  double scale = 1;              // multiplies q · k
  bool causal = true;            // a query sees no key after its own slot
  int window = kNoWindow;        // a query sees the `window` keys up to its own slot; where not causal, those less than `window` away
  int sink_tokens = 0;           // the first keys of the sequence stay in sight of every window (StreamingLLM, arXiv:2309.17453)
  const float* sinks = nullptr;  // [heads] logits that take part in the sum and have no value: gpt-oss
  double soft_cap = 0;           // s becomes cap · tanh(s / cap): Gemma 2; 0: none
  const float* temperatures = nullptr;  // [query tokens] factors of q, from query_temperature(): Llama 4
  PositionEncoding position;
};

// Checks shapes and options, and that everything a call needs is there. The number of keys may be 0 (outputs are then zeros).
Status check_attention(const KeyValues& kv, const Queries& queries, const Positions& positions, const AttentionOptions& options);

// Attends, with memory of its own that is kept from call to call: at most about 1 MB for 64 heads of 128.
class Attention {
 public:
  void use_kernels(const AttentionKernels& kernels, const RotateKernels& rotate_kernels) {
    kernels_ = &kernels;
    rotate_kernels_ = &rotate_kernels;
  }

  // The queries are the newest tokens: query t has slot kv.tokens - queries.tokens + t, which the mask goes by. `positions` are theirs
  // (one row). Returns what check_attention finds, or out_of_memory; nothing is then written.
  Status attend(const KeyValues& kv, const Queries& queries, const Positions& positions, const AttentionOptions& options);

 private:
  const AttentionKernels* kernels_ = &fastest_attention_kernels();
  const RotateKernels* rotate_kernels_ = &fastest_rotate_kernels();
  Buffer<float> memory_;
  Buffer<SoftmaxState> states_;
};

}  // namespace ropewalk
