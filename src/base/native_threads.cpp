#include "base/native_threads.h"

namespace ropewalk {

NativeThreads::NativeThreads(int threads, std::int64_t part_work) {
  ThreadPool& pool = thread_pool();
  pool.reopen();
  pool.use_threads(threads, part_work);
  for (int thread = 1; thread < pool.threads(); ++thread) helpers_.emplace_back([&pool, thread] { pool.help(thread); });
}

NativeThreads::~NativeThreads() {
  thread_pool().stop();
  for (std::thread& helper : helpers_) helper.join();
  thread_pool().use_threads(1);
}

}  // namespace ropewalk
