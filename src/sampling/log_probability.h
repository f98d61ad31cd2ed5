// Log probabilities of tokens, as the model gives them: before temperature and other options of sampling.
#pragma once

#include <span>

namespace ropewalk {

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
