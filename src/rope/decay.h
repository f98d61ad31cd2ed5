// How the score of a query and a key decays with their distance, which shows what a choice of frequencies does to attention.
#pragma once

#include "rope/plan.h"

namespace ropewalk {

enum class DecayCurve : int {
  ones,    // q = k = 1: S(D) = 2 Σ_j cos(D w_j)
  random,  // q = k drawn from N(0, 1), mean of `draws` draws: the same curve, noisier
  bound,   // RoFormer's upper bound (section 3.4.3): mean over i of |Σ_{j<i} e^(i D w_j)|
};

struct DecayRequest {
  DecayCurve curve = DecayCurve::ones;
  double first = 0;  // distances are first, first + step, …, all within the range of positions
  double step = 1;
  int count = 0;
  int draws = 1;           // random, >= 1
  std::uint32_t seed = 0;  // random
};

// Writes the curve of the plan's frequencies to values[count]. It includes xPos's decay, but not the attention factor.
Status decay_curve(const FrequencyPlan& plan, const DecayRequest& request, double* values);

// Sets `distance` to the smallest distance in [1, limit] at which S < 0, or to -1 if there is none.
Status first_negative_distance(const FrequencyPlan& plan, double limit, double& distance);

// Sets `base` to the smallest base, to 0.1 %, at which unscaled RoPE has S >= 0 over distances 0 … window (Men et al. 2024,
// arXiv:2405.14591), or to -1 if there is none below 1e12. rotary_dim is even and in 2 … kMaxHeadDim, window in 1 … 2^24.
Status smallest_base(int rotary_dim, double window, double& base);

}  // namespace ropewalk
