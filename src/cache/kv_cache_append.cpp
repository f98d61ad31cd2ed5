// KvCache::append(): checks new tokens, sets their positions, rotates them and stores them.
#include <algorithm>
#include <cmath>

#include "cache/kv_cache.h"
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

}  // namespace

Status KvCache::append(int layer, int sequence, const NewTokens& tokens) {
  if (const Status status = check_layer(layer, sequence); status != Status::ok) return status;
  const Range range = range_of(sequence);
  if (const Status status = check_append(layer, range, tokens); status != Status::ok) return status;

  if (!parts_.resize(range.count)) return Status::out_of_memory;
  for (int row = 0; row < range.count; ++row) {
    if (const Status status = check_part(layer, sequences_[range.first + row], tokens, row, parts_[row]); status != Status::ok)
      return status;
  }
  const Status status = write_parts(layer, range, tokens);
  for (int row = 0; status != Status::ok && row < range.count; ++row) {
    KvSequence& cached = sequences_[range.first + row];
    cached.note_written(layer, parts_[row].written);
    cached.truncate(parts_[row].tokens);
  }
  return status;
}

// On failure some sequences may already be longer; append() truncates them.
Status KvCache::write_parts(int layer, const Range& range, const NewTokens& tokens) {
  for (int row = 0; row < range.count; ++row) {
    if (const Status status = reserve(layer, sequences_[range.first + row], tokens, parts_[row]); status != Status::ok) return status;
  }
  for (int row = 0; row < range.count; ++row) {
    KvSequence& cached = sequences_[range.first + row];
    if (const Status status = write_tokens(layer, cached, tokens, row); status != Status::ok) return status;
    cached.note_key(parts_[row].largest_key);
  }
  return Status::ok;
}

// Reserves pages for new tokens that only this sequence holds, and re-rotates the cached keys to the plans of the new length.
Status KvCache::reserve(int layer, KvSequence& cached, const NewTokens& tokens, const Part& part) {
  const int written = cached.written(layer) + tokens.keys.shape.tokens;
  if (const Status status = cached.own_pages(cached.written(layer), written); status != Status::ok) return status;
  if (written <= cached.tokens()) return Status::ok;
  if (const Status status = cached.reserve(written); status != Status::ok) return status;
  return plan_for(cached, length_up_to(std::max(cached.largest_position(), part.largest_position)));
}

Status KvCache::check_append(int layer, const Range& range, const NewTokens& tokens) const {
  const KvGeometry::Layer& expected = geometry_.layer(layer);
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
    if (given.ids != nullptr && given.axes != 1 && given.axes != geometry_.axes()) return Status::positions_axes;
  }
  for (int row = 0; row < range.count; ++row) {
    const KvSequence& cached = sequences_[range.first + row];
    if (cached.written(layer) > max_tokens_ - shape.tokens) return Status::cache_full;
    if (const Status status = check_positions_of(layer, cached, tokens, row); status != Status::ok) return status;
  }
  return Status::ok;
}

Status KvCache::check_positions_of(int layer, const KvSequence& cached, const NewTokens& tokens, int row) const {
  const int count = tokens.keys.shape.tokens, known = std::min(count, cached.tokens() - cached.written(layer));
  if (tokens.has_positions) {
    for (int token = 0; token < known; ++token) {
      for (int axis = 0; axis < geometry_.axes(); ++axis) {
        if (tokens.positions.at(axis, row, token) != cached.position(axis, cached.written(layer) + token))
          return Status::layer_positions_differ;
      }
    }
  }
  if (known == count) return Status::ok;
  const Positions added = positions_of(cached, tokens, known);
  if (const Status status = check_range(added); status != Status::ok) return status;
  const double length = length_up_to(std::max(cached.largest_position(), largest_added(added, row)));
  for (int rope = 0; rope < rope_count_; ++rope) {
    FrequencyPlan made;
    const FrequencyPlan* plan = nullptr;
    if (const Status status = find_plan(rope, length, made, plan); status != Status::ok) return status;
    Positions seen = added;
    if (plan->axes == 1 && seen.axes > 1) seen.axes = 1;  // a rope with one axis uses the first
    if (const Status status = ropewalk::check_positions(*plan, seen); status != Status::ok) return status;
    if (covers(*plan, cached.planned_length(rope))) continue;
    if (const Status status = check_cached_positions(*plan, cached); status != Status::ok) return status;
  }
  return Status::ok;
}

