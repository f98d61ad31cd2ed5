// Changing where cached keys stand: shifted, moved, under another plan.
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

}  // namespace

// A plan that makes xPos's scale `growth` times as large must not scale keys beyond what their storage holds.
Status KvCache::check_scale(const KvSequence& held, const FrequencyPlan& plan, double growth) const {
  constexpr double kRounding = 1 - 1e-6;  // what append() has taken may stay
  const double largest = held.largest_key() * growth * std::max(1.0, plan.attention_factor) * kTurnGrowth * kRounding;
  return largest <= largest_storable(geometry_.type()) ? Status::ok : Status::key_not_finite;
}

// Turns a sequence's keys to the plans for a length. Each rope's step is whole: if memory ends at a later one, the keys of the earlier
// ones stand by what planned_length() says.
Status KvCache::plan_for(KvSequence& held, double length) {
  for (int index = 0; index < rope_count_; ++index) {
    Rope& rope = ropes_[index];
    if (const Status status = rope.use_length(held.planned_length(index)); status != Status::ok) return status;
    if (!holds_for(rope.plan(), length) && mode_ == KeyMode::rotated && held.tokens() > 0) {
      FrequencyPlan from, to;
      if (const Status status = plan_at(rope.config(), held.planned_length(index), from); status != Status::ok) return status;
      if (const Status status = plan_at(rope.config(), length, to); status != Status::ok) return status;
      if (const Status status = check_scale(held, to, 1); status != Status::ok) return status;
      if (const Status status = key_turn_.prepare(geometry_, from, to); status != Status::ok) return status;
      if (const Status status = rope.use_length(length); status != Status::ok) return status;
      key_turn_.apply(*kernels_, *rotate_kernels_, held, index, {});
    }
    if (const Status status = rope.use_length(length); status != Status::ok) return status;
    held.set_planned_length(index, length);
  }
  return Status::ok;
}

// Asks for all the memory that apply_move needs.
Status KvCache::prepare_move(const KvSequence& held) {
  for (int index = 0; index < rope_count_; ++index) {
    if (const Status status = ropes_[index].use_length(held.planned_length(index)); status != Status::ok) return status;
    const FrequencyPlan& plan = ropes_[index].plan();
    if (const Status status = key_turn_.prepare(geometry_, plan, plan); status != Status::ok) return status;
  }
  return Status::ok;
}

void KvCache::apply_move(KvSequence& held, const KeyMove& move) {
  for (int index = 0; mode_ == KeyMode::rotated && index < rope_count_; ++index) {
    static_cast<void>(ropes_[index].use_length(held.planned_length(index)));
    const FrequencyPlan& plan = ropes_[index].plan();
    static_cast<void>(key_turn_.prepare(geometry_, plan, plan));
    key_turn_.apply(*kernels_, *rotate_kernels_, held, index, move);
  }
  held.replace_positions([&](int axis, int slot) { return move.at(held, axis, slot); });
}

// Whether every token may stand where a move puts it, under the plans in force.
Status KvCache::check_moved(const KvSequence& held, const KeyMove& move) const {
  for (int rope = 0; rope < rope_count_; ++rope) {
    FrequencyPlan plan;
    if (const Status status = plan_at(ropes_[rope].config(), held.planned_length(rope), plan); status != Status::ok) return status;
    if (const Status status = check_stands(held, move, plan); status != Status::ok) return status;
  }
  return rope_count_ == 0 ? check_stands(held, move, {}) : Status::ok;
}

// The same under one plan. What it allows is a range, so the ends are enough.
Status KvCache::check_stands(const KvSequence& held, const KeyMove& move, const FrequencyPlan& plan) const {
  if (held.tokens() == 0) return Status::ok;
  double ends[2] = {0, 0}, farthest = 0;  // and how far up any token moves
  for (int slot = 0; slot < held.tokens(); ++slot) {
    for (int axis = 0; axis < geometry_.axes(); ++axis) {
      const double position = move.at(held, axis, slot);
      if (!(std::fabs(position) <= kPositionLimit)) return Status::position_out_of_range;
      ends[0] = slot + axis == 0 ? position : std::min(ends[0], position);
      ends[1] = slot + axis == 0 ? position : std::max(ends[1], position);
      farthest = std::max(farthest, position - held.position(axis, slot));
    }
  }
  if (const Status status = check_positions(plan, {0, ends, 1, 1, 2}); status != Status::ok) return status;
  return check_scale(held, plan, xpos_growth(plan, plan.xpos_center + farthest));
}

Status KvCache::check_shift(const KvSequence& held, int keep, int discard, double& delta) const {
  delta = 0;
  if (keep < 0 || discard < 1 || keep > held.tokens() - discard) return Status::shift_out_of_range;
  if (keep + discard == held.tokens()) return Status::ok;
  delta = held.position(0, keep) - held.position(0, keep + discard);
  for (int axis = 1; axis < geometry_.axes(); ++axis) {
    if (held.position(axis, keep) - held.position(axis, keep + discard) != delta) return Status::shift_axes;
  }
  return check_moved(held, {nullptr, keep + discard, delta});
}

Status KvCache::can_shift(int sequence, int keep, int discard) const {
  if (const Status status = check_sequence(sequence, false); status != Status::ok) return status;
  double delta;
  return check_shift(sequences_[sequence], keep, discard, delta);
}

Status KvCache::shift(int sequence, int keep, int discard) {
  if (const Status status = check_sequence(sequence, false); status != Status::ok) return status;
  KvSequence& held = sequences_[sequence];
  double delta;
  if (const Status status = check_shift(held, keep, discard, delta); status != Status::ok) return status;
  if (const Status status = prepare_move(held); status != Status::ok) return status;
  held.remove(keep, discard);
  if (delta != 0) apply_move(held, {nullptr, keep, delta});
  return Status::ok;
}

