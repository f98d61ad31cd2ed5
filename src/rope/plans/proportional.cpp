// Gemma 4: pairs span the whole head, exponents are relative to head_dim, and only the first pairs are rotated.
#include <algorithm>

#include "rope/plans/families.h"

namespace ropewalk::plans {

Status check_proportional(const RopeConfig&) { return Status::ok; }

void proportional(const RopeConfig& config, double /*sequence_length*/, FrequencyPlan& plan) {
  const Rounding rounded(config.precision);
  const double factor = config.compat == Compat::vllm ? 1 : config.factor.value_or(1);  // vLLM does not read the factor
  const int share = static_cast<int>(config.partial_rotary_factor.value_or(1) * config.head_dim / 2);
  const int rotated_pairs = std::min(share, static_cast<int>(plan.inv_freq.size()));  // rotary_dim may be less than the head
  for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) plan.inv_freq[j] = 0;
  default_frequencies(config.rope_theta, config.head_dim, rotated_pairs, config.precision, plan.inv_freq.data());
  for (int j = 0; j < rotated_pairs; ++j) plan.inv_freq[j] = rounded(plan.inv_freq[j] / rounded(factor));
}

}  // namespace ropewalk::plans
