// LongRoPE (Ding et al. 2024, arXiv:2402.13753) as in Phi-3: two lists with a divisor for each pair. The length selects the list.
#include <cmath>

#include "base/reproducible_math.h"
#include "rope/plans/checks.h"
#include "rope/plans/families.h"

namespace ropewalk::plans {
namespace {

double attention_factor(const RopeConfig& config, bool is_long) {
  const std::optional<double>& mscale = is_long ? config.long_mscale : config.short_mscale;
  if (mscale.has_value()) return *mscale;
  // vLLM ignores the factor and the attention factor, and reads only the two lengths
  const bool reads_factors = config.compat != Compat::vllm || !config.max_position_embeddings.has_value();
  if (reads_factors && config.attention_factor.has_value()) return *config.attention_factor;
  const double original = *config.original_max_position_embeddings;
  const double factor = reads_factors && config.factor.has_value() ? *config.factor : *config.max_position_embeddings / original;
  return factor <= 1 ? 1 : std::sqrt(1 + reproducible_log(factor) / reproducible_log(original));
}

}  // namespace

Status check_longrope(const RopeConfig& config) {
  if (const Status status = need_factor_or_lengths(config); status != Status::ok) return status;
  const std::size_t pairs = static_cast<std::size_t>(resolved_rotary_dim(config) / 2);
  if (const Status status = check_list(config.short_factor, pairs, 1e-9, Status::short_factor_length, Status::short_factor_out_of_range);
      status != Status::ok) {
    return status;
  }
  if (const Status status = check_list(config.long_factor, pairs, 1e-9, Status::long_factor_length, Status::long_factor_out_of_range);
      status != Status::ok) {
    return status;
  }
  if (*config.original_max_position_embeddings < 2) return Status::original_length_out_of_range;  // the scale divides by its logarithm
  return Status::ok;
}

void longrope(const RopeConfig& config, double sequence_length, FrequencyPlan& plan) {
  const Rounding rounded(config.precision);
  const double original = *config.original_max_position_embeddings;
  // transformers selects by the length of each sequence, llama.cpp and vLLM once, by the length they are configured for, which is the
  // original one in vLLM unless another is given
  const bool by_sequence = config.compat == Compat::hf;
  const double longest = config.max_position_embeddings.value_or(original);
  const double started_for = config.context_length.value_or(config.compat == Compat::vllm ? original : longest);
  const bool is_long = (by_sequence ? sequence_length : started_for) > original;

  const std::span<const double> divisors = is_long ? config.long_factor : config.short_factor;
  unscaled_powers(config, config.rope_theta, plan.inv_freq.data());
  for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) plan.inv_freq[j] = rounded(1 / rounded(rounded(divisors[j]) * plan.inv_freq[j]));
  plan.attention_factor = attention_factor(config, is_long);
  if (config.compat == Compat::vllm) plan.max_length = plan.table_length = is_long ? longest : original;
  if (!by_sequence) return;
  if (is_long) {
    plan.valid_from = original + 1;
  } else {
    plan.valid_to = original;
  }
}

}  // namespace ropewalk::plans
