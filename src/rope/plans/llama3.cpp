// Llama 3.1: frequencies with a wavelength below original/high_freq_factor are kept, those above original/low_freq_factor are
// divided by the factor, with a smooth transition in between.
#include "base/reproducible_math.h"
#include "rope/plans/checks.h"
#include "rope/plans/families.h"

namespace ropewalk::plans {

Status check_llama3(const RopeConfig& config) {
  if (const Status status = first_failure(config, need_factor, need_original_length); status != Status::ok) return status;
  if (!config.low_freq_factor.has_value()) return Status::low_freq_factor_missing;
  if (!config.high_freq_factor.has_value()) return Status::high_freq_factor_missing;
  if (!within(*config.high_freq_factor, *config.low_freq_factor, kLargest)) return Status::high_freq_factor_order;
  return Status::ok;
}

void llama3(const RopeConfig& config, double /*sequence_length*/, FrequencyPlan& plan) {
  const Rounding rounded(config.precision);
  const double factor = *config.factor, original = *config.original_max_position_embeddings;
  const double low = *config.low_freq_factor, high = *config.high_freq_factor;

  for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) {
    const double kept = plan.inv_freq[j];
    const double wavelength = rounded.quotient(kTwoPi, kept);
    if (wavelength < rounded(original / high)) continue;
    const double divided = rounded(kept / rounded(factor));
    if (wavelength > rounded(original / low) || high == low) {
      plan.inv_freq[j] = divided;
      continue;
    }
    const double smooth = rounded(rounded(rounded.quotient(original, wavelength) - rounded(low)) / rounded(high - low));
    plan.inv_freq[j] = rounded(rounded(rounded(rounded(1 - smooth) * kept) / rounded(factor)) + rounded(smooth * kept));
  }
  plan.max_length = config.max_position_embeddings.value_or(0);  // the factor isn't a ratio of lengths
}

}  // namespace ropewalk::plans
