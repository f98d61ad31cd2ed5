// Choosing the next token from logits. The same logits, options and seed give the same token in every engine.
#pragma once

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/status.h"

namespace ropewalk {

// Applied in this order, which is that of transformers.
struct SamplerOptions {
  double repetition_penalty = 1;  // > 0: logits of tokens seen are divided by it, or multiplied where negative (arXiv:1909.05858)
  double temperature = 1;         // >= 0; 0 takes the largest logit, the first of equals
  int top_k = 0;                  // the k largest; 0: all
  double top_p = 1;               // of those the fewest whose probabilities sum to p, in (0, 1] (arXiv:1904.09751)
  double min_p = 0;               // and whose probability is at least min_p of the largest, in [0, 1] (arXiv:2407.01082)
};

class Sampler {
 public:
  // Checks ranges; on failure all is as it was: sampler_penalty_out_of_range, sampler_temperature_out_of_range,
  // sampler_top_k_out_of_range, sampler_top_p_out_of_range, sampler_min_p_out_of_range.
  Status configure(const SamplerOptions& options);

  void seed(std::uint64_t seed) { state_ = seed; }

  // `seen`: tokens that the penalty is for, any order, repeats allowed; what is none of the `size` >= 1 tokens is passed over. Refuses
  // logits that are not finite (logits_not_finite); out_of_memory. Nothing is drawn then.
  Status sample(const float* logits, int size, std::span<const int> seen, int& token);

 private:
  struct Candidate {
    float logit;
    int token;
  };
  static bool is_before(const Candidate& a, const Candidate& b) { return a.logit > b.logit || (a.logit == b.logit && a.token < b.token); }

  bool place(const float* logits, int size, std::span<const int> seen);
  void keep_largest(int count);
  void keep_probable(double probability);
  void keep_near_largest(double share);
  int draw();
  float largest() const;
  double uniform();

  SamplerOptions options_;
  std::uint64_t state_ = 0;
  Buffer<Candidate> candidates_;
  std::size_t count_ = 0;
};

// The natural logarithm of a token's probability: its logit less log_normalizer(), the logarithm of the sum of e^logit (within 3e-7 beside
// f64's own rounding). And the most probable tokens with theirs, most probable first, of equals the first; `top` has at most `size`.
struct LogProbability {
  double value;
  int token;
};
double log_normalizer(const float* logits, int size);
void most_probable(const float* logits, int size, std::span<LogProbability> top);

}  // namespace ropewalk
