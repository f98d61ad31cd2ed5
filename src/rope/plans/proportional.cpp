// Gemma 4: the whole head is paired, exponents run over head_dim, and only a share of the pairs has a frequency; the rest stand still.
#include "rope/plans/families.h"

namespace ropewalk::plans {

void proportional(const RopeConfig& config, FrequencyPlan& plan) {
  const Rounding rounded(config.precision);
  const double factor = config.factor.value_or(1);
  const int turning = static_cast<int>(config.partial_rotary_factor.value_or(1) * config.head_dim / 2);
  for (int j = 0; j < static_cast<int>(plan.inv_freq.size()); ++j) {
    plan.inv_freq[j] = j < turning ? rounded(plan.inv_freq[j] / factor) : 0;
  }
}

}  // namespace ropewalk::plans
