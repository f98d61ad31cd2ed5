// Samples the next token from logits. The same logits, options and seed give the same token in every engine.
#pragma once

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/status.h"

namespace ropewalk {

// Options are applied in this order, as in transformers.
struct SamplerOptions {
  double repetition_penalty = 1;  // > 0: divides positive logits of seen tokens and multiplies negative ones (arXiv:1909.05858)
  double temperature = 1;         // >= 0; 0: always the largest logit (the first if several are equal)
  int top_k = 0;                  // keep the k largest; 0: all
  double top_p = 1;               // keep the fewest tokens whose probabilities sum to p, in (0, 1] (arXiv:1904.09751)
  double min_p = 0;               // keep tokens with at least min_p times the largest probability, in [0, 1] (arXiv:2407.01082)
};

class Sampler {
 public:
  // Checks ranges. Returns sampler_penalty_out_of_range, sampler_temperature_out_of_range, sampler_top_k_out_of_range,
  // sampler_top_p_out_of_range, sampler_min_p_out_of_range or ok. Changes nothing on failure.
  Status configure(const SamplerOptions& options);

  void seed(std::uint64_t seed) { state_ = seed; }

  // Samples a token from `size` >= 1 logits. `seen`: tokens that the penalty applies to, in any order, repeats allowed; ids outside the
  // vocabulary are ignored. Returns logits_not_finite, out_of_memory, thread_lost or ok. The random state doesn't advance on failure.
  Status sample(const float* logits, int size, std::span<const int> seen, int& token);

 private:
  struct Candidate {
    float logit;
    int token;
  };
  static bool is_before(const Candidate& a, const Candidate& b) { return a.logit > b.logit || (a.logit == b.logit && a.token < b.token); }

  // Copies the logits. Returns whether all are finite.
  bool copy_finite(const float* logits, int size);
  void apply_penalty(const float* logits, int size, std::span<const int> seen);
  void make_candidates(int size);
  void keep_largest(int count);
  void keep_probable(double probability);
  void keep_near_largest(double share);
  int draw();
  int draw_from_all(int size);
  double uniform();

  SamplerOptions options_;
  std::uint64_t state_ = 0;
  Buffer<float> logits_;   // with penalty; then less the largest, divided by the temperature, so that even a tiny one can't overflow
  Buffer<float> weights_;  // e^logit
  Buffer<double> sums_;    // of the weights of each chunk
  double total_ = 0;
  Buffer<Candidate> candidates_;
  std::size_t count_ = 0;
};

struct LogProbability {
  double value;  // natural logarithm
  int token;
};

// The logarithm of the sum of e^logit, within 3e-7 plus f64 rounding. A token's log probability is its logit minus this.
double log_normalizer(const float* logits, int size);

// Writes the top.size() most probable tokens, most probable first; if several are equal, the smallest id first. top.size() must be at most
// `size`.
void most_probable(const float* logits, int size, std::span<LogProbability> top);

}  // namespace ropewalk
