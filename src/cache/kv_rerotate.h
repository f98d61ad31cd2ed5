// Re-rotates cached keys in place, from one plan and position to another.
#pragma once

#include "cache/kv_sequence.h"
#include "rope/difference_rows.h"
#include "rope/kernels/rotate_kernels.h"
#include "rope/walk.h"

namespace ropewalk {

// New positions for the tokens of a sequence: the given ones (one row), or the old ones plus `delta` from slot `first` on.
struct KeyMove {
  const Positions* given = nullptr;
  int first = 0;
  double delta = 0;

  double at(const KvSequence& sequence, int axis, int slot) const {
    if (given != nullptr) return given->at(axis, 0, slot);
    return sequence.position(axis, slot) + (slot >= first ? delta : 0);
  }
};

inline bool covers(const FrequencyPlan& plan, double length) { return length >= plan.valid_from && length <= plan.valid_to; }

// The largest factor by which xPos scales keys at positions up to `largest_position`: keys past its center grow. 1 without xPos.
double xpos_growth(const FrequencyPlan& plan, double largest_position);

// Largest factor by which rotation can enlarge an element of a key: √2, plus room for rounding.
constexpr double kRotationGrowth = 1.5;

// The plan of a rope for a length of at least 1.
Status plan_at(const RopeConfig& config, double length, FrequencyPlan& plan);

// Checks that keys still fit their storage under a plan if xPos makes them `growth` times as large. Returns key_not_finite or ok.
Status check_scale(RowType type, const KvSequence& cached, const FrequencyPlan& plan, double growth);

// Checks that keys can go from one plan to another while their tokens move. Returns position_out_of_range, a status of check_positions(),
// key_not_finite or ok.
Status check_keys(const KvGeometry& geometry, const KvSequence& cached, const KeyMove& move, const FrequencyPlan& from,
                  const FrequencyPlan& to);

class KeyRerotation {
 public:
  // Allocates all memory that apply() needs, and keeps references to the plans. Returns plans_differ, out_of_memory or ok.
  Status prepare(const KvGeometry& geometry, const FrequencyPlan& from, const FrequencyPlan& to);

  // Re-rotates the keys of all layers that use a rope, on the threads of the pool. Each row is rounded once to its storage; a key whose
  // angle and scale stay the same is not touched. Does not change the positions of the sequence: that is KvSequence::replace_positions().
  void apply(const AttentionKernels& kernels, const RotateKernels& rotate_kernels, const KvSequence& sequence, int rope,
             const KeyMove& move);

 private:
  // Tokens whose rows are computed before their keys are rotated.
  static constexpr int kTokensTogether = 8 * kBlockTokens;

  // Tokens of one page whose keys change.
  struct Run {
    int first, count;
  };

  // Writes the rows of the tokens from `start` on. Returns the number of runs among them.
  int write_rows(const KvSequence& sequence, const KeyMove& move, int start);

  // Heads of a layer and tokens of a page. `run` counts from the start of the page, `row` is the row of its first token.
  struct PageKeys {
    const KvGeometry::Layer& layer;
    char* page;
    Run run;
    int row;
  };

  // Rotates keys where they are stored.
  void rotate_in_place(const RotateKernels& rotate_kernels, const PageKeys& keys, Walk walk);
  // Rotates keys of a type with blocks, which become floats first.
  void rotate_blocks(const AttentionKernels& kernels, const RotateKernels& rotate_kernels, const PageKeys& keys, int thread);
  Rotation rotation() const;

  const KvGeometry* geometry_ = nullptr;
  const FrequencyPlan* plan_ = nullptr;
  DifferenceRows difference_;
  Run runs_[kTokensTogether];
  Buffer<float> cos_, sin_;  // [kTokensTogether][pairs]
  Buffer<float> rows_;       // [threads][kBlockTokens][padded head_dim], only for types with blocks
};

}  // namespace ropewalk
