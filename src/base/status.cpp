#include "base/status.h"

namespace ropewalk {

StatusText describe_status(Status status) {
  switch (status) {
    case Status::ok: return {"", ""};
    case Status::out_of_memory: return {"", "out of memory"};
    case Status::thread_lost: return {"", "a thread ended in the middle of the call, whose results are lost"};

    case Status::head_dim_out_of_range: return {"head_dim", "must be an integer from 2 to 8192"};
    case Status::rotary_dim_odd: return {"rotary_dim", "must be even: elements are rotated in pairs"};
    case Status::rotary_dim_out_of_range: return {"rotary_dim", "must be from 2 (4 for NTK scaling) to head_dim"};
    case Status::rotary_span_outside_head: return {"rotary_offset", "must be at least 0, and rotary_offset + rotary_dim at most head_dim"};
    case Status::frequency_dim_out_of_range: return {"frequency_dim", "must be an integer from rotary_dim - 1 to 8192"};
    case Status::rope_theta_out_of_range: return {"rope_theta", "must be a number above 1 and at most 1e30"};
    case Status::pairing_unknown: return {"pairing", "must be half, interleaved or interleaved_to_half (for weights: half or interleaved)"};
    case Status::rope_type_unknown: return {"rope_type", "is not a known scaling type"};
    case Status::factor_missing: return {"factor", "is required: extended length / original length"};
    case Status::factor_out_of_range: return {"factor", "must be a number from 1 to 1e30"};
    case Status::max_length_missing: return {"max_position_embeddings", "is required: dynamic scaling starts beyond this length"};
    case Status::max_length_out_of_range:
      return {"max_position_embeddings", "must be an integer from 1 to 2^31, and at least the original length"};
    case Status::original_length_missing:
      return {"original_max_position_embeddings", "is required: the context length the model was trained with before extension"};
    case Status::original_length_out_of_range:
      return {"original_max_position_embeddings", "must be an integer from 1 (2 for longrope) to 2^31"};
    case Status::context_length_out_of_range: return {"context_length", "must be an integer from 1 to 2^31"};
    case Status::attention_factor_out_of_range: return {"attention_factor", "must be a number from 1e-6 to 1e6"};
    case Status::attn_factor_out_of_range: return {"attn_factor", "must be a number from 1e-6 to 1e6"};
    case Status::beta_out_of_range: return {"beta_fast", "beta_fast and beta_slow must be finite and at least 0"};
    case Status::beta_order: return {"beta_fast", "must be at least beta_slow: it is the larger number of rotations"};
    case Status::mscale_out_of_range: return {"mscale", "mscale and mscale_all_dim must be numbers from 0 to 1e6"};
    case Status::extrapolation_factor_out_of_range: return {"extrapolation_factor", "must be a number from 0 to 1"};
    case Status::ramp_unknown: return {"ramp", "must be pair_index or rotations (two_ramps only for ntk_by_parts)"};
    case Status::short_factor_length: return {"short_factor", "must have rotary_dim / 2 entries"};
    case Status::short_factor_out_of_range: return {"short_factor", "must contain positive finite numbers"};
    case Status::long_factor_length: return {"long_factor", "must have rotary_dim / 2 entries"};
    case Status::long_factor_out_of_range: return {"long_factor", "must contain positive finite numbers"};
    case Status::long_mscale_out_of_range: return {"long_mscale", "long_mscale and short_mscale must be numbers from 1e-6 to 1e6"};
    case Status::low_freq_factor_missing: return {"low_freq_factor", "is required"};
    case Status::low_freq_factor_out_of_range: return {"low_freq_factor", "must be a positive finite number"};
    case Status::high_freq_factor_missing: return {"high_freq_factor", "is required"};
    case Status::high_freq_factor_order: return {"high_freq_factor", "must be at least low_freq_factor"};
    case Status::alpha_missing: return {"alpha", "is required"};
    case Status::alpha_out_of_range: return {"alpha", "must be a number from 1 to 1e30"};
    case Status::mixed_b_missing: return {"mixed_b", "is required"};
    case Status::mixed_b_out_of_range: return {"mixed_b", "must be a number from 0 to 10"};
    case Status::partial_rotary_factor_out_of_range: return {"partial_rotary_factor", "must be above 0 and at most 1"};
    case Status::inv_freq_length: return {"inv_freq", "must have rotary_dim / 2 entries, for each entry of lengths if there are any"};
    case Status::inv_freq_out_of_range: return {"inv_freq", "must contain finite numbers of at least -1e6"};
    case Status::lengths_out_of_range: return {"lengths", "must contain integers from 1 to 2^31"};
    case Status::lengths_order: return {"lengths", "must increase"};
    case Status::freq_factors_length: return {"freq_factors", "must have rotary_dim / 2 entries"};
    case Status::freq_factors_out_of_range: return {"freq_factors", "must contain positive finite numbers"};
    case Status::mrope_section_length: return {"mrope_section", "must have 2 to 4 entries (3 for the interleaved and ernie layouts)"};
    case Status::mrope_section_sum: return {"mrope_section", "must contain non-negative integers that sum to rotary_dim / 2"};
    case Status::axes_dim_length: return {"axes_dim", "must have 1 to 4 entries"};
    case Status::axes_dim_out_of_range: return {"axes_dim", "must contain even integers from 2 to 8192"};
    case Status::axes_dim_equal: return {"axes_dim", "must have equal entries for the layouts interleaved and shared"};
    case Status::axes_dim_sum: return {"axes_dim", "must sum to rotary_dim"};
    case Status::axes_layout_unknown: return {"axes_layout", "must be chunked, interleaved or shared"};
    case Status::softmax_scale_out_of_range: return {"softmax_scale", "must be a number from 1e-9 to 1e9"};
    case Status::xpos_scale_base_out_of_range: return {"xpos_scale_base", "must be a number from 0.001 to 1e30"};
    case Status::xpos_center_out_of_range: return {"xpos_center", "must be a position within ±2^31"};
    case Status::query_temperature_out_of_range:
      return {"query_temperature", "needs a scale from 0 to 1e6, a floor_scale above 0 and a finite offset"};

    case Status::sequence_length_out_of_range: return {"sequence_length", "must be from 1 to 2^31"};
    case Status::position_out_of_range:
      return {"positions", "must be finite and within ±2^31 (less if a frequency exceeds 2 or xPos would overflow)"};
    case Status::positions_axes: return {"positions", "must have one axis, or one for each axis of mrope_section"};
    case Status::shape_out_of_range: return {"shape", "must contain positive integers that match the positions and fit in memory"};
    case Status::head_dim_mismatch: return {"shape", "must end in the config's head_dim"};
    case Status::plans_differ:
      return {"to", "must have the head_dim, rotary span, pairing and position axes that the keys were rotated with"};
    case Status::dtype_unknown: return {"dtype", "must be f32, f16 or bf16"};
    case Status::layout_unknown: return {"layout", "is not a known layout"};
    case Status::curve_unknown: return {"curve", "must be ones, random or bound"};
    case Status::table_pairs_differ: return {"table", "must have the same value for both elements of a pair"};

    case Status::row_type_unknown: return {"dtype", "must be f32, f16, bf16, q8_0 or q4_0 (the last two only for caches)"};
    case Status::query_shape_out_of_range: return {"queries", "must have positive dimensions that fit in memory, and the keys' head_dim"};
    case Status::key_value_shapes_differ: return {"values", "must have the shape and element type of the keys"};
    case Status::heads_not_grouped:
      return {"queries", "must have a multiple of the number of key heads: each group of query heads shares one key head"};
    case Status::more_queries_than_keys:
      return {"queries", "must not have more tokens than there are keys: causal queries are the newest tokens"};
    case Status::window_out_of_range: return {"window", "must be an integer of at least 1: a token always attends to itself"};
    case Status::sink_tokens_out_of_range: return {"sink_tokens", "must be an integer of at least 0"};
    case Status::sinks_not_finite: return {"sinks", "must contain one finite logit for each query head"};
    case Status::soft_cap_out_of_range: return {"soft_cap", "must be a number from 0.001 to 1e6"};
    case Status::attention_scale_out_of_range: return {"scale", "must be a finite number"};
    case Status::temperature_not_finite: return {"temperatures", "must contain one finite number for each query token"};
    case Status::position_scheme_unknown: return {"position.scheme", "must be none, rope, sinusoidal, learned, alibi or t5"};
    case Status::position_table_too_short:
      return {"position.table", "must have a row for each position, and positions must be integers of at least 0"};
    case Status::position_bias_out_of_range:
      return {"position.table",
              "needs a finite bias for each bucket and head, at least 2 buckets per direction, and a max_distance above half of them"};
    case Status::sinusoidal_base_out_of_range: return {"position.base", "must be a number above 1 and at most 1e30"};
    case Status::linear_rope_changes: return {"rope", "must have length-independent frequencies: accumulated sums can't be re-rotated"};

    case Status::cache_layers_out_of_range:
      return {"layers", "must be at most 4096 layers, each with at least one key head and a head_dim from 1 to 8192"};
    case Status::cache_sequences_out_of_range: return {"sequences", "must be an integer from 1 to 65536"};
    case Status::cache_limit_out_of_range: return {"max_tokens", "must be an integer from 1 to 2^30"};
    case Status::cache_mode_unknown: return {"mode", "must be rotated or raw"};
    case Status::cache_rope_unknown: return {"rope", "must be the index of one of the cache's ropes"};
    case Status::layer_out_of_range: return {"layer", "must be a layer of the cache"};
    case Status::sequence_out_of_range: return {"sequence", "must be a sequence of the cache"};
    case Status::batch_mismatch: return {"keys", "must have one batch row for each sequence, or one row and an explicit sequence"};
    case Status::key_value_heads_mismatch: return {"keys", "must have the layer's number of key heads and its head_dim"};
    case Status::cache_full: return {"keys", "would exceed the cache's max_tokens"};
    case Status::key_not_finite: return {"keys", "contain NaN, infinity, or a number too large for the cache's element type"};
    case Status::value_not_finite: return {"values", "contain NaN, infinity, or a number too large for the cache's element type"};
    case Status::layer_positions_differ: return {"positions", "must be the positions at which an earlier layer stored these tokens"};
    case Status::token_count_out_of_range: return {"tokens", "must be an integer from 0 to the sequence's length"};
    case Status::shift_out_of_range: return {"discard", "must be at least 1, with keep + discard at most the sequence's length"};
    case Status::shift_axes: return {"discard", "can't close a gap between positions on several axes"};
    case Status::image_too_short: return {"image", "is truncated"};
    case Status::image_unrecognized: return {"image", "was not saved from this kind of object"};
    case Status::image_version: return {"image", "has an unsupported format version"};
    case Status::image_geometry:
      return {"image",
              "was saved from an object with other layers, heads, dimensions, element type or key mode, or whose ropes pair or span other "
              "elements"};
    case Status::image_too_many_tokens: return {"image", "has more tokens than the cache's max_tokens"};
    case Status::image_checksum: return {"image", "is damaged: the checksum differs"};
    case Status::image_content: return {"image", "contains invalid values"};
    case Status::image_misfit: return {"image", "has positions or keys that this cache's ropes can't represent"};
    case Status::image_rope: return {"image", "was saved with another rope"};

    case Status::model_shape_out_of_range: return {"config", "has layers, sizes or experts outside the supported range"};
    case Status::weight_format_unknown: return {"format", "is not a known weight format"};
    case Status::weight_slot_unknown: return {"slot", "is not a weight of this model"};
    case Status::weight_shape: return {"weights", "don't have the shape that the model's config requires"};
    case Status::weight_missing: return {"weights", "lack one that the model needs"};
    case Status::weight_not_finite: return {"weights", "are infinite, NaN or too large to be quantized"};
    case Status::hidden_not_finite:
      return {"weights", "produce hidden states that are not finite: they are damaged, or need more range than f32"};
    case Status::cache_geometry: return {"cache", "must have the model's layers, heads and dimensions, and as many tokens in each layer"};
    case Status::token_out_of_range: return {"tokens", "must be token ids from 0 to the vocabulary size - 1"};
    case Status::logits_not_finite: return {"logits", "are not finite: the weights are damaged, or need more range than f32"};
    case Status::sampler_penalty_out_of_range: return {"repetition_penalty", "must be above 0 and at most 1e6"};
    case Status::sampler_temperature_out_of_range: return {"temperature", "must be from 0 to 1e6"};
    case Status::sampler_top_k_out_of_range: return {"top_k", "must be 0 (no limit) or more"};
    case Status::sampler_top_p_out_of_range: return {"top_p", "must be above 0 and at most 1"};
    case Status::sampler_min_p_out_of_range: return {"min_p", "must be from 0 to 1"};
    case Status::sampler_frequency_penalty_out_of_range: return {"frequency_penalty", "must be from -1e6 to 1e6"};
    case Status::sampler_presence_penalty_out_of_range: return {"presence_penalty", "must be from -1e6 to 1e6"};
    case Status::sampler_penalty_window_out_of_range: return {"penalty_window", "must be 0 or more"};
    case Status::sampler_dry_multiplier_out_of_range: return {"repeat_penalty.multiplier", "must be from 0 to 1e6"};
    case Status::sampler_dry_base_out_of_range: return {"repeat_penalty.base", "must be from 1 to 1e6"};
    case Status::sampler_dry_allowed_length_out_of_range: return {"repeat_penalty.allowed_length", "must be 1 or more"};
    case Status::sampler_dry_window_out_of_range: return {"repeat_window", "must be 0 or more"};
    case Status::sampler_top_n_sigma_out_of_range: return {"top_n_sigma", "must be from 0 (no limit) to 1e6"};
    case Status::sampler_typical_p_out_of_range: return {"typical_p", "must be above 0 and at most 1"};
    case Status::sampler_xtc_probability_out_of_range: return {"xtc_probability", "must be from 0 to 1"};
    case Status::sampler_xtc_threshold_out_of_range: return {"xtc_threshold", "must be above 0 and at most 1"};
    case Status::sampler_mirostat_tau_out_of_range: return {"mirostat_tau", "must be from 0 to 1e6"};
    case Status::sampler_mirostat_eta_out_of_range: return {"mirostat_eta", "must be above 0 and at most 1e6"};
    case Status::no_token_allowed: return {"allowed tokens", "must be at least one of the vocabulary"};
  }
  return {"status", "is unknown"};
}

}  // namespace ropewalk
