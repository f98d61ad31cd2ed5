// Configuration of a transformer, a decoder or an encoder: the numbers in which architectures differ, without their names.
#pragma once

#include <array>
#include <limits>

#include "attention/attention_types.h"
#include "rope/plan.h"
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

// What multiplies the outputs of heads: the sigmoid of a product of the layer's input, with a number for each element or for each head.
//   elements   Qwen3-Next, Qwen3.5
//   heads      LFM3
enum class AttentionGate : int { none, elements, heads };

// What a recurrent layer does between its projections, instead of attention or beside it. x is its input, the hidden states after a norm; *
// multiplies elements.
//   convolution   [b | c | u] = W_in x;  out = c * conv(b * u)                                                    LFM2, LFM3
//   delta         [q | k | v] = silu(conv(W_in x));  o = the gated delta rule;  out = norm(o) * silu(W_gate x)    Qwen3-Next, Qwen3.5
//   mamba2        [u | B | C] = silu(conv(W_in x));  y = scan + D u;  out = norm(y * silu(W_gate x))              arXiv:2405.21060
//   mamba         u = silu(conv(W_in x));  [Δ | B | C] = W_select u;  out = (scan + D u) * silu(W_gate x)         arXiv:2312.00752
//   rwkv7         q, w, k, v, a, g of x mixed with the previous x;  out = (norm(scan) + (q · ρ k) v) * g              arXiv:2503.14456
// The scans are in src/recurrence/.
enum class Recurrence : int { none, convolution, delta, mamba2, mamba, rwkv7 };

// How the score of an expert becomes its weight: by the softmax over all scores, or each by its own sigmoid.
enum class ExpertWeight : int { softmax, sigmoid };

// Linear maps of the vector of a text, one after another.
constexpr int kMaxDense = 3;
struct DenseConfig;
using DenseConfigs = std::array<DenseConfig, kMaxDense>;

constexpr int kOwnKeys = -1, kNoCacheLayer = -1;
constexpr float kAllElements = -std::numeric_limits<float>::infinity();

#include "base/fields.h"
#include "transformer/model_fields.def"

// Elements of a token's row in the cache with latent attention.
inline int row_size(const LatentConfig& latent) { return latent.rotated + latent.latent; }

// The buckets of relative_buckets, half of them for later keys.
inline T5Buckets relative_rule(const ModelConfig& c) { return {c.relative_buckets, c.relative_max_distance, true}; }

// Gates of a token in a layer with heads of `head_dim` elements.
inline int gate_size(AttentionGate gate, int heads, int head_dim) {
  return gate == AttentionGate::none ? 0 : gate == AttentionGate::heads ? heads : heads * head_dim;
}

// Elements of a value of one head.
inline int value_size(const RecurrenceConfig& c) { return c.heads > 0 ? c.inner / c.heads : 0; }

// Channels of the convolution.
inline int convolution_channels(const RecurrenceConfig& c, Recurrence kind) {
  return kind == Recurrence::delta || kind == Recurrence::mamba2 ? c.inner + 2 * c.key_heads * c.key_size : c.inner;
}

// Whether tokens see others. False: a layer with feed-forward alone, not in parallel layers, and not with PerLayerConfig.
inline bool mixes_tokens(const LayerConfig& layer) { return layer.has_attention || layer.recurrence != Recurrence::none; }

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
