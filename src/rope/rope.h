// A rope: a config, its plan for the current length, and the rows of the last positions. The main class for users of this stage.
#pragma once

#include <iterator>

#include "rope/cos_sin_table.h"
#include "rope/rerotate.h"
#include "rope/rotate.h"

namespace ropewalk {

class Rope {
 public:
  Rope() = default;
  Rope(const Rope&) = delete;  // its rows refer to its plan
  Rope& operator=(const Rope&) = delete;

  // Validates the config and keeps a copy of it, including lists. On failure the rope is unchanged.
  Status configure(const RopeConfig& config);
  const RopeConfig& config() const { return config_; }

  // Sets the kernels. The default is the fastest of this build.
  void use_kernels(const RotateKernels& kernels) { kernels_ = &kernels; }

  // Makes the plan for a sequence of `sequence_length` positions current. Does nothing if the current plan is valid for it.
  Status use_length(double sequence_length);
  const FrequencyPlan& plan() const { return plan_; }

  // Makes the plan for sequence_length current, and checks that the positions fit it. Positions must always be checked so: the plan that is
  // current before a call belongs to the previous call. sequence_length 0 means the largest position + 1.
  Status use_positions(const Positions& positions, double sequence_length);

  // Rotates a tensor. sequence_length 0 means the largest position + 1. On failure nothing is written. A rope with a position map has no
  // single rotation of a token: then this, write_table() and rerotate() return position_map_in_attention.
  Status rotate(const HeadTensor& tensor, const Positions& positions, double sequence_length, Purpose purpose);

  // Writes rows of cos and sin under the current plan, [count][rotary_dim/2] each. use_positions() must have accepted the positions.
  void write_rows(const Positions& positions, TokenRange range, Purpose purpose, float* cos, float* sin) {
    ropewalk::write_rows(rows_, positions, range, purpose, cos, sin);
  }

  // The rows of the current plan, to share (CosSinRows::share()).
  const CosSinRows& rows() const { return rows_; }

  // Writes a table at `positions` (cos_sin_table.h). sequence_length 0 means the largest position + 1.
  Status write_table(const Positions& positions, double sequence_length, Purpose purpose, DType dtype, TableLayout layout, void* cos,
                     void* sin);

 private:
  struct RowsKey {
    std::uint64_t plan_number = 0;
    Purpose purpose;
    double offset = 0;
    int axes = 0, rows = 0, tokens = 0;
    bool has_ids = false;
    bool operator==(const RowsKey&) const;
  };

  Status use_plan(FrequencyPlan plan);
  Status check_shapes(const HeadTensor& tensor, const Positions& positions) const;
  bool are_cached(const RowsKey& key, const Positions& positions) const;
  Status cache_rows(const Positions& positions, Purpose purpose);
  Status rotate_in_blocks(const HeadTensor& tensor, const Positions& positions, Purpose purpose);

  static constexpr std::span<const double> RopeConfig::*kLists[] = {
#define ROPEWALK_LIST(member) &RopeConfig::member,
#include "rope/config_fields.def"
  };

  RopeConfig config_;
  Buffer<double> lists_[std::size(kLists)];  // what the lists of config_ view
  const RotateKernels* kernels_ = &fastest_rotate_kernels();

  FrequencyPlan plan_;
  std::uint64_t plan_number_ = 0;  // number of the current plan, which identifies cached rows
  CosSinRows rows_;

  RowsKey cached_key_;
  Buffer<double> cached_ids_;
  Buffer<float> cos_, sin_;
};

// The rope and the positions of rotated keys. sequence_length 0 means the largest position + 1.
struct RopePlacement {
  const Rope& rope;
  const Positions& positions;
  double sequence_length = 0;
};

// Re-rotates cached keys from one placement to the other, each with its rope's plan for its length (rerotate.h).
Status rerotate(const RotateKernels& kernels, const HeadTensor& keys, const RopePlacement& from, const RopePlacement& to);

}  // namespace ropewalk
