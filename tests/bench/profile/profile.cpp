// What src/base/profile.h measures, for JavaScript. Linked into a separate wasm module together with the whole package.
#include "base/profile.h"

#include <emscripten.h>

#include <algorithm>

#include "base/thread_pool.h"

using namespace ropewalk;

extern "C" {

EMSCRIPTEN_KEEPALIVE void profile_reset() {
  Profile& p = profile();
  std::fill_n(p.stages, kStages, 0.0);
  p.jobs = p.parts = 0;
}

// Divides jobs as for this number of threads. All parts run on the calling one.
EMSCRIPTEN_KEEPALIVE void profile_use_threads(int threads) { thread_pool().use_threads(threads); }

EMSCRIPTEN_KEEPALIVE const double* profile_stages() { return profile().stages; }
EMSCRIPTEN_KEEPALIVE int profile_stage_count() { return kStages; }
EMSCRIPTEN_KEEPALIVE int profile_job_count() { return profile().jobs; }
EMSCRIPTEN_KEEPALIVE int profile_part_count() { return profile().parts; }
EMSCRIPTEN_KEEPALIVE const int* profile_part_jobs() { return profile().part_jobs; }
EMSCRIPTEN_KEEPALIVE const double* profile_part_ms() { return profile().part_ms; }
}
