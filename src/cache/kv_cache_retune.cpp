// Re-rotation of cached keys: for longer sequences, shifts, new positions, new ropes and restored sequences.
#include <algorithm>
#include <cmath>
#include <new>

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

// Checks the plan for short sequences, which append() may return to if positions become smaller.
Status check_short_plan(const RopeConfig& config, const MovedRange& range) {
  FrequencyPlan plan;
  if (const Status status = make_plan(config, 1, plan); status != Status::ok) return status;
  return check_range(plan, range);
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
      if (const Status status = rope.use_length(length); status != Status::ok) return status;
      rerotation_.apply(*kernels_, *rotate_kernels_, cached, index, {});
    }
    if (const Status status = rope.use_length(length); status != Status::ok) return status;
    cached.set_planned_length(index, length);
  }
  return Status::ok;
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

// Checks the positions after a move under the current ropes.
Status KvCache::check_move(const KvSequence& cached, const KeyMove& move) const {
  if (cached.tokens() == 0) return Status::ok;
  MovedRange range;
  if (const Status status = find_range(cached, geometry_.axes(), move, range); status != Status::ok) return status;
  for (int rope = 0; rope < rope_count_; ++rope) {
    FrequencyPlan plan;
    if (const Status status = plan_at(ropes_[rope].config(), cached.planned_length(rope), plan); status != Status::ok) return status;
    if (const Status status = check_range(plan, range); status != Status::ok) return status;
    const double growth = xpos_growth(plan, plan.xpos_center + range.rise);
    if (const Status status = check_scale(cached, plan, growth); status != Status::ok) return status;
  }
  return rope_count_ == 0 ? check_range({}, range) : Status::ok;
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
  cached.remove(keep, discard);
  if (delta != 0) apply_move(cached, {nullptr, keep, delta});
  return Status::ok;
}

// Checks a new config for a rope, with all sequences at their current positions.
Status KvCache::check_new_rope(int rope, const RopeConfig& config) const {
  if (rope < 0 || rope >= rope_count_) return Status::cache_rope_unknown;
  FrequencyPlan plan;
  if (const Status status = make_plan(config, 1, plan); status != Status::ok) return status;
  const FrequencyPlan& old = ropes_[rope].plan();
  if (mode_ == KeyMode::rotated && !have_same_geometry(old, plan)) return Status::plans_differ;
  if (old.head_dim != plan.head_dim) return Status::head_dim_mismatch;
  if (plan.axes != 1 && geometry_.axes() != 1 && plan.axes != geometry_.axes()) return Status::plans_differ;
  for (int index = 0; index < sequence_count_; ++index) {
    if (const Status status = check_new_plan(rope, config, sequences_[index], {}); status != Status::ok) return status;
  }
  return Status::ok;
}

// Checks the plan of a new config for one sequence, at its positions after a move.
Status KvCache::check_new_plan(int rope, const RopeConfig& config, const KvSequence& cached, const KeyMove& move) const {
  if (cached.tokens() == 0) return Status::ok;
  FrequencyPlan plan;
  MovedRange range;
  if (const Status status = plan_at(config, cached.planned_length(rope), plan); status != Status::ok) return status;
  if (const Status status = find_range(cached, geometry_.axes(), move, range); status != Status::ok) return status;
  if (const Status status = check_range(plan, range); status != Status::ok) return status;
  return check_scale(cached, plan, have_same_xpos(ropes_[rope].plan(), plan) ? 1 : xpos_growth(plan, range.largest));
}

// Checks new positions under the old ropes and the new config.
Status KvCache::check_new_positions(const KvRetune& change) const {
  if (const Status status = check_sequence(change.sequence, false); status != Status::ok) return status;
  const KvSequence& cached = sequences_[change.sequence];
  const Positions& positions = *change.positions;
  if (positions.rows != 1 || positions.tokens != cached.tokens()) return Status::shape_out_of_range;
  if (positions.ids != nullptr && positions.axes != 1 && positions.axes != geometry_.axes()) return Status::positions_axes;
  if (!(std::fabs(positions.offset) <= kPositionLimit)) return Status::position_out_of_range;
  if (cached.tokens() == 0) return Status::ok;

  const KeyMove move = {&positions, 0, 0};
  if (const Status status = check_move(cached, move); status != Status::ok) return status;
  MovedRange range;
  if (const Status status = find_range(cached, geometry_.axes(), move, range); status != Status::ok) return status;
  for (int rope = 0; rope < rope_count_; ++rope) {
    if (const Status status = check_short_plan(ropes_[rope].config(), range); status != Status::ok) return status;
  }
  for (const int rope : change.ropes) {
    if (const Status status = check_short_plan(*change.config, range); status != Status::ok) return status;
    if (const Status status = check_new_plan(rope, *change.config, cached, move); status != Status::ok) return status;
  }
  return Status::ok;
}

