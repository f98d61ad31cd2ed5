// Configuration of a transformer, a decoder or an encoder: the numbers in which architectures differ, without their names.
#pragma once

#include <cmath>
#include <limits>

#include "attention/attention_types.h"
#include "rope/plan.h"
#include "transformer/router.h"
#include "vectors/activation.h"
#include "vectors/normalize.h"

namespace ropewalk {

// How queries and keys are normalized before they are rotated.
//   none        not at all
//   head        each head of head_dim, one weight for all heads         Qwen3, Gemma 3
//   each_head   each head of head_dim, a separate weight for each       StableLM 2
//   all_heads   all heads of a token together                           OLMo 2
//   rotated     as head, but after they are rotated                     HunYuan
enum class QueryKeyNorm : int { none, head, each_head, all_heads, rotated };

// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434): the cache has one head with a row for each token, [rotated | latent], of
// which keys and values of all heads are linear maps. Sizes in elements; all 0 without it.
struct LatentConfig {
  int latent = 0;   // kv_lora_rank
  int rotated = 0;  // qk_rope_head_dim: of a query, and of the key that all heads share
  int plain = 0;    // qk_nope_head_dim: of a query and a key of one head, not rotated
  int value = 0;    // v_head_dim: of a value of one head
  int query = 0;    // q_lora_rank: of the latent of queries; 0: there is none
  int row() const { return rotated + latent; }
};

// Gemma 3n and 4. Each layer has its own small embedding of each token, and in Gemma 3n several residual streams (AltUp, arXiv:2301.13310).
struct PerLayerConfig {
  int size = 0;             // of a layer's embedding; 0: there are none
  int vocabulary_size = 0;  // tokens that have them; the others have those of token 0
  int streams = 0;          // residual streams; 0: one, without AltUp
  int active_stream = 0;    // the one that layers compute
  int laurel = 0;           // rank of the learned residual; 0: there is none
};

// What a recurrent layer does between its projections, instead of attention or beside it. x is its input, the hidden states after a norm; *
// multiplies elements.
//   convolution   [b | c | u] = W_in x;  out = c * conv(b * u)                                                    LFM2
//   delta         [q | k | v] = silu(conv(W_in x));  o = the gated delta rule;  out = norm(o) * silu(W_gate x)    Qwen3-Next, Qwen3.5
//   mamba2        [u | B | C] = silu(conv(W_in x));  y = scan + D u;  out = norm(y * silu(W_gate x))              arXiv:2405.21060
//   mamba         u = silu(conv(W_in x));  [Δ | B | C] = W_select u;  out = (scan + D u) * silu(W_gate x)         arXiv:2312.00752
//   rwkv7         q, w, k, v, a, g of x mixed with the previous x;  out = (norm(scan) + (q · ρ k) v) * g              arXiv:2503.14456
// The scans are in src/recurrence/.
enum class Recurrence : int { none, convolution, delta, mamba2, mamba, rwkv7 };

// Sizes of all recurrent layers, in elements.
struct RecurrenceConfig {
  int kernel = 0;         // taps of the convolution; 2 for rwkv7, whose tokens are mixed with the previous one
  int inner = 0;          // of a token after the scan: heads · value size
  int heads = 0;          // of values; 1 for convolution and mamba
  int key_heads = 0;      // divides heads; 1 for convolution and mamba, and heads for rwkv7
  int key_size = 0;       // of a key, or of the state of a value (Mamba); rwkv7: inner / heads
  int step_rank = 0;      // mamba: of Δ before its projection to `inner`
  int norm_groups = 1;    // mamba2: parts of `inner` that are normalized apart
  bool is_tiled = false;  // delta: as StateScan::is_tiled
  float least_step = 0;   // mamba2: Δ is at least this
  float largest_step = std::numeric_limits<float>::infinity();
  float select_norm_epsilon = 0;   // mamba: Δ, B and C are normalized if it isn't 0 (Falcon Mamba; Jamba, with weights)
  bool has_norm = true;            // mamba2: false: out = y * silu(W_gate x)
  bool norms_before_gate = false;  // mamba2: true: out = norm(y) * silu(W_gate x)
  int decay_rank = 0;              // rwkv7, as the rest: ranks of the products that give w, a, the share of the first layer's v, and g
  int rate_rank = 0;
  int share_rank = 0;
  int gate_rank = 0;
  float removal_epsilon = 0;    // added to the square of the length of the key that is removed
  float head_norm_epsilon = 0;  // of the norm of a head's outputs
  int value_size() const { return heads > 0 ? inner / heads : 0; }
  // Channels of the convolution.
  int channels(Recurrence kind) const {
    return kind == Recurrence::delta || kind == Recurrence::mamba2 ? inner + 2 * key_heads * key_size : inner;
  }
};

// Factors inside layers, of inputs and of products with their biases (Falcon-H1, arXiv:2507.22448).
struct Multipliers {
  float attention_in = 1;  // of the input of queries, keys and values
  float key = 1;
  float attention_out = 1;
  float gate = 1;
  float down = 1;
  float recurrent_in = 1;     // of the input of a recurrent layer's projections
  float recurrent_gate = 1;   // mamba2, as the next four
  float recurrent_value = 1;  // u
  float recurrent_key = 1;    // B
  float recurrent_query = 1;  // C
  float recurrent_step = 1;   // Δ
  float recurrent_out = 1;
};

// A linear map of the vector of a text, and an activation (text_vectors.h).
struct DenseConfig {
  int size = 0;  // rows; 0: there is none, nor any after it
  bool activates = false;
  Activation activation = Activation::tanh;
};
constexpr int kMaxDense = 3;

struct ModelConfig {
  int layers = 0;
  int vocabulary_size = 0;
  int hidden_size = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;           // with latent attention: latent.row(), and kv_heads is 1
  int feed_forward_size = 0;  // of layers without experts

