#include "cache/kv_retune.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "base/thread_pool.h"

namespace ropewalk {
namespace {

// One rotation of all keys of a rope in a sequence.
struct KeyChange {
  int rope = 0;
  int sequence = 0;
  FrequencyPlan from, to;
};

bool has(std::span<const int> ropes, int rope) { return std::find(ropes.begin(), ropes.end(), rope) != ropes.end(); }

// The config of a rope after a change.
const RopeConfig& config_of(const KvStorage& storage, const KvRetune& change, int rope) {
  return has(change.ropes, rope) ? *change.config : storage.ropes[rope].config();
}

// The move of a sequence in a change: to the given positions, or none.
KeyMove move_of(const KvRetune& change, int sequence) {
  return {change.positions != nullptr && sequence == change.sequence ? change.positions : nullptr, 0, 0};
}

// Checks that the cache's keys can be those of a new config.
Status check_new_rope(const KvStorage& storage, int rope, const RopeConfig& config) {
  if (rope < 0 || rope >= storage.rope_count) return Status::cache_rope_unknown;
  FrequencyPlan plan;
  if (const Status status = make_plan(config, 1, plan); status != Status::ok) return status;
  if (plan.position_map && storage.mode == KeyMode::rotated) return Status::position_map_needs_raw_keys;
  const FrequencyPlan& old = storage.ropes[rope].plan();
  if (storage.mode == KeyMode::rotated && !have_same_geometry(old, plan)) return Status::plans_differ;
  if (old.head_dim != plan.head_dim) return Status::head_dim_mismatch;
  return plan.axes != 1 && storage.geometry.axes() != 1 && plan.axes != storage.geometry.axes() ? Status::plans_differ : Status::ok;
}

Status check_new_positions(const KvStorage& storage, const KvRetune& change) {
  if (const Status status = storage.check_sequence(change.sequence); status != Status::ok) return status;
  const KvSequence& cached = storage.sequences[change.sequence];
  const Positions& positions = *change.positions;
  if (positions.rows != 1 || positions.tokens != cached.tokens()) return Status::shape_out_of_range;
  if (positions.ids != nullptr && positions.axes != 1 && positions.axes != storage.geometry.axes()) return Status::positions_axes;
  if (!(std::fabs(positions.offset) <= kPositionLimit)) return Status::position_out_of_range;
  return storage.rope_count == 0 ? check_move(storage, cached, {&positions, 0, 0}) : Status::ok;
}

// Makes all ropes of the cache as they are after a change.
Status make_ropes(const KvStorage& storage, const KvRetune& change, std::unique_ptr<Rope[]>& ropes) {
  ropes.reset(new (std::nothrow) Rope[std::max(1, storage.rope_count)]);
  if (ropes == nullptr) return Status::out_of_memory;
  for (int rope = 0; rope < storage.rope_count; ++rope) {
    if (const Status status = ropes[rope].configure(config_of(storage, change, rope)); status != Status::ok) return status;
  }
  return Status::ok;
}

// Makes the plans of the keys that a change rotates, and allocates all memory that they need.
Status make_key_changes(KvStorage& storage, const KvRetune& change, std::unique_ptr<KeyChange[]>& changes, std::size_t& count) {
  const auto visit = [&](auto act) {
    std::size_t visited = 0;
    for (int rope = 0; storage.mode == KeyMode::rotated && rope < storage.rope_count; ++rope) {
      for (int sequence = 0; sequence < storage.sequence_count; ++sequence) {
        const bool changes_keys = has(change.ropes, rope) || move_of(change, sequence).given != nullptr;
        if (changes_keys && storage.sequences[sequence].tokens() > 0) act(visited++, rope, sequence);
      }
    }
    return visited;
  };
  count = visit([](std::size_t, int, int) {});
  changes.reset(new (std::nothrow) KeyChange[std::max<std::size_t>(1, count)]);
  if (changes == nullptr) return Status::out_of_memory;
  Status result = Status::ok;
  visit([&](std::size_t index, int rope, int sequence) {
    KeyChange& key_change = changes[index];
    key_change.rope = rope;
    key_change.sequence = sequence;
    const double length = storage.sequences[sequence].planned_length(rope);
    if (result == Status::ok) result = plan_at(storage.ropes[rope].config(), length, key_change.from);
    if (result == Status::ok) result = plan_at(config_of(storage, change, rope), length, key_change.to);
    if (result == Status::ok) result = storage.rerotation.prepare(storage.geometry, key_change.from, key_change.to);
    if (result == Status::ok) result = storage.sequences[sequence].own_pages(0, storage.sequences[sequence].tokens());
  });
  return result;
}

}  // namespace

Status check_consecutive(const KvStorage& storage, const KvSequence& cached, const KeyMove& move) {
  for (int slot = 0; slot < cached.tokens(); ++slot) {
    for (int axis = 0; axis < storage.geometry.axes(); ++axis) {
      const double position = move.at(cached, axis, slot);
      if (position != std::floor(position) || position != move.at(cached, 0, 0) + slot) return Status::position_map_positions;
    }
  }
  return Status::ok;
}

Status check_move(const KvStorage& storage, const KvSequence& cached, const KeyMove& move) {
  for (int rope = 0; rope < storage.rope_count; ++rope) {
    FrequencyPlan plan;
    if (const Status status = plan_at(storage.ropes[rope].config(), cached.planned_length(rope), plan); status != Status::ok) return status;
    if (const Status status = check_keys(storage.geometry, cached, move, plan, plan); status != Status::ok) return status;
  }
  return storage.rope_count == 0 ? check_keys(storage.geometry, cached, move, {}, {}) : Status::ok;
}

Status can_retune_keys(const KvStorage& storage, const KvRetune& change) {
  for (const int rope : change.ropes) {
    if (const Status status = check_new_rope(storage, rope, *change.config); status != Status::ok) return status;
  }
  if (change.positions != nullptr) {
    if (const Status status = check_new_positions(storage, change); status != Status::ok) return status;
  }
  for (int rope = 0; rope < storage.rope_count; ++rope) {
    for (int sequence = 0; sequence < storage.sequence_count; ++sequence) {
      const KvSequence& cached = storage.sequences[sequence];
      const KeyMove move = move_of(change, sequence);
      if (cached.tokens() == 0 || (!has(change.ropes, rope) && move.given == nullptr)) continue;
      const RopeConfig& config = config_of(storage, change, rope);
      if (config.position_map != MapType::none) {
        if (const Status status = check_consecutive(storage, cached, move); status != Status::ok) return status;
      }
      FrequencyPlan from, to;
      if (const Status status = plan_at(storage.ropes[rope].config(), cached.planned_length(rope), from); status != Status::ok)
        return status;
      if (const Status status = plan_at(config, cached.planned_length(rope), to); status != Status::ok) return status;
      if (const Status status = check_keys(storage.geometry, cached, move, from, to); status != Status::ok) return status;
    }
  }
  return Status::ok;
}

Status retune_keys(KvStorage& storage, const KvRetune& change) {
  if (const Status status = can_retune_keys(storage, change); status != Status::ok) return status;
  // Makes all plans and ropes and allocates all memory before the first key changes.
  std::unique_ptr<KeyChange[]> changes;
  std::size_t count = 0;
  if (const Status status = make_key_changes(storage, change, changes, count); status != Status::ok) return status;
  std::unique_ptr<Rope[]> ropes;
  if (!change.ropes.empty()) {
    if (const Status status = make_ropes(storage, change, ropes); status != Status::ok) return status;
    const std::uint64_t row_floats = static_cast<std::uint64_t>(kBlockTokens) * (resolved_rotary_dim(*change.config) / 2);
    for (Buffer<float>* rows : {&storage.cos, &storage.sin}) {  // with raw keys the new rope may have more pairs
      if (rows->size() < row_floats && !rows->resize(row_floats)) return Status::out_of_memory;
    }
  }
  if (change.positions != nullptr) {
    KvSequence& moved = storage.sequences[change.sequence];
    if (const Status status = moved.own_pages(0, moved.tokens()); status != Status::ok) return status;
  }
  for (std::size_t index = 0; index < count; ++index) {
    const KeyChange& key_change = changes[index];
    // make_key_changes() has prepared the last one
    if (count > 1) static_cast<void>(storage.rerotation.prepare(storage.geometry, key_change.from, key_change.to));
    storage.rerotate(storage.sequences[key_change.sequence], key_change.rope, move_of(change, key_change.sequence));
  }
  if (change.positions != nullptr) {
    storage.sequences[change.sequence].replace_positions([&](int axis, int slot) { return change.positions->at(axis, 0, slot); });
  }
  if (ropes != nullptr) storage.ropes = std::move(ropes);
  return thread_pool().status();
}

Status retune_to_length(KvStorage& storage, KvSequence& cached, double length) {
  for (int index = 0; index < storage.rope_count; ++index) {
    Rope& rope = storage.ropes[index];
    if (const Status status = rope.use_length(cached.planned_length(index)); status != Status::ok) return status;
    if (!covers(rope.plan(), length) && storage.mode == KeyMode::rotated && cached.tokens() > 0) {
      FrequencyPlan from, to;
      if (const Status status = plan_at(rope.config(), cached.planned_length(index), from); status != Status::ok) return status;
      if (const Status status = plan_at(rope.config(), length, to); status != Status::ok) return status;
      if (const Status status = check_scale(storage.geometry.type(), cached, to, 1); status != Status::ok) return status;
      if (const Status status = storage.rerotation.prepare(storage.geometry, from, to); status != Status::ok) return status;
      if (const Status status = cached.own_pages(0, cached.tokens()); status != Status::ok) return status;
      if (const Status status = rope.use_length(length); status != Status::ok) return status;
      storage.rerotate(cached, index, {});
    }
    if (const Status status = rope.use_length(length); status != Status::ok) return status;
    cached.set_planned_length(index, length);
  }
  return thread_pool().status();
}

}  // namespace ropewalk