Status KvCache::can_move(int sequence, const Positions& positions) const {
  if (const Status status = check_sequence(sequence, false); status != Status::ok) return status;
  const KvSequence& held = sequences_[sequence];
  if (positions.rows != 1 || positions.tokens != held.tokens()) return Status::shape_out_of_range;
  if (positions.ids != nullptr && positions.axes != 1 && positions.axes != geometry_.axes()) return Status::positions_axes;
  return check_moved(held, {&positions, 0, 0});
}

Status KvCache::move(int sequence, const Positions& positions) {
  if (const Status status = can_move(sequence, positions); status != Status::ok) return status;
  KvSequence& held = sequences_[sequence];
  if (const Status status = prepare_move(held); status != Status::ok) return status;
  apply_move(held, {&positions, 0, 0});
  return Status::ok;
}

// `plan` is of the new config, for any length.
Status KvCache::check_config(int rope, const RopeConfig& config, const FrequencyPlan& plan) const {
  const FrequencyPlan& old = ropes_[rope].plan();
  if (mode_ == KeyMode::rotated && !have_same_geometry(old, plan)) return Status::plans_differ;
  if (old.head_dim != plan.head_dim) return Status::head_dim_mismatch;
  if (plan.axes != 1 && geometry_.axes() != 1 && plan.axes != geometry_.axes()) return Status::plans_differ;
  for (int index = 0; index < sequence_count_; ++index) {
    const KvSequence& held = sequences_[index];
    FrequencyPlan own;
    if (const Status status = plan_at(config, held.planned_length(rope), own); status != Status::ok) return status;
    if (const Status status = check_stands(held, {}, own); status != Status::ok) return status;
    if (have_same_xpos(old, own)) continue;
    if (const Status status = check_scale(held, own, xpos_growth(own, held.largest_position())); status != Status::ok) return status;
  }
  return Status::ok;
}

Status KvCache::can_retune(int rope, const RopeConfig& config) const {
  if (rope < 0 || rope >= rope_count_) return Status::cache_rope_unknown;
  FrequencyPlan plan;
  if (const Status status = make_plan(config, 1, plan); status != Status::ok) return status;
  return check_config(rope, config, plan);
}

Status KvCache::retune(int rope, const RopeConfig& config) {
  if (const Status status = can_retune(rope, config); status != Status::ok) return status;
  Rope& target = ropes_[rope];
  std::unique_ptr<FrequencyPlan[]> from(new (std::nothrow) FrequencyPlan[sequence_count_]),
      to(new (std::nothrow) FrequencyPlan[sequence_count_]);
  if (from == nullptr || to == nullptr) return Status::out_of_memory;
  // every plan is made, and the memory for every turn taken, before the first key turns
  for (int index = 0; mode_ == KeyMode::rotated && index < sequence_count_; ++index) {
    const double length = sequences_[index].planned_length(rope);
    if (const Status status = plan_at(target.config(), length, from[index]); status != Status::ok) return status;
    if (const Status status = plan_at(config, length, to[index]); status != Status::ok) return status;
    if (const Status status = key_turn_.prepare(geometry_, from[index], to[index]); status != Status::ok) return status;
  }
  const std::size_t row_floats = static_cast<std::size_t>(kBlockTokens) * (resolved_rotary_dim(config) / 2);
  for (Buffer<float>* rows : {&cos_, &sin_}) {  // raw keys may come to turn more pairs
    if (rows->size() < row_floats && !rows->resize(row_floats)) return Status::out_of_memory;
  }
  if (const Status status = target.configure(config); status != Status::ok) return status;
  for (int index = 0; mode_ == KeyMode::rotated && index < sequence_count_; ++index) {
    static_cast<void>(key_turn_.prepare(geometry_, from[index], to[index]));
    key_turn_.apply(*kernels_, *rotate_kernels_, sequences_[index], rope, {});
  }
  return Status::ok;
}

// Whether all keys and values are what append() takes: a saved sequence may hold anything.
bool KvCache::are_finite(const KvSequence& held) {
  for (int index = 0; index < geometry_.layers(); ++index) {
    const KvGeometry::Layer& layer = geometry_.layer(index);
    for (int first = 0; first < held.written(index); first += kBlockTokens) {
      const int count = std::min(kBlockTokens, held.written(index) - first), dim = padded_dim(layer.head_dim);
      const StoredRows rows = {static_cast<std::ptrdiff_t>(layer.row_bytes), dim, count, layer.head_dim};
      for (const std::size_t offset : {layer.key_offset, layer.value_offset}) {
        for (int head = 0; head < layer.heads; ++head) {
          kernels_->load[static_cast<int>(geometry_.type())](rows, held.page(first / kBlockTokens) + offset + layer.row(head, 0),
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

Status KvCache::adopt(int sequence, KvSequence&& held, const FrequencyPlan* from) {
  if (const Status status = check_sequence(sequence, false); status != Status::ok) return status;
  if (held.tokens() > max_tokens_) return Status::cache_full;
  if (const Status status = check_moved(held, {}); status != Status::ok) return status;
  for (int rope = 0; mode_ == KeyMode::rotated && rope < rope_count_; ++rope) {
    FrequencyPlan to;
    if (const Status status = plan_at(ropes_[rope].config(), held.planned_length(rope), to); status != Status::ok) return status;
    if (const Status status = key_turn_.prepare(geometry_, from[rope], to); status != Status::ok) return status;
    key_turn_.apply(*kernels_, *rotate_kernels_, held, rope, {});
  }
  if (!are_finite(held)) return Status::image_content;
  held.use_geometry(geometry_);
  sequences_[sequence] = std::move(held);
  return Status::ok;
}

}  // namespace ropewalk