Status KvCache::can_retune(const KvRetune& change) const {
  for (const int rope : change.ropes) {
    if (const Status status = check_new_rope(rope, *change.config); status != Status::ok) return status;
  }
  return change.positions == nullptr ? Status::ok : check_new_positions(change);
}

// Makes all ropes of the cache as they are after a change.
Status KvCache::make_ropes(const KvRetune& change, std::unique_ptr<Rope[]>& ropes) const {
  ropes.reset(new (std::nothrow) Rope[std::max(1, rope_count_)]);
  if (ropes == nullptr) return Status::out_of_memory;
  for (int rope = 0; rope < rope_count_; ++rope) {
    const bool changes = std::find(change.ropes.begin(), change.ropes.end(), rope) != change.ropes.end();
    if (const Status status = ropes[rope].configure(changes ? *change.config : rope_config(rope)); status != Status::ok) return status;
  }
  return Status::ok;
}

Status KvCache::retune(const KvRetune& change) {
  if (const Status status = can_retune(change); status != Status::ok) return status;
  // Makes all plans and ropes and allocates all memory before the first key changes.
  const std::size_t sequences = static_cast<std::size_t>(sequence_count_);
  const std::size_t steps = mode_ == KeyMode::rotated ? change.ropes.size() * sequences : 0;
  std::unique_ptr<FrequencyPlan[]> from(new (std::nothrow) FrequencyPlan[std::max<std::size_t>(1, steps)]);
  std::unique_ptr<FrequencyPlan[]> to(new (std::nothrow) FrequencyPlan[std::max<std::size_t>(1, steps)]);
  if (from == nullptr || to == nullptr) return Status::out_of_memory;
  for (std::size_t step = 0; step < steps; ++step) {
    const int rope = change.ropes[step / sequences];
    const double length = sequences_[step % sequences].planned_length(rope);
    if (const Status status = plan_at(rope_config(rope), length, from[step]); status != Status::ok) return status;
    if (const Status status = plan_at(*change.config, length, to[step]); status != Status::ok) return status;
    if (const Status status = rerotation_.prepare(geometry_, from[step], to[step]); status != Status::ok) return status;
  }
  std::unique_ptr<Rope[]> ropes;
  if (!change.ropes.empty()) {
    if (const Status status = make_ropes(change, ropes); status != Status::ok) return status;
    const std::size_t row_floats = static_cast<std::size_t>(kBlockTokens) * (resolved_rotary_dim(*change.config) / 2);
    for (Buffer<float>* rows : {&cos_, &sin_}) {  // with raw keys the new rope may have more pairs
      if (rows->size() < row_floats && !rows->resize(row_floats)) return Status::out_of_memory;
    }
  }
  if (change.positions != nullptr) {
    if (const Status status = prepare_move(sequences_[change.sequence]); status != Status::ok) return status;
    apply_move(sequences_[change.sequence], {change.positions, 0, 0});
  }
  for (std::size_t step = 0; step < steps; ++step) {
    static_cast<void>(rerotation_.prepare(geometry_, from[step], to[step]));
    rerotation_.apply(*kernels_, *rotate_kernels_, sequences_[step % sequences], change.ropes[step / sequences], {});
  }
  if (ropes != nullptr) ropes_ = std::move(ropes);
  return Status::ok;
}

// Checks that all keys and values are finite, as append() guarantees: a saved image may contain anything.
bool KvCache::are_finite(const KvSequence& cached) {
  for (int index = 0; index < geometry_.layers(); ++index) {
    const KvGeometry::Layer& layer = geometry_.layer(index);
    for (int first = 0; first < cached.written(index); first += kBlockTokens) {
      const int count = std::min(kBlockTokens, cached.written(index) - first), dim = padded_dim(layer.head_dim);
      const StoredRows rows = {static_cast<std::ptrdiff_t>(layer.row_bytes), dim, count, layer.head_dim};
      for (const std::size_t offset : {layer.key_offset, layer.value_offset}) {
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
  if (const Status status = check_move(restored, {}); status != Status::ok) return status;
  for (int rope = 0; mode_ == KeyMode::rotated && rope < rope_count_; ++rope) {
    FrequencyPlan to;
    if (const Status status = plan_at(ropes_[rope].config(), restored.planned_length(rope), to); status != Status::ok) return status;
    if (const Status status = rerotation_.prepare(geometry_, from[rope], to); status != Status::ok) return status;
    rerotation_.apply(*kernels_, *rotate_kernels_, restored, rope, {});
  }
  if (!are_finite(restored)) return Status::image_content;
  restored.use_geometry(geometry_);
  sequences_[sequence] = std::move(restored);
  return Status::ok;
}

}  // namespace ropewalk
