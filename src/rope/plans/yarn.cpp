// YaRN (Peng et al. 2023, arXiv:2309.00071) and Dynamic YaRN.
#include <algorithm>
#include <cmath>

#include "rope/plans/families.h"

namespace ropewalk::plans {

Status check_yarn(const RopeConfig& config) { return yarn_parts::check(config); }

// Length-independent in every system: sequences shorter than the original window are scaled too.
void yarn(const RopeConfig& config, double /*sequence_length*/, FrequencyPlan& plan) {
  const double factor = yarn_parts::factor(config);
  yarn_parts::blend(config, factor, plan);
  plan.attention_factor = yarn_parts::attention_factor(config, factor);
  plan.softmax_scale *= yarn_parts::softmax_factor(config, factor);
  if (config.compat != Compat::vllm) return;
  const double extended = *config.original_max_position_embeddings * factor;
  plan.max_length = config.max_position_embeddings.value_or(extended);
  plan.table_length = std::ceil(extended);
}

Status check_dynamic_yarn(const RopeConfig& config) { return yarn_parts::check(config); }

// The YaRN authors' LlamaDynamicYaRN: unscaled up to the original length, beyond it scaled by length / original length. A fine-tuned
// model uses its own factor up to the length it was fine-tuned for.
void dynamic_yarn(const RopeConfig& config, double sequence_length, FrequencyPlan& plan) {
  const double original = *config.original_max_position_embeddings;
  const double start = config.finetuned ? yarn_parts::factor(config) : 1;
  if (sequence_length <= original * start) {
    plan.valid_to = original * start;
  } else {
    plan.valid_from = plan.valid_to = sequence_length;
  }
  const double factor = std::max(start, sequence_length / original);
  if (factor == 1) return;
  yarn_parts::blend(config, factor, plan);
  plan.attention_factor = yarn_parts::attention_factor(config, factor);
  plan.softmax_scale *= yarn_parts::softmax_factor(config, factor);
}

}  // namespace ropewalk::plans
