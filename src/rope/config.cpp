#include "rope/config.h"

#include <cmath>

#include "rope/plans/checks.h"
#include "rope/plans/families.h"
#include "rope/plans/position_map.h"

namespace ropewalk {
namespace {

Status check_geometry(const RopeConfig& config) {
  const int rotary_dim = resolved_rotary_dim(config);
  if (config.head_dim < 2 || config.head_dim > kMaxHeadDim) return Status::head_dim_out_of_range;
  if (rotary_dim % 2 != 0) return Status::rotary_dim_odd;
  if (rotary_dim < 2 || rotary_dim > config.head_dim) return Status::rotary_dim_out_of_range;
  const int frequency_dim = resolved_frequency_dim(config);
  if (frequency_dim < rotary_dim - 1 || frequency_dim > kMaxHeadDim) return Status::frequency_dim_out_of_range;
  if (config.rotary_offset < 0 || config.rotary_offset > config.head_dim - rotary_dim) return Status::rotary_span_outside_head;
  if (!is_enumerator(config.pairing, Pairing::interleaved_to_half)) return Status::pairing_unknown;
  if (!is_enumerator(config.rope_type, RopeType{kRopeTypes - 1})) return Status::rope_type_unknown;
  if (!(config.rope_theta > 1) || config.rope_theta > kLargest) return Status::rope_theta_out_of_range;
  return Status::ok;
}

// Ranges that don't depend on the scaling type, which checks the keys that it needs.
Status check_ranges(const RopeConfig& config) {
#define ROPEWALK_NUMBER(member, lowest, highest, status) \
  if (!within(config.member, lowest, highest)) return Status::status;
#define ROPEWALK_LENGTH(member, status) \
  if (!is_length(config.member)) return Status::status;
#include "rope/config_fields.def"
  if (!within(config.xpos_center, -kPositionLimit, kPositionLimit)) return Status::xpos_center_out_of_range;
  if (!within(config.query_temperature_floor_scale, 1e-3, kLargest) ||
      !within(config.query_temperature_offset, -kPositionLimit, kPositionLimit)) {
    return Status::query_temperature_out_of_range;
  }
  return Status::ok;
}

Status check_type(const RopeConfig& config) {
#define ROPEWALK_SCALING_TYPE(name, systems, needed, optional, traits) \
  if (config.rope_type == RopeType::name) return plans::check_##name(config);
#include "rope/config_fields.def"
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

Status need_factor(const RopeConfig& config) { return config.factor.has_value() ? Status::ok : Status::factor_missing; }

Status need_original_length(const RopeConfig& config) {
  return config.original_max_position_embeddings.has_value() ? Status::ok : Status::original_length_missing;
}

Status need_factor_or_lengths(const RopeConfig& config) {
  if (const Status status = need_original_length(config); status != Status::ok) return status;
  if (config.factor.has_value()) return Status::ok;
  if (!config.max_position_embeddings.has_value()) return Status::factor_missing;
  return *config.max_position_embeddings >= *config.original_max_position_embeddings ? Status::ok : Status::max_length_out_of_range;
}

Status need_two_pairs(const RopeConfig& config) { return resolved_rotary_dim(config) >= 4 ? Status::ok : Status::rotary_dim_out_of_range; }

Status validate(const RopeConfig& config) {
  return first_failure(config, check_geometry, check_ranges, check_type, check_freq_factors, check_sections, check_position_map);
}

bool is_in_system(const RopeConfig& config) {
  constexpr auto bit = [](Compat system) { return 1u << static_cast<int>(system); };
  constexpr unsigned hf = bit(Compat::hf), llama_cpp = bit(Compat::llama_cpp), vllm = bit(Compat::vllm);
  constexpr auto all_of = [](auto... systems) { return static_cast<unsigned char>((systems | ... | 0)); };
  static constexpr unsigned char kSystems[] = {
#define ROPEWALK_SCALING_TYPE(name, systems, needed, optional, traits) all_of systems,
#include "rope/config_fields.def"
  };
  return (kSystems[static_cast<int>(config.rope_type)] & bit(config.compat)) != 0;
}

}  // namespace ropewalk
