// Dynamic NTK: the factor depends on the sequence length, and sequences up to the trained length are not scaled.
#include "base/reproducible_math.h"
#include "rope/plans/families.h"

namespace ropewalk::plans {
namespace {

void use_length(const RopeConfig& config, double length, FrequencyPlan& plan) {
  const Rounding rounded(config.precision);
  const double dim = resolved_rotary_dim(config), factor = *config.factor;
  const double scale = rounded(rounded(rounded(factor * length) / *config.max_position_embeddings) - (factor - 1));
  const double base = rounded(config.rope_theta * rounded(reproducible_pow(scale, dim / (dim - 2))));
  unscaled_frequencies(config, base, plan.inv_freq.data());
}

}  // namespace

void dynamic_ntk(const RopeConfig& config, double sequence_length, FrequencyPlan& plan) {
  const double trained = *config.max_position_embeddings;
  if (config.compat == Compat::llama_cpp) return;  // llama.cpp has no dynamic NTK: unscaled at every length
  if (config.compat == Compat::vllm) {             // vLLM scales every sequence as if it had the maximum length
    use_length(config, trained * *config.factor, plan);
    return;
  }
  if (sequence_length <= trained) {
    plan.valid_to = trained;
    return;
  }
  use_length(config, sequence_length, plan);
  plan.valid_from = plan.valid_to = sequence_length;
}

}  // namespace ropewalk::plans
