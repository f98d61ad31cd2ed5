// Frequencies given by the caller: learned, measured, or of a scheme that this library doesn't have.
#include <algorithm>

#include "rope/plans/checks.h"
#include "rope/plans/families.h"

namespace ropewalk::plans {

Status check_custom(const RopeConfig& config) {
  double longest = 0;
  for (const double length : config.lengths) {
    if (!is_length(length)) return Status::lengths_out_of_range;
    if (length <= longest) return Status::lengths_order;
    longest = length;
  }
  const std::size_t lists = config.lengths.empty() ? 1 : config.lengths.size();
  const std::size_t pairs = static_cast<std::size_t>(resolved_rotary_dim(config) / 2);
  return check_list(config.inv_freq, lists * pairs, -1e6, Status::inv_freq_length, Status::inv_freq_out_of_range);
}

// With lengths there is one list for each of them: it serves sequences longer than the one before and up to its own. The last list serves
// all longer ones too.
void custom(const RopeConfig& config, double sequence_length, FrequencyPlan& plan) {
  const Rounding rounded(config.precision);
  std::size_t chosen = 0;
  if (const std::span<const double> lengths = config.lengths; !lengths.empty()) {
    const auto found = std::lower_bound(lengths.begin(), lengths.end(), sequence_length);
    chosen = std::min<std::size_t>(found - lengths.begin(), lengths.size() - 1);
    if (chosen > 0) plan.valid_from = lengths[chosen - 1] + 1;
    if (chosen + 1 < lengths.size()) plan.valid_to = lengths[chosen];
  }
  const std::size_t pairs = plan.inv_freq.size();
  for (std::size_t j = 0; j < pairs; ++j) plan.inv_freq[j] = rounded(config.inv_freq[chosen * pairs + j]);
  plan.attention_factor = config.attention_factor.value_or(1);
}

}  // namespace ropewalk::plans
