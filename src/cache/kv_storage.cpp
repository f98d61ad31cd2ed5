#include "cache/kv_storage.h"

#include <algorithm>
#include <new>

namespace ropewalk {

Status KvStorage::configure(const KvCacheConfig& config) {
  const bool is_known = config.mode == KeyMode::raw || (config.mode == KeyMode::rotated && config.type != RowType::q4_channel);
  if (!is_known) return Status::cache_mode_unknown;
  if (config.sequences < 1 || config.sequences > kMaxSequences) return Status::cache_sequences_out_of_range;
  if (config.max_tokens < 1 || config.max_tokens > kMaxCacheTokens) return Status::cache_limit_out_of_range;

  const int new_rope_count = static_cast<int>(config.ropes.size());
  std::unique_ptr<Rope[]> new_ropes(new (std::nothrow) Rope[std::max(1, new_rope_count)]);
  std::unique_ptr<KvSequence[]> new_sequences(new (std::nothrow) KvSequence[config.sequences]);
  if (new_ropes == nullptr || new_sequences == nullptr) return Status::out_of_memory;
  int axes = 1, dim = 1, pairs = 1;
  for (int rope = 0; rope < new_rope_count; ++rope) {
    if (const Status status = new_ropes[rope].configure(config.ropes[rope]); status != Status::ok) return status;
    if (new_ropes[rope].plan().position_map && config.mode == KeyMode::rotated) return Status::position_map_needs_raw_keys;
    axes = std::max(axes, new_ropes[rope].plan().axes);
    pairs = std::max(pairs, new_ropes[rope].plan().rotary_dim / 2);
  }
  KvGeometry new_geometry;
  if (const Status status = new_geometry.prepare(config.layers, config.type, axes); status != Status::ok) return status;
  for (const KvLayer& layer : config.layers) {
    if (layer.rope < kNoRope || layer.rope >= new_rope_count) return Status::cache_rope_unknown;
    if (layer.rope != kNoRope && new_ropes[layer.rope].plan().head_dim != layer.head_dim) return Status::head_dim_mismatch;
    dim = std::max(dim, padded_dim(layer.head_dim));
  }
  Buffer<float> new_rows, new_cos, new_sin;
  if (!new_rows.resize(static_cast<std::uint64_t>(kBlockTokens) * dim) ||
      !new_cos.resize(static_cast<std::uint64_t>(kBlockTokens) * pairs) ||
      !new_sin.resize(static_cast<std::uint64_t>(kBlockTokens) * pairs)) {
    return Status::out_of_memory;
  }
  for (int sequence = 0; sequence < config.sequences; ++sequence) {
    if (const Status status = new_sequences[sequence].prepare(new_geometry, new_rope_count); status != Status::ok) return status;
  }

  geometry = std::move(new_geometry);
  for (int sequence = 0; sequence < config.sequences; ++sequence) new_sequences[sequence].use_geometry(geometry);
  mode = config.mode;
  max_tokens = config.max_tokens;
  sequence_count = config.sequences;
  rope_count = new_rope_count;
  ropes = std::move(new_ropes);
  sequences = std::move(new_sequences);
  rows = std::move(new_rows);
  cos = std::move(new_cos);
  sin = std::move(new_sin);
  return Status::ok;
}

bool KvStorage::has_position_map() const {
  return std::any_of(ropes.get(), ropes.get() + rope_count, [](const Rope& rope) { return bool{rope.plan().position_map}; });
}

Status KvStorage::check_sequence(int sequence) const {
  return sequence < 0 || sequence >= sequence_count ? Status::sequence_out_of_range : Status::ok;
}

Status KvStorage::check_layer(int layer, int sequence) const {
  if (layer < 0 || layer >= geometry.layers()) return Status::layer_out_of_range;
  return sequence == kAllSequences ? Status::ok : check_sequence(sequence);
}

}  // namespace ropewalk
