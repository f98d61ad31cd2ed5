// The forward pass of a transformer, written once for every architecture that model_config.h can describe.
//
//   x = embedding[token] · embedding_scale                         encoders: norm(x + embeddings of the position and the token's type);
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

#include <initializer_list>
#include <span>

#include "base/profile.h"
#include "cache/kv_cache.h"
#include "cache/recurrent_state.h"
#include "transformer/latent_attention.h"
#include "transformer/per_layer.h"
#include "transformer/recurrent_mixer.h"
#include "transformer/router.h"
#include "transformer/rwkv_mixer.h"
#include "transformer/weights.h"
#include "transformer/whole_texts.h"

namespace ropewalk {

// Maximum number of tokens per run with a cache: enough to read each weight once for many tokens, and few enough to need little memory.
constexpr int kForwardTokens = 256;

// What a model remembers of a text: keys and values in a sequence of a cache, and the states of recurrent layers, null if it has none.
struct TextMemory {
  KvCache* cache;
  int sequence;
  RecurrentState* states;
};

// The next tokens of a text.
struct TextTokens {
  TextMemory memory;
  const int* tokens;
  int count;
};

class Forward {
 public:
  void use_kernels(const MatmulKernels& kernels) { kernels_ = &kernels; }

  // Sets the adapters of the next runs and their logits. An empty list sets none. As AdaptedProducts::use().
  Status use_adapters(std::span<const ScaledAdapter> adapters) { return adapters_.use(adapters); }

  // Runs the next tokens of one or more texts through the layers, each weight once for all of them, and adds them to the memories of the
  // texts. A text has 1 token or more, and all together have at most kForwardTokens. Each cache must have the layers of the model, and the
  // states their sizes, all with the same number of tokens. Checks first: weight_missing if the weights are not finished, cache_geometry
  // (also: two texts have the same memory), sequence_out_of_range, token_count_out_of_range, token_out_of_range. May then fail with
  // out_of_memory, hidden_not_finite or a status of KvCache::append(). On failure the memories have the tokens they had before, as after a
  // failed append(), and there are no hidden states. What is computed for a text doesn't depend on the others.
  Status run(const Weights& weights, std::span<const TextTokens> texts);
  // The same for one text.
  Status run(const Weights& weights, const TextMemory& memory, const int* tokens, int count) {
    const TextTokens text = {memory, tokens, count};
    return run(weights, {&text, 1});
  }

  // Runs the tokens of whole texts, [texts.tokens()]. Checks first: weight_missing, cache_geometry if the texts don't have the layers of
  // the model, token_count_out_of_range if there are no texts, position_table_too_short, token_out_of_range. May then fail with
  // out_of_memory or a status of WholeTexts. On failure there are no hidden states.
  Status run(const Weights& weights, WholeTexts& texts, const int* tokens);

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
  const float* queries() const { return queries_.data(); }
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
  // The tokens of a text in a run: rows [first, first + count), after `before` tokens in the text's memory.
  struct TextPart {
    TextMemory memory;
    int first, count, before;
  };

  static AttentionOptions attention_options(const Weights& weights, int layer);
  Status check(const Weights& weights, std::span<const TextTokens> texts) const;
  Status check(const Weights& weights, const TextMemory& memory) const;
  Status check(const Weights& weights, const WholeTexts& texts) const;
  bool allocate(const ModelConfig& config, int count);

