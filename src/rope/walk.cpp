#include "rope/walk.h"

#include <algorithm>

namespace ropewalk {

unsigned WalkChoice::next_trial() {
  if (clock == nullptr) return 0;
  const unsigned piece = pieces_.fetch_add(1, std::memory_order_relaxed) + 1;
  const bool is_trial = piece % (is_decided_.load(std::memory_order_relaxed) ? kPiecesPerLaterTrial : kPiecesPerTrial) == 0;
  return is_trial ? trials_.fetch_add(1, std::memory_order_relaxed) + 1 : 0;
}

// The others in turn, and until all are known to be slower, only those that may be faster. Each goes first in one of two trials.
int WalkChoice::challenger(int taken, unsigned trial) const {
  const int next = (taken + 1 + static_cast<int>(trial / 2 % (count_ - 1))) % count_;
  const bool is_done = is_slower(next) && !is_decided_.load(std::memory_order_relaxed) && count_ == kMostWalks;
  return is_done ? kMostWalks - taken - next : next;  // indices add up to three
}

// With many threads a point may get lost.
void WalkChoice::add_point(int taken, int other, bool for_other) {
  const int lead = std::clamp(leads_[other].load(std::memory_order_relaxed) + (for_other ? 1 : -1), -kDecisiveLead, kDecisiveLead);
  leads_[other].store(static_cast<std::int8_t>(lead), std::memory_order_relaxed);
  if (lead == kDecisiveLead) {
    // what was slower than the walk that was taken is slower than the new one
    for (auto& each : leads_) each.store(std::min(each.load(std::memory_order_relaxed), std::int8_t{0}), std::memory_order_relaxed);
    leads_[taken].store(-kDecisiveLead, std::memory_order_relaxed);
    chosen_.store(static_cast<std::int8_t>(other), std::memory_order_relaxed);
  }
  int slower = 0;
  for (int walk = 0; walk < count_; ++walk) slower += is_slower(walk);
  if (slower == count_ - 1) is_decided_.store(true, std::memory_order_relaxed);
}

}  // namespace ropewalk
