// Losses of given tokens (negative log-likelihood), from which perplexity is computed.
#pragma once

#include "transformer/forward.h"

namespace ropewalk {

class Losses {
 public:
  // losses[i] = -ln p(targets[i]) at token first + i of the last run, in nats. Logits are computed for a few tokens at a time, because the
  // logits of a whole run may be larger than the model. Checks first (token_count_out_of_range, token_out_of_range); may then fail with
  // out_of_memory.
  Status measure(Forward& forward, const Weights& weights, int first, std::span<const int> targets, double* losses);

 private:
  Buffer<float> logits_;
};

}  // namespace ropewalk
