// Linear attention: no softmax, and a cost per token that doesn't grow with the context. Katharopoulos et al. 2020 (arXiv:2006.16236) with
// phi(x) = elu(x) + 1:
//
//   out_m = sum_n (phi(q_m) · phi(k_n)) v_n / sum_n phi(q_m) · phi(k_n)  =  phi(q_m) S / (phi(q_m) · z)
//   S = sum_n phi(k_n)^T v_n    [head_dim, head_dim]
//   z = sum_n phi(k_n)          [head_dim]
//
// where n runs over all keys, or over the keys up to m in the causal form. With RoPE (RoFormer, arXiv:2104.09864, equation 19) phi(q) and
// phi(k) are rotated in the numerator only, so the denominator stays a sum of positive terms. The rope's rows are used as they are,
// including YaRN's attention factor, which therefore appears squared in the output. Accumulated sums can't be re-rotated, so ropes whose
// frequencies depend on the sequence length are refused (Status::linear_rope_changes).
//
// Everything is f32. The sums are compensated (Kahan 1965), so the error doesn't grow with the number of tokens: outputs are within about
// 4e-7 of the largest. Plain sums would be off by 3e-5 after a million tokens, and by 1e-2 if the same token repeats.
#pragma once

#include "rope/rope.h"

namespace ropewalk {

// Queries, keys, values and outputs of one sequence, f32, all in the same layout. `out` may be `queries`.
struct LinearTokens {
  const float* queries = nullptr;
  const float* keys = nullptr;
  const float* values = nullptr;
  float* out = nullptr;
  Layout layout = Layout::thd;  // bthd and thd are the same for one sequence
  int tokens = 0;
};

// Largest magnitude of keys and values. Sums of their products then stay far inside the range of f32 (unless xPos enlarges them).
constexpr float kLargestLinearElement = 0x1p40f;

// The running sums of one sequence.
class LinearAttention {
 public:
  // Sets the shape and clears the sums. `heads` must be a multiple of `kv_heads`. Returns head_dim_out_of_range, query_shape_out_of_range,
  // heads_not_grouped, out_of_memory or ok. Changes nothing on failure.
  Status configure(int heads, int kv_heads, int head_dim);

  // Sets the rotation kernels (default: the fastest of the build).
  void use_kernels(const RotateKernels& kernels) { kernels_ = &kernels; }

  // The causal form: adds tokens one by one, and token m sees the keys up to its own. `rope` may be null. `positions` has one row, used for
  // queries and keys. Checks everything first, including that keys and values are finite, and changes nothing on failure. The same tokens
  // give the same bits whether they come in one call or in many.
  Status append(Rope* rope, const Positions& positions, const LinearTokens& tokens);

  // Adds keys and values only (queries and out are ignored).
  Status absorb(Rope* rope, const Positions& positions, const LinearTokens& tokens);

  // Computes outputs from the current sums (keys and values are ignored). After absorb() of all keys this is the non-causal form. Outputs
  // are zeros if the sums are empty.
  Status query(Rope* rope, const Positions& positions, const LinearTokens& tokens);

  void reset();

  // Number of tokens added so far.
  std::int64_t tokens() const { return tokens_; }
  int heads() const { return heads_; }
  int kv_heads() const { return kv_heads_; }
  int head_dim() const { return head_dim_; }

  // The sums, for saving: S [head_dim][head_dim] and z [head_dim] for each key head, then the rounding errors of all of them in the same
  // order. set_state() restores them. It returns image_content, and changes nothing, if a number isn't finite or `tokens` isn't a valid
  // count.
  const float* state() const { return state_.data(); }
  std::size_t state_size() const { return state_.size(); }
  Status set_state(const float* state, double tokens);

 private:
  Status perform(bool adds_keys, bool answers_queries, Rope* rope, const Positions& positions, const LinearTokens& tokens);

  int heads_ = 0, kv_heads_ = 0, head_dim_ = 0;
  std::int64_t tokens_ = 0;
  const RotateKernels* kernels_ = &fastest_rotate_kernels();
  Buffer<float> state_;
};

}  // namespace ropewalk
