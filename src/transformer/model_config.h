// What a decoder-only transformer is, in numbers: everything in which the architectures differ. Their names are not known here.
#pragma once

#include <cmath>
#include <limits>

#include "attention/attention_types.h"
#include "transformer/activation.h"
#include "transformer/normalize.h"

namespace ropewalk {

// What queries and keys are normalized over before they are turned.
//   none
//   head        each head of head_dim, by one weight for all heads      Qwen3, Gemma 3
//   each_head   each head of head_dim, by a weight of its own           StableLM 2
//   all_heads   all heads of a token together                           OLMo 2
enum class QueryKeyNorm : int { none, head, each_head, all_heads };

struct ModelConfig {
  int layers = 0;
  int vocabulary_size = 0;
  int hidden_size = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int feed_forward_size = 0;  // of an expert, in layers of experts

  Norm norm;
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  Activation activation = Activation::silu;
  bool is_gated = true;      // down(activation(gate x) · up x), else down(activation(up x))
  bool is_parallel = false;  // attention and feed-forward read the same input: x + attention(norm x) + feed_forward(norm x)

  double attention_scale = std::numeric_limits<double>::quiet_NaN();  // NaN: the rope's, or 1/sqrt(head_dim)
  double attention_soft_cap = 0;                                      // 0: none, as AttentionOptions::soft_cap
  float embedding_scale = 1;
  float residual_scale = 1;
  float logit_scale = 1;
  float logit_soft_cap = 0;

  int experts = 0;
  int experts_used = 0;             // of each token
  bool normalizes_experts = false;  // the weights of those used are made to sum to 1
};

struct LayerConfig {
  int window = kNoWindow;  // as AttentionOptions::window
  bool has_experts = false;
};

// Limits that keep every size inside 32 bits with room.
constexpr int kMaxLayers = 4096;
constexpr int kMaxWidth = 1 << 20;  // of any vector
constexpr int kMaxVocabulary = 1 << 22;
constexpr int kMaxExperts = 4096;

}  // namespace ropewalk
