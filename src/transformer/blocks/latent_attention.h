// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434), with the products of keys and values absorbed: q · (W_k z) is (W_kᵀ q) · z,
// and the sum of weights times W_v z is W_v times the sum of weights times z. So attention reads one row [rotated | latent] for each token,
// which all heads share, and neither keys nor values of heads are ever computed.
#pragma once

#include "transformer/blocks/forward_pass.h"

namespace ropewalk {

class LatentAttention {
 public:
  [[nodiscard]] bool allocate(const ModelConfig& config, int count);

  // Computes the rows that are rotated and cached, [count][row_size], and the queries that meet them, [count][heads][row_size], from the
  // hidden states [count][hidden_size]. The rotated part comes first in both.
  void project(const ForwardPass& pass, const LayerWeights& weights, const float* input, float* queries, float* rows);

  // The outputs of heads, [count][heads · value], of attended rows, [count][heads][row_size].
  const float* values(const ForwardPass& pass, const LayerWeights& weights, const float* attended);

 private:
  int count_ = 0;
  Activations input_, head_;
  Buffer<float> query_latents_;  // [count][query]
  Buffer<float> queries_;        // [count][heads][plain, then rotated]
  Buffer<float> rows_;           // [count][latent, then rotated]
  Buffer<float> values_;         // [count][heads][value]
};

}  // namespace ropewalk
