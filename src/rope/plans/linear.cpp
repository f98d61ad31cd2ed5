// Position interpolation (Chen et al. 2023, arXiv:2306.15595). Dividing frequencies by the factor equals dividing positions.
#include "rope/plans/checks.h"
#include "rope/plans/families.h"

namespace ropewalk::plans {

Status check_linear(const RopeConfig& config) { return need_factor(config); }

void linear(const RopeConfig& config, double /*sequence_length*/, FrequencyPlan& plan) {
  const Rounding rounded(config.precision);
  for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) plan.inv_freq[j] = rounded(plan.inv_freq[j] / rounded(*config.factor));
  if (config.compat == Compat::vllm) plan.table_length = plan.max_length;
}

}  // namespace ropewalk::plans
