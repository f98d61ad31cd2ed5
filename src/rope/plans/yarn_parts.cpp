// Shared by the YaRN family (Peng et al. 2023, arXiv:2309.00071, section 3): the correction range, the ramp and the temperature.
#include <algorithm>
#include <cmath>

#include "base/reproducible_math.h"
#include "rope/plans/checks.h"
#include "rope/plans/families.h"

namespace ropewalk::plans::yarn_parts {
namespace {

// transformers treats 0 like null: not given
double given_or(const std::optional<double>& value, double otherwise) { return value.value_or(0) != 0 ? *value : otherwise; }

// llama.cpp reads the betas of only two families
bool reads_betas(const RopeConfig& config) {
  return config.compat != Compat::llama_cpp || config.family == Family::mistral || config.family == Family::grok;
}

// llama.cpp always rounds the range, and so does vLLM for DeepSeek
bool rounds_range(const RopeConfig& config) {
  const bool reads_truncate = config.compat == Compat::hf || (config.compat == Compat::vllm && config.family != Family::deepseek);
  return !reads_truncate || config.truncate;
}

// Returns the pair index with `rotations` full rotations over the original window: find_correction_dim in the authors' code.
double correction_dim(const RopeConfig& config, double rotations) {
  const double dim = resolved_frequency_dim(config), window = *config.original_max_position_embeddings * position_factor(config);
  return dim * reproducible_log(window / (rotations * kTwoPi)) / (2 * reproducible_log(config.rope_theta));
}

}  // namespace

Status check(const RopeConfig& config) {
  if (const Status status = need_factor_or_lengths(config); status != Status::ok) return status;
  // Kimi-K2 ships with both betas 1, so equal betas are allowed. Swapped betas are always a mistake.
  const double fast = config.beta_fast.value_or(0) != 0 ? *config.beta_fast : 32;
  const double slow = config.beta_slow.value_or(0) != 0 ? *config.beta_slow : 1;
  if (fast < slow) return Status::beta_order;
  if (!is_enumerator(config.ramp, Ramp::two_ramps)) return Status::ramp_unknown;
  if (config.ramp == Ramp::two_ramps) {
    if (config.rope_type != RopeType::ntk_by_parts) return Status::ramp_unknown;
    return need_two_pairs(config);
  }
  return Status::ok;
}

// vLLM's M-RoPE has a table of four times the length, except in Qwen3-VL's layout, and computes YaRN's range for that length.
double position_factor(const RopeConfig& config) {
  const bool is_longer = config.compat == Compat::vllm && !config.mrope_section.empty() && config.mrope_layout != MropeLayout::interleaved;
  return is_longer ? 4 : 1;
}

double temperature(double factor, double mscale) { return factor <= 1 ? 1 : 0.1 * mscale * reproducible_log(factor) + 1; }

double factor(const RopeConfig& config) {
  return config.factor.has_value() ? *config.factor : *config.max_position_embeddings / *config.original_max_position_embeddings;
}

Range pair_range(const RopeConfig& config, double fast, double slow) {
  double low = correction_dim(config, fast), high = correction_dim(config, slow);
  if (rounds_range(config)) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  return {std::max(low, 0.0), std::min(high, resolved_rotary_dim(config) - 1.0)};
}

Range correction_range(const RopeConfig& config) {
  const double beta_fast = reads_betas(config) ? given_or(config.beta_fast, 32) : 32;
  const double beta_slow = reads_betas(config) ? given_or(config.beta_slow, 1) : 1;
  return config.ramp == Ramp::rotations ? Range{beta_slow, beta_fast} : pair_range(config, beta_fast, beta_slow);
}

double ramp(double position, Range range, Compat compat, Rounding rounded) {
  const double high = range.high == range.low ? range.high + 0.001 : range.high;
  const double span = compat == Compat::llama_cpp ? std::max(0.001, range.high - range.low) : high - range.low;
  return std::clamp(rounded(rounded(position - rounded(range.low)) / rounded(span)), 0.0, 1.0);
}

void blend(const RopeConfig& config, double factor, FrequencyPlan& plan) {
  const Rounding rounded(config.precision);
  const double window = *config.original_max_position_embeddings;
  const double strength = config.compat == Compat::vllm ? 1 : config.extrapolation_factor.value_or(1);  // vLLM does not read it
  const Range range = correction_range(config);

  unscaled_powers(config, config.rope_theta, plan.inv_freq.data());
  for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) {
    const double kept = plan.unscaled_inv_freq[j];
    const double interpolated =
        config.precision == Precision::hf ? rounded(1 / rounded(rounded(factor) * plan.inv_freq[j])) : kept / factor;
    // a ramp over rotations rises toward kept frequencies, a ramp over pair indices toward interpolated ones
    const double rise = config.ramp == Ramp::rotations ? 1 - ramp(window * kept / kTwoPi, range, config.compat, rounded)
                                                       : ramp(static_cast<double>(j), range, config.compat, rounded);
    const double keep = rounded((1 - rise) * strength);
    plan.inv_freq[j] = rounded(rounded(interpolated * rounded(1 - keep)) + rounded(kept * keep));
  }
  plan.ramp_low = range.low;
  plan.ramp_high = range.high;
}

double attention_factor(const RopeConfig& config, double factor) {
  const double all_dim = config.mscale_all_dim.value_or(0);
  switch (config.compat) {
    case Compat::vllm:
      // DeepSeek's class does not read attention_factor, and a missing mscale_all_dim means 0. The other class is as transformers.
      if (config.family == Family::deepseek) return temperature(factor, config.mscale.value_or(1)) / temperature(factor, all_dim);
      [[fallthrough]];
    case Compat::hf:
      if (config.attention_factor.has_value()) return *config.attention_factor;
      if (config.mscale.value_or(0) != 0 && all_dim != 0) return temperature(factor, *config.mscale) / temperature(factor, all_dim);
      return temperature(factor, 1);
    case Compat::llama_cpp: {
      // llama.cpp ignores attention_factor. yarn_log_multiplier (mscale_all_dim here) is the mscale of the denominator. The
      // numerator's mscale is 1, or for DeepSeek-2 the multiplier if that is not 1.
      const double attn_factor = config.attn_factor.value_or(1);
      if (config.extrapolation_factor.value_or(1) == 0) return attn_factor;
      if (all_dim == 0) return temperature(factor, 1) * attn_factor;
      const double numerator = config.family == Family::deepseek && all_dim != 1 ? all_dim : 1;
      return temperature(factor, numerator) / temperature(factor, all_dim) * attn_factor;
    }
  }
  return 1;
}

double softmax_factor(const RopeConfig& config, double factor) {
  const double all_dim = config.mscale_all_dim.value_or(0);
  if (config.family != Family::deepseek) return 1;
  if (config.compat == Compat::vllm && config.attention_factor == 1.0) return 1;  // its type deepseek_llama_scaling
  double mscale = temperature(factor, all_dim);
  // llama.cpp's deepseek2 graph also puts the factor on cos and sin into the softmax scale. It is 1 with a log multiplier.
  if (config.compat == Compat::llama_cpp) mscale *= attention_factor(config, factor);
  return mscale * mscale;
}

}  // namespace ropewalk::plans::yarn_parts
