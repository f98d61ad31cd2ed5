// A feed-forward block or one expert: down(activation(gate x) · up x), or down(activation(up x)).
#pragma once

#include "transformer/blocks/forward_pass.h"

namespace ropewalk {

class Mlp {
 public:
  // `rows`: the most of a call.
  [[nodiscard]] bool allocate(const ModelConfig& config, int rows);

  // Computes out, [rows][hidden_size], from [rows][hidden_size]. May be in place.
  void run(const ForwardPass& pass, const FeedForwardWeights& weights, const LayerConfig& layer, const float* input, int rows, float* out);

 private:
  // Applies the activation to up_ (and gate_), [rows][size].
  void activate_inner(const ModelConfig& config, const FeedForwardWeights& weights, const LayerConfig& layer, int rows, int size);

  Activations input_;   // of the products of up and gate
  Activations inner_;   // of the product of down
  Buffer<float> gate_;  // [rows][the largest inner size]
  Buffer<float> up_;    // [rows][the largest inner size]
};

}  // namespace ropewalk
