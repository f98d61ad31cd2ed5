// The feed-forward block of a layer: dense, or of experts.
#pragma once

#include "transformer/blocks/experts.h"
#include "transformer/blocks/mlp.h"

namespace ropewalk {

class FeedForward {
 public:
  [[nodiscard]] bool allocate(const Weights& weights, int count);

  // Computes out, [count][hidden_size], from the block's input and the residual stream before it, [count][hidden_size] both (Experts).
  void run(const ForwardPass& pass, int layer, const float* input, const float* residual, float* out);

 private:
  // Returns the input mixed with that of the token before, in shifted_, or the input itself if the layer doesn't mix it.
  const float* shifted(const ForwardPass& pass, int layer, const float* input);

  Mlp mlp_;
  Experts experts_;
  Buffer<float> shifted_;  // [count][hidden_size], if layers mix their inputs
};

}  // namespace ropewalk
