#include "base/thread_pool.h"

#include <algorithm>

namespace ropewalk {
namespace {

// Checks for a new job before a helper goes to sleep: about 50 µs. The products of a token follow each other within a few.
constexpr int kSpins = 20000;

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

void ThreadPool::use_threads(int threads, std::int64_t part_work) {
  threads_.store(std::clamp(threads, 1, kMaxThreads), std::memory_order_relaxed);
  part_work_ = part_work;
}

void ThreadPool::run(int parts, Part part, void* context) {
  const int threads = this->threads();
  if (threads == 1 || parts <= 1 || is_busy_.exchange(true, std::memory_order_acquire)) {
    for (int i = 0; i < parts; ++i) part(context, i, 0);
    return;
  }
  part_ = part;
  context_ = context;
  done_.store(0, std::memory_order_relaxed);
  const std::uint32_t job = job_.load(std::memory_order_relaxed) + 1;
  for (int i = 0; i < threads; ++i) {
    const auto [first, last] = part_range(parts, threads, i);
    ranges_[i].word.store(pack(job, static_cast<int>(first), static_cast<int>(last)), std::memory_order_release);
  }
  job_.store(job);  // sequentially consistent, as in wait_for_job(): either the helper sees the job, or the caller sees that it sleeps
  if (sleepers_.load() > 0) wake_all(job_);

  work(job, 0);
  while (done_.load(std::memory_order_acquire) < parts) pause();
  is_busy_.store(false, std::memory_order_release);
}

void ThreadPool::work(std::uint32_t job, int thread) {
  const int threads = this->threads();
  int taken = 0, part = 0;
  for (int i = 0; i < threads; ++i) {
    Range& range = ranges_[(thread + i) % threads];
    for (; take(job, range, i == 0, part); ++taken) part_(context_, part, thread);
  }
  if (taken > 0) done_.fetch_add(taken, std::memory_order_release);
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

ThreadPool& thread_pool() {
  static constinit ThreadPool pool;
  return pool;
}

int parts_of(std::int64_t units, std::int64_t work) {
  const int threads = thread_pool().threads();
  if (threads == 1) return 1;
  const std::int64_t worth = std::max<std::int64_t>(1, units * work / thread_pool().part_work());
  return static_cast<int>(std::min<std::int64_t>({worth, units, 8 * threads}));
}

}  // namespace ropewalk
