// The stage as a user holds it: a config, its plan for each length, and the rows of the positions seen last.
#pragma once

#include "rope/cos_sin_table.h"
#include "rope/rerotate.h"
#include "rope/rotate.h"

namespace ropewalk {

class Rope {
 public:
  Rope() = default;
  Rope(const Rope&) = delete;  // its rows point into its plan
  Rope& operator=(const Rope&) = delete;

  // Validates and keeps a copy of the config, lists included. On failure the rope is as it was.
  Status configure(const RopeConfig& config);
  const RopeConfig& config() const { return config_; }

  // Kernels to rotate with; the build's fastest unless set.
  void use_kernels(const RotateKernels& kernels) { kernels_ = &kernels; }

  // Makes the plan for a sequence of `sequence_length` positions the current one.
  Status use_length(double sequence_length);
  const FrequencyPlan& plan() const { return plan_; }

  // Rotates a tensor. sequence_length 0: largest position + 1. On failure nothing is written.
  Status rotate(const HeadTensor& tensor, const Positions& positions, double sequence_length, Purpose purpose);

  // Writes rows of cos and sin under the current plan, [count][rotary_dim/2] each. The positions have been checked (check_positions).
  void write_rows(const Positions& positions, TokenRange range, Purpose purpose, float* cos, float* sin) {
    ropewalk::write_rows(rows_, positions, range, purpose, cos, sin);
  }

  // Writes a table at `positions` (cos_sin_table.h). sequence_length 0: largest position + 1.
  Status write_table(const Positions& positions, double sequence_length, Purpose purpose, DType dtype, TableLayout layout, void* cos,
                     void* sin);

 private:
  struct RowsKey {
    double plan_number = 0;
    Purpose purpose;
    double offset = 0;
    int axes = 0, rows = 0, tokens = 0;
    bool has_ids = false;
    bool operator==(const RowsKey&) const;
  };

  Status use_plan(FrequencyPlan plan);
  Status check(const HeadTensor& tensor, const Positions& positions) const;
  bool are_cached(const RowsKey& key, const Positions& positions) const;
  Status cache_rows(const Positions& positions, Purpose purpose);
  Status rotate_in_blocks(const HeadTensor& tensor, const Positions& positions, Purpose purpose);

  RopeConfig config_;
  Buffer<double> lists_[5];
  const RotateKernels* kernels_ = &fastest_rotate_kernels();

  FrequencyPlan plan_;
  double plan_number_ = 0;  // counts plans, to know whose rows are cached
  CosSinRows rows_;

  RowsKey cached_key_;
  Buffer<double> cached_ids_;
  Buffer<float> cos_, sin_;
};

// Where keys stood under a rope, or are to stand. sequence_length 0: largest position + 1.
struct RopeStanding {
  const Rope& rope;
  const Positions& positions;
  double sequence_length = 0;
};

// Re-rotates cached keys from one standing to the other, each under its rope's plan for its length (rerotate.h).
Status rerotate(const RotateKernels& kernels, const HeadTensor& keys, const RopeStanding& from, const RopeStanding& to);

}  // namespace ropewalk
