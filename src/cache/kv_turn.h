// Turns keys that a cache holds from one plan and position to another, in place.
#pragma once

#include "cache/kv_sequence.h"
#include "rope/difference_rows.h"
#include "rope/kernels/rotate_kernels.h"

namespace ropewalk {

// Where the keys of a sequence shall stand: at given positions (one row), or `delta` further on from slot `first`.
struct KeyMove {
  const Positions* given = nullptr;
  int first = 0;
  double delta = 0;

  double at(const KvSequence& sequence, int axis, int slot) const {
    if (given != nullptr) return given->at(axis, 0, slot);
    return sequence.position(axis, slot) + (slot >= first ? delta : 0);
  }
};

// The length to plan for when this is the largest position, as Rope::rotate takes it.
double length_up_to(double largest_position);

inline bool holds_for(const FrequencyPlan& plan, double length) { return length >= plan.valid_from && length <= plan.valid_to; }

// How many times as large xPos makes keys at positions up to `largest_position`: those past its centre grow. 1 without xPos.
double xpos_growth(const FrequencyPlan& plan, double largest_position);

class KeyTurn {
 public:
  // Takes all the memory that apply() needs. Keeps references to the plans. Returns plans_differ, out_of_memory or ok.
  Status prepare(const KvGeometry& geometry, const FrequencyPlan& from, const FrequencyPlan& to);

  // Turns the keys of all layers of a rope, each row rounded once to its storage; those that stay where they are, not at all.
  // The positions of the sequence remain as they were (KvSequence::replace_positions).
  void apply(const AttentionKernels& kernels, const RotateKernels& rotate_kernels, const KvSequence& sequence, int rope,
             const KeyMove& move);

 private:
  void turn_rows(const AttentionKernels& kernels, const RotateKernels& rotate_kernels, const KvGeometry::Layer& layer, char* page,
                 int first, int count);

  const KvGeometry* geometry_ = nullptr;
  const FrequencyPlan* plan_ = nullptr;
  DifferenceRows difference_;
  Buffer<float> cos_, sin_;  // [kBlockTokens][pairs]
  Buffer<float> rows_;       // [kBlockTokens][padded head_dim], q8_0 only
};

}  // namespace ropewalk
