#include "base/profile.h"

#ifdef ROPEWALK_PROFILE
#include <chrono>

namespace ropewalk {

double now_ms() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Profile& profile() {
  static constinit Profile all = {};
  return all;
}

void run_measured(int parts, void (*part)(void* context, int part, int thread), void* context) {
  Profile& p = profile();
  double start = now_ms();
  for (int i = 0; i < parts; ++i) {
    part(context, i, 0);
    const double end = now_ms();
    if (p.parts < Profile::kMaxParts) {
      p.part_jobs[p.parts] = p.jobs;
      p.part_ms[p.parts] = end - start;
      ++p.parts;
    }
    start = end;
  }
  ++p.jobs;
}

}  // namespace ropewalk
#endif
