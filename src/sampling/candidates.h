// The tokens that may come next, with their logits, and the rules that drop some of them.
#pragma once

#include <span>

#include "base/buffer.h"

namespace ropewalk {

struct Candidate {
  float logit;  // less the largest of the vocabulary; its weight is e^logit
  int token;
};

// Of equal logits the smaller token comes first. Each rule keeps at least one candidate.
class Candidates {
 public:
  bool resize(int size) { return candidates_.resize(size); }

  // All tokens with at least `min_logit`. Those of less than `min_weight` aren't kept, but count in probabilities. Forbidden tokens
  // have a logit of -infinity.
  void fill(std::span<const float> logits, const float* weights, float min_logit, double min_weight);
  // Lets the probabilities of the candidates sum to 1.
  void normalize();

  // The k largest.
  void keep_top_k(int k);
  // The fewest whose probabilities sum to p, the most probable first.   Nucleus sampling (arXiv:1904.09751)
  void keep_top_p(double p);
  // The fewest whose probabilities sum to p, first those whose information is nearest to the entropy.   Typical sampling (arXiv:2202.00666)
  void keep_typical(double p);
  // Those with at least a share of the largest probability.   arXiv:2407.01082
  void keep_min_p(double share);
  // Of those with at least this probability, only the least probable one. (XTC, "exclude top choices"; text-generation-webui)
  void exclude_top(double probability);
  void divide_by_temperature(double temperature);

  // A candidate by its probability; `uniform` in [0, 1).
  const Candidate& draw(double uniform) const;
  double probability(const Candidate& candidate) const;
  std::span<const Candidate> all() const { return {candidates_.data(), count_}; }

 private:
  // Keeps the first in an order until their probabilities sum to p. Uses a heap, because usually only a few of a large vocabulary are kept.
  template <class IsBefore>
  void keep_first(double p, const IsBefore& is_before);
  template <class Drops>
  void drop_if(const Drops& drops);

  Buffer<Candidate> candidates_;
  std::size_t count_ = 0;
  double total_ = 0;  // of the weights of which probabilities are shares
};

}  // namespace ropewalk
