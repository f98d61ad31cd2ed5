// Gives cached keys other ropes or other positions.
#pragma once

#include "cache/kv_storage.h"

namespace ropewalk {

// A change of some ropes, of the positions of one sequence, or of both.
struct KvRetune {
  std::span<const int> ropes;            // indices of the cache's ropes that get `config`, each once
  const RopeConfig* config = nullptr;    // may be null if `ropes` is empty
  int sequence = 0;                      // the sequence that gets `positions`
  const Positions* positions = nullptr;  // one row, a position for each token; null: positions stay
};

// As KvCache::retune() and can_retune().
Status retune_keys(KvStorage& storage, const KvRetune& change);
Status can_retune_keys(const KvStorage& storage, const KvRetune& change);

// Re-rotates a sequence's keys to the plans for a length. Each rope is completed before the next one starts: if a later rope runs out of
// memory, the keys of earlier ones still match planned_length().
Status retune_to_length(KvStorage& storage, KvSequence& cached, double length);

// Checks that the positions of a sequence after a move are those that a position map takes: consecutive integers, the same on all axes.
Status check_consecutive(const KvStorage& storage, const KvSequence& cached, const KeyMove& move);

// Checks the positions of a sequence after a move under the current ropes, and that its keys still fit their storage.
Status check_move(const KvStorage& storage, const KvSequence& cached, const KeyMove& move);

}  // namespace ropewalk
