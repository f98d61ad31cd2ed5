// Dynamic NTK: the factor depends on the sequence length, and sequences up to the trained length are not scaled.
#include "base/reproducible_math.h"
#include "rope/plans/checks.h"
#include "rope/plans/families.h"

namespace ropewalk::plans {
namespace {

// In transformers the length is a tensor, so the base is computed in f32.
void use_length(const RopeConfig& config, double length, FrequencyPlan& plan) {
  const Rounding rounded(config.precision);
  const double dim = resolved_frequency_dim(config), factor = *config.factor;
  const double extended = rounded(rounded(factor) * rounded(length));
  const double scale = rounded(rounded(extended / rounded(*config.max_position_embeddings)) - rounded(factor - 1));
  const double base = rounded(rounded(config.rope_theta) * rounded(reproducible_pow(scale, dim / (dim - 2))));
  unscaled_frequencies(config, base, plan.inv_freq.data());
}

}  // namespace

Status check_dynamic(const RopeConfig& config) {
  if (!config.max_position_embeddings.has_value()) return Status::max_length_missing;
  return first_failure(config, need_factor, need_two_pairs);
}

void dynamic(const RopeConfig& config, double sequence_length, FrequencyPlan& plan) {
  const double trained = *config.max_position_embeddings;
  // Unscaled at every length: llama.cpp has no dynamic NTK, and vLLM scales by max_position_embeddings over max_trained_positions, which
  // are equal in all but Nomic's models.
  if (config.compat != Compat::hf) return;
  if (sequence_length <= trained) {
    plan.valid_to = trained;
    return;
  }
  use_length(config, sequence_length, plan);
  plan.valid_from = plan.valid_to = sequence_length;
}

}  // namespace ropewalk::plans
