// Rows of cos and sin that re-rotate a key from one plan and position to another.
#pragma once

#include "rope/cos_sin_rows.h"

namespace ropewalk {

// Whether two plans have the same head_dim, rotary span, pairing and axes, so that keys of one can be re-rotated to the other.
bool have_same_geometry(const FrequencyPlan& a, const FrequencyPlan& b);

// Whether two plans rotate and scale keys by the same bits at every position.
bool rotate_alike(const FrequencyPlan& a, const FrequencyPlan& b);

class DifferenceRows {
 public:
  // Sets the plans, and keeps references to them. With `composes`, tokens that keep an integer position get their rows by angle
  // addition (cos_sin_rows.h) from the difference of the frequencies. That is several times as fast, but computes 64 rows of sines
  // first, so it pays off from some hundred tokens on. Returns plans_differ, out_of_memory or ok.
  Status prepare(const FrequencyPlan& from, const FrequencyPlan& to, bool composes);

  // Writes the row, [rotary_dim/2], that moves a key from one position to another (one value per axis). It is scaled by the ratio of
  // the plans' factors. Returns false, and writes nothing, if the key doesn't change.
  bool write(const double* from_position, const double* to_position, float* cos, float* sin);

 private:
  bool stays(const double* from_position, const double* to_position) const;
  bool write_directly(const double* from_position, const double* to_position, float* cos, float* sin);

  const FrequencyPlan* from_ = nullptr;
  const FrequencyPlan* to_ = nullptr;
  bool is_one_plan_ = false;
  bool composes_ = false;
  FrequencyPlan difference_;  // the difference of frequencies and the ratio of attention factors
  CosSinRows composed_;

  bool has_row_ = false;                      // cos_ and sin_ belong to angle_
  Buffer<double> angle_, scale_, cos_, sin_;  // [pairs]
};

}  // namespace ropewalk
