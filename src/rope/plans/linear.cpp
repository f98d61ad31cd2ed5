// Position interpolation (Chen et al. 2023, arXiv:2306.15595). Dividing frequencies by the factor equals dividing positions.
#include "rope/plans/families.h"

namespace ropewalk::plans {

void linear(const RopeConfig& config, FrequencyPlan& plan) {
  const Rounding rounded(config.precision);
  for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) plan.inv_freq[j] = rounded(plan.inv_freq[j] / rounded(*config.factor));
}

}  // namespace ropewalk::plans
