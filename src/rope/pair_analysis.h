// What a plan does to each pair, as wavelengths, rotations and kept shares.
#pragma once

#include "rope/plan.h"

namespace ropewalk {

struct PairAnalysis {
  Buffer<double> wavelength;  // [pairs] positions per full rotation; infinity for a pair that is not rotated
  Buffer<double> rotations;   // [pairs] full rotations over the window, before scaling: r(j) of the YaRN paper
  Buffer<double> kept_share;  // [pairs] gamma: 1 kept, 0 divided by the full factor, blended in between; NaN if nothing is scaled
};

// Analyzes `plan` for a trained window of `window` positions (>= 1), extended by `factor` (>= 1).
Status analyze_pairs(const FrequencyPlan& plan, double window, double factor, PairAnalysis& result);

struct PairInterval {
  double first;  // pair indices, not rounded; empty if first >= last
  double last;
};

// Returns the pairs that NTK-aware scaling moves beyond the angles seen in training although their wavelength exceeds the window:
// from (d/2) · log_b(L/2π) to ((d−2)/2) · log_s((L'−1)/(L−1)), L' = factor · L.
// The interval is empty unless rotary_dim >= 4, base > 1, window > 2π and factor > 1.
PairInterval over_extrapolated_pairs(int rotary_dim, double base, double window, double factor);

}  // namespace ropewalk
