#include "transformer/model_config.h"

#include <algorithm>
#include <climits>

#include "recurrence/causal_convolution.h"

namespace ropewalk {
namespace {

bool is_within(int value, int min, int max) { return value >= min && value <= max; }

// What layers of every kind need.
bool is_in_range(const RecurrenceConfig& r) {
  return is_within(r.kernel, 1, kMaxTaps) && is_within(r.inner, 1, kMaxWidth / 4) && is_within(r.heads, 1, r.inner) &&
         r.inner % r.heads == 0 && is_within(r.key_heads, 1, r.heads) && r.heads % r.key_heads == 0 &&
         is_within(r.key_size, 0, kMaxHeadDim) && r.key_heads <= kMaxWidth / 4 / std::max(r.key_size, 1) &&
         is_within(r.step_rank, 0, kMaxWidth / 4) && is_within(r.norm_groups, 1, r.inner) && r.inner % r.norm_groups == 0 &&
         r.least_step <= r.largest_step && r.select_norm_epsilon >= 0 && is_within(r.decay_rank, 0, kMaxWidth / 4) &&
         is_within(r.rate_rank, 0, kMaxWidth / 4) && is_within(r.share_rank, 0, kMaxWidth / 4) &&
         is_within(r.gate_rank, 0, kMaxWidth / 4) && r.removal_epsilon >= 0 && r.head_norm_epsilon >= 0;
}

bool fits(const RecurrenceConfig& r, const ModelConfig& c, Recurrence kind) {
  const bool has_heads = kind == Recurrence::delta || kind == Recurrence::mamba2 || kind == Recurrence::rwkv7;
  if (r.kernel == 0 || (!has_heads && (r.heads != 1 || r.key_heads != 1))) return false;
  if (kind == Recurrence::convolution) return r.inner == c.hidden_size;
  if (kind == Recurrence::rwkv7) {
    const bool has_ranks = r.decay_rank > 0 && r.rate_rank > 0 && r.share_rank > 0 && r.gate_rank > 0;
    return r.kernel == 2 && r.key_heads == r.heads && r.key_size == value_size(r) && has_ranks;
  }
  return r.key_size > 0 && (kind != Recurrence::mamba || r.step_rank > 0);
}

}  // namespace

Status check_config(const ModelConfig& c) {
  if (!is_within(c.layers, 1, kMaxLayers) || !is_within(c.vocabulary_size, 1, kMaxVocabulary)) return Status::model_shape_out_of_range;
  if (!is_within(c.hidden_size, 1, kMaxWidth) || !is_within(c.feed_forward_size, 1, kMaxWidth)) return Status::model_shape_out_of_range;
  if (!is_within(c.head_dim, 1, kMaxHeadDim)) return Status::head_dim_out_of_range;
  if (!is_within(c.heads, 1, kMaxWidth / c.head_dim)) return Status::query_shape_out_of_range;
  if (c.kv_heads < 1 || c.heads % c.kv_heads != 0) return Status::heads_not_grouped;
  if (c.activation == Activation::xielu && (c.is_gated || c.experts > 0)) return Status::model_shape_out_of_range;
  if (!is_within(c.experts, 0, kMaxExperts)) return Status::model_shape_out_of_range;
  if (!is_within(c.shared_expert_size, 0, c.experts > 0 ? kMaxWidth : 0)) return Status::model_shape_out_of_range;
  if (c.experts > 0 && (!is_within(c.routing.used, 1, c.experts) || !is_within(c.expert_size, 1, kMaxWidth)))
    return Status::model_shape_out_of_range;
  if (c.experts > 0 && (c.expert_size > INT_MAX / c.experts || c.hidden_size > INT_MAX / c.experts))
    return Status::model_shape_out_of_range;
  const Routing& r = c.routing;
  if (c.experts > 0 && (r.groups < 1 || c.experts % r.groups != 0 || !is_within(r.groups_used, 1, r.groups) ||
                        !is_within(r.group_best, 1, c.experts / r.groups) || r.used > c.experts / r.groups * r.groups_used ||
                        !(r.least_sum > 0 && r.least_sum < 1e30f)))
    return Status::model_shape_out_of_range;
  const LatentConfig& latent = c.latent;
  for (const int size : {latent.latent, latent.rotated, latent.plain, latent.value, latent.query}) {
    if (!is_within(size, 0, kMaxHeadDim)) return Status::model_shape_out_of_range;
  }
  if (c.latent.latent > 0 && (c.head_dim != row_size(latent) || c.kv_heads != 1 || latent.plain < 1 || latent.value < 1 ||
                              c.heads > kMaxWidth / (latent.plain + latent.rotated) || c.heads > kMaxWidth / latent.value))
    return Status::model_shape_out_of_range;
  if (c.latent.latent > 0 && c.attention_gate != AttentionGate::none) return Status::model_shape_out_of_range;  // it would gate latents
  if (c.recurrence.kernel != 0 && !is_in_range(c.recurrence)) return Status::model_shape_out_of_range;
  const PerLayerConfig& p = c.per_layer;
  if (!is_within(p.size, 0, kMaxWidth / c.layers) || !is_within(p.vocabulary_size, 0, p.size > 0 ? kMaxVocabulary : 0) ||
      !is_within(p.streams, 0, kMaxStreams) || !is_within(p.laurel, 0, kMaxWidth) ||
      !is_within(p.active_stream, 0, p.streams > 0 ? p.streams - 1 : 0) || (p.streams > 0 && p.size == 0))
    return Status::model_shape_out_of_range;
  if (!is_within(c.positions, 0, kMaxVocabulary) || !is_within(c.token_types, 0, kMaxVocabulary)) return Status::model_shape_out_of_range;
  if (c.relative_buckets != 0) {
    const bool fits_vector = is_within(c.relative_buckets, 1, kMaxWidth / c.heads);
    if (c.is_causal || !fits_vector || check_t5(relative_rule(c)) != Status::ok) return Status::model_shape_out_of_range;
  }
  if (c.projects_tokens && (c.dense[0].size == 0 || c.dense[0].activates)) return Status::model_shape_out_of_range;
  for (const DenseConfig& dense : c.dense) {
    if (!is_within(dense.size, 0, kMaxWidth) || dense.activation == Activation::xielu) return Status::model_shape_out_of_range;
  }
  return Status::ok;
}

Status resolve_layer(const ModelConfig& c, const LayerConfig* before, int index, int& cache_layers, LayerConfig& l) {
  if (l.window < 1 || l.chunk < 0) return Status::window_out_of_range;
  if (l.has_experts && c.experts == 0) return Status::model_shape_out_of_range;
  if (!l.has_feed_forward && l.has_experts) return Status::model_shape_out_of_range;
  const bool has_both = l.has_feed_forward && mixes_tokens(l), has_either = l.has_feed_forward || mixes_tokens(l);
  if (!has_either || (!has_both && (c.is_parallel || c.per_layer.size > 0))) return Status::model_shape_out_of_range;
  if (l.has_unit_heads && c.query_key_norm != QueryKeyNorm::none) return Status::model_shape_out_of_range;
  if (l.head_dim == 0) l.head_dim = c.head_dim;
  if (l.kv_heads == 0) l.kv_heads = c.kv_heads;
  if (l.feed_forward_size == 0) l.feed_forward_size = c.feed_forward_size;
  // the model's sizes are the largest
  if (!is_within(l.head_dim, 1, c.head_dim) || !is_within(l.feed_forward_size, 1, c.feed_forward_size))
    return Status::model_shape_out_of_range;
  if (!is_within(l.kv_heads, 1, c.kv_heads) || c.heads % l.kv_heads != 0) return Status::heads_not_grouped;
  if (c.latent.latent > 0 && (l.head_dim != c.head_dim || l.keys_of != kOwnKeys)) return Status::model_shape_out_of_range;
  if (l.recurrence != Recurrence::none) {
    const bool is_known = is_within(static_cast<int>(l.recurrence), 0, static_cast<int>(Recurrence::rwkv7));
    if (!is_known || !fits(c.recurrence, c, l.recurrence)) return Status::model_shape_out_of_range;
  }
  const auto has_values = [](const LayerConfig& other) { return other.recurrence == Recurrence::rwkv7; };
  l.shares_values = has_values(l) && std::any_of(before, before + index, has_values);
  if (!l.has_attention) {
    l.cache_layer = kNoCacheLayer;
    return Status::ok;
  }
  if (l.keys_of == kOwnKeys) {
    l.cache_layer = cache_layers++;
    return Status::ok;
  }
  if (!is_within(l.keys_of, 0, index - 1)) return Status::layer_out_of_range;
  if (c.query_key_norm == QueryKeyNorm::rotated) return Status::model_shape_out_of_range;  // its queries need the norm of the keys
  const LayerConfig& source = before[l.keys_of];
  if (!source.has_attention || source.keys_of != kOwnKeys || source.head_dim != l.head_dim || source.kv_heads != l.kv_heads)
    return Status::model_shape_out_of_range;
  l.cache_layer = source.cache_layer;
  return Status::ok;
}

}  // namespace ropewalk
