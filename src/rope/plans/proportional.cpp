// Gemma 4: pairs span the whole head, exponents are relative to head_dim, and only the first pairs are rotated.
#include "rope/plans/families.h"

namespace ropewalk::plans {

void proportional(const RopeConfig& config, FrequencyPlan& plan) {
  const Rounding rounded(config.precision);
  const double factor = config.factor.value_or(1);
  const int rotated_pairs = static_cast<int>(config.partial_rotary_factor.value_or(1) * config.head_dim / 2);
  for (int j = 0; j < static_cast<int>(plan.inv_freq.size()); ++j) {
    plan.inv_freq[j] = j < rotated_pairs ? rounded(plan.inv_freq[j] / factor) : 0;
  }
}

}  // namespace ropewalk::plans
