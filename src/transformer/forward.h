// The forward pass of a decoder-only transformer, written once for every architecture that model_config.h can describe.
//
//   x = embedding[token] · embedding_scale
//   in each layer:
//     q, k, v = W_q n, W_k n, W_v n         n = norm(x), or x itself where the layer has no norm before
//     q, k = norm(q), norm(k)               where the architecture normalizes them
//     q, k turned by RoPE at their positions, k and v into the cache, a = attention(q, cached k, cached v)
//     x = x + residual_scale · norm(W_o a)                       the norm after: where the layer has one
//     x = x + residual_scale · norm(feed_forward(norm(x)))       parallel layers: of the same x as attention
//   logits = W_head norm(x) · logit_scale
//
// Vaswani et al. 2017 (arXiv:1706.03762), with norms before (GPT-2) or after (OLMo 2) or both (Gemma 2).
#pragma once

#include "cache/kv_cache.h"
#include "transformer/router.h"
#include "transformer/weights.h"

namespace ropewalk {

// Tokens that go through the layers together at most: enough to read each weight once for many, few enough to stay small in memory.
constexpr int kForwardTokens = 256;

class Forward {
 public:
  void use_kernels(const MatmulKernels& kernels) { kernels_ = &kernels; }

  // Takes tokens of a sequence through the layers, 1 to kForwardTokens of them, and their keys and values into the cache, whose layers are
  // the model's and hold equally many tokens. Checks first (weight_missing where the weights are not finished, cache_geometry,
  // sequence_out_of_range, token_count_out_of_range, token_out_of_range); may then fail with out_of_memory and with what KvCache::append()
  // refuses. On any failure the cache holds the tokens it held, as after a failure of append(), and there are no hidden states.
  Status run(const Weights& weights, KvCache& cache, int sequence, const int* tokens, int count);

  // Of the tokens of the last run: their last hidden states, [count][hidden_size], normalized as the head reads them.
  const float* hidden() const { return normed_.data(); }
  int tokens() const { return count_; }

  // Logits of tokens [first, first + count) of the last run, by the same weights: [count][vocabulary_size]. Refuses
  // token_count_out_of_range; out_of_memory.
  Status logits(const Weights& weights, int first, int count, float* out);

 private:
  Status check(const Weights& weights, const KvCache& cache, int sequence, const int* tokens, int count) const;
  bool make_room(const ModelConfig& config, int count);

  void embed(const int* tokens);
  void run_layer(KvCache& cache, int sequence, int layer);
  void attend(KvCache& cache, int sequence, int layer, const float* input);
  void feed_forward(int layer, const float* input);
  // What a layer's up (and gate) made of `rows` rows, for its down.
  void activate_inner(int rows);
  void use_experts(const LayerWeights& w, const float* input);
  // The rows of x normalized, in normed_; x itself where there is no norm.
  const float* normalized(const float* rows, const float* weight, const float* bias);
  void normalize_heads(float* rows, int heads, const float* weight) const;
  void add_to_residual(Buffer<float>& rows, const float* post_norm);
  // The hidden state, or what a layer makes of it, to be multiplied by weights.
  void set(Activations& x, const float* rows, int columns) { x.set(rows, columns, count_, columns); }
  // out = W x + bias.
  void project(const WeightMatrix& w, Activations& x, const float* bias, float* out);
  // Once a step has failed, the others do nothing.
  void settle(Status status) {
    if (status_ == Status::ok) status_ = status;
  }

  const MatmulKernels* kernels_ = &fastest_matmul_kernels();
  const Weights* weights_ = nullptr;
  const ModelConfig* config_ = nullptr;
  Status status_ = Status::ok;
  int count_ = 0;

  Buffer<float> residual_;  // x, [count][hidden_size]
  Buffer<float> normed_;    // likewise, and so the two below
  Buffer<float> attention_out_, feed_forward_out_;
  Buffer<float> queries_, attended_;  // [count][heads][head_dim]
  Buffer<float> keys_, values_;       // [count][kv_heads][head_dim]
  Buffer<float> gate_, up_;           // [count][feed_forward_size]
  Activations inputs_, inner_;        // of products with the hidden state, and with what a layer makes of it
  Buffer<float> expert_in_;           // the rows of an expert
  Router router_;
};

}  // namespace ropewalk
