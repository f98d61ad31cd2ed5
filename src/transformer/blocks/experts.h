// A feed-forward block of experts: each token goes through those that the router chooses for it, and through the shared one.
#pragma once

#include "transformer/blocks/mlp.h"
#include "transformer/blocks/router.h"

namespace ropewalk {

class Experts {
 public:
  [[nodiscard]] bool allocate(const ModelConfig& config, int count);

  // Computes out, [count][hidden_size], from the block's input, [count][hidden_size]. Router and experts with norms of their own read
  // `residual`, [count][hidden_size], instead. Works expert by expert, so that each expert's weights are read once for all its tokens.
  void run(const ForwardPass& pass, int layer, const float* input, const float* residual, Mlp& mlp, float* out);

 private:
  // Adds the output of the shared expert.
  void add_shared(const ForwardPass& pass, int layer, const float* input, Mlp& mlp, float* out);

  Router router_;
  Activations input_;         // of the router, and of the shared expert's gate
  Buffer<float> normalized_;  // [count][hidden_size]: what the router or the experts read, if it has a norm of its own
  Buffer<float> rows_;        // [count][hidden_size]: rows routed to an expert, then its outputs
  Buffer<float> gate_terms_;  // [count]: what adapters add to the scores of the shared expert's gate
};

}  // namespace ropewalk
