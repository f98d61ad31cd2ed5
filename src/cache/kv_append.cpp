#include "cache/kv_append.h"

#include <algorithm>
#include <cmath>

#include "cache/kv_groups.h"
#include "cache/kv_retune.h"
#include "rope/tensor_strides.h"

namespace ropewalk {
namespace {

// Checks that a tensor has the batches, tokens and layout of the keys; heads and element types may differ.
Status check_same_tokens(const HeadTensor& tensor, const HeadTensor& keys) {
  if (const Status status = check_tensor(tensor); status != Status::ok) return status;
  const bool is_same = tensor.layout == keys.layout && tensor.shape.batches == keys.shape.batches &&
                       tensor.shape.tokens == keys.shape.tokens && tensor.shape.head_dim == keys.shape.head_dim;
  return is_same ? Status::ok : Status::key_value_shapes_differ;
}

// The rows of one head's tokens in a tensor.
StoredRows rows_of(const HeadTensor& tensor, int count) {
  return {static_cast<std::ptrdiff_t>(strides_of(tensor).token), padded_dim(tensor.shape.head_dim), count, tensor.shape.head_dim};
}

const char* row_at(const HeadTensor& tensor, int batch, int token, int head) {
  const TensorStrides strides = strides_of(tensor);
  return static_cast<const char*>(tensor.source) +
         static_cast<std::size_t>(batch * strides.batch + token * strides.token + head * strides.head);
}

// Positions of the new tokens. The first `known` of them already have one, from an earlier layer.
Positions positions_of(const KvSequence& cached, const NewTokens& tokens, int known) {
  if (tokens.has_positions) return tokens.positions;
  return {cached.largest_position() + 1 - known, nullptr, 1, 1, tokens.keys.shape.tokens};
}

// The largest of the new positions of a row.
double largest_added(int axes, const Positions& added, int row) {
  double largest = added.at(0, row, 0);
  for (int token = 0; token < added.tokens; ++token) {
    for (int axis = 0; axis < axes; ++axis) largest = std::max(largest, added.at(axis, row, token));
  }
  return largest;
}

// Sets `plan` to a rope's plan for a length: the current one if it holds, else `made`.
Status find_plan(const Rope& rope, double length, FrequencyPlan& made, const FrequencyPlan*& plan) {
  plan = &rope.plan();
  if (covers(*plan, length)) return Status::ok;
  plan = &made;
  return make_plan(rope.config(), length, made);
}

// Checks the positions of the cached tokens under a plan that replaces theirs.
Status check_cached_positions(int axes, const FrequencyPlan& plan, const KvSequence& cached) {
  for (int index = 0; index < cached.pages(); ++index) {
    const int tokens = std::min(kBlockTokens, cached.tokens() - index * kBlockTokens);
    for (int axis = 0; axis < plan.axes; ++axis) {
      const double* ids = cached.page_positions(index) + (axes == 1 ? 0 : axis) * kBlockTokens;
      if (const Status status = ropewalk::check_positions(plan, {0, ids, 1, 1, tokens}); status != Status::ok) return status;
    }
  }
  return Status::ok;
}

}  // namespace

Status KvAppend::append(int layer, int sequence, const NewTokens& tokens) {
  if (const Status status = storage_.check_layer(layer, sequence); status != Status::ok) return status;
  const SequenceRange range = storage_.range_of(sequence);
  if (const Status status = check(layer, range, tokens); status != Status::ok) return status;

  if (!parts_.resize(range.count)) return Status::out_of_memory;
  for (int row = 0; row < range.count; ++row) {
    if (const Status status = check_part(layer, storage_.sequences[range.first + row], tokens, row, parts_[row]); status != Status::ok)
      return status;
  }
  const Status status = write(layer, range, tokens);
  for (int row = 0; status != Status::ok && row < range.count; ++row) {
    KvSequence& cached = storage_.sequences[range.first + row];
    cached.note_written(layer, parts_[row].written);
    cached.truncate(parts_[row].tokens);
  }
  return status;
}

// On failure some sequences may already be longer; append() truncates them.
Status KvAppend::write(int layer, const SequenceRange& range, const NewTokens& tokens) {
  for (int row = 0; row < range.count; ++row) {
    if (const Status status = reserve(layer, storage_.sequences[range.first + row], tokens, parts_[row]); status != Status::ok)
      return status;
  }
  for (int row = 0; row < range.count; ++row) {
    KvSequence& cached = storage_.sequences[range.first + row];
    if (const Status status = write_tokens(layer, cached, tokens, row); status != Status::ok) return status;
    cached.note_key(parts_[row].largest_key);
    if (!storage_.geometry.closes_groups()) continue;
    close_groups(storage_, cached, layer);
    if (tokens.keys.shape.tokens == 1) cached.drop_open_pages();  // it reads all of them closed
  }
  return Status::ok;
}

// Reserves pages for new tokens that only this sequence holds, and re-rotates the cached keys to the plans of the new length.
Status KvAppend::reserve(int layer, KvSequence& cached, const NewTokens& tokens, const Part& part) {
  const int written = cached.written(layer) + tokens.keys.shape.tokens;
  const bool closes = storage_.geometry.closes_groups();
  if (closes && written > cached.tokens()) cached.drop_open_pages();  // no token reads them any more
  if (const Status status = cached.own_pages(cached.written(layer), written); status != Status::ok) return status;
  if (const Status status = cached.reserve(written); status != Status::ok) return status;
  if (closes) {
    if (const Status status = reserve_groups(cached, layer, written); status != Status::ok) return status;
  }
  if (written <= cached.tokens()) return Status::ok;
  return retune_to_length(storage_, cached, length_up_to(std::max(cached.largest_position(), part.largest_position)));
}

Status KvAppend::check(int layer, const SequenceRange& range, const NewTokens& tokens) const {
  const KvGeometry::Layer& expected = storage_.geometry.layer(layer);
  if (const Status status = check_tensor(tokens.keys); status != Status::ok) return status;
  const Shape& shape = tokens.keys.shape;
  if (shape.batches != range.count) return Status::batch_mismatch;
  if (shape.heads != expected.heads || shape.head_dim != expected.head_dim) return Status::key_value_heads_mismatch;
  if (expected.has_values()) {
    if (const Status status = check_same_tokens(tokens.values, tokens.keys); status != Status::ok) return status;
    if (tokens.values.shape.heads != shape.heads || tokens.values.dtype != tokens.keys.dtype) return Status::key_value_shapes_differ;
  }
  if (tokens.queries.source != nullptr) {
    if (check_same_tokens(tokens.queries, tokens.keys) != Status::ok) return Status::query_shape_out_of_range;
    if (tokens.queries.shape.heads % shape.heads != 0) return Status::heads_not_grouped;
  }
  if (tokens.has_positions) {
    const Positions& given = tokens.positions;
    if (given.tokens != shape.tokens || (given.rows != 1 && given.rows != shape.batches)) return Status::shape_out_of_range;
    if (given.ids != nullptr && given.axes != 1 && given.axes != storage_.geometry.axes()) return Status::positions_axes;
  }
  for (int row = 0; row < range.count; ++row) {
    const KvSequence& cached = storage_.sequences[range.first + row];
    if (cached.written(layer) > storage_.max_tokens - shape.tokens) return Status::cache_full;
    if (const Status status = check_positions_of(layer, cached, tokens, row); status != Status::ok) return status;
  }
  return Status::ok;
}

Status KvAppend::check_positions_of(int layer, const KvSequence& cached, const NewTokens& tokens, int row) const {
  const int count = tokens.keys.shape.tokens, known = std::min(count, cached.tokens() - cached.written(layer));
  if (tokens.has_positions) {
    for (int token = 0; token < known; ++token) {
      for (int axis = 0; axis < storage_.geometry.axes(); ++axis) {
        if (tokens.positions.at(axis, row, token) != cached.position(axis, cached.written(layer) + token))
          return Status::layer_positions_differ;
      }
    }
  }
  if (known == count) return Status::ok;
  const Positions added = positions_of(cached, tokens, known);
  if (const Status status = check_range(added); status != Status::ok) return status;
  if (storage_.has_position_map()) {
    const double start = cached.tokens() == 0 ? added.at(0, row, 0) : cached.position(0, cached.tokens() - 1) + 1 - known;
    if (!run_from(start, added, row)) return Status::position_map_positions;
  }
  const double length = length_up_to(std::max(cached.largest_position(), largest_added(storage_.geometry.axes(), added, row)));
  for (int rope = 0; rope < storage_.rope_count; ++rope) {
    FrequencyPlan made;
    const FrequencyPlan* plan = nullptr;
    if (const Status status = find_plan(storage_.ropes[rope], length, made, plan); status != Status::ok) return status;
    Positions seen = added;
    if (plan->axes == 1 && seen.axes > 1) seen.axes = 1;  // a rope with one axis uses the first
    if (const Status status = ropewalk::check_positions(*plan, seen); status != Status::ok) return status;
    if (covers(*plan, cached.planned_length(rope))) continue;
    if (const Status status = check_cached_positions(storage_.geometry.axes(), *plan, cached); status != Status::ok) return status;
  }
  return Status::ok;
}

// Checks every element, and that keys still fit their storage once rotated at their positions.
Status KvAppend::check_part(int layer, const KvSequence& cached, const NewTokens& tokens, int row, Part& part) {
  const int count = tokens.keys.shape.tokens, rope = storage_.geometry.layer(layer).rope;
  part = {cached.tokens(), cached.written(layer), cached.largest_position(), 0};
  const int known = std::min(count, part.tokens - part.written);
  const Positions added = positions_of(cached, tokens, known);
  for (int token = 0; token < count; ++token) {
    for (int axis = 0; axis < storage_.geometry.axes(); ++axis) {
      const double position = token < known ? cached.position(axis, part.written + token) : added.at(axis, row, token);
      part.largest_position = token + axis == 0 ? position : std::max(part.largest_position, position);
    }
  }

  const float limit = largest_storable(storage_.geometry.type());
  double growth = 1, xpos = 1;
  if (storage_.stores_rotated_keys(layer)) {
    const double length =
        known < count ? length_up_to(std::max(cached.largest_position(), part.largest_position)) : cached.planned_length(rope);
    FrequencyPlan made;
    const FrequencyPlan* plan = nullptr;
    if (const Status status = find_plan(storage_.ropes[rope], length, made, plan); status != Status::ok) return status;
    xpos = xpos_growth(*plan, part.largest_position);
    growth = kRotationGrowth * xpos * std::max(1.0, plan->attention_factor);
  }
  float largest_key = 0, largest_value = 0;
  const float key_limit = static_cast<float>(limit / growth);
  if (const Status status = check_elements(layer, tokens.keys, row, key_limit, Status::key_not_finite, largest_key); status != Status::ok) {
    return status;
  }
  if (storage_.stores_rotated_keys(layer)) part.largest_key = static_cast<float>(largest_key * xpos);
  if (!storage_.geometry.layer(layer).has_values()) return Status::ok;
  return check_elements(layer, tokens.values, row, limit, Status::value_not_finite, largest_value);
}

// Returns `refusal` if an element isn't finite or its magnitude is above `limit`. Updates the largest magnitude.
Status KvAppend::check_elements(int layer, const HeadTensor& tensor, int row, float limit, Status refusal, float& largest) {
  const int dim = padded_dim(storage_.geometry.layer(layer).head_dim);
  for (int head = 0; head < tensor.shape.heads; ++head) {
    for (int token = 0; token < tensor.shape.tokens; token += kBlockTokens) {
      const int count = std::min(kBlockTokens, tensor.shape.tokens - token);
      storage_.kernels->load[static_cast<int>(tensor.dtype)](rows_of(tensor, count), row_at(tensor, row, token, head),
                                                             storage_.rows.data());
      bool fits = true;
      float found = 0;
      for (int i = 0; i < count * dim; ++i) {
        const float magnitude = std::fabs(storage_.rows[i]);
        fits = fits && magnitude <= limit;  // false for NaN
        found = magnitude > found ? magnitude : found;
      }
      if (!fits) return refusal;
      largest = std::max(largest, found);
    }
  }
  return Status::ok;
}

// Sets positions of the new tokens and writes them; their pages are already reserved.
Status KvAppend::write_tokens(int layer, KvSequence& cached, const NewTokens& tokens, int row) {
  const int rope = storage_.geometry.layer(layer).rope;
  if (rope != kNoRope) {
    if (const Status status = storage_.ropes[rope].use_length(cached.planned_length(rope)); status != Status::ok) return status;
  }
  const int first = cached.written(layer), count = tokens.keys.shape.tokens, known = std::min(count, cached.tokens() - first);
  if (known < count) cached.add_tokens(positions_of(cached, tokens, known), row, known);
  for (int token = 0; token < count;) {
    const int step = std::min(count - token, kBlockTokens - (first + token) % kBlockTokens);
    write_piece(layer, cached, tokens, row, token, step);
    token += step;
  }
  cached.note_written(layer, first + count);
  return Status::ok;
}

// Writes new tokens [token, token + count), which share a page.
void KvAppend::write_piece(int layer, KvSequence& cached, const NewTokens& tokens, int row, int token, int count) {
  const KvGeometry::Layer& geometry = storage_.geometry.layer(layer);
  const int slot = cached.written(layer) + token, dim = padded_dim(geometry.head_dim);
  char* page = cached.page(slot / kBlockTokens);
  Rope* rope = geometry.rope == kNoRope ? nullptr : &storage_.ropes[geometry.rope];
  const Positions at = {0, cached.page_positions(slot / kBlockTokens), storage_.geometry.axes(), 1, kBlockTokens};
  const auto use_rows = [&](Role role) {
    rope->write_rows(at, {0, slot % kBlockTokens, count}, {role, false}, storage_.cos.data(), storage_.sin.data());
  };
  const auto store = [&](const HeadTensor& tensor, std::size_t offset, int head, auto rotate_rows) {
    const StoredRows source = rows_of(tensor, count);
    storage_.kernels->load[static_cast<int>(tensor.dtype)](source, row_at(tensor, row, token, head), storage_.rows.data());
    rotate_rows();
    const StoredRows target = {static_cast<std::ptrdiff_t>(geometry.row_bytes), dim, count, geometry.head_dim};
    storage_.kernels->store[static_cast<int>(storage_.geometry.type())](target, storage_.rows.data(),
                                                                        page + offset + geometry.row(head, slot % kBlockTokens));
  };

  if (rope != nullptr) use_rows(Role::key);
  for (int head = 0; head < geometry.heads; ++head) {
    store(tokens.keys, geometry.key_offset, head, [&] {
      if (!storage_.stores_rotated_keys(layer)) return;
      const FrequencyPlan& plan = rope->plan();
      const int pairs = plan.rotary_dim / 2;
      float* span = storage_.rows.data() + plan.rotary_offset;
      const int rotation = static_cast<int>(rotation_of(plan.pairing, false));
      storage_.rotate_kernels->rotate[rotation][0]({span, span, dim, dim, pairs, storage_.cos.data(), storage_.sin.data(), pairs, count});
    });
    if (geometry.has_values()) store(tokens.values, geometry.value_offset, head, [] {});
  }
  if (tokens.queries.source != nullptr && storage_.rotates_queries(layer))
    rotate_piece(*rope, cached, slot, tokens.queries, row, token, count, rope->plan().xpos_scale.empty());
}

// Rotates queries [token, token + count), which share a page, at the positions from `slot` on. `has_rows`: storage_.cos and storage_.sin
// are already those of the positions.
void KvAppend::rotate_piece(Rope& rope, const KvSequence& cached, int slot, const HeadTensor& queries, int row, int token, int count,
                            bool has_rows) {
  const FrequencyPlan& plan = rope.plan();
  if (!has_rows) {
    const Positions at = {0, cached.page_positions(slot / kBlockTokens), storage_.geometry.axes(), 1, kBlockTokens};
    rope.write_rows(at, {0, slot % kBlockTokens, count}, {Role::query, false}, storage_.cos.data(), storage_.sin.data());
  }
  rotate(*storage_.rotate_kernels, rotation_of(plan.pairing, false), queries, {plan.rotary_offset, plan.rotary_dim},
         {storage_.cos.data(), storage_.sin.data()}, {row, 1, token, count});
}

Status KvAppend::rotate_queries(int layer, int sequence, const HeadTensor& queries) {
  if (const Status status = storage_.check_layer(layer, sequence); status != Status::ok) return status;
  if (const Status status = check_tensor(queries); status != Status::ok) return status;
  const SequenceRange range = storage_.range_of(sequence);
  const KvGeometry::Layer& geometry = storage_.geometry.layer(layer);
  if (queries.shape.batches != range.count) return Status::batch_mismatch;
  if (queries.shape.head_dim != geometry.head_dim) return Status::query_shape_out_of_range;
  for (int row = 0; row < range.count; ++row) {
    if (storage_.sequences[range.first + row].written(layer) < queries.shape.tokens) return Status::token_count_out_of_range;
  }
  if (!storage_.rotates_queries(layer)) return Status::ok;
  Rope& rope = storage_.ropes[geometry.rope];
  for (int row = 0; row < range.count; ++row) {
    const KvSequence& cached = storage_.sequences[range.first + row];
    if (const Status status = rope.use_length(cached.planned_length(geometry.rope)); status != Status::ok) return status;
    const int first = cached.written(layer) - queries.shape.tokens;
    for (int token = 0; token < queries.shape.tokens;) {
      const int step = std::min(queries.shape.tokens - token, kBlockTokens - (first + token) % kBlockTokens);
      rotate_piece(rope, cached, first + token, queries, row, token, step, false);
      token += step;
    }
  }
  return Status::ok;
}

}  // namespace ropewalk
