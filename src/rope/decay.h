// How the score of two equal vectors falls with their distance: what a choice of frequencies means for attention.
#pragma once

#include "rope/plan.h"

namespace ropewalk {

enum class DecayCurve : int {
  ones,    // q = k = 1: S(D) = 2 Σ_j cos(D w_j)
  random,  // q = k drawn from N(0, 1), mean of `draws`: the same curve, noisier
  bound,   // RoFormer, section 3.4.3: mean over i of |Σ_{j<i} e^(i D w_j)|
};

struct DecayRequest {
  DecayCurve curve = DecayCurve::ones;
  double first = 0;  // distances first, first + step, …; all within the range of positions
  double step = 1;
  int count = 0;
  int draws = 1;           // random, >= 1
  std::uint32_t seed = 0;  // random
};

// Writes the curve of the plan's frequencies, without its attention factor, to values[count]. xPos falls with its own scale on top.
Status decay_curve(const FrequencyPlan& plan, const DecayRequest& request, double* values);

// The smallest distance in [1, limit] at which S < 0; -1 where there is none.
Status first_negative_distance(const FrequencyPlan& plan, double limit, double& distance);

// The smallest base, to 0.1 %, at which plain RoPE keeps S >= 0 over distances 0 … window (Men et al. 2024, arXiv:2405.14591);
// -1 where there is none below 1e12. rotary_dim even, 2 … kMaxHeadDim; window 1 … 2^24.
Status smallest_base(int rotary_dim, double window, double& base);

}  // namespace ropewalk
