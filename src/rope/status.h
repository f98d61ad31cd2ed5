// What a core function returns. The core never throws, prints or aborts.
#pragma once

namespace ropewalk {

// One enumerator for each thing that can be wrong, so that a caller can name the field at fault.
enum class Status : int {
  ok,
  out_of_memory,

  head_dim_out_of_range,
  rotary_dim_odd,
  rotary_dim_out_of_range,
  rotary_span_outside_head,
  rope_theta_out_of_range,
  pairing_unknown,
  rope_type_unknown,
  factor_missing,
  factor_out_of_range,
  max_length_missing,
  max_length_out_of_range,
  original_length_missing,
  original_length_out_of_range,
  context_length_out_of_range,
  attention_factor_out_of_range,
  attn_factor_out_of_range,
  beta_out_of_range,
  beta_order,
  mscale_out_of_range,
  extrapolation_factor_out_of_range,
  ramp_out_of_place,
  short_factor_length,
  short_factor_out_of_range,
  long_factor_length,
  long_factor_out_of_range,
  long_mscale_out_of_range,
  low_freq_factor_missing,
  low_freq_factor_out_of_range,
  high_freq_factor_missing,
  high_freq_factor_order,
  alpha_missing,
  alpha_out_of_range,
  mixed_b_missing,
  mixed_b_out_of_range,
  partial_rotary_factor_out_of_range,
  inv_freq_length,
  inv_freq_out_of_range,
  freq_factors_length,
  freq_factors_out_of_range,
  mrope_section_length,
  mrope_section_sum,
  softmax_scale_out_of_range,
  xpos_scale_base_out_of_range,
  xpos_center_out_of_range,
  query_temperature_out_of_range,

  sequence_length_out_of_range,
  position_out_of_range,
  positions_axes,
  shape_out_of_range,
  head_dim_mismatch,
  plans_differ,
  dtype_unknown,
  layout_unknown,
  curve_unknown,

  row_type_unknown,
  query_shape_out_of_range,
  key_value_shapes_differ,
  heads_not_grouped,
  more_queries_than_keys,
  window_out_of_range,
  sink_tokens_out_of_range,
  sinks_not_finite,
  soft_cap_out_of_range,
  attention_scale_out_of_range,
  temperature_not_finite,
  position_scheme_unknown,
  position_table_too_short,
  position_bias_out_of_range,
  sinusoidal_base_out_of_range,
  linear_rope_changes,

  cache_layers_out_of_range,
  cache_sequences_out_of_range,
  cache_limit_out_of_range,
  cache_mode_unknown,
  cache_rope_unknown,
  layer_out_of_range,
  sequence_out_of_range,
  batch_mismatch,
  key_value_heads_mismatch,
  cache_full,
  key_not_finite,
  value_not_finite,
  layer_positions_differ,
  token_count_out_of_range,
  shift_out_of_range,
  shift_axes,
  image_too_short,
  image_not_ours,
  image_version,
  image_geometry,
  image_too_many_tokens,
  image_checksum,
  image_content,
};

struct StatusText {
  const char* code;    // a RopewalkErrorCode of the package
  const char* field;   // config key or argument at fault, "" where there is none
  const char* advice;  // what a valid value looks like
};

// The text of a status; static storage.
StatusText describe_status(Status status);

}  // namespace ropewalk