  Status begin(const Weights& weights, std::span<const TextTokens> texts);
  std::span<const TextPart> parts() const { return {parts_.data(), parts_.size()}; }
  // Begins with tokens_ and either parts_ or whole_texts_.
  Status begin(const Weights& weights);
  Status run_layers();
  bool hidden_are_finite() const;
  void embed();
  void add_row(const WeightMatrix& embedding, int row, int token);
  void run_layer(int layer);
  // Computes attention_out_: the output of attention, of the recurrent mixer, or their sum.
  void mix_tokens(int layer, const float* input);
  void recur(int layer, const float* input, float* out);
  // The rows of each text, with the layer's state before them and the one to be written.
  std::span<const StateRows> state_rows(int layer);
  // Returns the input of a feed-forward block, mixed with that of the token before if the layer does so.
  const float* shifted(int layer, const float* input);
  // Computes queries_, and keys_ and values_ if the layer has its own. Neither is rotated yet.
  void project_heads(int layer, const float* input);
  void attend(int layer, const float* input);
  Status append_heads(const LayerConfig& layer, bool is_read_later, const NewTokens& heads);
  Status attend_heads(const LayerConfig& layer, const HeadTensor& queries, AttentionOptions options);
  void feed_forward(int layer, const float* input);
  // out = down(activation(gate x) · up x) for the `rows` rows of inputs_.
  void run_block(const FeedForwardWeights& w, const LayerConfig& layer, int rows, float* out);
  // Applies the activation to `rows` rows of up_ (and gate_), each of `size` floats.
  void activate_inner(const FeedForwardWeights& w, const LayerConfig& layer, int rows, int size);
  void use_experts(int layer, const float* input);
  void use_shared_expert(int layer, const float* input);
  // Factors of the queries of the newest `count` tokens of a sequence.
  void write_temperatures(const KvCache& cache, int sequence, int count, float* out) const;
  const float* temperatures();
  // out = W_head rows, scaled and capped.
  void project_logits(const Weights& weights, const float* rows, int count, float* out);
  // Returns the normalized rows, in `out`, or `rows` itself if there is no norm.
  const float* normalized(const float* rows, const float* weight, const float* bias, Buffer<float>& out);
  // Returns the rows multiplied by a factor, in scaled_, or `rows` itself if the factor is 1.
  const float* scaled(const float* rows, float factor);
  void normalize_heads(float* rows, int heads, int head_dim, const float* weight) const;
  // Normalizes keys before they are rotated as if it were after: the rotation multiplies their squares, but not epsilon, by the square of
  // the attention factor.
  void normalize_keys_as_rotated(const LayerConfig& layer);
  // Normalizes each of `count` rows of `size` floats in place by one of `weights` weights in turn, if there is a weight.
  void normalize_rows(float* rows, int count, int size, const float* weight, int weights = 1) const;
  void add_to_residual(Buffer<float>& rows, const float* post_norm, const float* bias);
  // Sets the input of the next products: count_ rows of `columns` floats.
  void set(Activations& x, const float* rows, int columns) { x.set(rows, columns, count_, columns); }
  // out = W x + bias, for all products at once.
  void project(Stage stage, Activations& x, std::initializer_list<Product> products);
  Projector projector() { return {kernels_, &status_, &adapters_}; }
  static Product of(const WeightMatrix& w, const float* bias, Buffer<float>& out) { return {&w, bias, out.data(), w.rows}; }
  // Keeps the first failure. The steps after it do nothing.
  void keep_failure(Status status) {
    if (status_ == Status::ok) status_ = status;
  }

  const MatmulKernels* kernels_ = &fastest_matmul_kernels();
  AdaptedProducts adapters_;
  const Weights* weights_ = nullptr;
  const ModelConfig* config_ = nullptr;
  Status status_ = Status::ok;
  int count_ = 0;
  const float* hidden_ = nullptr;
  WholeTexts* whole_texts_ = nullptr;  // texts of this run; null for runs with caches
  Buffer<TextPart> parts_;
  Buffer<int> tokens_;
  int next_layer_ = 0;

  Buffer<float> residual_;  // x, [count][hidden_size]
  Buffer<float> normed_;    // the same shape, as the next two
  Buffer<float> attention_out_, feed_forward_out_;
  Buffer<float> scaled_;              // the same shape, if Multipliers has factors of inputs
  Buffer<float> queries_, attended_;  // [count][heads][head_dim], as the next
  Buffer<float> attention_gates_;
  Buffer<float> keys_, values_;  // [count][kv_heads][head_dim]
  Buffer<float> last_queries_;   // of the last token, as they read the keys: [layers][heads][head_dim]
  Buffer<float> gate_, up_;      // [count, without experts at most kForwardTokens][the largest inner size]
  Activations inputs_, inner_;   // inputs of products: the hidden state, and intermediate results of a layer
  Buffer<float> head_norms_;     // [head_dim]
  Buffer<float> ones_;           // [head_dim]: the weight of norms without one
  Buffer<float> temperatures_;   // [count]
  LatentAttention latent_;
  RecurrentMixer recurrent_;
  RwkvMixer rwkv_;
  Buffer<float> shifted_;  // [count][hidden_size], of feed-forward blocks that mix tokens
  Buffer<StateRows> state_rows_;
  Buffer<float> text_states_;                // of a whole text: before it, all zeros, and after it
  Buffer<float> last_hidden_, last_logits_;  // of the texts of a run
  PerLayer per_layer_;
  Buffer<float> gate_terms_;  // what adapters add to the scores of the shared expert's gate
  Buffer<float> routed_;      // what the router and the experts read, if it has norms of its own
  Buffer<float> expert_in_;   // rows routed to an expert, then its outputs
  Router router_;
};

}  // namespace ropewalk
