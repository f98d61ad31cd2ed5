// The order in which a rotation goes over a tensor, chosen by measuring. The bits of the result don't depend on it.
//
// A tensor too large for any cache waits for memory, and what lets loads overlap best differs between processors. Intel's cores (Xeon)
// gain a quarter when lines are read ahead. AMD's (Zen 3, Zen 5) have prefetchers that follow a plain walk to the memory limit. When lines
// are read ahead it takes up to twice as long, and on Zen 3 when several whole heads are rotated together, too. On Zen 1 and Zen 3, steps
// fetch the heads that follow, as one stream, while they rotate heads in turn.
#pragma once

#include <atomic>
#include <cstdint>

namespace ropewalk {

// A tensor of more bytes than this is read from memory, not from a cache.
constexpr std::int64_t kStreamingBytes = 16 << 20;

enum class Walk : std::int8_t {
  in_steps,    // some pairs of several heads at a time
  read_ahead,  // whole heads, piece by piece, after loading one byte of each line of the piece (touch.h)
  in_order,    // whole heads
  by_token,    // all heads of a token, then those of the next one, although they lie head by head
};

// Returns the time in any unit, from any origin.
using Clock = double (*)();

// Chooses between two or three walks for one kind of tensor. Until the choice is made, every fourth piece of work is a trial: one half of
// it goes the way that is taken, the other half another way, and the faster way gets a point. A lead of eight points decides between the
// two. So a pause of the process counts no more than any other trial, and a clock so coarse that most trials are a draw only takes longer.
// A piece is some 2 MB, so the first rotations of large tensors decide after 64 MB or more for each other walk, and an eighth of these went
// that way. Later every 64th piece is a trial, and a lead of eight for another walk changes the choice: engines run the first calls in code
// that isn't optimized yet, where another walk may be faster. Safe for any number of threads.
class WalkChoice {
 public:
  // The clock that walks are compared with. Null: the usual walk is taken, and the core reads no clock. Set it while no rotation runs.
  static inline Clock clock = nullptr;

  // The first walk is taken as long as nothing is chosen.
  template <class... Walks>
  constexpr explicit WalkChoice(Walks... walks) : walks_{walks...}, count_(sizeof...(walks)) {}
  constexpr WalkChoice() : WalkChoice(Walk::read_ahead, Walk::in_order) {}

  // Calls act(first, last, walk) for all of [0, count). Reads the clock only if it may.
  template <class Act>
  void run(int count, bool may_measure, Act&& act) {
    const int half = count / 2, taken = chosen_.load(std::memory_order_relaxed);
    const unsigned trial = may_measure && half > 0 ? next_trial() : 0;
    const int other = trial == 0 ? taken : challenger(taken, trial);
    const bool starts_with_other = trial % 2 == 0;  // neither way is always first
    const Walk first = walks_[starts_with_other ? other : taken], second = walks_[starts_with_other ? taken : other];
    const int ends[] = {0, trial == 0 ? count : half, trial == 0 ? count : 2 * half, count};
    double times[3] = {};
    for (int part = 0; part < 3; ++part) {  // one call of act, so that it is compiled once
      if (trial != 0) times[part] = clock();
      if (ends[part] < ends[part + 1]) act(ends[part], ends[part + 1], part == 0 ? first : second);
    }
    const double gain = (times[2] - times[1]) - (times[1] - times[0]);  // of the first half over the second
    if (gain != 0) add_point(taken, other, (gain > 0) == starts_with_other);
  }

 private:
  static constexpr unsigned kPiecesPerTrial = 4, kPiecesPerLaterTrial = 64;
  static constexpr int kDecisiveLead = 8, kMostWalks = 3;

  bool is_slower(int walk) const { return leads_[walk].load(std::memory_order_relaxed) <= -kDecisiveLead; }

  // Returns the number of this piece's trial, or 0 if it is none.
  unsigned next_trial();

  // What a trial compares with the walk that is taken.
  int challenger(int taken, unsigned trial) const;

  void add_point(int taken, int other, bool for_other);

  const Walk walks_[kMostWalks];
  const std::int8_t count_;
  std::atomic<unsigned> pieces_{0}, trials_{0};
  std::atomic<bool> is_decided_{false};           // whether all other walks were slower, once
  std::atomic<std::int8_t> chosen_{0};            // index of the walk that is taken
  std::atomic<std::int8_t> leads_[kMostWalks]{};  // points of each other walk less those of the one that is taken
};

}  // namespace ropewalk
