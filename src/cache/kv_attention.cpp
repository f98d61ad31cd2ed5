#include "cache/kv_attention.h"

#include <algorithm>
#include <cmath>

#include "rope/tensor_strides.h"

namespace ropewalk {

Status KvAttention::attend(int layer, int sequence, const HeadTensor& queries, const AttentionOptions& options) {
  if (const Status status = storage_.check_layer(layer, sequence); status != Status::ok) return status;
  if (const Status status = check_tensor(queries); status != Status::ok) return status;
  if (queries.dtype != DType::f32) return Status::dtype_unknown;
  const SequenceRange range = storage_.range_of(sequence);
  if (queries.shape.batches != range.count) return Status::batch_mismatch;
  if (queries.shape.head_dim != storage_.geometry.layer(layer).head_dim) return Status::query_shape_out_of_range;
  if (!positions_.resize(static_cast<std::uint64_t>(storage_.geometry.axes()) * queries.shape.tokens)) return Status::out_of_memory;

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
    return act(kv, q, newest_positions(storage_.sequences[range.first + row], kv.tokens, q.tokens), chosen);
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

Status KvAttention::weights(int layer, int sequence, int tokens, const float* query, int heads, const AttentionOptions& options,
                            float* weights) {
  if (const Status status = storage_.check_layer(layer, sequence); status != Status::ok) return status;
  if (sequence == kAllSequences) return Status::sequence_out_of_range;
  if (heads < 1 || heads > kMaxQueryHeads) return Status::query_shape_out_of_range;
  if (tokens < 1 || tokens > storage_.sequences[sequence].written(layer)) return Status::query_shape_out_of_range;
  const int head_dim = storage_.geometry.layer(layer).head_dim;
  Buffer<float> attended;
  if (!positions_.resize(storage_.geometry.axes()) || !attended.resize(static_cast<std::uint64_t>(heads) * head_dim))
    return Status::out_of_memory;
  KeyValues kv;
  AttentionOptions chosen = options;
  if (const Status status = view(layer, sequence, kv, chosen); status != Status::ok) return status;
  kv.tokens = tokens;
  const Queries q = {query, attended.data(), static_cast<std::ptrdiff_t>(heads) * head_dim, head_dim, 1, heads};
  return attention_.weights(kv, q, newest_positions(storage_.sequences[sequence], kv.tokens, 1), chosen, weights);
}

Status KvAttention::view(int layer, int sequence, KeyValues& kv, AttentionOptions& options) {
  const KvSequence& cached = storage_.sequences[sequence];
  const KvGeometry::Layer& geometry = storage_.geometry.layer(layer);
  if (geometry.rope != kNoRope) {
    if (const Status status = storage_.ropes[geometry.rope].use_length(cached.planned_length(geometry.rope)); status != Status::ok)
      return status;
    options.position = {};
    options.position.scheme = storage_.mode == KeyMode::raw ? PositionScheme::rope : PositionScheme::none;
    options.position.encodes_queries = !storage_.rotates_queries(layer);
    options.position.rope = &storage_.ropes[geometry.rope];
    options.logn = storage_.ropes[geometry.rope].plan().logn;
  } else if (options.position.scheme == PositionScheme::rope) {
    return Status::cache_rope_unknown;
  }
  if (std::isnan(options.scale)) {
    if (const Status status = default_scale(layer, sequence, options.scale); status != Status::ok) return status;
  }
  if (options.has_normalized_keys && geometry.rope != kNoRope) options.scale /= storage_.ropes[geometry.rope].plan().attention_factor;
  kv.type = storage_.geometry.type();
  kv.heads = geometry.heads;
  kv.head_dim = geometry.head_dim;
  kv.tokens = cached.written(layer);
  kv.token_stride = static_cast<std::ptrdiff_t>(geometry.row_bytes);
  kv.head_stride = kv.token_stride * kBlockTokens;
  kv.pages = cached.page_list();
  kv.key_offset = geometry.key_offset;
  kv.value_offset = geometry.value_offset;
  kv.axes = storage_.geometry.axes();
  if (storage_.geometry.closes_groups()) {
    kv.closed.pages = cached.closed_page_list();
    kv.closed.count = cached.closed(layer);
    kv.closed.has_first = cached.has_first();
    std::copy_n(geometry.closed_start, 2, kv.closed.start);
    std::copy_n(geometry.first_start, 2, kv.closed.first_start);
  }
  return Status::ok;
}

Positions KvAttention::newest_positions(const KvSequence& cached, int written, int count) {
  const int axes = storage_.geometry.axes();
  for (int token = 0; token < count; ++token) {
    const int slot = written - count + token;
    for (int axis = 0; axis < axes; ++axis) positions_[axis * count + token] = slot < 0 ? 0 : cached.position(axis, slot);
  }
  return Positions{0, positions_.data(), axes, 1, count};
}

Status KvAttention::default_scale(int layer, int sequence, double& scale) {
  if (const Status status = storage_.check_layer(layer, sequence); status != Status::ok) return status;
  const KvGeometry::Layer& geometry = storage_.geometry.layer(layer);
  if (geometry.rope == kNoRope) {
    scale = 1 / std::sqrt(static_cast<double>(geometry.head_dim));
    return Status::ok;
  }
  Rope& rope = storage_.ropes[geometry.rope];
  if (const Status status = rope.use_length(storage_.sequences[std::max(0, sequence)].planned_length(geometry.rope)); status != Status::ok)
    return status;
  scale = rope.plan().softmax_scale;
  return Status::ok;
}

double KvAttention::attention_factor(int layer, int sequence) {
  const int rope = storage_.geometry.layer(layer).rope;
  if (rope == kNoRope) return 1;
  const bool has_plan = storage_.ropes[rope].use_length(std::max(1.0, storage_.sequences[sequence].planned_length(rope))) == Status::ok;
  return has_plan ? storage_.ropes[rope].plan().attention_factor : 1;
}

}  // namespace ropewalk
