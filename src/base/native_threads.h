// Threads of this process that help the pool.
#pragma once

#include <thread>
#include <vector>

#include "base/thread_pool.h"

namespace ropewalk {

class NativeThreads {
 public:
  // Starts threads - 1 helpers of thread_pool(), and divides its jobs among `threads`. One object at a time.
  explicit NativeThreads(int threads, std::int64_t part_work = ThreadPool::kPartWork);
  // Ends them. The pool computes alone from then on.
  ~NativeThreads();
  NativeThreads(const NativeThreads&) = delete;
  NativeThreads& operator=(const NativeThreads&) = delete;

 private:
  std::vector<std::thread> helpers_;
};

}  // namespace ropewalk
