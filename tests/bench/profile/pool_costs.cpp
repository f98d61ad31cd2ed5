// The costs that threads add and share on this machine, as JSON: the time of a job beyond that of its parts, in microseconds, and the bytes
// per nanosecond (GB/s) that threads read together, each for 1 and more threads. `pool_costs THREADS`
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/native_threads.h"
#include "base/thread_pool.h"

using namespace ropewalk;

namespace {

template <class Act>
double nanoseconds(Act&& act) {
  const auto start = std::chrono::steady_clock::now();
  act();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

// The fastest of `runs`: other programs of the machine only add time.
template <class Act>
double fastest(int runs, Act&& act) {
  double best = nanoseconds(act);
  for (int i = 1; i < runs; ++i) best = std::min(best, nanoseconds(act));
  return best;
}

// How much longer a job takes than its longest part: until the helpers have begun, and until the caller knows that all is done.
double job_us(int threads) {
  constexpr int kJobs = 20;
  constexpr double kPartNs = 20000;
  auto part = [](int, int) {
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() < kPartNs) {
    }
  };
  const double ns = fastest(500, [&] {
    for (int i = 0; i < kJobs; ++i) in_parallel(threads, part);
  });
  return (ns / kJobs - kPartNs) / 1000;
}

double read_rate(int threads, const std::vector<std::uint64_t>& memory, std::vector<std::uint64_t>& sums) {
  const auto words = static_cast<std::int64_t>(memory.size());
  const int parts = 8 * threads;
  const double ns = fastest(10, [&] {
    in_parallel(parts, [&](int part, int thread) {
      const auto [first, last] = part_range(words, parts, part);
      std::uint64_t sum[8] = {};
      for (std::int64_t i = first; i + 8 <= last; i += 8) {
        for (int k = 0; k < 8; ++k) sum[k] += memory[i + k];
      }
      for (const std::uint64_t s : sum) sums[thread] += s;
    });
  });
  return static_cast<double>(words) * 8 / ns;
}

}  // namespace

int main(int count, char** arguments) {
  const int most = count > 1 ? std::atoi(arguments[1]) : 2;
  const std::vector<std::uint64_t> memory(std::size_t{32} << 20, 1);  // 256 MB
  std::vector<std::uint64_t> sums(ThreadPool::kMaxThreads);
  std::printf("[");
  for (int threads = 1; threads <= most; ++threads) {
    const NativeThreads helpers(threads);
    const double job = job_us(threads), rate = read_rate(threads, memory, sums);
    std::printf("%s{\"threads\":%d,\"job_us\":%.3f,\"read_gb_per_s\":%.2f}", threads == 1 ? "" : ",", threads, job, rate);
  }
  std::printf("]\n");
  return sums[0] == 0;
}
