// Threads that compute the parts of a job together with the thread that calls.
//
// The parts of a job don't depend on each other, and each result belongs to one part. So results don't depend on the number of threads, or
// on who computes what. Each thread starts with a range of its own and takes parts from its front. One that has none left takes parts from
// the end of another's range. So a helper that starts late, sleeps or is never scheduled costs nothing: the others take its parts.
//
// A helper may end in the middle of a part, when a browser ends its Worker. Then its part is never done. The caller notices that nothing
// happens, gives up, and status() tells it until use_threads() is called again.
//
// The core starts no threads. Whoever has threads lets them call help(): std::thread natively (native_threads.h), Workers in wasm.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <type_traits>

#include "base/status.h"

namespace ropewalk {

class ThreadPool {
 public:
  static constexpr int kMaxThreads = 32;
  static constexpr int kMaxParts = 65535;

  // Computes one part. Must not throw.
  using Part = void (*)(void* context, int part, int thread);

  // Operations, multiplications and additions, that are worth a part: a thread needs about a microsecond to wake up, and this takes 4 µs.
  static constexpr std::int64_t kPartWork = 1 << 17;

  // How long the caller waits for the last parts of a job. A part takes milliseconds, and the system may keep its thread waiting.
  static constexpr std::chrono::milliseconds kPatience{10000};

  // Number of threads among which a job is divided, the caller included. 1 to kMaxThreads. 1 leaves the helpers asleep. Forgets lost
  // helpers. Tests set a small `part_work`, so that small jobs are divided too, and little patience.
  void use_threads(int threads, std::int64_t part_work = kPartWork, std::chrono::milliseconds patience = kPatience);
  std::int64_t part_work() const { return part_work_; }
  int threads() const { return threads_.load(std::memory_order_relaxed); }

  // Calls part(context, i, thread) once for each i of [0, parts), parts <= kMaxParts, and returns when all are done, or when a helper is
  // lost. `thread` is from 0 to threads() - 1 and no two parts run at a time with the same one, so it can choose scratch memory. A call
  // from a part, or while another thread's call runs, computes all parts on its own thread, and so do all calls after a helper was lost.
  void run(int parts, Part part, void* context);

  // Returns thread_lost if results of a job since the last use_threads() are missing, because helpers were lost; else ok.
  Status status() const { return lost() == 0 ? Status::ok : Status::thread_lost; }

  // The lost helpers: bit i for thread i. Whoever started them must end them before the next job.
  std::uint32_t lost() const { return lost_.load(std::memory_order_relaxed); }

  // Takes part in jobs as thread `thread`, 1 to kMaxThreads - 1, until stop(). At most one helper per number.
  void help(int thread);

  // Ends all calls of help(). No job may be running.
  void stop();

  // Lets helpers be started again after stop(). None of the earlier ones may be left.
  void reopen();

 private:
  // Parts that are left: the number of the job, the first part and the end, in one word, so that they change together.
  struct alignas(64) Range {
    std::atomic<std::uint64_t> word{0};
  };

  void work(std::uint32_t job, int thread);
  bool take(std::uint32_t job, Range& range, bool from_front, int& part);
  void add_done(std::uint32_t job, int parts);
  void wait_for_parts(std::uint32_t job, int parts);
  void wait_for_job(std::uint32_t last);

  std::atomic<std::uint32_t> job_{0};  // number of the newest job
  std::atomic<std::uint32_t> sleepers_{0};
  std::atomic<std::uint32_t> is_stopped_{0};
  std::atomic<bool> is_busy_{false};
  std::atomic<int> threads_{1};
  std::int64_t part_work_ = kPartWork;
  Part part_ = nullptr;  // of the running job. Only who has taken a part reads these two, and the job can't end meanwhile.
  void* context_ = nullptr;
  std::chrono::milliseconds patience_ = kPatience;
  std::atomic<std::uint32_t> lost_{0};
  std::atomic<std::uint32_t> working_{0};           // bit i: thread i may have a part that isn't done
  alignas(64) std::atomic<std::uint64_t> done_{0};  // number of the job, and of its parts that are computed
  Range ranges_[kMaxThreads];
};

// The pool of this process, or of this wasm instance.
ThreadPool& thread_pool();

// Calls body(part, thread) for each part, on the threads of the pool.
template <class Body>
void in_parallel(int parts, Body&& body) {
  thread_pool().run(
      parts, [](void* context, int part, int thread) { (*static_cast<std::remove_reference_t<Body>*>(context))(part, thread); }, &body);
}

// Number of parts for `units` of `work` operations each. Returns 1 for a job that is better done alone.
int parts_of(std::int64_t units, std::int64_t work);

// The units of one part: [first, last).
struct PartRange {
  std::int64_t first, last;
};
inline PartRange part_range(std::int64_t units, int parts, int part) { return {units * part / parts, units * (part + 1) / parts}; }

// Calls act(i) for each i of [0, units), each of `work` operations.
template <class Act>
void each_in_parallel(int units, std::int64_t work, Act&& act) {
  const int parts = parts_of(units, work);
  in_parallel(parts, [&](int part, int) {
    const auto [first, last] = part_range(units, parts, part);
    for (int i = static_cast<int>(first); i < last; ++i) act(i);
  });
}

}  // namespace ropewalk
