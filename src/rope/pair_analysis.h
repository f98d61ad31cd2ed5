// What a plan does to each pair, in the units people think in.
#pragma once

#include "rope/plan.h"

namespace ropewalk {

struct PairAnalysis {
  Buffer<double> wavelength;  // [pairs] positions a turn; infinity for a pair that stands still
  Buffer<double> rotations;   // [pairs] turns over the window, unscaled: r(j) of the YaRN paper
  Buffer<double> kept_share;  // [pairs] gamma: 1 kept, 0 divided by the whole factor, between: blended; NaN where nothing was scaled
};

// Analyses `plan` over a trained window of `window` positions (>= 1), extended by `factor` (>= 1).
Status analyse_pairs(const FrequencyPlan& plan, double window, double factor, PairAnalysis& result);

struct PairInterval {
  double first;  // pair indices, not rounded; empty where first >= last
  double last;
};

// The pairs that NTK-aware scaling drives past the angles seen in training although their wavelength exceeds the window:
// from (d/2) · log_b(L/2π) to ((d−2)/2) · log_s((L'−1)/(L−1)), L' = factor · L.
// rotary_dim >= 4, base > 1, window > 2π, factor > 1; otherwise the interval is empty.
PairInterval over_extrapolated_pairs(int rotary_dim, double base, double window, double factor);

}  // namespace ropewalk