// The largest of the new positions of a row.
double KvCache::largest_added(const Positions& added, int row) const {
  double largest = added.at(0, row, 0);
  for (int token = 0; token < added.tokens; ++token) {
    for (int axis = 0; axis < geometry_.axes(); ++axis) largest = std::max(largest, added.at(axis, row, token));
  }
  return largest;
}

// Sets `plan` to a rope's plan for a length: the current one if it holds, else `made`.
Status KvCache::find_plan(int rope, double length, FrequencyPlan& made, const FrequencyPlan*& plan) const {
  plan = &ropes_[rope].plan();
  if (covers(*plan, length)) return Status::ok;
  plan = &made;
  return make_plan(ropes_[rope].config(), length, made);
}

// Checks the positions of the cached tokens under a plan that replaces theirs.
Status KvCache::check_cached_positions(const FrequencyPlan& plan, const KvSequence& cached) const {
  for (int index = 0; index < cached.pages(); ++index) {
    const int tokens = std::min(kBlockTokens, cached.tokens() - index * kBlockTokens);
    for (int axis = 0; axis < plan.axes; ++axis) {
      const double* ids = cached.page_positions(index) + (geometry_.axes() == 1 ? 0 : axis) * kBlockTokens;
      if (const Status status = ropewalk::check_positions(plan, {0, ids, 1, 1, tokens}); status != Status::ok) return status;
    }
  }
  return Status::ok;
}

// Positions of the new tokens. The first `known` of them already have one, from an earlier layer.
Positions KvCache::positions_of(const KvSequence& cached, const NewTokens& tokens, int known) const {
  if (tokens.has_positions) return tokens.positions;
  return {cached.largest_position() + 1 - known, nullptr, 1, 1, tokens.keys.shape.tokens};
}

// Checks every element, and that keys still fit their storage once rotated at their positions.
Status KvCache::check_part(int layer, const KvSequence& cached, const NewTokens& tokens, int row, Part& part) {
  const int count = tokens.keys.shape.tokens, rope = geometry_.layer(layer).rope;
  part = {cached.tokens(), cached.written(layer), cached.largest_position(), 0};
  const int known = std::min(count, part.tokens - part.written);
  const Positions added = positions_of(cached, tokens, known);
  for (int token = 0; token < count; ++token) {
    for (int axis = 0; axis < geometry_.axes(); ++axis) {
      const double position = token < known ? cached.position(axis, part.written + token) : added.at(axis, row, token);
      part.largest_position = token + axis == 0 ? position : std::max(part.largest_position, position);
    }
  }

  const float limit = largest_storable(geometry_.type());
  double growth = 1, xpos = 1;
  if (stores_rotated_keys(layer)) {
    const double length =
        known < count ? length_up_to(std::max(cached.largest_position(), part.largest_position)) : cached.planned_length(rope);
    FrequencyPlan made;
    const FrequencyPlan* plan = nullptr;
    if (const Status status = find_plan(rope, length, made, plan); status != Status::ok) return status;
    xpos = xpos_growth(*plan, part.largest_position);
    growth = kRotationGrowth * xpos * std::max(1.0, plan->attention_factor);
  }
  float largest_key = 0, largest_value = 0;
  const float key_limit = static_cast<float>(limit / growth);
  if (const Status status = check_elements(layer, tokens.keys, row, key_limit, Status::key_not_finite, largest_key); status != Status::ok) {
    return status;
  }
  if (stores_rotated_keys(layer)) part.largest_key = static_cast<float>(largest_key * xpos);
  if (!geometry_.layer(layer).has_values()) return Status::ok;
  return check_elements(layer, tokens.values, row, limit, Status::value_not_finite, largest_value);
}

