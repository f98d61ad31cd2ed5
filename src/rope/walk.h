// The order in which a rotation goes over a large tensor, chosen by measuring. The bits of the result don't depend on it.
//
// A tensor too large for any cache waits for memory, and what lets loads overlap best differs between processors. Intel's cores (Xeon)
// gain a quarter when lines are read ahead. AMD's (Zen 5) have prefetchers that follow a plain walk to the memory limit, and take
// twice as long when lines are read ahead.
#pragma once

#include <atomic>

namespace ropewalk {

enum class Walk {
  in_cache,    // heads in pairs, which share loads of cos and sin. For tensors that fit into a cache
  read_ahead,  // the same, piece by piece, after loading one byte of each line of the piece (touch.h)
  in_order,    // one head after another
};

// Returns the time in any unit, from any origin.
using Clock = double (*)();

// Chooses between read_ahead and in_order for one kind of tensor. Until the choice is made, every fourth piece of work is a trial: one half
// of it goes one way, the other half the other way, and the faster way gets a point. A lead of eight points decides. So a pause of the
// process counts no more than any other trial, and a clock so coarse that most trials are a draw only takes longer. A piece is some 512 KB,
// so the first rotation of a large tensor decides after 16 MB or more, and an eighth of these went in order. Safe for any number of
// threads.
class WalkChoice {
 public:
  // The clock that walks are compared with. Null: large tensors are read ahead, and the core reads no clock. Set it while no rotation runs.
  static inline Clock clock = nullptr;

  // Calls act(first, last, walk) for all of [0, count). Reads the clock only if it may.
  template <class Act>
  void run(int count, bool may_measure, Act&& act) {
    const int half = count / 2;
    const unsigned trial = may_measure && half > 0 ? next_trial() : 0;
    if (trial == 0) return act(0, count, choice());
    const bool starts_in_order = trial % 2 == 0;  // neither way is always first
    const Walk first = starts_in_order ? Walk::in_order : Walk::read_ahead, second = starts_in_order ? Walk::read_ahead : Walk::in_order;
    const double start = clock();
    act(0, half, first);
    const double middle = clock();
    act(half, 2 * half, second);
    const double end = clock();
    if (2 * half < count) act(2 * half, count, second);
    const double gain = (end - middle) - (middle - start);  // of the first half over the second
    if (gain != 0) add_point((gain > 0) == starts_in_order);
  }

 private:
  static constexpr unsigned kPiecesPerTrial = 4;
  static constexpr int kDecisiveLead = 8;

  int lead() const { return lead_.load(std::memory_order_relaxed); }
  bool is_open() const { return clock != nullptr && lead() > -kDecisiveLead && lead() < kDecisiveLead; }
  Walk choice() const { return lead() >= kDecisiveLead ? Walk::in_order : Walk::read_ahead; }

  // Returns the number of this piece's trial, or 0 if it is none.
  unsigned next_trial() {
    if (!is_open()) return 0;
    const unsigned piece = pieces_.fetch_add(1, std::memory_order_relaxed) + 1;
    return piece % kPiecesPerTrial == 0 ? piece / kPiecesPerTrial : 0;
  }

  // With many threads the lead may go past the decisive one by a few points. It never comes back.
  void add_point(bool for_in_order) {
    if (is_open()) lead_.fetch_add(for_in_order ? 1 : -1, std::memory_order_relaxed);
  }

  std::atomic<unsigned> pieces_{0};
  std::atomic<int> lead_{0};  // points of in_order less those of read_ahead
};

}  // namespace ropewalk
