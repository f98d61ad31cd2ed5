// Configuration of a decoder-only transformer: the numbers in which architectures differ, without their names.
#pragma once

#include <cmath>
#include <limits>

#include "attention/attention_types.h"
#include "transformer/activation.h"
#include "transformer/normalize.h"
#include "transformer/router.h"

namespace ropewalk {

// How queries and keys are normalized before they are rotated.
//   none        not at all
//   head        each head of head_dim, one weight for all heads         Qwen3, Gemma 3
//   each_head   each head of head_dim, a separate weight for each       StableLM 2
//   all_heads   all heads of a token together                           OLMo 2
//   rotated     as head, but after they are rotated                     HunYuan
enum class QueryKeyNorm : int { none, head, each_head, all_heads, rotated };

struct ModelConfig {
  int layers = 0;
  int vocabulary_size = 0;
  int hidden_size = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int feed_forward_size = 0;  // of layers without experts

  Norm norm;
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  Activation activation = Activation::silu;
  bool is_gated = true;      // true: down(activation(gate x) · up x); false: down(activation(up x))
  bool is_parallel = false;  // true: attention and feed-forward have the same input, x + attention(norm x) + feed_forward(norm x)

  double attention_scale = std::numeric_limits<double>::quiet_NaN();  // NaN: KvCache::default_scale()
  double attention_soft_cap = 0;                                      // as AttentionOptions::soft_cap; 0: none
  float embedding_scale = 1;
  float residual_scale = 1;
  float logit_scale = 1;
  float logit_soft_cap = 0;

  int experts = 0;
  int expert_size = 0;         // as feed_forward_size, of one expert
  int shared_expert_size = 0;  // of an expert that every token uses besides those it is routed to; 0: none
  Routing routing;
};

struct LayerConfig {
  int window = kNoWindow;  // as AttentionOptions::window
  bool has_experts = false;
};

// Limits that keep all sizes well inside 32 bits.
constexpr int kMaxLayers = 4096;
constexpr int kMaxWidth = 1 << 20;  // of any vector
constexpr int kMaxVocabulary = 1 << 22;
constexpr int kMaxExperts = 4096;

}  // namespace ropewalk
