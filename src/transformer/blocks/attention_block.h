// Attention in a layer: projects queries, keys and values, normalizes and rotates them, adds keys and values to the memories of the
// sequences, attends, and projects the outputs of the heads.
#pragma once

#include "transformer/blocks/forward_pass.h"
#include "transformer/blocks/latent_attention.h"

namespace ropewalk {

class AttentionBlock {
 public:
  [[nodiscard]] bool allocate(const ModelConfig& config, int count);

  // Computes out, [count][hidden_size], from the layer's input, [count][hidden_size].
  void run(const ForwardPass& pass, int layer, const float* input, float* out);

  // The queries of the last layer that ran, as they read the keys, [count][heads][the layer's head_dim].
  const float* queries() const { return queries_.data(); }

  // The weights with which each head of the last layer that ran, `layer`, read the keys for one of the tokens, [heads][tokens of the
  // sequence up to that token]. For a run of one sequence with a memory. Returns the statuses of KvCache::weights().
  Status weights_of_token(const ForwardPass& pass, int layer, int token, float* out);

  // The same for the last token of the last run in any layer with attention, [heads][tokens of the sequence].
  Status weights_of_last(const Weights& weights, KvCache& cache, int sequence, int layer, float* out);

 private:
  // Computes queries_, and keys_ and values_ if the layer has its own. Neither is rotated yet.
  void project_heads(const ForwardPass& pass, int layer, const float* input);
  // Normalizes and rotates queries_ and keys_, and adds keys_ and values_ to the memories.
  void rotate_and_append(const ForwardPass& pass, int layer);
  static void normalize_heads(const ForwardPass& pass, int heads, int head_dim, const float* weight, Buffer<float>& rows);
  // Normalizes keys before they are rotated as if it were after: the rotation multiplies their squares, but not epsilon, by the square of
  // the attention factor.
  void normalize_keys_as_rotated(const ForwardPass& pass, const LayerConfig& layer);
  // Multiplies attended_, [count][heads][head_dim], by the sigmoid of gates_.
  void apply_gates(AttentionGate kind, int count, int heads, int head_dim);

  Activations input_;             // of the projections of queries, keys and values
  Activations output_;            // of the projection of the heads' outputs
  Buffer<float> queries_;         // [count][heads][head_dim]
  Buffer<float> keys_;            // [count][kv_heads][head_dim]
  Buffer<float> values_;          // [count][kv_heads][head_dim]
  Buffer<float> attended_;        // [count][heads][head_dim]
  Buffer<float> gates_;           // [count][gate_size()]
  Buffer<float> last_queries_;    // of the last token, as they read the keys: [layers][heads][head_dim]
  Buffer<float> rotated_weight_;  // [head_dim]: the weight of heads that are normalized after they are rotated
  Buffer<float> ones_;            // [head_dim]: the weight of norms without one
  Buffer<float> temperatures_;    // [count]
  LatentAttention latent_;
};

}  // namespace ropewalk
