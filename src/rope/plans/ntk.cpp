// NTK-aware scaling: a larger base, which keeps the first pair and interpolates the last by the full factor.
#include "base/reproducible_math.h"
#include "rope/plans/checks.h"
#include "rope/plans/families.h"

namespace ropewalk::plans {

void ntk_frequencies(const RopeConfig& config, double scale, double* inv_freq) {
  const double dim = resolved_frequency_dim(config);
  unscaled_frequencies(config, config.rope_theta * reproducible_pow(scale, dim / (dim - 2)), inv_freq);
}

Status check_ntk(const RopeConfig& config) { return first_failure(config, need_factor, need_two_pairs); }

void ntk(const RopeConfig& config, double /*sequence_length*/, FrequencyPlan& plan) {
  const double factor = *config.factor;
  if (config.compat != Compat::vllm) {
    ntk_frequencies(config, factor, plan.inv_freq.data());
    return;
  }
  // vLLM's NTKScalingRotaryEmbedding: base · factor, then every frequency divided by factor^(2/d)
  const Rounding rounded(config.precision);
  unscaled_frequencies(config, config.rope_theta * factor, plan.inv_freq.data());
  const double divisor = reproducible_pow(factor, 2.0 / resolved_frequency_dim(config));
  for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) plan.inv_freq[j] = rounded(plan.inv_freq[j] / rounded(divisor));
}

Status check_ntk_mix(const RopeConfig& config) { return config.mixed_b.has_value() ? need_factor(config) : Status::mixed_b_missing; }

// vLLM's NTKScalingRotaryEmbedding with mixed_b: w_j / exp(a · (j+1)^mixed_b), where a makes the divisor of the last pair the factor.
void ntk_mix(const RopeConfig& config, double /*sequence_length*/, FrequencyPlan& plan) {
  const Rounding rounded(config.precision);
  const double pairs = resolved_rotary_dim(config) / 2;
  const double a = reproducible_log(*config.factor) / reproducible_pow(pairs, *config.mixed_b);
  for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) {
    const double divisor = reproducible_exp(a * reproducible_pow(static_cast<double>(j + 1), *config.mixed_b));
    plan.inv_freq[j] = rounded(plan.inv_freq[j] / divisor);
  }
}

Status check_ntk_alpha(const RopeConfig& config) { return config.alpha.has_value() ? need_two_pairs(config) : Status::alpha_missing; }

// HunYuan: the same change of base, with alpha as the factor.
void ntk_alpha(const RopeConfig& config, double /*sequence_length*/, FrequencyPlan& plan) {
  ntk_frequencies(config, *config.alpha, plan.inv_freq.data());
}

}  // namespace ropewalk::plans
