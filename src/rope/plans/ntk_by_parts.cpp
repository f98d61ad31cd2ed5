// NTK-by-parts: YaRN without its temperature.
#include "rope/plans/families.h"

namespace ropewalk::plans {
namespace {

// The authors' first version (jquesnelle/yarn, LlamaPartNTKScaledRotaryEmbedding): a ramp from NTK-aware to interpolated frequencies
// between 1.25 and 0.75 rotations over the window, and a ramp from kept frequencies to that result between 16 and 2 rotations.
void blend_by_two_ramps(const RopeConfig& config, double factor, FrequencyPlan& plan) {
  const Rounding rounded(config.precision);
  const yarn_parts::Range outer = yarn_parts::pair_range(config, 16, 2), inner = yarn_parts::pair_range(config, 1.25, 0.75);

  ntk_frequencies(config, factor, plan.inv_freq.data());
  for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) {
    const double kept = plan.unscaled_inv_freq[j], pair = static_cast<double>(j);
    const double to_linear = yarn_parts::ramp(pair, inner, config.compat, rounded);
    const double to_scaled = yarn_parts::ramp(pair, outer, config.compat, rounded);
    const double scaled = rounded(plan.inv_freq[j] * (1 - to_linear) + kept / factor * to_linear);
    plan.inv_freq[j] = rounded(kept * (1 - to_scaled) + scaled * to_scaled);
  }
  plan.ramp_low = outer.low;
  plan.ramp_high = inner.high;
}

}  // namespace

Status check_ntk_by_parts(const RopeConfig& config) { return yarn_parts::check(config); }

void ntk_by_parts(const RopeConfig& config, double /*sequence_length*/, FrequencyPlan& plan) {
  const double factor = yarn_parts::factor(config);
  if (config.ramp == Ramp::two_ramps) {
    blend_by_two_ramps(config, factor, plan);
  } else {
    yarn_parts::blend(config, factor, plan);
  }
}

}  // namespace ropewalk::plans