// Returns `refusal` if an element isn't finite or its magnitude is above `limit`. Updates the largest magnitude.
Status KvCache::check_elements(int layer, const HeadTensor& tensor, int row, float limit, Status refusal, float& largest) {
  const int dim = padded_dim(geometry_.layer(layer).head_dim);
  for (int head = 0; head < tensor.shape.heads; ++head) {
    for (int token = 0; token < tensor.shape.tokens; token += kBlockTokens) {
      const int count = std::min(kBlockTokens, tensor.shape.tokens - token);
      kernels_->load[static_cast<int>(tensor.dtype)](rows_of(tensor, count), row_at(tensor, row, token, head), rows_.data());
      bool fits = true;
      float found = 0;
      for (int i = 0; i < count * dim; ++i) {
        const float magnitude = std::fabs(rows_[i]);
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
Status KvCache::write_tokens(int layer, KvSequence& cached, const NewTokens& tokens, int row) {
  const int rope = geometry_.layer(layer).rope;
  if (rope != kNoRope) {
    if (const Status status = ropes_[rope].use_length(cached.planned_length(rope)); status != Status::ok) return status;
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
void KvCache::write_piece(int layer, KvSequence& cached, const NewTokens& tokens, int row, int token, int count) {
  const KvGeometry::Layer& geometry = geometry_.layer(layer);
  const int slot = cached.written(layer) + token, dim = padded_dim(geometry.head_dim);
  char* page = cached.page(slot / kBlockTokens);
  Rope* rope = geometry.rope == kNoRope ? nullptr : &ropes_[geometry.rope];
  const Positions at = {0, cached.page_positions(slot / kBlockTokens), geometry_.axes(), 1, kBlockTokens};
  const auto use_rows = [&](Role role) { rope->write_rows(at, {0, slot % kBlockTokens, count}, {role, false}, cos_.data(), sin_.data()); };
  const auto store = [&](const HeadTensor& tensor, std::size_t offset, int head, auto rotate_rows) {
    const StoredRows source = rows_of(tensor, count);
    kernels_->load[static_cast<int>(tensor.dtype)](source, row_at(tensor, row, token, head), rows_.data());
    rotate_rows();
    const StoredRows target = {static_cast<std::ptrdiff_t>(geometry.row_bytes), dim, count, geometry.head_dim};
    kernels_->store[static_cast<int>(geometry_.type())](target, rows_.data(), page + offset + geometry.row(head, slot % kBlockTokens));
  };

  if (rope != nullptr) use_rows(Role::key);
  for (int head = 0; head < geometry.heads; ++head) {
    store(tokens.keys, geometry.key_offset, head, [&] {
      if (!stores_rotated_keys(layer)) return;
      const FrequencyPlan& plan = rope->plan();
      const int pairs = plan.rotary_dim / 2;
      float* span = rows_.data() + plan.rotary_offset;
      const int rotation = static_cast<int>(rotation_of(plan.pairing, false));
      rotate_kernels_->rotate[rotation][0]({span, span, dim, dim, pairs, cos_.data(), sin_.data(), pairs, count});
    });
    if (geometry.has_values()) store(tokens.values, geometry.value_offset, head, [] {});
  }
  if (rope != nullptr && tokens.queries.source != nullptr)
    rotate_piece(*rope, cached, slot, tokens.queries, row, token, count, rope->plan().xpos_scale.empty());
}

// Rotates queries [token, token + count), which share a page, at the positions from `slot` on. `has_rows`: cos_ and sin_ are already those
// of the positions.
void KvCache::rotate_piece(Rope& rope, const KvSequence& cached, int slot, const HeadTensor& queries, int row, int token, int count,
                           bool has_rows) {
  const FrequencyPlan& plan = rope.plan();
  if (!has_rows) {
    const Positions at = {0, cached.page_positions(slot / kBlockTokens), geometry_.axes(), 1, kBlockTokens};
    rope.write_rows(at, {0, slot % kBlockTokens, count}, {Role::query, false}, cos_.data(), sin_.data());
  }
  rotate(*rotate_kernels_, rotation_of(plan.pairing, false), queries, {plan.rotary_offset, plan.rotary_dim}, {cos_.data(), sin_.data()},
         {row, 1, token, count});
}

Status KvCache::rotate_queries(int layer, int sequence, const HeadTensor& queries) {
  if (const Status status = check_layer(layer, sequence); status != Status::ok) return status;
  if (const Status status = check_tensor(queries); status != Status::ok) return status;
  const Range range = range_of(sequence);
  const KvGeometry::Layer& geometry = geometry_.layer(layer);
  if (queries.shape.batches != range.count) return Status::batch_mismatch;
  if (queries.shape.head_dim != geometry.head_dim) return Status::query_shape_out_of_range;
  for (int row = 0; row < range.count; ++row) {
    if (sequences_[range.first + row].written(layer) < queries.shape.tokens) return Status::token_count_out_of_range;
  }
  if (geometry.rope == kNoRope) return Status::ok;
  Rope& rope = ropes_[geometry.rope];
  for (int row = 0; row < range.count; ++row) {
    const KvSequence& cached = sequences_[range.first + row];
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
