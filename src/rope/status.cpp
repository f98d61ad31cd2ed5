#include "rope/status.h"

namespace ropewalk {

StatusText describe_status(Status status) {
  constexpr const char* config = "INVALID_CONFIG";
  constexpr const char* shape = "INVALID_SHAPE";
  constexpr const char* position = "INVALID_POSITION";
  constexpr const char* argument = "INVALID_ARGUMENT";
  switch (status) {
    case Status::ok: return {"", "", ""};
    case Status::out_of_memory: return {"OUT_OF_MEMORY", "", "memory cannot be had; dispose of tensors or ask for less"};

    case Status::head_dim_out_of_range: return {config, "head_dim", "must be an integer from 2 to 8192"};
    case Status::rotary_dim_odd: return {config, "rotary_dim", "must be even: elements turn in pairs"};
    case Status::rotary_dim_out_of_range: return {config, "rotary_dim", "must be from 2 (4 for NTK scaling) to head_dim"};
    case Status::rotary_span_outside_head:
      return {config, "rotary_offset", "must be at least 0, and rotary_offset + rotary_dim at most head_dim"};
    case Status::rope_theta_out_of_range: return {config, "rope_theta", "must be a number above 1 and at most 1e30"};
    case Status::pairing_unknown:
      return {config, "pairing", "must be half, interleaved or interleaved_to_half (weights: half or interleaved)"};
    case Status::rope_type_unknown: return {"UNSUPPORTED_ROPE_TYPE", "rope_scaling.rope_type", "is not a known scaling type"};
    case Status::factor_missing: return {config, "rope_scaling.factor", "is needed: extended length over original length"};
    case Status::factor_out_of_range: return {config, "rope_scaling.factor", "must be a number from 1 to 1e30"};
    case Status::max_length_missing: return {config, "max_position_embeddings", "is needed: dynamic scaling starts past it"};
    case Status::max_length_out_of_range:
      return {config, "max_position_embeddings", "must be an integer from 1 to 2^31, not below the original length"};
    case Status::original_length_missing:
      return {config, "rope_scaling.original_max_position_embeddings", "is needed: the length the model was trained for before extension"};
    case Status::original_length_out_of_range:
      return {config, "rope_scaling.original_max_position_embeddings", "must be an integer from 1 (2 for longrope) to 2^31"};
    case Status::context_length_out_of_range: return {config, "context_length", "must be an integer from 1 to 2^31"};
    case Status::attention_factor_out_of_range: return {config, "rope_scaling.attention_factor", "must be a number from 1e-6 to 1e6"};
    case Status::attn_factor_out_of_range: return {config, "rope_scaling.attn_factor", "must be a number from 1e-6 to 1e6"};
    case Status::beta_out_of_range: return {config, "rope_scaling.beta_fast", "and beta_slow must be finite and at least 0"};
    case Status::beta_order: return {config, "rope_scaling.beta_fast", "must not be below beta_slow: it is the larger number of rotations"};
    case Status::mscale_out_of_range: return {config, "rope_scaling.mscale", "and mscale_all_dim must be numbers from 0 to 1e6"};
    case Status::extrapolation_factor_out_of_range: return {config, "rope_scaling.extrapolation_factor", "must be a number from 0 to 1"};
    case Status::ramp_out_of_place:
      return {config, "rope_scaling.ramp", "must be pair_index or rotations; two_ramps belongs to ntk_by_parts"};
    case Status::short_factor_length: return {config, "rope_scaling.short_factor", "must have rotary_dim / 2 entries"};
    case Status::short_factor_out_of_range: return {config, "rope_scaling.short_factor", "must hold positive finite numbers"};
    case Status::long_factor_length: return {config, "rope_scaling.long_factor", "must have rotary_dim / 2 entries"};
    case Status::long_factor_out_of_range: return {config, "rope_scaling.long_factor", "must hold positive finite numbers"};
    case Status::long_mscale_out_of_range: return {config, "rope_scaling.long_mscale", "and short_mscale must be numbers from 1e-6 to 1e6"};
    case Status::low_freq_factor_missing: return {config, "rope_scaling.low_freq_factor", "is needed"};
    case Status::low_freq_factor_out_of_range: return {config, "rope_scaling.low_freq_factor", "must be a positive finite number"};
    case Status::high_freq_factor_missing: return {config, "rope_scaling.high_freq_factor", "is needed"};
    case Status::high_freq_factor_order: return {config, "rope_scaling.high_freq_factor", "must not be below low_freq_factor"};
    case Status::alpha_missing: return {config, "rope_scaling.alpha", "is needed"};
    case Status::alpha_out_of_range: return {config, "rope_scaling.alpha", "must be a number from 1 to 1e30"};
    case Status::mixed_b_missing: return {config, "rope_scaling.mixed_b", "is needed"};
    case Status::mixed_b_out_of_range: return {config, "rope_scaling.mixed_b", "must be a number from 0 to 10"};
    case Status::partial_rotary_factor_out_of_range: return {config, "partial_rotary_factor", "must be above 0 and at most 1"};
    case Status::inv_freq_length: return {config, "rope_scaling.inv_freq", "must have rotary_dim / 2 entries"};
    case Status::inv_freq_out_of_range: return {config, "rope_scaling.inv_freq", "must hold finite numbers from -1e6 up"};
    case Status::freq_factors_length: return {config, "freq_factors", "must have rotary_dim / 2 entries"};
    case Status::freq_factors_out_of_range: return {config, "freq_factors", "must hold positive finite numbers"};
    case Status::mrope_section_length:
      return {config, "rope_scaling.mrope_section", "must have 2 to 4 entries; 3 for the interleaved and ernie layouts"};
    case Status::mrope_section_sum:
      return {config, "rope_scaling.mrope_section", "must hold non-negative integers that sum to rotary_dim / 2"};
    case Status::softmax_scale_out_of_range: return {config, "softmax_scale", "must be a number from 1e-9 to 1e9"};
    case Status::xpos_scale_base_out_of_range: return {config, "xpos.scale_base", "must be a number from 0.001 to 1e30"};
    case Status::xpos_center_out_of_range: return {config, "xpos.center", "must be a position within 2^31"};
    case Status::query_temperature_out_of_range:
      return {config, "query_temperature", "needs scale from 0 to 1e6, floor_scale above 0 and a finite offset"};

    case Status::sequence_length_out_of_range: return {argument, "seqLen", "must be from 1 to 2^31"};
    case Status::position_out_of_range:
      return {position, "positions", "must be finite and within ±2^31 (less where a frequency is above 2 or xPos would overflow)"};
    case Status::positions_axes: return {position, "positions", "must have one plane, or one for each axis of the config's mrope_section"};
    case Status::shape_out_of_range: return {shape, "shape", "must hold positive integers that agree with the positions and fit in memory"};
    case Status::head_dim_mismatch: return {shape, "shape", "must end in the config's head_dim"};
    case Status::plans_differ: return {argument, "to", "must agree with `from` in head_dim, rotary span, pairing and position axes"};
    case Status::dtype_unknown: return {"INVALID_DTYPE", "dtype", "must be f32, f16 or bf16"};
    case Status::layout_unknown: return {argument, "layout", "is not a known layout"};
    case Status::curve_unknown: return {argument, "curve", "must be ones, random or bound"};
  }
  return {argument, "", "unknown status"};
}

}  // namespace ropewalk
