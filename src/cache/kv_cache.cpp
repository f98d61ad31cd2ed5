#include "cache/kv_cache.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "rope/tensor_strides.h"

namespace ropewalk {

Status KvCache::configure(const KvCacheConfig& config) {
  if (config.mode != KeyMode::rotated && config.mode != KeyMode::raw) return Status::cache_mode_unknown;
  if (config.sequences < 1 || config.sequences > kMaxSequences) return Status::cache_sequences_out_of_range;
  if (config.max_tokens < 1 || config.max_tokens > kMaxCacheTokens) return Status::cache_limit_out_of_range;

  const int rope_count = static_cast<int>(config.ropes.size());
  std::unique_ptr<Rope[]> ropes(new (std::nothrow) Rope[std::max(1, rope_count)]);
  std::unique_ptr<KvSequence[]> sequences(new (std::nothrow) KvSequence[config.sequences]);
  if (ropes == nullptr || sequences == nullptr) return Status::out_of_memory;
  int axes = 1, dim = 1, pairs = 1;
  for (int rope = 0; rope < rope_count; ++rope) {
    if (const Status status = ropes[rope].configure(config.ropes[rope]); status != Status::ok) return status;
    axes = std::max(axes, ropes[rope].plan().axes);
    pairs = std::max(pairs, ropes[rope].plan().rotary_dim / 2);
  }
  KvGeometry geometry;
  if (const Status status = geometry.prepare(config.layers, config.type, axes); status != Status::ok) return status;
  for (const KvLayer& layer : config.layers) {
    if (layer.rope < kNoRope || layer.rope >= rope_count) return Status::cache_rope_unknown;
    if (layer.rope != kNoRope && ropes[layer.rope].plan().head_dim != layer.head_dim) return Status::head_dim_mismatch;
    dim = std::max(dim, padded_dim(layer.head_dim));
  }
  Buffer<float> rows, cos, sin;
  if (!rows.resize(static_cast<std::uint64_t>(kBlockTokens) * dim) || !cos.resize(static_cast<std::uint64_t>(kBlockTokens) * pairs) ||
      !sin.resize(static_cast<std::uint64_t>(kBlockTokens) * pairs)) {
    return Status::out_of_memory;
  }
  for (int sequence = 0; sequence < config.sequences; ++sequence) {
    if (const Status status = sequences[sequence].prepare(geometry, rope_count); status != Status::ok) return status;
  }

  geometry_ = std::move(geometry);
  for (int sequence = 0; sequence < config.sequences; ++sequence) sequences[sequence].use_geometry(geometry_);
  mode_ = config.mode;
  max_tokens_ = config.max_tokens;
  sequence_count_ = config.sequences;
  rope_count_ = rope_count;
  ropes_ = std::move(ropes);
  sequences_ = std::move(sequences);
  rows_ = std::move(rows);
  cos_ = std::move(cos);
  sin_ = std::move(sin);
  return Status::ok;
}

void KvCache::use_kernels(const AttentionKernels& kernels, const RotateKernels& rotate_kernels) {
  kernels_ = &kernels;
  rotate_kernels_ = &rotate_kernels;
  attention_.use_kernels(kernels, rotate_kernels);
}

double KvCache::bytes() const {
  double bytes = 0;
  for (int sequence = 0; sequence < sequence_count_; ++sequence) bytes += sequences_[sequence].bytes();
  return std::round(bytes);
}

Status KvCache::check_layer(int layer, int sequence) const {
  if (layer < 0 || layer >= geometry_.layers()) return Status::layer_out_of_range;
  return check_sequence(sequence, true);
}

Status KvCache::check_sequence(int sequence, bool may_be_all) const {
  const int first = may_be_all ? kAllSequences : 0;
  return sequence < first || sequence >= sequence_count_ ? Status::sequence_out_of_range : Status::ok;
}

KvCache::Range KvCache::range_of(int sequence) const { return sequence == kAllSequences ? Range{0, sequence_count_} : Range{sequence, 1}; }

Status KvCache::truncate(int sequence, int tokens) {
  if (const Status status = check_sequence(sequence, false); status != Status::ok) return status;
  if (tokens < 0 || tokens > sequences_[sequence].tokens()) return Status::token_count_out_of_range;
  sequences_[sequence].truncate(tokens);
  return Status::ok;
}

Status KvCache::copy_prefix(const KvCache& source, int from, int to, int tokens) {
  if (const Status status = source.check_sequence(from, false); status != Status::ok) return status;
  if (const Status status = check_sequence(to, false); status != Status::ok) return status;
  const KvSequence& copied = source.sequences_[from];
  if (tokens < 0 || tokens > copied.tokens()) return Status::token_count_out_of_range;
  if (&copied == &sequences_[to]) return truncate(to, tokens);
  if (&source != this) {
    if (tokens > max_tokens_) return Status::cache_full;
    if (const Status status = check_same_keys(source, copied); status != Status::ok) return status;
  }
  return sequences_[to].copy(copied, tokens);
}

// Checks that the keys of a sequence of another cache would have the same bits in this one.
Status KvCache::check_same_keys(const KvCache& other, const KvSequence& cached) const {
  if (mode_ != other.mode_ || rope_count_ != other.rope_count_ || !geometry_.is_same(other.geometry_)) return Status::plans_differ;
  for (int rope = 0; rope < rope_count_; ++rope) {
    FrequencyPlan own, others;
    const double length = cached.planned_length(rope);
    if (const Status status = make_plan(rope_config(rope), length, own); status != Status::ok) return status;
    if (const Status status = make_plan(other.rope_config(rope), length, others); status != Status::ok) return status;
    if (!rotate_alike(own, others)) return Status::plans_differ;
  }
  return Status::ok;
}

Status KvCache::attend(int layer, int sequence, const HeadTensor& queries, const AttentionOptions& options) {
  if (const Status status = check_layer(layer, sequence); status != Status::ok) return status;
  if (const Status status = check_tensor(queries); status != Status::ok) return status;
  if (queries.dtype != DType::f32) return Status::dtype_unknown;
  const Range range = range_of(sequence);
  if (queries.shape.batches != range.count) return Status::batch_mismatch;
  if (queries.shape.head_dim != geometry_.layer(layer).head_dim) return Status::query_shape_out_of_range;
  if (!positions_.resize(static_cast<std::uint64_t>(geometry_.axes()) * queries.shape.tokens)) return Status::out_of_memory;

  const TensorStrides strides = strides_of(queries);
  constexpr std::int64_t size = sizeof(float);
  const auto call = [&](int row, auto act) {  // used twice: to check every row, then to attend
    KeyValues kv;
    AttentionOptions chosen = options;
    if (const Status status = view(layer, range.first + row, kv, chosen); status != Status::ok) return status;
    const std::size_t start = static_cast<std::size_t>(row * strides.batch / size);
    const Queries q = {static_cast<const float*>(queries.source) + start,
                       static_cast<float*>(queries.target) + start,
                       static_cast<std::ptrdiff_t>(strides.token / size),
                       static_cast<std::ptrdiff_t>(strides.head / size),
                       queries.shape.tokens,
                       queries.shape.heads};
    return act(kv, q, newest_positions(sequences_[range.first + row], kv.tokens, q.tokens), chosen);
  };
  for (int row = 0; row < range.count; ++row) {
    if (const Status status = call(row, check_attention); status != Status::ok) return status;
  }
  for (int row = 0; row < range.count; ++row) {
    const auto attend = [&](const auto&... arguments) { return attention_.attend(arguments...); };
    if (const Status status = call(row, attend); status != Status::ok) return status;
  }
  return Status::ok;
}

Status KvCache::weights(int layer, int sequence, int tokens, const float* query, int heads, const AttentionOptions& options,
                        float* weights) {
  if (const Status status = check_layer(layer, sequence); status != Status::ok) return status;
  if (sequence == kAllSequences) return Status::sequence_out_of_range;
  if (heads < 1 || heads > kMaxQueryHeads) return Status::query_shape_out_of_range;
  if (tokens < 1 || tokens > sequences_[sequence].written(layer)) return Status::query_shape_out_of_range;
  const int head_dim = geometry_.layer(layer).head_dim;
  Buffer<float> attended;
  if (!positions_.resize(geometry_.axes()) || !attended.resize(static_cast<std::uint64_t>(heads) * head_dim)) return Status::out_of_memory;
  KeyValues kv;
  AttentionOptions chosen = options;
  if (const Status status = view(layer, sequence, kv, chosen); status != Status::ok) return status;
  kv.tokens = tokens;
  const Queries q = {query, attended.data(), static_cast<std::ptrdiff_t>(heads) * head_dim, head_dim, 1, heads};
  return attention_.weights(kv, q, newest_positions(sequences_[sequence], kv.tokens, 1), chosen, weights);
}

Status KvCache::view(int layer, int sequence, KeyValues& kv, AttentionOptions& options) {
  const KvSequence& cached = sequences_[sequence];
  const KvGeometry::Layer& geometry = geometry_.layer(layer);
  if (geometry.rope != kNoRope) {
    if (const Status status = ropes_[geometry.rope].use_length(cached.planned_length(geometry.rope)); status != Status::ok) return status;
    options.position = {};
    options.position.scheme = mode_ == KeyMode::raw ? PositionScheme::rope : PositionScheme::none;
    options.position.encodes_queries = false;
    options.position.rope = &ropes_[geometry.rope];
  } else if (options.position.scheme == PositionScheme::rope) {
    return Status::cache_rope_unknown;
  }
  if (std::isnan(options.scale)) {
    if (const Status status = default_scale(layer, sequence, options.scale); status != Status::ok) return status;
  }
  if (options.has_normalized_keys && geometry.rope != kNoRope) options.scale /= ropes_[geometry.rope].plan().attention_factor;
  kv.type = geometry_.type();
  kv.heads = geometry.heads;
  kv.head_dim = geometry.head_dim;
  kv.tokens = cached.written(layer);
  kv.token_stride = static_cast<std::ptrdiff_t>(geometry.row_bytes);
  kv.head_stride = kv.token_stride * kBlockTokens;
  kv.pages = cached.page_list();
  kv.key_offset = geometry.key_offset;
  kv.value_offset = geometry.value_offset;
  kv.axes = geometry_.axes();
  return Status::ok;
}

Positions KvCache::newest_positions(const KvSequence& cached, int written, int count) {
  const int axes = geometry_.axes();
  for (int token = 0; token < count; ++token) {
    const int slot = written - count + token;
    for (int axis = 0; axis < axes; ++axis) positions_[axis * count + token] = slot < 0 ? 0 : cached.position(axis, slot);
  }
  return Positions{0, positions_.data(), axes, 1, count};
}

Status KvCache::default_scale(int layer, int sequence, double& scale) {
  if (const Status status = check_layer(layer, sequence); status != Status::ok) return status;
  const KvGeometry::Layer& geometry = geometry_.layer(layer);
  if (geometry.rope == kNoRope) {
    scale = 1 / std::sqrt(static_cast<double>(geometry.head_dim));
    return Status::ok;
  }
  Rope& rope = ropes_[geometry.rope];
  if (const Status status = rope.use_length(sequences_[std::max(0, sequence)].planned_length(geometry.rope)); status != Status::ok)
    return status;
  scale = rope.plan().softmax_scale;
  return Status::ok;
}

double KvCache::attention_factor(int layer, int sequence) {
  const int rope = geometry_.layer(layer).rope;
  if (rope == kNoRope) return 1;
  const bool has_plan = ropes_[rope].use_length(std::max(1.0, sequences_[sequence].planned_length(rope))) == Status::ok;
  return has_plan ? ropes_[rope].plan().attention_factor : 1;
}

Status KvCache::read(int layer, int sequence, int first, int count, float* keys, float* values) const {
  if (const Status status = check_layer(layer, sequence); status != Status::ok) return status;
  if (sequence == kAllSequences) return Status::sequence_out_of_range;
  const KvSequence& cached = sequences_[sequence];
  if (first < 0 || count < 0 || first > cached.written(layer) - count) return Status::token_count_out_of_range;
  const KvGeometry::Layer& geometry = geometry_.layer(layer);
  Buffer<float> row;
  if (!row.resize(padded_dim(geometry.head_dim))) return Status::out_of_memory;
  const StoredRows one = {0, 0, 1, geometry.head_dim};
  const auto copy = [&](const char* stored, float* target) {
    kernels_->load[static_cast<int>(geometry_.type())](one, stored, row.data());
    std::copy_n(row.data(), geometry.head_dim, target);
  };
  for (int token = 0; token < count; ++token) {
    const char* page = cached.page((first + token) / kBlockTokens);
    for (int head = 0; head < geometry.heads; ++head, keys += geometry.head_dim, values += geometry.head_dim) {
      const std::size_t at = geometry.row(head, (first + token) % kBlockTokens);
      copy(page + geometry.key_offset + at, keys);
      copy(page + geometry.value_offset + at, values);
    }
  }
  return Status::ok;
}

}  // namespace ropewalk
