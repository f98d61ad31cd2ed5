// Frequencies given by the caller: learned, measured, or of a scheme that this library doesn't have.
#include "rope/plans/families.h"

namespace ropewalk::plans {

void custom(const RopeConfig& config, FrequencyPlan& plan) {
  const Rounding rounded(config.precision);
  for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) plan.inv_freq[j] = rounded(config.inv_freq[j]);
}

}  // namespace ropewalk::plans
