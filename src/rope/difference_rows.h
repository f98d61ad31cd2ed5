// Rows of cos and sin by which a key turns from where it stands, under one plan and at one position, to where it shall stand.
#pragma once

#include "rope/cos_sin_rows.h"

namespace ropewalk {

// Whether plans turn the same pairs of the same heads, so that a key under one can be turned to the other.
bool have_same_geometry(const FrequencyPlan& a, const FrequencyPlan& b);

class DifferenceRows {
 public:
  // Keeps references to the plans. `composes`: rows of tokens that keep their integer positions come from the angles of the difference of
  // the frequencies by addition (cos_sin_rows.h), several times as fast; worth its 64 rows of sines for some hundred tokens.
  // Returns plans_differ, out_of_memory or ok.
  Status prepare(const FrequencyPlan& from, const FrequencyPlan& to, bool composes);

  // Writes the row, [rotary_dim/2], of a key that goes from one position to another (one for each axis), scaled by the ratio of the plans'
  // factors. Returns false, with nothing written, where that neither turns nor scales.
  bool write(const double* from_position, const double* to_position, float* cos, float* sin);

 private:
  bool stays(const double* from_position, const double* to_position) const;
  bool write_directly(const double* from_position, const double* to_position, float* cos, float* sin);

  const FrequencyPlan* from_ = nullptr;
  const FrequencyPlan* to_ = nullptr;
  bool is_one_plan_ = false;
  bool composes_ = false;
  FrequencyPlan difference_;  // of frequencies, and the ratio of attention factors
  CosSinRows composed_;

  bool has_row_ = false;                      // cos_ and sin_ belong to angle_
  Buffer<double> angle_, scale_, cos_, sin_;  // [pairs]
};

}  // namespace ropewalk
