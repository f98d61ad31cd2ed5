// The order in which a rotation goes over a tensor, chosen by measuring. The bits of the result don't depend on it.
//
// A tensor too large for any cache waits for memory, and what lets loads overlap best differs between processors. Intel's cores (Xeon)
// gain a quarter when lines are read ahead. AMD's (Zen 5) have prefetchers that follow a plain walk to the memory limit, and take
// twice as long when lines are read ahead.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace ropewalk {

// A tensor of more bytes than this is read from memory, not from a cache.
constexpr std::int64_t kStreamingBytes = 16 << 20;

enum class Walk {
  in_steps,    // some pairs of several heads at a time. For tensors that fit into a core's own cache
  read_ahead,  // whole heads, piece by piece, after loading one byte of each line of the piece (touch.h)
  in_order,    // whole heads
  by_token,    // all heads of a token, then those of the next one, although they lie head by head
};

// Returns the time in any unit, from any origin.
using Clock = double (*)();

// Chooses between two walks for one kind of tensor. Until the choice is made, every fourth piece of work is a trial: one half
// of it goes one way, the other half the other way, and the faster way gets a point. A lead of eight points decides. So a pause of the
// process counts no more than any other trial, and a clock so coarse that most trials are a draw only takes longer. A piece is some 2 MB,
// so the first rotation of a large tensor decides after 64 MB or more, and an eighth of these went the slower way. Later every 64th piece
// is a trial, and a lead of eight for the other walk changes the choice: engines run the first calls in code that isn't optimized yet,
// where another walk may be faster. Safe for any number of threads.
class WalkChoice {
 public:
  // The clock that walks are compared with. Null: the usual walk is taken, and the core reads no clock. Set it while no rotation runs.
  static inline Clock clock = nullptr;

  // The usual walk is taken as long as nothing is chosen.
  constexpr explicit WalkChoice(Walk usual = Walk::read_ahead, Walk other = Walk::in_order) : usual_(usual), other_(other) {}

  // Calls act(first, last, walk) for all of [0, count). Reads the clock only if it may.
  template <class Act>
  void run(int count, bool may_measure, Act&& act) {
    const int half = count / 2;
    const unsigned trial = may_measure && half > 0 ? next_trial() : 0;
    const bool starts_with_other = trial % 2 == 0;  // neither way is always first
    const Walk first = trial == 0 ? choice() : starts_with_other ? other_ : usual_, second = starts_with_other ? usual_ : other_;
    const int ends[] = {0, trial == 0 ? count : half, trial == 0 ? count : 2 * half, count};
    double times[3] = {};
    for (int part = 0; part < 3; ++part) {  // one call of act, so that it is compiled once
      if (trial != 0) times[part] = clock();
      if (ends[part] < ends[part + 1]) act(ends[part], ends[part + 1], part == 0 ? first : second);
    }
    const double gain = (times[2] - times[1]) - (times[1] - times[0]);  // of the first half over the second
    if (gain != 0) add_point((gain > 0) == starts_with_other);
  }

 private:
  static constexpr unsigned kPiecesPerTrial = 4, kPiecesPerLaterTrial = 64;
  static constexpr int kDecisiveLead = 8;
  enum Chosen : int { nothing, usual, other };

  Chosen chosen() const { return chosen_.load(std::memory_order_relaxed); }
  Walk choice() const { return chosen() == other ? other_ : usual_; }

  // Returns the number of this piece's trial, or 0 if it is none.
  unsigned next_trial() {
    if (clock == nullptr) return 0;
    const unsigned piece = pieces_.fetch_add(1, std::memory_order_relaxed) + 1;
    const bool is_trial = piece % (chosen() == nothing ? kPiecesPerTrial : kPiecesPerLaterTrial) == 0;
    return is_trial ? trials_.fetch_add(1, std::memory_order_relaxed) + 1 : 0;
  }

  // With many threads a point may get lost.
  void add_point(bool for_other) {
    const int lead = std::clamp(lead_.load(std::memory_order_relaxed) + (for_other ? 1 : -1), -kDecisiveLead, kDecisiveLead);
    lead_.store(lead, std::memory_order_relaxed);
    if (lead == kDecisiveLead) chosen_.store(other, std::memory_order_relaxed);
    if (lead == -kDecisiveLead) chosen_.store(usual, std::memory_order_relaxed);
  }

  const Walk usual_, other_;
  std::atomic<unsigned> pieces_{0}, trials_{0};
  std::atomic<int> lead_{0};  // points of the other walk less those of the usual one
  std::atomic<Chosen> chosen_{nothing};
};

}  // namespace ropewalk
