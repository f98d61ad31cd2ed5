// Threads of a wasm instance. A helper is an instance of the same module in a Worker of its own, on the same memory, with a stack of its
// own. It calls help(), which must not call JavaScript: parts of jobs neither allocate nor fail.
#include <emscripten.h>

#include "base/thread_pool.h"
#include "bindings/embind.h"

using namespace emscripten;
using namespace ropewalk;

// Exported by its name, because helpers have no Embind.
extern "C" EMSCRIPTEN_KEEPALIVE void help(int thread) { thread_pool().help(thread); }

namespace {

// To be called before helpers are started.
void open() { thread_pool().reopen(); }

// Divides jobs among this many threads, of which all helpers run.
void use(int threads) { thread_pool().use_threads(threads); }

// Ends all helpers.
void stop() {
  thread_pool().use_threads(1);
  thread_pool().stop();
}

int lost() { return static_cast<int>(thread_pool().lost()); }

}  // namespace

EMSCRIPTEN_BINDINGS(ropewalk_threads) {
  function("threads_open", &open);
  function("threads_use", &use);
  function("threads_stop", &stop);
  function("threads_lost", &lost);
}
