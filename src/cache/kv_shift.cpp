#include "cache/kv_shift.h"

#include "base/thread_pool.h"
#include "cache/kv_groups.h"
#include "cache/kv_retune.h"

namespace ropewalk {
namespace {

// Sets the distance that the tokens after the discarded ones move.
Status check_shift(const KvStorage& storage, int sequence, int keep, int discard, double& delta) {
  delta = 0;
  if (const Status status = storage.check_sequence(sequence); status != Status::ok) return status;
  const KvSequence& cached = storage.sequences[sequence];
  if (keep < 0 || discard < 1 || keep > cached.tokens() - discard) return Status::shift_out_of_range;
  if (keep + discard == cached.tokens()) return Status::ok;
  delta = cached.position(0, keep) - cached.position(0, keep + discard);
  for (int axis = 1; axis < storage.geometry.axes(); ++axis) {
    if (cached.position(axis, keep) - cached.position(axis, keep + discard) != delta) return Status::shift_axes;
  }
  return check_move(storage, cached, {nullptr, keep + discard, delta});
}

// Allocates all memory that apply_move() needs.
Status prepare_move(KvStorage& storage, const KvSequence& cached) {
  for (int index = 0; index < storage.rope_count; ++index) {
    Rope& rope = storage.ropes[index];
    if (const Status status = rope.use_length(cached.planned_length(index)); status != Status::ok) return status;
    if (const Status status = storage.rerotation.prepare(storage.geometry, rope.plan(), rope.plan()); status != Status::ok) return status;
  }
  return Status::ok;
}

void apply_move(KvStorage& storage, KvSequence& cached, const KeyMove& move) {
  for (int index = 0; storage.mode == KeyMode::rotated && index < storage.rope_count; ++index) {
    Rope& rope = storage.ropes[index];
    static_cast<void>(rope.use_length(cached.planned_length(index)));
    static_cast<void>(storage.rerotation.prepare(storage.geometry, rope.plan(), rope.plan()));
    storage.rerotate(cached, index, move);
  }
  cached.replace_positions([&](int axis, int slot) { return move.at(cached, axis, slot); });
}

}  // namespace

Status truncate_tokens(KvStorage& storage, int sequence, int tokens) {
  if (const Status status = storage.check_sequence(sequence); status != Status::ok) return status;
  if (tokens < 0 || tokens > storage.sequences[sequence].tokens()) return Status::token_count_out_of_range;
  if (storage.geometry.closes_groups()) return cut_groups(storage, storage.sequences[sequence], tokens);
  storage.sequences[sequence].truncate(tokens);
  return Status::ok;
}

Status can_shift_tokens(const KvStorage& storage, int sequence, int keep, int discard) {
  double delta;
  return check_shift(storage, sequence, keep, discard, delta);
}

Status shift_tokens(KvStorage& storage, int sequence, int keep, int discard) {
  double delta;
  if (const Status status = check_shift(storage, sequence, keep, discard, delta); status != Status::ok) return status;
  KvSequence& cached = storage.sequences[sequence];
  if (const Status status = prepare_move(storage, cached); status != Status::ok) return status;
  if (const Status status = cached.own_pages(keep, cached.tokens() - discard); status != Status::ok) return status;
  if (storage.geometry.closes_groups()) {
    if (const Status status = cached.own_pages(keep, cached.tokens()); status != Status::ok) return status;
    if (const Status status = remove_in_groups(storage, cached, keep, discard); status != Status::ok) return status;
  } else {
    cached.remove(keep, discard);
  }
  if (delta != 0) apply_move(storage, cached, {nullptr, keep, delta});
  return thread_pool().status();
}

}  // namespace ropewalk
