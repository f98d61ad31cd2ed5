// Re-rotation of cached keys: for longer sequences, shifts, new positions, new ropes and restored sequences.
#include <algorithm>
#include <cmath>
#include <new>

#include "base/thread_pool.h"
#include "cache/kv_cache.h"

namespace ropewalk {
namespace {

Status plan_at(const RopeConfig& config, double length, FrequencyPlan& plan) { return make_plan(config, std::max(1.0, length), plan); }

bool have_same_xpos(const FrequencyPlan& a, const FrequencyPlan& b) {
  return a.xpos_scale.size() == b.xpos_scale.size() && a.xpos_scale_base == b.xpos_scale_base && a.xpos_center == b.xpos_center;
}

// The positions of a sequence after a move. A plan accepts a range of positions, so the ends are enough to check.
struct MovedRange {
  double smallest = 0;
  double largest = 0;
  double rise = 0;  // how far up any token moves
};

// The sequence must not be empty.
Status find_range(const KvSequence& cached, int axes, const KeyMove& move, MovedRange& range) {
  for (int slot = 0; slot < cached.tokens(); ++slot) {
    for (int axis = 0; axis < axes; ++axis) {
      const double position = move.at(cached, axis, slot);
      if (!(std::fabs(position) <= kPositionLimit)) return Status::position_out_of_range;
      range.smallest = slot + axis == 0 ? position : std::min(range.smallest, position);
      range.largest = slot + axis == 0 ? position : std::max(range.largest, position);
      range.rise = std::max(range.rise, position - cached.position(axis, slot));
    }
  }
  return Status::ok;
}

Status check_range(const FrequencyPlan& plan, const MovedRange& range) {
  const double ends[2] = {range.smallest, range.largest};
  return check_positions(plan, {0, ends, 1, 1, 2});
}

bool has(std::span<const int> ropes, int rope) { return std::find(ropes.begin(), ropes.end(), rope) != ropes.end(); }

// The move of a sequence in a change: to the given positions, or none.
KeyMove move_of(const KvRetune& change, int sequence) {
  return {change.positions != nullptr && sequence == change.sequence ? change.positions : nullptr, 0, 0};
}

}  // namespace

// Checks that keys still fit their storage if xPos makes them `growth` times as large.
Status KvCache::check_scale(const KvSequence& cached, const FrequencyPlan& plan, double growth) const {
  constexpr double kRounding = 1 - 1e-6;  // so that keys which append() has accepted always pass
  const double largest = cached.largest_key() * growth * std::max(1.0, plan.attention_factor) * kRotationGrowth * kRounding;
  return largest <= largest_storable(geometry_.type()) ? Status::ok : Status::key_not_finite;
}

// Re-rotates a sequence's keys to the plans for a length. Each rope is completed before the next one starts: if a later rope runs out of
// memory, the keys of earlier ones still match planned_length().
Status KvCache::plan_for(KvSequence& cached, double length) {
  for (int index = 0; index < rope_count_; ++index) {
    Rope& rope = ropes_[index];
    if (const Status status = rope.use_length(cached.planned_length(index)); status != Status::ok) return status;
    if (!covers(rope.plan(), length) && mode_ == KeyMode::rotated && cached.tokens() > 0) {
      FrequencyPlan from, to;
      if (const Status status = plan_at(rope.config(), cached.planned_length(index), from); status != Status::ok) return status;
      if (const Status status = plan_at(rope.config(), length, to); status != Status::ok) return status;
      if (const Status status = check_scale(cached, to, 1); status != Status::ok) return status;
      if (const Status status = rerotation_.prepare(geometry_, from, to); status != Status::ok) return status;
      if (const Status status = cached.own_pages(0, cached.tokens()); status != Status::ok) return status;
      if (const Status status = rope.use_length(length); status != Status::ok) return status;
      rerotation_.apply(*kernels_, *rotate_kernels_, cached, index, {});
    }
    if (const Status status = rope.use_length(length); status != Status::ok) return status;
    cached.set_planned_length(index, length);
  }
  return thread_pool().status();
}

// Allocates all memory that apply_move() needs.
Status KvCache::prepare_move(const KvSequence& cached) {
  for (int index = 0; index < rope_count_; ++index) {
    if (const Status status = ropes_[index].use_length(cached.planned_length(index)); status != Status::ok) return status;
    const FrequencyPlan& plan = ropes_[index].plan();
    if (const Status status = rerotation_.prepare(geometry_, plan, plan); status != Status::ok) return status;
  }
  return Status::ok;
}

void KvCache::apply_move(KvSequence& cached, const KeyMove& move) {
  for (int index = 0; mode_ == KeyMode::rotated && index < rope_count_; ++index) {
    static_cast<void>(ropes_[index].use_length(cached.planned_length(index)));
    const FrequencyPlan& plan = ropes_[index].plan();
    static_cast<void>(rerotation_.prepare(geometry_, plan, plan));
    rerotation_.apply(*kernels_, *rotate_kernels_, cached, index, move);
  }
  cached.replace_positions([&](int axis, int slot) { return move.at(cached, axis, slot); });
}

// Checks that keys can go from one plan to another while their tokens move.
Status KvCache::check_keys(const KvSequence& cached, const KeyMove& move, const FrequencyPlan& from, const FrequencyPlan& to) const {
  if (cached.tokens() == 0) return Status::ok;
  MovedRange range;
  if (const Status status = find_range(cached, geometry_.axes(), move, range); status != Status::ok) return status;
  if (const Status status = check_range(to, range); status != Status::ok) return status;
  return check_scale(cached, to, xpos_growth(to, have_same_xpos(from, to) ? to.xpos_center + range.rise : range.largest));
}

// Checks the positions after a move under the current ropes.
Status KvCache::check_move(const KvSequence& cached, const KeyMove& move) const {
  for (int rope = 0; rope < rope_count_; ++rope) {
    FrequencyPlan plan;
    if (const Status status = plan_at(ropes_[rope].config(), cached.planned_length(rope), plan); status != Status::ok) return status;
    if (const Status status = check_keys(cached, move, plan, plan); status != Status::ok) return status;
  }
  return rope_count_ == 0 ? check_keys(cached, move, {}, {}) : Status::ok;
}

Status KvCache::check_shift(const KvSequence& cached, int keep, int discard, double& delta) const {
  delta = 0;
  if (keep < 0 || discard < 1 || keep > cached.tokens() - discard) return Status::shift_out_of_range;
  if (keep + discard == cached.tokens()) return Status::ok;
  delta = cached.position(0, keep) - cached.position(0, keep + discard);
  for (int axis = 1; axis < geometry_.axes(); ++axis) {
    if (cached.position(axis, keep) - cached.position(axis, keep + discard) != delta) return Status::shift_axes;
  }
  return check_move(cached, {nullptr, keep + discard, delta});
}

Status KvCache::can_shift(int sequence, int keep, int discard) const {
  if (const Status status = check_sequence(sequence, false); status != Status::ok) return status;
  double delta;
  return check_shift(sequences_[sequence], keep, discard, delta);
}

Status KvCache::shift(int sequence, int keep, int discard) {
  if (const Status status = check_sequence(sequence, false); status != Status::ok) return status;
  KvSequence& cached = sequences_[sequence];
  double delta;
  if (const Status status = check_shift(cached, keep, discard, delta); status != Status::ok) return status;
  if (const Status status = prepare_move(cached); status != Status::ok) return status;
  if (const Status status = cached.own_pages(keep, cached.tokens() - discard); status != Status::ok) return status;
  cached.remove(keep, discard);
  if (delta != 0) apply_move(cached, {nullptr, keep, delta});
  return thread_pool().status();
}

// Checks that the cache's keys can be those of a new config.
Status KvCache::check_new_rope(int rope, const RopeConfig& config) const {
  if (rope < 0 || rope >= rope_count_) return Status::cache_rope_unknown;
  FrequencyPlan plan;
  if (const Status status = make_plan(config, 1, plan); status != Status::ok) return status;
  const FrequencyPlan& old = ropes_[rope].plan();
  if (mode_ == KeyMode::rotated && !have_same_geometry(old, plan)) return Status::plans_differ;
  if (old.head_dim != plan.head_dim) return Status::head_dim_mismatch;
  return plan.axes != 1 && geometry_.axes() != 1 && plan.axes != geometry_.axes() ? Status::plans_differ : Status::ok;
}

Status KvCache::check_new_positions(const KvRetune& change) const {
  if (const Status status = check_sequence(change.sequence, false); status != Status::ok) return status;
  const KvSequence& cached = sequences_[change.sequence];
  const Positions& positions = *change.positions;
  if (positions.rows != 1 || positions.tokens != cached.tokens()) return Status::shape_out_of_range;
  if (positions.ids != nullptr && positions.axes != 1 && positions.axes != geometry_.axes()) return Status::positions_axes;
  if (!(std::fabs(positions.offset) <= kPositionLimit)) return Status::position_out_of_range;
  return rope_count_ == 0 ? check_move(cached, {&positions, 0, 0}) : Status::ok;
}

Status KvCache::can_retune(const KvRetune& change) const {
  for (const int rope : change.ropes) {
    if (const Status status = check_new_rope(rope, *change.config); status != Status::ok) return status;
  }
  if (change.positions != nullptr) {
    if (const Status status = check_new_positions(change); status != Status::ok) return status;
  }
  for (int rope = 0; rope < rope_count_; ++rope) {
    for (int sequence = 0; sequence < sequence_count_; ++sequence) {
      const KvSequence& cached = sequences_[sequence];
      const KeyMove move = move_of(change, sequence);
      if (cached.tokens() == 0 || (!has(change.ropes, rope) && move.given == nullptr)) continue;
      const RopeConfig& config = has(change.ropes, rope) ? *change.config : rope_config(rope);
      FrequencyPlan from, to;
      if (const Status status = plan_at(rope_config(rope), cached.planned_length(rope), from); status != Status::ok) return status;
      if (const Status status = plan_at(config, cached.planned_length(rope), to); status != Status::ok) return status;
      if (const Status status = check_keys(cached, move, from, to); status != Status::ok) return status;
    }
  }
  return Status::ok;
}

// Makes all ropes of the cache as they are after a change.
Status KvCache::make_ropes(const KvRetune& change, std::unique_ptr<Rope[]>& ropes) const {
  ropes.reset(new (std::nothrow) Rope[std::max(1, rope_count_)]);
  if (ropes == nullptr) return Status::out_of_memory;
  for (int rope = 0; rope < rope_count_; ++rope) {
    if (const Status status = ropes[rope].configure(has(change.ropes, rope) ? *change.config : rope_config(rope)); status != Status::ok)
      return status;
  }
  return Status::ok;
}

// Makes the turns of a change, and allocates all memory that they need.
Status KvCache::make_turns(const KvRetune& change, std::unique_ptr<KeyTurn[]>& turns, std::size_t& count) {
  const auto visit = [&](auto act) {
    std::size_t visited = 0;
    for (int rope = 0; mode_ == KeyMode::rotated && rope < rope_count_; ++rope) {
      for (int sequence = 0; sequence < sequence_count_; ++sequence) {
        const bool turns_keys = has(change.ropes, rope) || move_of(change, sequence).given != nullptr;
        if (turns_keys && sequences_[sequence].tokens() > 0) act(visited++, rope, sequence);
      }
    }
    return visited;
  };
  count = visit([](std::size_t, int, int) {});
  turns.reset(new (std::nothrow) KeyTurn[std::max<std::size_t>(1, count)]);
  if (turns == nullptr) return Status::out_of_memory;
  Status result = Status::ok;
  visit([&](std::size_t index, int rope, int sequence) {
    KeyTurn& turn = turns[index];
    turn.rope = rope;
    turn.sequence = sequence;
    const double length = sequences_[sequence].planned_length(rope);
    if (result == Status::ok) result = plan_at(rope_config(rope), length, turn.from);
    if (result == Status::ok) result = plan_at(has(change.ropes, rope) ? *change.config : rope_config(rope), length, turn.to);
    if (result == Status::ok) result = rerotation_.prepare(geometry_, turn.from, turn.to);
    if (result == Status::ok) result = sequences_[sequence].own_pages(0, sequences_[sequence].tokens());
  });
  return result;
}

Status KvCache::retune(const KvRetune& change) {
  if (const Status status = can_retune(change); status != Status::ok) return status;
  // Makes all plans and ropes and allocates all memory before the first key changes.
  std::unique_ptr<KeyTurn[]> turns;
  std::size_t count = 0;
  if (const Status status = make_turns(change, turns, count); status != Status::ok) return status;
  std::unique_ptr<Rope[]> ropes;
  if (!change.ropes.empty()) {
    if (const Status status = make_ropes(change, ropes); status != Status::ok) return status;
    const std::uint64_t row_floats = static_cast<std::uint64_t>(kBlockTokens) * (resolved_rotary_dim(*change.config) / 2);
    for (Buffer<float>* rows : {&cos_, &sin_}) {  // with raw keys the new rope may have more pairs
      if (rows->size() < row_floats && !rows->resize(row_floats)) return Status::out_of_memory;
    }
  }
  if (change.positions != nullptr) {
    KvSequence& moved = sequences_[change.sequence];
    if (const Status status = moved.own_pages(0, moved.tokens()); status != Status::ok) return status;
  }
  for (std::size_t index = 0; index < count; ++index) {
    const KeyTurn& turn = turns[index];
    static_cast<void>(rerotation_.prepare(geometry_, turn.from, turn.to));
    rerotation_.apply(*kernels_, *rotate_kernels_, sequences_[turn.sequence], turn.rope, move_of(change, turn.sequence));
  }
  if (change.positions != nullptr) {
    sequences_[change.sequence].replace_positions([&](int axis, int slot) { return change.positions->at(axis, 0, slot); });
  }
  if (ropes != nullptr) ropes_ = std::move(ropes);
  return thread_pool().status();
}

// Checks that all keys and values are finite, as append() guarantees: a saved image may contain anything.
bool KvCache::are_finite(const KvSequence& cached) {
  for (int index = 0; index < geometry_.layers(); ++index) {
    const KvGeometry::Layer& layer = geometry_.layer(index);
    for (int first = 0; first < cached.written(index); first += kBlockTokens) {
      const int count = std::min(kBlockTokens, cached.written(index) - first), dim = padded_dim(layer.head_dim);
      const StoredRows rows = {static_cast<std::ptrdiff_t>(layer.row_bytes), dim, count, layer.head_dim};
      for (int part = 0; part < layer.parts(); ++part) {
        const std::size_t offset = layer.part_offset(part);
        for (int head = 0; head < layer.heads; ++head) {
          kernels_->load[static_cast<int>(geometry_.type())](rows, cached.page(first / kBlockTokens) + offset + layer.row(head, 0),
                                                             rows_.data());
          for (int i = 0; i < count * dim; ++i) {
            if (!std::isfinite(rows_[i])) return false;
          }
        }
      }
    }
  }
  return true;
}

Status KvCache::adopt(int sequence, KvSequence&& restored, const FrequencyPlan* from) {
  if (const Status status = check_sequence(sequence, false); status != Status::ok) return status;
  if (restored.tokens() > max_tokens_) return Status::cache_full;
  if (mode_ == KeyMode::raw || rope_count_ == 0) {
    if (const Status status = check_move(restored, {}); status != Status::ok) return status;
  }
  std::unique_ptr<FrequencyPlan[]> to(new (std::nothrow) FrequencyPlan[std::max(1, rope_count_)]);
  if (to == nullptr) return Status::out_of_memory;
  const int turns = mode_ == KeyMode::rotated && restored.tokens() > 0 ? rope_count_ : 0;
  for (int rope = 0; rope < turns; ++rope) {  // checks everything before the first key is rotated
    if (const Status status = check_keys(restored, {}, from[rope], from[rope]); status != Status::ok) return Status::image_content;
    if (const Status status = plan_at(ropes_[rope].config(), restored.planned_length(rope), to[rope]); status != Status::ok) return status;
    if (const Status status = check_keys(restored, {}, from[rope], to[rope]); status != Status::ok) return status;
  }
  if (!are_finite(restored)) return Status::image_content;
  for (int rope = 0; rope < turns; ++rope) {
    if (const Status status = rerotation_.prepare(geometry_, from[rope], to[rope]); status != Status::ok) return status;
    rerotation_.apply(*kernels_, *rotate_kernels_, restored, rope, {});
  }
  if (thread_pool().status() != Status::ok) return Status::thread_lost;
  if (!are_finite(restored)) return Status::image_content;  // keys may be larger than the image says
  restored.use_geometry(geometry_);
  sequences_[sequence] = std::move(restored);
  return Status::ok;
}

}  // namespace ropewalk
