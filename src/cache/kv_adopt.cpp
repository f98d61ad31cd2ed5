#include "cache/kv_adopt.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "base/thread_pool.h"
#include "cache/kv_groups.h"
#include "cache/kv_retune.h"
#include "cache/kv_shift.h"

namespace ropewalk {
namespace {

// Checks that the keys of a sequence of another cache would have the same bits in this one.
Status check_same_keys(const KvStorage& storage, const KvStorage& other, const KvSequence& cached) {
  const bool is_alike = storage.mode == other.mode && storage.rope_count == other.rope_count && storage.geometry.is_same(other.geometry);
  if (!is_alike) return Status::plans_differ;
  for (int rope = 0; rope < storage.rope_count; ++rope) {
    FrequencyPlan own, others;
    const double length = cached.planned_length(rope);
    if (const Status status = make_plan(storage.ropes[rope].config(), length, own); status != Status::ok) return status;
    if (const Status status = make_plan(other.ropes[rope].config(), length, others); status != Status::ok) return status;
    if (!rotate_alike(own, others)) return Status::plans_differ;
  }
  return Status::ok;
}

// Checks that all keys and values are finite, as append() guarantees: a saved image may contain anything.
bool are_finite(KvStorage& storage, const KvSequence& cached) {
  for (int index = 0; index < storage.geometry.layers(); ++index) {
    const KvGeometry::Layer& layer = storage.geometry.layer(index);
    for (int first = 0; first < cached.written(index); first += kBlockTokens) {
      const int count = std::min(kBlockTokens, cached.written(index) - first), dim = padded_dim(layer.head_dim);
      for (int part = 0; part < layer.parts(); ++part) {
        for (int head = 0; head < layer.heads; ++head) {
          load_page_rows(storage, cached, index, part, head, first / kBlockTokens, storage.rows.data());
          for (int i = 0; i < count * dim; ++i) {
            if (!std::isfinite(storage.rows[i])) return false;
          }
        }
      }
    }
  }
  return true;
}

}  // namespace

Status copy_tokens(const KvStorage& source, int from, KvStorage& target, int to, int tokens) {
  if (const Status status = source.check_sequence(from); status != Status::ok) return status;
  if (const Status status = target.check_sequence(to); status != Status::ok) return status;
  const KvSequence& copied = source.sequences[from];
  KvSequence& replaced = target.sequences[to];
  if (tokens < 0 || tokens > copied.tokens()) return Status::token_count_out_of_range;
  if (&copied == &replaced) {
    return truncate_tokens(target, to, tokens);
  }
  if (&source != &target) {
    if (tokens > target.max_tokens) return Status::cache_full;
    if (const Status status = check_same_keys(target, source, copied); status != Status::ok) return status;
  }
  if (!target.geometry.closes_groups()) return replaced.copy(copied, tokens);
  KvSequence fresh;
  if (const Status status = fresh.prepare(target.geometry, target.rope_count); status != Status::ok) return status;
  if (const Status status = fresh.copy(copied, tokens); status != Status::ok) return status;
  if (const Status status = cut_groups(target, fresh, tokens); status != Status::ok) return status;
  replaced = std::move(fresh);
  return Status::ok;
}

Status adopt_sequence(KvStorage& storage, int sequence, KvSequence&& restored, const FrequencyPlan* from) {
  if (const Status status = storage.check_sequence(sequence); status != Status::ok) return status;
  if (restored.tokens() > storage.max_tokens) return Status::cache_full;
  if (storage.mode == KeyMode::raw || storage.rope_count == 0) {
    if (const Status status = check_move(storage, restored, {}); status != Status::ok) return status;
    if (storage.has_position_map()) {
      if (const Status status = check_consecutive(storage, restored, {}); status != Status::ok) return status;
    }
  }
  std::unique_ptr<FrequencyPlan[]> to(new (std::nothrow) FrequencyPlan[std::max(1, storage.rope_count)]);
  if (to == nullptr) return Status::out_of_memory;
  const int rotated_ropes = storage.mode == KeyMode::rotated && restored.tokens() > 0 ? storage.rope_count : 0;
  for (int rope = 0; rope < rotated_ropes; ++rope) {  // checks everything before the first key is rotated
    if (const Status status = check_keys(storage.geometry, restored, {}, from[rope], from[rope]); status != Status::ok)
      return Status::image_content;
    if (const Status status = plan_at(storage.ropes[rope].config(), restored.planned_length(rope), to[rope]); status != Status::ok)
      return status;
    if (const Status status = check_keys(storage.geometry, restored, {}, from[rope], to[rope]); status != Status::ok) return status;
  }
  if (!are_finite(storage, restored)) return Status::image_content;
  for (int rope = 0; rope < rotated_ropes; ++rope) {
    if (const Status status = storage.rerotation.prepare(storage.geometry, from[rope], to[rope]); status != Status::ok) return status;
    storage.rerotate(restored, rope, {});
  }
  if (thread_pool().status() != Status::ok) return Status::thread_lost;
  if (!are_finite(storage, restored)) return Status::image_content;  // keys may be larger than the image says
  restored.use_geometry(storage.geometry);
  storage.sequences[sequence] = std::move(restored);
  return Status::ok;
}

}  // namespace ropewalk
