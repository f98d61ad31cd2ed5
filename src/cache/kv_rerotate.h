// Re-rotates cached keys in place, from one plan and position to another.
#pragma once

#include "cache/kv_sequence.h"
#include "rope/difference_rows.h"
#include "rope/kernels/rotate_kernels.h"

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

// One rotation of all keys of a rope in a sequence.
struct KeyTurn {
  int rope = 0;
  int sequence = 0;
  FrequencyPlan from, to;
};

class KeyRerotation {
 public:
  // Allocates all memory that apply() needs, and keeps references to the plans. Returns plans_differ, out_of_memory or ok.
  Status prepare(const KvGeometry& geometry, const FrequencyPlan& from, const FrequencyPlan& to);

  // Re-rotates the keys of all layers that use a rope. Each row is rounded once to its storage; a key whose angle and scale stay the same
  // is not touched. Does not change the positions of the sequence: that is KvSequence::replace_positions().
  void apply(const AttentionKernels& kernels, const RotateKernels& rotate_kernels, const KvSequence& sequence, int rope,
             const KeyMove& move);

 private:
  void rotate_rows(const AttentionKernels& kernels, const RotateKernels& rotate_kernels, const KvGeometry::Layer& layer, char* page,
                   int first, int count);

  const KvGeometry* geometry_ = nullptr;
  const FrequencyPlan* plan_ = nullptr;
  DifferenceRows difference_;
  Buffer<float> cos_, sin_;  // [kBlockTokens][pairs]
  Buffer<float> rows_;       // [kBlockTokens][padded head_dim], q8_0 only
};

}  // namespace ropewalk
