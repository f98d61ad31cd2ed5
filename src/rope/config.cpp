#include "rope/config.h"

#include <cmath>

namespace ropewalk {
namespace {

constexpr double kLargest = 1e30;  // products and powers of config values stay finite below this

bool within(double value, double low, double high) { return value >= low && value <= high; }  // false for NaN
bool within(const std::optional<double>& value, double low, double high) { return !value.has_value() || within(*value, low, high); }

bool is_length(const std::optional<double>& value) {
  return !value.has_value() || (within(*value, 1, kPositionLimit) && *value == std::floor(*value));
}

Status check_list(std::span<const double> list, std::size_t count, double low, Status wrong_length, Status out_of_range) {
  if (list.size() != count) return wrong_length;
  for (const double value : list) {
    if (!within(value, low, kLargest)) return out_of_range;
  }
  return Status::ok;
}

template <class Enum>
bool is_enumerator(Enum value, Enum last) {
  return static_cast<int>(value) >= 0 && static_cast<int>(value) <= static_cast<int>(last);
}

Status check_geometry(const RopeConfig& config) {
  const int rotary_dim = resolved_rotary_dim(config);
  if (config.head_dim < 2 || config.head_dim > kMaxHeadDim) return Status::head_dim_out_of_range;
  if (rotary_dim % 2 != 0) return Status::rotary_dim_odd;
  if (rotary_dim < 2 || rotary_dim > config.head_dim) return Status::rotary_dim_out_of_range;
  const int frequency_dim = resolved_frequency_dim(config);
  if (frequency_dim < rotary_dim - 1 || frequency_dim > kMaxHeadDim) return Status::frequency_dim_out_of_range;
  if (config.rotary_offset < 0 || config.rotary_offset > config.head_dim - rotary_dim) return Status::rotary_span_outside_head;
  if (!is_enumerator(config.pairing, Pairing::interleaved_to_half)) return Status::pairing_unknown;
  if (!is_enumerator(config.rope_type, kLastRopeType)) return Status::rope_type_unknown;
  if (!(config.rope_theta > 1) || config.rope_theta > kLargest) return Status::rope_theta_out_of_range;
  return Status::ok;
}

// Ranges that don't depend on the scaling type. check_type checks which keys a type requires.
Status check_ranges(const RopeConfig& config) {
  if (!within(config.factor, 1, kLargest)) return Status::factor_out_of_range;
  if (!is_length(config.max_position_embeddings)) return Status::max_length_out_of_range;
  if (!is_length(config.original_max_position_embeddings)) return Status::original_length_out_of_range;
  if (!is_length(config.context_length)) return Status::context_length_out_of_range;
  if (!within(config.attention_factor, 1e-6, 1e6)) return Status::attention_factor_out_of_range;
  if (!within(config.attn_factor, 1e-6, 1e6)) return Status::attn_factor_out_of_range;
  if (!within(config.beta_fast, 0, kLargest) || !within(config.beta_slow, 0, kLargest)) return Status::beta_out_of_range;
  if (!within(config.mscale, 0, 1e6) || !within(config.mscale_all_dim, 0, 1e6)) return Status::mscale_out_of_range;
  if (!within(config.extrapolation_factor, 0, 1)) return Status::extrapolation_factor_out_of_range;
  if (!within(config.short_mscale, 1e-6, 1e6) || !within(config.long_mscale, 1e-6, 1e6)) return Status::long_mscale_out_of_range;
  if (!within(config.partial_rotary_factor, 1e-6, 1)) return Status::partial_rotary_factor_out_of_range;
  if (!within(config.softmax_scale, 1e-9, 1e9)) return Status::softmax_scale_out_of_range;
  if (!within(config.xpos_scale_base, 1e-3, kLargest)) return Status::xpos_scale_base_out_of_range;
  if (!within(config.xpos_center, -kPositionLimit, kPositionLimit)) return Status::xpos_center_out_of_range;
  if (!within(config.query_temperature_scale, 0, 1e6) || !within(config.query_temperature_floor_scale, 1e-3, kLargest) ||
      !within(config.query_temperature_offset, -kPositionLimit, kPositionLimit)) {
    return Status::query_temperature_out_of_range;
  }
  return Status::ok;
}

Status need_factor(const RopeConfig& config) { return config.factor.has_value() ? Status::ok : Status::factor_missing; }

Status need_original_length(const RopeConfig& config) {
  return config.original_max_position_embeddings.has_value() ? Status::ok : Status::original_length_missing;
}

// Requires the factor, or the two lengths that determine it.
Status need_factor_or_lengths(const RopeConfig& config) {
  if (const Status status = need_original_length(config); status != Status::ok) return status;
  if (config.factor.has_value()) return Status::ok;
  if (!config.max_position_embeddings.has_value()) return Status::factor_missing;
  return *config.max_position_embeddings >= *config.original_max_position_embeddings ? Status::ok : Status::max_length_out_of_range;
}

// The exponent d/(d-2) requires at least two pairs.
Status need_two_pairs(const RopeConfig& config) { return resolved_rotary_dim(config) >= 4 ? Status::ok : Status::rotary_dim_out_of_range; }

Status check_yarn(const RopeConfig& config) {
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

Status check_longrope(const RopeConfig& config) {
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

Status check_llama3(const RopeConfig& config) {
  if (!config.low_freq_factor.has_value()) return Status::low_freq_factor_missing;
  if (!config.high_freq_factor.has_value()) return Status::high_freq_factor_missing;
  if (!within(*config.low_freq_factor, 1e-9, kLargest)) return Status::low_freq_factor_out_of_range;
  if (!within(*config.high_freq_factor, *config.low_freq_factor, kLargest)) return Status::high_freq_factor_order;
  return Status::ok;
}

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

Status check_axial(const RopeConfig& config) {
  if (!is_enumerator(config.axes_layout, AxesLayout::shared)) return Status::axes_layout_unknown;
  if (config.axes_dim.empty() || config.axes_dim.size() > kMaxAxes) return Status::axes_dim_length;
  double sum = 0;
  for (const double dim : config.axes_dim) {
    if (!within(dim, 2, kMaxHeadDim) || dim / 2 != std::floor(dim / 2)) return Status::axes_dim_out_of_range;
    if (config.axes_layout != AxesLayout::chunked && dim != config.axes_dim[0]) return Status::axes_dim_equal;
    sum += dim;
  }
  if (sum != resolved_rotary_dim(config)) return Status::axes_dim_sum;
  return config.mrope_section.empty() ? Status::ok : Status::mrope_section_length;
}

// Returns the status of the first check that fails, else Status::ok.
template <class... Check>
Status first_failure(const RopeConfig& config, Check... checks) {
  Status status = Status::ok;
  ((status == Status::ok ? (void)(status = checks(config)) : (void)0), ...);
  return status;
}

Status check_type(const RopeConfig& config) {
  switch (config.rope_type) {
    case RopeType::default_:
    case RopeType::proportional: return Status::ok;
    case RopeType::linear: return need_factor(config);
    case RopeType::dynamic:
      if (!config.max_position_embeddings.has_value()) return Status::max_length_missing;
      return first_failure(config, need_factor, need_two_pairs);
    case RopeType::ntk: return first_failure(config, need_factor, need_two_pairs);
    case RopeType::ntk_mix:
      if (!config.mixed_b.has_value()) return Status::mixed_b_missing;
      if (!within(*config.mixed_b, 0, 10)) return Status::mixed_b_out_of_range;
      return need_factor(config);
    case RopeType::ntk_alpha:
      if (!config.alpha.has_value()) return Status::alpha_missing;
      if (!within(*config.alpha, 1, kLargest)) return Status::alpha_out_of_range;
      return need_two_pairs(config);
    case RopeType::yarn:
    case RopeType::ntk_by_parts:
    case RopeType::dynamic_yarn: return first_failure(config, need_factor_or_lengths, check_yarn);
    case RopeType::longrope: return first_failure(config, need_factor_or_lengths, check_longrope);
    case RopeType::llama3: return first_failure(config, need_factor, need_original_length, check_llama3);
    case RopeType::custom: return check_custom(config);
    case RopeType::axial: return check_axial(config);
  }
  return Status::rope_type_unknown;
}

Status check_sections(const RopeConfig& config) {
  if (config.mrope_section.empty()) return Status::ok;
  if (!is_enumerator(config.mrope_layout, MropeLayout::vision)) return Status::mrope_section_length;
  const std::size_t axes = config.mrope_section.size();
  const bool three = config.mrope_layout == MropeLayout::interleaved || config.mrope_layout == MropeLayout::ernie;
  if (axes > kMaxAxes || axes < 2 || (three && axes != 3)) return Status::mrope_section_length;
  int sum = 0;
  for (const double section : config.mrope_section) {
    if (!within(section, 0, kMaxHeadDim) || section != std::floor(section)) return Status::mrope_section_sum;
    sum += static_cast<int>(section);
  }
  return sum == resolved_rotary_dim(config) / 2 ? Status::ok : Status::mrope_section_sum;
}

Status check_freq_factors(const RopeConfig& config) {
  if (config.freq_factors.empty()) return Status::ok;
  return check_list(config.freq_factors, static_cast<std::size_t>(resolved_rotary_dim(config) / 2), 1e-9, Status::freq_factors_length,
                    Status::freq_factors_out_of_range);
}

}  // namespace

Status validate(const RopeConfig& config) {
  return first_failure(config, check_geometry, check_ranges, check_type, check_freq_factors, check_sections);
}

}  // namespace ropewalk
