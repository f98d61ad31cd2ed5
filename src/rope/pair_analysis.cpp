#include "rope/pair_analysis.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/reproducible_math.h"

namespace ropewalk {
namespace {

// Returns gamma in w' = (1 - gamma) · w / factor + gamma · w
double kept_share(double unscaled, double scaled, double factor) {
  if (factor <= 1 || unscaled == 0) return std::numeric_limits<double>::quiet_NaN();
  const double interpolated = unscaled / factor;
  const double gamma = (scaled - interpolated) / (unscaled - interpolated);
  constexpr double rounding = 1e-6;  // plans rounded to f32 reach 0 and 1 only approximately
  if (std::fabs(gamma) < rounding) return 0;
  if (std::fabs(gamma - 1) < rounding) return 1;
  return gamma;
}

}  // namespace

Status analyze_pairs(const FrequencyPlan& plan, double window, double factor, PairAnalysis& result) {
  if (!(window >= 1 && window <= kPositionLimit)) return Status::original_length_out_of_range;
  if (!(factor >= 1)) return Status::factor_out_of_range;
  const std::size_t pairs = plan.inv_freq.size();
  PairAnalysis analysis;
  if (!analysis.wavelength.resize(pairs) || !analysis.rotations.resize(pairs) || !analysis.kept_share.resize(pairs))
    return Status::out_of_memory;
  for (std::size_t j = 0; j < pairs; ++j) {
    const double frequency = std::fabs(plan.inv_freq[j]);
    analysis.wavelength[j] = frequency == 0 ? std::numeric_limits<double>::infinity() : kTwoPi / frequency;
    analysis.rotations[j] = window * plan.unscaled_inv_freq[j] / kTwoPi;
    analysis.kept_share[j] = kept_share(plan.unscaled_inv_freq[j], plan.inv_freq[j], factor);
  }
  result = std::move(analysis);
  return Status::ok;
}

PairInterval over_extrapolated_pairs(int rotary_dim, double base, double window, double factor) {
  if (rotary_dim < 4 || !(base > 1) || !(window > kTwoPi) || !(factor > 1)) return {0, 0};
  const double first = rotary_dim / 2.0 * reproducible_log(window / kTwoPi) / reproducible_log(base);
  const double last = (rotary_dim - 2) / 2.0 * reproducible_log((factor * window - 1) / (window - 1)) / reproducible_log(factor);
  return {first, last};
}

}  // namespace ropewalk
