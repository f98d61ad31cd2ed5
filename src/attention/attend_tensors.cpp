#include "attention/attend_tensors.h"

#include <algorithm>

#include "rope/tensor_strides.h"

namespace ropewalk {
namespace {

// The positions of one batch row. If each batch row has its own ids, they are copied: with several axes the ids of one row aren't
// contiguous.
Status row_of(const Positions& positions, int row, Buffer<double>& copy, Positions& result) {
  result = positions;
  result.rows = 1;
  if (positions.ids == nullptr || positions.rows == 1) return Status::ok;
  if (!copy.resize(static_cast<std::uint64_t>(positions.axes) * positions.tokens)) return Status::out_of_memory;
  for (int axis = 0; axis < positions.axes; ++axis) {
    for (int token = 0; token < positions.tokens; ++token) copy[axis * positions.tokens + token] = positions.at(axis, row, token);
  }
  result.ids = copy.data();
  return Status::ok;
}

Status check_shapes(const AttentionTensors& t) {
  for (const HeadTensor* tensor : {&t.queries, &t.keys, &t.values}) {
    if (const Status status = check_tensor(*tensor); status != Status::ok) return status;
  }
  const Shape &q = t.queries.shape, &k = t.keys.shape, &v = t.values.shape;
  if (t.queries.dtype != DType::f32) return Status::dtype_unknown;
  const bool are_alike = k.batches == v.batches && k.tokens == v.tokens && k.heads == v.heads && k.head_dim == v.head_dim &&
                         t.keys.dtype == t.values.dtype && t.keys.layout == t.values.layout;
  if (!are_alike) return Status::key_value_shapes_differ;
  if (q.batches != k.batches) return Status::batch_mismatch;
  if (q.head_dim != k.head_dim) return Status::query_shape_out_of_range;
  const auto fit = [&](const Positions& positions, const Shape& shape) {
    return positions.tokens == shape.tokens && (positions.rows == 1 || positions.rows == shape.batches);
  };
  return fit(t.query_positions, q) && fit(t.key_positions, k) ? Status::ok : Status::shape_out_of_range;
}

}  // namespace

Status attend_tensors(Attention& attention, const AttentionTensors& tensors, const AttentionOptions& given) {
  AttentionOptions options = given;
  if (const Status status = check_shapes(tensors); status != Status::ok) return status;
  if (options.position.scheme == PositionScheme::rope) {
    Rope& rope = *options.position.rope;
    const double length = std::max(length_up_to(tensors.query_positions), length_up_to(tensors.key_positions));
    for (const Positions* positions : {&tensors.query_positions, &tensors.key_positions}) {
      if (const Status status = rope.use_positions(*positions, length); status != Status::ok) return status;
    }
    options.logn = rope.plan().logn;
  }
  const TensorStrides q = strides_of(tensors.queries), k = strides_of(tensors.keys);
  constexpr std::int64_t size = sizeof(float);
  Buffer<double> query_ids, key_ids;
  const auto call = [&](int batch, auto act) {  // used twice: to check every row, then to attend
    KeyValues kv;
    kv.type = row_type_of(tensors.keys.dtype);
    kv.heads = tensors.keys.shape.heads;
    kv.head_dim = tensors.keys.shape.head_dim;
    kv.tokens = tensors.keys.shape.tokens;
    kv.head_stride = static_cast<std::ptrdiff_t>(k.head);
    kv.token_stride = static_cast<std::ptrdiff_t>(k.token);
    kv.keys = static_cast<const char*>(tensors.keys.source) + static_cast<std::size_t>(batch * k.batch);
    kv.values = static_cast<const char*>(tensors.values.source) + static_cast<std::size_t>(batch * k.batch);
    Positions query_positions;
    if (const Status status = row_of(tensors.key_positions, batch, key_ids, kv.positions); status != Status::ok) return status;
    if (const Status status = row_of(tensors.query_positions, batch, query_ids, query_positions); status != Status::ok) return status;
    const std::size_t start = static_cast<std::size_t>(batch * q.batch / size);
    const Queries queries = {static_cast<const float*>(tensors.queries.source) + start,
                             static_cast<float*>(tensors.queries.target) + start,
                             static_cast<std::ptrdiff_t>(q.token / size),
                             static_cast<std::ptrdiff_t>(q.head / size),
                             tensors.queries.shape.tokens,
                             tensors.queries.shape.heads};
    return act(kv, queries, query_positions, options);
  };
  for (int batch = 0; batch < tensors.queries.shape.batches; ++batch) {
    if (const Status status = call(batch, check_attention); status != Status::ok) return status;
  }
  for (int batch = 0; batch < tensors.queries.shape.batches; ++batch) {
    const auto attend = [&](const auto&... arguments) { return attention.attend(arguments...); };
    if (const Status status = call(batch, attend); status != Status::ok) return status;
  }
  return Status::ok;
}

}  // namespace ropewalk
