#include "base/thread_pool.h"

#include <algorithm>

#include "base/profile.h"

namespace ropewalk {
namespace {

// Checks for a new job before a helper goes to sleep: about 50 µs. The products of a token follow each other within a few.
constexpr int kSpins = 20000;

// More parts than threads, so that a thread that is slow or late leaves work for the others.
constexpr int kPartsPerThread = 8;

// Checks for the last parts between two looks at the clock.
constexpr int kSpinsPerLook = 1 << 16;

#if defined(__wasm__) && !defined(__wasm_atomics__)
// A build without shared memory has no helpers.
void wait_while(std::atomic<std::uint32_t>&, std::uint32_t) {}
void wake_all(std::atomic<std::uint32_t>&) {}
#elif defined(__wasm__)
void wait_while(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  __builtin_wasm_memory_atomic_wait32(reinterpret_cast<int*>(&word), static_cast<int>(value), -1);
}
void wake_all(std::atomic<std::uint32_t>& word) { __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(&word), ~0u); }
#else
void wait_while(std::atomic<std::uint32_t>& word, std::uint32_t value) { word.wait(value); }
void wake_all(std::atomic<std::uint32_t>& word) { word.notify_all(); }
#endif

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

std::uint64_t pack(std::uint32_t job, int first, int end) {
  return std::uint64_t{job} << 32 | static_cast<std::uint64_t>(first) << 16 | static_cast<std::uint64_t>(end);
}

}  // namespace

void ThreadPool::use_threads(int threads, std::int64_t part_work, std::chrono::milliseconds patience) {
  threads_.store(std::clamp(threads, 1, kMaxThreads), std::memory_order_relaxed);
  part_work_ = part_work;
  patience_ = patience;
  lost_.store(0, std::memory_order_relaxed);
}

void ThreadPool::run(int parts, Part part, void* context) {
  const int threads = this->threads();
  if (threads == 1 || parts <= 1 || lost() != 0 || is_busy_.exchange(true, std::memory_order_acquire)) {
    for (int i = 0; i < parts; ++i) part(context, i, 0);
    return;
  }
#ifdef ROPEWALK_PROFILE
  run_measured(parts, part, context);
  is_busy_.store(false, std::memory_order_release);
  return;
#endif
  part_ = part;
  context_ = context;
  const std::uint32_t job = job_.load(std::memory_order_relaxed) + 1;
  done_.store(std::uint64_t{job} << 32, std::memory_order_relaxed);
  working_.store(0, std::memory_order_relaxed);
  for (int i = 0; i < threads; ++i) {
    const auto [first, last] = part_range(parts, threads, i);
    ranges_[i].word.store(pack(job, static_cast<int>(first), static_cast<int>(last)), std::memory_order_release);
  }
  job_.store(job);  // sequentially consistent, as in wait_for_job(): either the helper sees the job, or the caller sees that it sleeps
  if (sleepers_.load() > 0) wake_all(job_);

  work(job, 0);
  wait_for_parts(job, parts);
  is_busy_.store(false, std::memory_order_release);
}

void ThreadPool::wait_for_parts(std::uint32_t job, int parts) {
  const std::uint64_t all = std::uint64_t{job} << 32 | static_cast<std::uint64_t>(parts);
  std::chrono::steady_clock::time_point start;
  for (std::int64_t spin = 0; done_.load(std::memory_order_acquire) != all; ++spin) {
    pause();
    if (spin % kSpinsPerLook != kSpinsPerLook - 1) continue;
    const auto now = std::chrono::steady_clock::now();
    if (spin < kSpinsPerLook) start = now;
    if (now - start < patience_) continue;
    lost_.store(working_.load());
    if (lost() != 0) return;
  }
}

void ThreadPool::work(std::uint32_t job, int thread) {
  const int threads = this->threads();
  int taken = 0, part = 0;
  for (int i = 0; i < threads; ++i) {
    Range& range = ranges_[(thread + i) % threads];
    for (; take(job, range, i == 0, part); ++taken) {
      if (taken == 0) working_.fetch_or(1u << thread, std::memory_order_relaxed);
      part_(context_, part, thread);
    }
  }
  if (taken == 0) return;
  working_.fetch_and(~(1u << thread), std::memory_order_relaxed);
  add_done(job, taken);
}

// A helper that was lost may come back in a later job. Its parts don't count there.
void ThreadPool::add_done(std::uint32_t job, int parts) {
  std::uint64_t done = done_.load(std::memory_order_relaxed);
  do {
    if (done >> 32 != job) return;
  } while (
      !done_.compare_exchange_weak(done, done + static_cast<std::uint64_t>(parts), std::memory_order_release, std::memory_order_relaxed));
}

// A range of another job is left alone, so nobody can take a part of a job that has ended.
bool ThreadPool::take(std::uint32_t job, Range& range, bool from_front, int& part) {
  std::uint64_t word = range.word.load(std::memory_order_acquire);
  for (;;) {
    const int first = static_cast<int>(word >> 16 & 0xffff), end = static_cast<int>(word & 0xffff);
    if (word >> 32 != job || first >= end) return false;
    part = from_front ? first : end - 1;
    const std::uint64_t rest = from_front ? pack(job, first + 1, end) : pack(job, first, end - 1);
    if (range.word.compare_exchange_weak(word, rest, std::memory_order_acq_rel, std::memory_order_acquire)) return true;
  }
}

void ThreadPool::help(int thread) {
  std::uint32_t job = 0;
  while (is_stopped_.load() == 0) {
    wait_for_job(job);
    job = job_.load();
    if (thread < threads()) work(job, thread);
  }
}

void ThreadPool::wait_for_job(std::uint32_t last) {
  for (int i = 0; i < kSpins; ++i) {
    if (job_.load(std::memory_order_acquire) != last) return;
    pause();
  }
  sleepers_.fetch_add(1);
  wait_while(job_, last);
  sleepers_.fetch_sub(1);
}

void ThreadPool::stop() {
  is_stopped_.store(1);
  job_.fetch_add(1);
  wake_all(job_);
}

void ThreadPool::reopen() {
  is_stopped_.store(0);
  sleepers_.store(0);  // a helper that was ended in its sleep still counts
}

ThreadPool& thread_pool() {
  static constinit ThreadPool pool;
  return pool;
}

int parts_of(std::int64_t units, std::int64_t work) {
  const int threads = thread_pool().threads();
  if (threads == 1) return 1;
  const std::int64_t units_per_part = std::max<std::int64_t>(1, thread_pool().part_work() / std::max<std::int64_t>(1, work));
  return static_cast<int>(std::clamp<std::int64_t>(units / units_per_part, 1, kPartsPerThread * threads));
}

}  // namespace ropewalk
