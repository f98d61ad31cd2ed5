// Samples the next token from logits. The same logits, options and seed give the same token in every engine.
#pragma once

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/status.h"
#include "sampling/candidates.h"
#include "sampling/penalties.h"
#include "sampling/softmax.h"

namespace ropewalk {

// The order of the options that drop tokens.
//   transformers: temperature, top_n_sigma, top_k, top_p, min_p, typical_p, xtc
//   llama_cpp:    top_n_sigma, top_k, typical_p, top_p, min_p, xtc, temperature
enum class SamplerOrder : int { transformers, llama_cpp };

// Before all others come biases, forbidden tokens, penalties and the repeat penalty.
struct SamplerOptions {
  Penalties penalties;           // each in [-1e6, 1e6], and repetition > 0
  int penalty_window = 64;       // the last tokens that penalties apply to, from 0
  RepeatPenalty repeat_penalty;  // multiplier in [0, 1e6], base in [1, 1e6], allowed length from 1
  int repeat_window = 1024;      // the last tokens among which repeats are searched, from 0
  double top_n_sigma = 0;        // keep logits at most n standard deviations below the largest, n >= 0 (arXiv:2411.07641); 0: all
  int top_k = 0;                 // 0: all
  double typical_p = 1;          // in (0, 1]
  double top_p = 1;              // in (0, 1]
  double min_p = 0;              // in [0, 1]
  double xtc_probability = 0;    // how often top choices are excluded, in [0, 1]
  double xtc_threshold = 0.1;    // in (0, 1]; above 0.5, there are never two such choices
  double temperature = 1;        // >= 0; 0: always the largest logit (the first if several are equal)
  double mirostat_tau = 0;       // >= 0: the information of tokens in bits to aim at, instead of the options that drop tokens; 0: off
  double mirostat_eta = 0.1;     // > 0: how fast the limit follows
  SamplerOrder order = SamplerOrder::transformers;
};

class Sampler {
 public:
  // Checks ranges. Returns sampler_..._out_of_range or ok. Changes nothing on failure. Starts Mirostat anew.
  Status configure(const SamplerOptions& options);

  // Replace those before. Return out_of_memory or ok.
  Status set_biases(std::span<const TokenBias> biases);
  Status set_breakers(std::span<const int> tokens);

  void seed(std::uint64_t seed) { state_ = seed; }

  // Samples a token from `size` >= 1 logits. `recent`: the tokens of the text or the last of them, oldest first; ids outside the vocabulary
  // are ignored. `allowed`: a bit for each token (forbid_others), or null. Returns logits_not_finite, no_token_allowed, out_of_memory,
  // thread_lost or ok. The random state doesn't advance on failure.
  Status sample(const float* logits, int size, std::span<const int> recent, const std::uint8_t* allowed, int& token);

  // The tokens among which the last call of sample() chose, if an option dropped some.
  const Candidates& candidates() const { return candidates_; }

 private:
  Status adjust(const float* logits, int size, std::span<const int> recent, const std::uint8_t* allowed);
  bool drops_tokens() const;
  // The smallest scaled logit that top_n_sigma keeps.
  float min_logit(int size) const;
  void drop_tokens(int size);
  int draw_mirostat(int size);
  double uniform();

  SamplerOptions options_;
  std::uint64_t state_ = 0;
  double surprise_ = 0;  // the most that Mirostat allows, in bits
  Buffer<TokenBias> biases_;
  Buffer<int> breakers_;       // sorted
  Buffer<TokenCount> counts_;  // scratch of penalties
  Buffer<float> logits_;       // adjusted, then less the largest and divided by the temperature
  Softmax softmax_;
  Candidates candidates_;
};

}  // namespace ropewalk
