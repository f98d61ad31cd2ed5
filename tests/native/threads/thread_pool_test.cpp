// The parts of a job are each computed once, whatever the helpers do. The native-threads preset runs this under ThreadSanitizer.
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/native_threads.h"
#include "matmul/matmul.h"

namespace ropewalk {
namespace {

std::vector<int> times_computed(int parts) {
  std::vector<int> times(parts);
  in_parallel(parts, [&](int part, int) { ++times[part]; });
  return times;
}

TEST(ThreadPool, ComputesEachPartOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    NativeThreads helpers(threads);
    for (const int parts : {0, 1, 2, 3, 7, 100, ThreadPool::kMaxParts}) {
      for (int i = 0; i < 20; ++i) EXPECT_EQ(times_computed(parts), std::vector<int>(parts, 1)) << threads << " threads, " << parts;
    }
  }
}

TEST(ThreadPool, JobsFollowEachOther) {
  NativeThreads helpers(4);
  std::vector<std::int64_t> sums(64);
  for (int job = 0; job < 5000; ++job) {
    in_parallel(64, [&](int part, int) { sums[part] += part; });
  }
  for (int part = 0; part < 64; ++part) EXPECT_EQ(sums[part], 5000 * part);
}

TEST(ThreadPool, NoTwoPartsRunOnOneThreadNumber) {
  NativeThreads helpers(4);
  std::atomic<int> running[ThreadPool::kMaxThreads] = {};
  for (int i = 0; i < 200; ++i) {
    in_parallel(40, [&](int, int thread) {
      EXPECT_EQ(running[thread].fetch_add(1), 0);
      EXPECT_LT(thread, 4);
      running[thread].fetch_sub(1);
    });
  }
}

// The caller takes the parts of helpers that were never started.
TEST(ThreadPool, NeedsNoHelpers) {
  thread_pool().use_threads(8);
  EXPECT_EQ(times_computed(100), std::vector<int>(100, 1));
  thread_pool().use_threads(1);
}

TEST(ThreadPool, HelpersSleepAndWakeUp) {
  NativeThreads helpers(3);
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // longer than helpers spin
    EXPECT_EQ(times_computed(1000), std::vector<int>(1000, 1));
  }
}

TEST(ThreadPool, AJobWithinAJobRunsOnItsThread) {
  NativeThreads helpers(4);
  std::vector<std::vector<int>> times(32);
  in_parallel(32, [&](int part, int) { times[part] = times_computed(10); });
  for (const std::vector<int>& inner : times) EXPECT_EQ(inner, std::vector<int>(10, 1));
}

TEST(ThreadPool, TwoCallersDontMix) {
  NativeThreads helpers(3);
  std::thread other([] {
    for (int i = 0; i < 500; ++i) EXPECT_EQ(times_computed(50), std::vector<int>(50, 1));
  });
  for (int i = 0; i < 500; ++i) EXPECT_EQ(times_computed(50), std::vector<int>(50, 1));
  other.join();
}

TEST(ThreadPool, StartsAgainWithAnotherNumber) {
  for (const int threads : {4, 2, 6, 1, 3}) {
    NativeThreads helpers(threads);
    EXPECT_EQ(thread_pool().threads(), threads);
    EXPECT_EQ(times_computed(64), std::vector<int>(64, 1));
  }
  EXPECT_EQ(thread_pool().threads(), 1);
}

// A helper that never finishes its part: the job ends without it, and later jobs are computed by the caller until there are new helpers.
TEST(ThreadPool, ALostHelperIsReported) {
  std::atomic<bool> is_free = false;  // the held helper reads it until it is joined
  std::atomic<int> held_by = 0;
  NativeThreads helpers(3);
  ThreadPool& pool = thread_pool();
  pool.use_threads(3, 1, std::chrono::milliseconds(20));
  while (pool.status() == Status::ok) {
    in_parallel(100, [&](int, int thread) {
      if (thread == 0) return std::this_thread::sleep_for(std::chrono::microseconds(10));
      // after held_by is set, the job may end, and this lambda with it
      std::atomic<bool>* const free = &is_free;
      int nobody = 0;
      if (!held_by.compare_exchange_strong(nobody, thread)) return;
      while (!*free) std::this_thread::yield();
    });
  }
  EXPECT_EQ(pool.status(), Status::thread_lost);
  EXPECT_EQ(pool.lost(), 1u << held_by);
  EXPECT_EQ(times_computed(100), std::vector<int>(100, 1));
  EXPECT_EQ(pool.status(), Status::thread_lost);

  const std::vector<float> ones(8 * 4, 1.0f);
  std::vector<float> out(8);
  const WeightMatrix weights = {WeightFormat::f32, 8, 4, ones.data()};
  const Product product = {&weights, nullptr, out.data(), 8};
  Activations x;
  x.set(ones.data(), 4, 1, 4);
  EXPECT_EQ(multiply(fastest_matmul_kernels(), {&product, 1}, x), Status::thread_lost) << "calls tell it";

  is_free = true;  // its part ends in a later job, where it doesn't count
  pool.use_threads(3, 1);
  EXPECT_EQ(pool.status(), Status::ok);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(times_computed(100), std::vector<int>(100, 1));
}

TEST(ThreadPool, ThreadsAreKeptWithinRange) {
  thread_pool().use_threads(1000);
  EXPECT_EQ(thread_pool().threads(), ThreadPool::kMaxThreads);
  thread_pool().use_threads(-3);
  EXPECT_EQ(thread_pool().threads(), 1);
}

TEST(ThreadPool, SmallJobsAreOnePart) {
  NativeThreads helpers(4);
  EXPECT_EQ(parts_of(1, 1 << 30), 1);
  EXPECT_EQ(parts_of(1000, 1), 1);
  EXPECT_EQ(parts_of(1000, 1 << 20), 32);
  EXPECT_EQ(parts_of(3, 1 << 20), 3);
  EXPECT_EQ(parts_of(std::int64_t{1} << 40, std::int64_t{1} << 40), 32);
  EXPECT_EQ(parts_of(1000, 0), 1);
  thread_pool().use_threads(1);
  EXPECT_EQ(parts_of(1000, 1 << 20), 1);
}

}  // namespace
}  // namespace ropewalk
