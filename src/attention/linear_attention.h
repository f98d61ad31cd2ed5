// Attention without softmax, at a cost per token that does not grow with the context. Katharopoulos et al. 2020 (arXiv:2006.16236) with
// phi(x) = elu(x) + 1:
//
//   out_m = sum_n (phi(q_m) · phi(k_n)) v_n / sum_n phi(q_m) · phi(k_n)  =  phi(q_m) S / (phi(q_m) · z)
//   S = sum_n phi(k_n)^T v_n    [head_dim, head_dim]
//   z = sum_n phi(k_n)          [head_dim]
//
// where n runs over all keys, or over those up to m in the causal form. With RoPE (RoFormer, arXiv:2104.09864, equation 19) phi(q) and
// phi(k) are rotated in the numerator only: the denominator stays a sum of positive terms. The rows of the rope are taken as they are,
// YaRN's attention factor included, which is then squared in the output. Keys lie in the sums as they were turned, so a rope whose
// frequencies follow the length of the sequence is refused (Status::linear_rope_changes).
//
// All in f32. The sums are compensated (Kahan 1965): plain ones would be off by 3e-5 after a million tokens, and by 1e-2 where the same
// token comes again and again. So the error does not grow with the number of tokens: outputs are within about 4e-7 of the largest.
#pragma once

#include "rope/rope.h"

namespace ropewalk {

// One sequence's queries, keys, values and outputs, f32, all in one layout. query heads are a multiple of key heads.
// `out` may be `queries`.
struct LinearTokens {
  const float* queries = nullptr;
  const float* keys = nullptr;
  const float* values = nullptr;
  float* out = nullptr;
  Layout layout = Layout::thd;  // of one sequence: bthd and thd are the same
  int tokens = 0;
};

// Keys and values up to this magnitude are taken: sums of their products stay far inside f32 (unless xPos enlarges them).
constexpr float kLargestLinearElement = 0x1p40f;

// The running sums of one sequence.
class LinearAttention {
 public:
  // Makes the sums empty. heads must be a multiple of kv_heads. On failure nothing changes.
  Status configure(int heads, int kv_heads, int head_dim);

  // Kernels to rotate with; the build's fastest unless set.
  void use_kernels(const RotateKernels& kernels) { kernels_ = &kernels; }

  // Takes tokens up one after the other: token m sees the keys before it and its own. `rope` may be null; `positions` are the tokens',
  // one row, queries and keys alike. Checks everything, keys and values that are not finite included, before anything is changed.
  // The same tokens give the same bits in one call and in many.
  Status append(Rope* rope, const Positions& positions, const LinearTokens& tokens);

  // Takes up keys and values alone (queries and out are not read).
  Status absorb(Rope* rope, const Positions& positions, const LinearTokens& tokens);

  // Answers queries from the sums as they are (keys and values are not read): after absorb() of all keys, the non-causal form.
  // Zeros where nothing has been taken up.
  Status query(Rope* rope, const Positions& positions, const LinearTokens& tokens);

  void reset();

  // Tokens taken up so far.
  std::int64_t tokens() const { return tokens_; }
  int heads() const { return heads_; }
  int kv_heads() const { return kv_heads_; }
  int head_dim() const { return head_dim_; }

  // The sums as they lie: for each key head S [head_dim][head_dim] and z [head_dim], and then in the same order what rounding took from
  // them. For saving; a restored state is written back through set_state, which refuses what is not finite, and a count of tokens that
  // is none (Status::image_content).
  const float* state() const { return state_.data(); }
  std::size_t state_size() const { return state_.size(); }
  Status set_state(const float* state, double tokens);

 private:
  Status perform(bool takes_keys, bool answers, Rope* rope, const Positions& positions, const LinearTokens& tokens);

  int heads_ = 0, kv_heads_ = 0, head_dim_ = 0;
  std::int64_t tokens_ = 0;
  const RotateKernels* kernels_ = &fastest_rotate_kernels();
  Buffer<float> state_;
};

}  // namespace ropewalk
