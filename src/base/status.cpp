#include "base/status.h"

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
    case Status::plans_differ:
      return {argument, "to", "must agree with what turned the keys before in head_dim, rotary span, pairing and position axes"};
    case Status::dtype_unknown: return {"INVALID_DTYPE", "dtype", "must be f32, f16 or bf16"};
    case Status::layout_unknown: return {argument, "layout", "is not a known layout"};
    case Status::curve_unknown: return {argument, "curve", "must be ones, random or bound"};

    case Status::row_type_unknown: return {"INVALID_DTYPE", "dtype", "must be f32, f16, bf16 or q8_0 (q8_0: caches only)"};
    case Status::query_shape_out_of_range:
      return {shape, "q", "must hold positive integers that fit in memory, and end in the keys' head_dim"};
    case Status::key_value_shapes_differ: return {shape, "v", "must have the shape and element type of k"};
    case Status::heads_not_grouped:
      return {shape, "q", "must have a multiple of the keys' heads: each group of query heads shares a key head"};
    case Status::more_queries_than_keys:
      return {shape, "q", "must not have more tokens than there are keys: causal queries are the newest tokens"};
    case Status::window_out_of_range: return {argument, "window", "must be an integer of at least 1: a token sees itself"};
    case Status::sink_tokens_out_of_range: return {argument, "sinkTokens", "must be an integer of at least 0"};
    case Status::sinks_not_finite: return {argument, "sinks", "must hold a finite logit for each query head"};
    case Status::soft_cap_out_of_range: return {argument, "softCap", "must be a number from 0.001 to 1e6"};
    case Status::attention_scale_out_of_range: return {argument, "scale", "must be a finite number"};
    case Status::temperature_not_finite: return {argument, "temperature", "must hold a finite number for each query token"};
    case Status::position_scheme_unknown: return {argument, "position.scheme", "must be none, rope, sinusoidal, learned, alibi or t5"};
    case Status::position_table_too_short:
      return {argument, "position.table", "must have a row for each position, which must be integers from 0"};
    case Status::position_bias_out_of_range:
      return {argument, "position",
              "needs a finite bias for each bucket and head, 2 buckets or more in each direction, and a max_distance above half of those"};
    case Status::sinusoidal_base_out_of_range: return {argument, "position.base", "must be a number above 1 and at most 1e30"};
    case Status::linear_rope_changes: return {argument, "rope", "must keep its frequencies at every length: running sums cannot be turned"};

    case Status::cache_layers_out_of_range:
      return {argument, "layers", "must be 1 to 4096 layers of at least one key head and a head_dim from 1 to 8192"};
    case Status::cache_sequences_out_of_range: return {argument, "sequences", "must be an integer from 1 to 65536"};
    case Status::cache_limit_out_of_range: return {argument, "maxLength", "must be an integer from 1 to 2^30"};
    case Status::cache_mode_unknown: return {argument, "keys", "must be rotated or raw"};
    case Status::cache_rope_unknown: return {argument, "layer", "has no RoPE"};
    case Status::layer_out_of_range: return {argument, "layer", "must be a layer of the cache"};
    case Status::sequence_out_of_range: return {argument, "sequence", "must be a sequence of the cache"};
    case Status::batch_mismatch: return {shape, "k", "must have one batch row for each sequence, or one row and the name of its sequence"};
    case Status::key_value_heads_mismatch: return {shape, "k", "must have the layer's key heads and head_dim"};
    case Status::cache_full:
      return {"CACHE_FULL", "k", "has more tokens than the cache has room for; shift, truncate, or make it with a larger maxLength"};
    case Status::key_not_finite: return {argument, "k", "holds NaN, infinity, or a number too large for the cache's element type"};
    case Status::value_not_finite: return {argument, "v", "holds NaN, infinity, or a number too large for the cache's element type"};
    case Status::layer_positions_differ: return {position, "positions", "must be those at which an earlier layer placed these tokens"};
    case Status::token_count_out_of_range: return {argument, "length", "must be an integer from 0 to the sequence's length"};
    case Status::shift_out_of_range: return {argument, "discard", "must be at least 1, and keep + discard at most the sequence's length"};
    case Status::shift_axes:
      return {argument, "discard", "cannot close a gap between positions of several axes; give positions to retune() instead"};
    case Status::image_too_short: return {"INVALID_BYTES", "bytes", "end too early; were they cut off?"};
    case Status::image_not_ours: return {"INVALID_BYTES", "bytes", "are not what save() of this kind of object wrote"};
    case Status::image_version: return {"INVALID_BYTES", "bytes", "are of another version of the format"};
    case Status::image_geometry:
      return {"INVALID_BYTES", "bytes", "belong to an object of other layers, heads, dimensions, element type or kind of keys"};
    case Status::image_too_many_tokens:
      return {"CACHE_FULL", "bytes", "hold more tokens than the cache has room for; make it with a larger maxLength"};
    case Status::image_checksum: return {"INVALID_BYTES", "bytes", "are damaged: the checksum differs"};
    case Status::image_content: return {"INVALID_BYTES", "bytes", "hold impossible values"};

    case Status::model_shape_out_of_range:
      return {"UNSUPPORTED_MODEL", "config", "has layers, sizes or experts outside of what this package can hold"};
    case Status::weight_format_unknown: return {argument, "format", "must be a weight format"};
    case Status::weight_slot_unknown: return {argument, "slot", "names no weight of this model"};
    case Status::weight_shape: return {"INVALID_FILE", "tensors", "have a shape that the model's config does not give"};
    case Status::weight_missing: return {"INVALID_FILE", "tensors", "lack one that the model needs"};
    case Status::cache_geometry:
      return {argument, "cache", "belongs to a model of other layers, heads or dimensions, or its layers hold different numbers of tokens"};
    case Status::token_out_of_range: return {argument, "tokens", "must be ids of the vocabulary, 0 to its size less 1"};
    case Status::logits_not_finite:
      return {"INVALID_FILE", "tensors", "lead to logits that are not finite; the weights are damaged, or need more range than f32"};
    case Status::sampler_penalty_out_of_range: return {argument, "repetitionPenalty", "must be above 0 and at most 1e6"};
    case Status::sampler_temperature_out_of_range: return {argument, "temperature", "must be 0 to 1e6"};
    case Status::sampler_top_k_out_of_range: return {argument, "topK", "must be 0 (all) or more"};
    case Status::sampler_top_p_out_of_range: return {argument, "topP", "must be above 0 and at most 1"};
    case Status::sampler_min_p_out_of_range: return {argument, "minP", "must be 0 to 1"};
  }
  return {argument, "", "unknown status"};
}

}  // namespace ropewalk
