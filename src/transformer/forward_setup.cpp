// What a run checks and allocates before it starts.
#include <algorithm>

#include "transformer/forward.h"

namespace ropewalk {

Status Forward::check(const Weights& weights, std::span<const TextTokens> texts) const {
  if (!weights.is_finished()) return Status::weight_missing;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const TextMemory& memory = texts[i].memory;
    if (const Status status = check(weights, memory); status != Status::ok) return status;
    for (const TextTokens& other : texts.first(i)) {
      const bool is_same = other.memory.cache == memory.cache && other.memory.sequence == memory.sequence;
      if (is_same || (memory.states != nullptr && other.memory.states == memory.states)) return Status::cache_geometry;
    }
    if (texts[i].count < 1) return Status::token_count_out_of_range;
    count += texts[i].count;
  }
  return count < 1 || count > kForwardTokens ? Status::token_count_out_of_range : Status::ok;
}

Status Forward::check(const Weights& weights, const TextMemory& memory) const {
  const ModelConfig& c = weights.config();
  const KvCache& cache = *memory.cache;
  const RecurrentState* states = memory.states;
  const KvGeometry& geometry = cache.geometry();
  if (geometry.layers() != weights.cache_layers()) return Status::cache_geometry;
  for (int i = 0; i < c.layers; ++i) {
    const LayerConfig& l = weights.layer_config(i);
    if (l.recurrence != Recurrence::none) {
      if (states == nullptr || states->layers() != c.layers || states->size(i) != weights.state_size(i)) return Status::cache_geometry;
    }
    if (!l.has_attention) continue;
    const KvGeometry::Layer& shape = geometry.layer(l.cache_layer);
    if (shape.heads != l.kv_heads || shape.head_dim != l.head_dim || shape.has_values() != (c.latent.latent == 0))
      return Status::cache_geometry;
  }
  if (memory.sequence < 0 || memory.sequence >= cache.sequences()) return Status::sequence_out_of_range;
  const KvSequence& cached = cache.sequence(memory.sequence);
  for (int i = 0; i < geometry.layers(); ++i) {
    if (cached.written(i) != cached.tokens()) return Status::cache_geometry;
  }
  return states != nullptr && geometry.layers() > 0 && states->tokens() != cached.tokens() ? Status::cache_geometry : Status::ok;
}

Status Forward::check(const Weights& weights, const WholeTexts& texts) const {
  if (!weights.is_finished()) return Status::weight_missing;
  const ModelConfig& c = weights.config();
  const std::span<const KvLayer> layers = texts.layers();
  int own = 0;
  for (int i = 0; i < c.layers; ++i) {
    const LayerConfig& l = weights.layer_config(i);
    if (!l.has_attention) continue;
    own = std::max(own, l.cache_layer + 1);
    if (l.cache_layer >= static_cast<int>(layers.size())) return Status::cache_geometry;
    const KvLayer& shape = layers[l.cache_layer];
    if (shape.kv_heads != l.kv_heads || shape.head_dim != l.head_dim || shape.has_values != (c.latent.latent == 0))
      return Status::cache_geometry;
  }
  if (own != static_cast<int>(layers.size())) return Status::cache_geometry;
  if (texts.tokens() < 1) return Status::token_count_out_of_range;
  if (c.positions > 0 && texts.longest() > c.positions) return Status::position_table_too_short;
  for (int t = 0; t < texts.tokens(); ++t) {
    if (c.token_types > 0 && (texts.type(t) < 0 || texts.type(t) >= c.token_types)) return Status::token_out_of_range;
  }
  return Status::ok;
}

bool Forward::allocate(const ModelConfig& c, int count) {
  const auto rows = [count](int size) { return static_cast<std::uint64_t>(count) * size; };
  for (Buffer<float>* buffer : {&residual_, &normed_, &attention_out_, &feed_forward_out_}) {
    if (!buffer->resize(rows(c.hidden_size))) return false;
  }
  for (Buffer<float>* buffer : {&queries_, &attended_}) {
    if (!buffer->resize(rows(c.heads * c.head_dim))) return false;
  }
  for (Buffer<float>* buffer : {&keys_, &values_}) {
    if (!buffer->resize(rows(c.kv_heads * c.head_dim))) return false;
  }
  if (!last_queries_.resize(static_cast<std::uint64_t>(c.layers) * c.heads * c.head_dim)) return false;
  const int inner_rows = c.experts > 0 ? count : std::min(count, kForwardTokens);
  for (Buffer<float>* buffer : {&gate_, &up_}) {
    const int size = std::max({c.feed_forward_size, c.expert_size, c.shared_expert_size});
    if (!buffer->resize(static_cast<std::uint64_t>(inner_rows) * size)) return false;
  }
  if (!head_norms_.resize(c.head_dim) || !ones_.resize(c.head_dim) || !temperatures_.resize(count)) return false;
  std::fill_n(ones_.data(), c.head_dim, 1.0f);
  if (c.gates_attention && !attention_gates_.resize(rows(c.heads * c.head_dim))) return false;
  bool has_rwkv = false, has_recurrence = false;
  for (int i = 0; i < c.layers; ++i) {
    const LayerConfig& l = weights_->layer_config(i);
    has_rwkv |= l.recurrence == Recurrence::rwkv7;
    has_recurrence |= l.recurrence != Recurrence::none && l.recurrence != Recurrence::rwkv7;
  }
  if (has_recurrence && !recurrent_.allocate(c, count)) return false;
  if (has_rwkv && !(rwkv_.allocate(c, count) && shifted_.resize(rows(c.hidden_size)))) return false;
  const bool scales_inputs = c.multipliers.attention_in != 1 || c.multipliers.recurrent_in != 1;
  if (scales_inputs && !scaled_.resize(rows(c.hidden_size))) return false;
  if (c.latent.latent > 0 && !latent_.allocate(c, count)) return false;
  if (!per_layer_.allocate(c, count)) return false;
  if (c.shared_expert_size > 0 && !gate_terms_.resize(count)) return false;
  return c.experts == 0 ||
         (expert_in_.resize(rows(c.hidden_size)) && routed_.resize(rows(c.hidden_size)) && router_.resize(c.experts, c.routing, count));
}

}  // namespace ropewalk