  Norm norm;
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  Activation activation = Activation::silu;
  bool is_gated = true;  // true: down(activation(gate x) · up x); false: down(activation(up x))
  float gate_slope = 1;  // of clamped_silu, as the next
  float gate_limit = 0;
  bool is_parallel = false;  // true: attention and feed-forward have the same input, x + attention(norm x) + feed_forward(norm x)

  double attention_scale = std::numeric_limits<double>::quiet_NaN();  // NaN: KvCache::default_scale()
  double attention_soft_cap = 0;                                      // as AttentionOptions::soft_cap; 0: none
  float embedding_scale = 1;
  float residual_scale = 1;
  float logit_scale = 1;
  float logit_soft_cap = 0;
  bool normalizes_values = false;  // each head, by its root mean square
  QueryTemperature temperature;    // of layers that have one
  LatentConfig latent;
  Norm latent_norm;
  PerLayerConfig per_layer;
  RecurrenceConfig recurrence;
  Multipliers multipliers;
  bool gates_attention = false;  // outputs of heads are multiplied by the sigmoid of attention_gate's product; not with latent attention

  bool is_causal = true;             // false: a token attends to its whole text, so there is no cache (encoders)
  bool normalizes_residual = false;  // x = norm(x + attention(x)) with the post-norms, and no final norm (BERT)
  int positions = 0;                 // embeddings of positions, added to those of tokens; 0: none
  int token_types = 0;               // the same for types of tokens
  DenseConfig dense[kMaxDense];

  int experts = 0;
  int expert_size = 0;         // as feed_forward_size, of one expert
  int shared_expert_size = 0;  // of an expert that every token uses besides those it is routed to; 0: none
  Routing routing;
};

constexpr int kOwnKeys = -1, kNoCacheLayer = -1;
constexpr float kAllElements = -std::numeric_limits<float>::infinity();

struct LayerConfig {
  int window = kNoWindow;  // as AttentionOptions::window
  bool has_experts = false;
  int chunk = 0;     // as AttentionOptions::chunk
  int head_dim = 0;  // this and the next two: 0 for those of the model
  int kv_heads = 0;
  int feed_forward_size = 0;
  int keys_of = kOwnKeys;        // an earlier layer of the same shape whose keys and values it reads; not with QueryKeyNorm::rotated
  bool values_are_keys = false;  // values are the keys before they are normalized and rotated (Gemma 4)
  bool has_temperature = false;
  bool has_unit_heads = false;  // queries and keys of each head are divided by their root mean square (Llama 4); without QueryKeyNorm
  float gate_deviations = kAllElements;  // as keep_largest()
  Recurrence recurrence = Recurrence::none;
  bool has_feed_forward = true;  // false: not in parallel layers, and not with PerLayerConfig
  bool has_attention = true;     // with a recurrence too, both read the same input, and their outputs are added
  int cache_layer = 0;           // set by Weights::configure(): the layer of the cache with its keys and values, or kNoCacheLayer
  bool shares_values = false;    // set by Weights::configure(): rwkv7 after another such layer, whose v it takes a share of
  // Whether tokens see others. False: a layer with feed-forward alone, not in parallel layers, and not with PerLayerConfig.
  bool mixes_tokens() const { return has_attention || recurrence != Recurrence::none; }
};

// Limits that keep all sizes well inside 32 bits.
constexpr int kMaxLayers = 4096;
constexpr int kMaxWidth = 1 << 20;  // of any vector
constexpr int kMaxVocabulary = 1 << 22;
constexpr int kMaxExperts = 4096;
constexpr int kMaxStreams = 64;

// Whether sizes are within the limits and fit each other. Returns model_shape_out_of_range, head_dim_out_of_range,
// query_shape_out_of_range, heads_not_grouped or ok.
Status check_config(const ModelConfig& config);

// Fills in what a layer has from the model, and checks the rest. `before` are the layers before it.
Status resolve_layer(const ModelConfig& config, const LayerConfig* before, int index, int& cache_layers, LayerConfig& layer);

}  // namespace ropewalk
