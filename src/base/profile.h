// Measures where the time of a forward pass goes, for `npm run bench -- profile` and `ranges`. Only a build with ROPEWALK_PROFILE has it;
// in others the timers are empty. For one thread that calls.
#pragma once

#include <cstdint>

namespace ropewalk {

// What a forward pass consists of. tests/bench/profile/stages.mjs has the names in the same order.
enum class Stage {
  embedding,
  norm,
  query_key_value,
  rotate_and_append,
  attention,
  attention_output,
  gate_and_up,
  activation,
  down,
  residual,
  head,
};
inline constexpr int kStages = static_cast<int>(Stage::head) + 1;

#ifdef ROPEWALK_PROFILE

// Milliseconds of a clock that never goes back.
double now_ms();

struct Profile {
  static constexpr int kMaxParts = 1 << 18;

  double stages[kStages];    // milliseconds
  int jobs;                  // of the pool that are divided
  int parts;                 // of all jobs, at most kMaxParts of which are kept
  int part_jobs[kMaxParts];  // the job of each part
  double part_ms[kMaxParts];
};
Profile& profile();

// Adds the time of its scope to a stage.
class StageTimer {
 public:
  explicit StageTimer(Stage stage) : stage_(stage), start_(now_ms()) {}
  ~StageTimer() { profile().stages[static_cast<int>(stage_)] += now_ms() - start_; }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  Stage stage_;
  double start_;
};

// Computes the parts of a job one after the other and keeps their times.
void run_measured(int parts, void (*part)(void* context, int part, int thread), void* context);

#else

class StageTimer {
 public:
  explicit StageTimer(Stage) {}
};

#endif

}  // namespace ropewalk
