// The forward pass of a transformer, written once for every architecture that model_config.h can describe.
//
//   x = embedding[token] · embedding_scale                         GPT-2: plus the embedding of the position;
//                                                                  encoders: norm(x + embeddings of the position and the token's type);
//                                                                  RWKV: norm(x)
//   in each layer:
//     q, k, v = W_q n, W_k n, W_v n         n = norm(x), or x if the layer has no pre-norm
//     q, k = norm(q), norm(k)               if the architecture normalizes them, before or after the rotation
//     rotate q and k at their positions, append k and v to the cache, a = attention(q, cached k, cached v)
//     in a recurrent layer, a function of n and the layer's state (recurrent_mixer.h, rwkv_mixer.h), instead of W_o a or added to it
//     x = x + residual_scale · norm(W_o a)                       norm only if the layer has a post-norm
//     x = x + residual_scale · norm(feed_forward(norm(x)))       in parallel layers, norm(x) uses the same x as attention;
//                                                                in RWKV, it is mixed with that of the token before
//   logits = W_head norm(x) · logit_scale
//
// Vaswani et al. 2017 (arXiv:1706.03762), with pre-norms (GPT-2), post-norms (OLMo 2), both (Gemma 2), or norms of the sum (BERT).
#pragma once

#include <span>

#include "transformer/blocks/feed_forward.h"
#include "transformer/blocks/forward_pass.h"
#include "transformer/blocks/head.h"
#include "transformer/blocks/per_layer.h"
#include "transformer/blocks/token_mixer.h"

namespace ropewalk {

class Forward {
 public:
  void use_kernels(const MatmulKernels& kernels) { kernels_ = &kernels; }

  // Sets the adapters of the next runs and their logits. An empty list sets none. As AdaptedProducts::use().
  Status use_adapters(std::span<const ScaledAdapter> adapters) { return adapters_.use(adapters); }

  // Runs the next tokens of one or more texts through the layers, each weight once for all of them, and adds them to the memories of the
  // texts. A text has 1 token or more, and all together have at most kForwardTokens. Each cache must have the layers of the model, and the
  // states their sizes, all with the same number of tokens. Checks first: weight_missing if the weights are not finished, cache_geometry
  // (also: two texts have the same memory), sequence_out_of_range, token_count_out_of_range, position_table_too_short, token_out_of_range.
  // May then fail with out_of_memory, hidden_not_finite or a status of KvCache::append(). On failure the memories have the tokens they had
  // before, as after a failed append(), and there are no hidden states. What is computed for a text doesn't depend on the others.
  Status run(const Weights& weights, std::span<const TextTokens> texts);
  // The same for one text.
  Status run(const Weights& weights, const TextMemory& memory, const int* tokens, int count) {
    const TextTokens text = {memory, tokens, count};
    return run(weights, {&text, 1});
  }

  // Runs the tokens of whole texts, [texts.tokens()]. `rows`, [texts.tokens()][hidden_size], is added to the embeddings of the tokens: the
  // hidden states of another model, which this one continues; null for none. Checks first: weight_missing, cache_geometry if the texts
  // don't have the layers of the model, token_count_out_of_range if there are no texts, position_table_too_short, token_out_of_range. May
  // then fail with out_of_memory or a status of WholeTexts. On failure there are no hidden states.
  Status run(const Weights& weights, WholeTexts& texts, const int* tokens, const float* rows = nullptr);

  // The run of one text in steps, for those who look between two layers: begin(), run_next_layer() for each layer, end(). A step that
  // fails ends the run with cancel(), which the caller may also call instead of the next step: the memory has the tokens it had before.
  // Nothing else may use this object or the memory between two steps.
  Status begin(const Weights& weights, const TextMemory& memory, const int* tokens, int count) {
    const TextTokens text = {memory, tokens, count};
    return begin(weights, {&text, 1});
  }
  Status run_next_layer();
  Status end();
  void cancel();

  // Between two steps: the input of the next layer, [tokens()][hidden_size]. May be changed. With several residual streams, one of them.
  float* residual() { return residual_.data(); }
  // After a layer with attention: its queries as they read the keys, [tokens()][heads][the layer's head_dim].
  const float* queries() const { return token_mixer_.attention().queries(); }
  // After a layer with attention, if the run has one text: the weights with which each head read the keys for one of the tokens,
  // [heads][tokens of the sequence up to that token]. Returns layer_out_of_range without attention, token_count_out_of_range, out_of_memory
  // or ok.
  Status attention_weights(int token, float* out);

  // The last hidden states of the last run's tokens, text by text, [tokens()][hidden_size], after the final norm if there is one.
  const float* hidden() const { return hidden_; }
  int tokens() const { return count_; }

  // Writes the logits of tokens [first, first + count) of the last run, [count][vocabulary_size]. `weights` must be the weights of that
  // run. Returns token_count_out_of_range, out_of_memory or ok.
  Status logits(const Weights& weights, int first, int count, float* out);
  // The logits of the last token of each text of the last run, [vocabulary_size] at each of out[0], out[1] …. Returns
  // token_count_out_of_range if there was no run of texts with memories, out_of_memory or ok.
  Status last_logits(const Weights& weights, float* const* out);

  // The weights with which each head of a layer read the keys of the sequence for the last token of the last run, [heads][tokens of the
  // sequence], 0 for keys outside a window. `weights`, `cache` and `sequence` must be those of the last text of that run, unchanged since.
  // Returns layer_out_of_range, token_count_out_of_range if there was no run, out_of_memory or ok.
  Status attention_weights(const Weights& weights, KvCache& cache, int sequence, int layer, float* out);

 private:
  Status begin(const Weights& weights, std::span<const TextTokens> texts);
  // Begins with the tokens that sequences_ has taken.
  Status begin(const Weights& weights);
  Status run_layers();
  [[nodiscard]] bool allocate(int count);
  void run_layer(int layer);
  // x = x + residual_scale · norm(rows), or norm(x + residual_scale · rows).
  void add_to_residual(float* rows, const float* post_norm, const float* bias);
  bool hidden_are_finite() const;
  ForwardPass pass(const Weights& weights) { return {weights, sequences_, {kernels_, &status_, &adapters_}, count_}; }

  const MatmulKernels* kernels_ = &fastest_matmul_kernels();
  AdaptedProducts adapters_;
  const Weights* weights_ = nullptr;   // of the last run
  const float* added_rows_ = nullptr;  // to the embeddings of this run
  RunSequences sequences_;             // of the last run
  Status status_ = Status::ok;         // the first failure
  int count_ = 0;                      // tokens of the last run; 0 if it failed
  int next_layer_ = 0;
  const float* hidden_ = nullptr;  // normed_, or residual_ without a final norm

  Buffer<float> residual_;          // x, [count][hidden_size]
  Buffer<float> normed_;            // norm(x), [count][hidden_size]
  Buffer<float> mixed_;             // the output of token_mixer_, [count][hidden_size]
  Buffer<float> feed_forward_out_;  // the output of feed_forward_, [count][hidden_size]
  TokenMixer token_mixer_;
  FeedForward feed_forward_;
  PerLayer per_layer_;
  Head head_;
};

}  // namespace ropewalk
