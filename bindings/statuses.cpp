#include "bindings/statuses.h"

namespace ropewalk::bindings {
namespace {

// RopewalkErrorCode in web/src/base/errors.ts
constexpr const char* kArgument = "INVALID_ARGUMENT";
constexpr const char* kBytes = "INVALID_BYTES";
constexpr const char* kConfig = "INVALID_CONFIG";
constexpr const char* kDtype = "INVALID_DTYPE";
constexpr const char* kFile = "INVALID_FILE";
constexpr const char* kFull = "CACHE_FULL";
constexpr const char* kPosition = "INVALID_POSITION";
constexpr const char* kShape = "INVALID_SHAPE";

struct ErrorText {
  const char* code;
  const char* field;
  const char* requirement = nullptr;  // null: the core's words
};

ErrorText error_of(Status status) {
  switch (status) {
    case Status::ok: return {"", ""};
    case Status::out_of_memory: return {"OUT_OF_MEMORY", "", "out of memory: dispose of tensors, or request less"};
    case Status::thread_lost:
      return {"THREAD_LOST", "", "a thread ended in the middle of the call, so its results are lost; repeat it with new ones"};

    case Status::head_dim_out_of_range: return {kConfig, "head_dim"};
    case Status::rotary_dim_odd: return {kConfig, "rotary_dim"};
    case Status::rotary_dim_out_of_range: return {kConfig, "rotary_dim"};
    case Status::rotary_span_outside_head: return {kConfig, "rotary_offset"};
    case Status::frequency_dim_out_of_range: return {kConfig, "frequency_dim"};
    case Status::rope_theta_out_of_range: return {kConfig, "rope_theta"};
    case Status::pairing_unknown: return {kConfig, "pairing"};
    case Status::rope_type_unknown: return {"UNSUPPORTED_ROPE_TYPE", "rope_scaling.rope_type"};
    case Status::factor_missing: return {kConfig, "rope_scaling.factor"};
    case Status::factor_out_of_range: return {kConfig, "rope_scaling.factor"};
    case Status::max_length_missing: return {kConfig, "max_position_embeddings"};
    case Status::max_length_out_of_range: return {kConfig, "max_position_embeddings"};
    case Status::original_length_missing: return {kConfig, "rope_scaling.original_max_position_embeddings"};
    case Status::original_length_out_of_range: return {kConfig, "rope_scaling.original_max_position_embeddings"};
    case Status::context_length_out_of_range: return {kConfig, "context_length"};
    case Status::attention_factor_out_of_range: return {kConfig, "rope_scaling.attention_factor"};
    case Status::attn_factor_out_of_range: return {kConfig, "rope_scaling.attn_factor"};
    case Status::beta_out_of_range: return {kConfig, "rope_scaling.beta_fast"};
    case Status::beta_order: return {kConfig, "rope_scaling.beta_fast"};
    case Status::mscale_out_of_range: return {kConfig, "rope_scaling.mscale"};
    case Status::extrapolation_factor_out_of_range: return {kConfig, "rope_scaling.extrapolation_factor"};
    case Status::ramp_unknown: return {kConfig, "rope_scaling.ramp"};
    case Status::short_factor_length: return {kConfig, "rope_scaling.short_factor"};
    case Status::short_factor_out_of_range: return {kConfig, "rope_scaling.short_factor"};
    case Status::long_factor_length: return {kConfig, "rope_scaling.long_factor"};
    case Status::long_factor_out_of_range: return {kConfig, "rope_scaling.long_factor"};
    case Status::long_mscale_out_of_range: return {kConfig, "rope_scaling.long_mscale"};
    case Status::low_freq_factor_missing: return {kConfig, "rope_scaling.low_freq_factor"};
    case Status::low_freq_factor_out_of_range: return {kConfig, "rope_scaling.low_freq_factor"};
    case Status::high_freq_factor_missing: return {kConfig, "rope_scaling.high_freq_factor"};
    case Status::high_freq_factor_order: return {kConfig, "rope_scaling.high_freq_factor"};
    case Status::alpha_missing: return {kConfig, "rope_scaling.alpha"};
    case Status::alpha_out_of_range: return {kConfig, "rope_scaling.alpha"};
    case Status::mixed_b_missing: return {kConfig, "rope_scaling.mixed_b"};
    case Status::mixed_b_out_of_range: return {kConfig, "rope_scaling.mixed_b"};
    case Status::partial_rotary_factor_out_of_range: return {kConfig, "partial_rotary_factor"};
    case Status::inv_freq_length: return {kConfig, "rope_scaling.inv_freq"};
    case Status::inv_freq_out_of_range: return {kConfig, "rope_scaling.inv_freq"};
    case Status::lengths_out_of_range: return {kConfig, "rope_scaling.lengths"};
    case Status::lengths_order: return {kConfig, "rope_scaling.lengths"};
    case Status::freq_factors_length: return {kConfig, "freq_factors"};
    case Status::freq_factors_out_of_range: return {kConfig, "freq_factors"};
    case Status::mrope_section_length: return {kConfig, "rope_scaling.mrope_section"};
    case Status::mrope_section_sum: return {kConfig, "rope_scaling.mrope_section"};
    case Status::axes_dim_length: return {kConfig, "rope_scaling.axes_dim"};
    case Status::axes_dim_out_of_range: return {kConfig, "rope_scaling.axes_dim"};
    case Status::axes_dim_equal: return {kConfig, "rope_scaling.axes_dim"};
    case Status::axes_dim_sum: return {kConfig, "rope_scaling.axes_dim"};
    case Status::axes_layout_unknown: return {kConfig, "rope_scaling.axes_layout"};
    case Status::softmax_scale_out_of_range: return {kConfig, "softmax_scale"};
    case Status::xpos_scale_base_out_of_range: return {kConfig, "xpos.scale_base"};
    case Status::xpos_center_out_of_range: return {kConfig, "xpos.center"};
    case Status::query_temperature_out_of_range: return {kConfig, "query_temperature"};

    case Status::sequence_length_out_of_range: return {kArgument, "seqLen"};
    case Status::position_out_of_range: return {kPosition, "positions"};
    case Status::positions_axes: return {kPosition, "positions"};
    case Status::shape_out_of_range: return {kShape, "shape"};
    case Status::head_dim_mismatch: return {kShape, "shape"};
    case Status::plans_differ: return {kArgument, "to"};
    case Status::dtype_unknown: return {kDtype, "dtype"};
    case Status::layout_unknown: return {kArgument, "layout"};
    case Status::curve_unknown: return {kArgument, "curve"};
    case Status::table_pairs_differ: return {kArgument, "cos"};

    case Status::row_type_unknown: return {kDtype, "dtype"};
    case Status::query_shape_out_of_range: return {kShape, "q"};
    case Status::key_value_shapes_differ: return {kShape, "v", "must have the shape and element type of k"};
    case Status::heads_not_grouped: return {kShape, "q"};
    case Status::more_queries_than_keys: return {kShape, "q"};
    case Status::window_out_of_range: return {kArgument, "window"};
    case Status::sink_tokens_out_of_range: return {kArgument, "sinkTokens"};
    case Status::sinks_not_finite: return {kArgument, "sinks"};
    case Status::soft_cap_out_of_range: return {kArgument, "softCap"};
    case Status::attention_scale_out_of_range: return {kArgument, "scale"};
    case Status::temperature_not_finite: return {kArgument, "temperature"};
    case Status::position_scheme_unknown: return {kArgument, "position.scheme"};
    case Status::position_table_too_short: return {kArgument, "position.table"};
    case Status::position_bias_out_of_range: return {kArgument, "position"};
    case Status::sinusoidal_base_out_of_range: return {kArgument, "position.base"};
    case Status::linear_rope_changes: return {kArgument, "rope"};

    case Status::cache_layers_out_of_range: return {kArgument, "layers"};
    case Status::cache_sequences_out_of_range: return {kArgument, "sequences"};
    case Status::cache_limit_out_of_range: return {kArgument, "maxLength"};
    case Status::cache_mode_unknown: return {kArgument, "keys"};
    case Status::cache_rope_unknown: return {kArgument, "layer", "has no RoPE"};
    case Status::layer_out_of_range: return {kArgument, "layer"};
    case Status::sequence_out_of_range: return {kArgument, "sequence"};
    case Status::batch_mismatch: return {kShape, "k"};
    case Status::key_value_heads_mismatch: return {kShape, "k"};
    case Status::cache_full:
      return {kFull, "k", "has more tokens than the cache has room for: shift or truncate the cache, or create it with a larger maxLength"};
    case Status::key_not_finite: return {kArgument, "k", "contains NaN, infinity, or a number too large for the cache's element type"};
    case Status::value_not_finite: return {kArgument, "v", "contains NaN, infinity, or a number too large for the cache's element type"};
    case Status::layer_positions_differ: return {kPosition, "positions"};
    case Status::token_count_out_of_range: return {kArgument, "length"};
    case Status::shift_out_of_range: return {kArgument, "discard"};
    case Status::shift_axes:
      return {kArgument, "discard", "can't close a gap between positions on several axes: pass the new positions to retune() instead"};
    case Status::image_too_short: return {kBytes, "bytes", "are truncated: the end is missing"};
    case Status::image_unrecognized: return {kBytes, "bytes", "must be what save() of this kind of object returned"};
    case Status::image_version: return {kBytes, "bytes", "have an unsupported format version"};
    case Status::image_geometry:
      return {kBytes, "bytes",
              "were saved from an object with other layers, heads, dimensions, element type or kind of keys, or whose ropes have another "
              "pairing, span or axes"};
    case Status::image_too_many_tokens:
      return {kFull, "bytes", "have more tokens than the cache has room for: create it with a larger maxLength"};
    case Status::image_checksum: return {kBytes, "bytes", "are damaged: the checksum differs"};
    case Status::image_content: return {kBytes, "bytes", "contain invalid values"};
    case Status::image_misfit: return {kBytes, "bytes", "have positions or keys that this cache's ropes can't represent"};
    case Status::image_rope: return {kBytes, "bytes", "were saved with another rope: sums can't be re-rotated, so use the rope of save()"};

    case Status::model_shape_out_of_range: return {"UNSUPPORTED_MODEL", "config"};
    case Status::weight_format_unknown: return {kArgument, "format"};
    case Status::weight_slot_unknown: return {kArgument, "slot"};
    case Status::weight_shape: return {kFile, "tensors", "don't have the shape that the model's config requires"};
    case Status::weight_missing: return {kFile, "tensors", "lack one that the model needs"};
    case Status::weight_not_finite: return {kFile, "tensors", "has infinite, NaN or huge elements, which can't be quantized"};
    case Status::hidden_not_finite:
      return {kFile, "tensors", "produce hidden states that are not finite: the weights are damaged, or need more range than f32"};
    case Status::cache_geometry: return {kArgument, "cache"};
    case Status::token_out_of_range: return {kArgument, "tokens"};
    case Status::logits_not_finite:
      return {kFile, "tensors", "produce logits that are not finite: the weights are damaged, or need more range than f32"};
    case Status::sampler_penalty_out_of_range: return {kArgument, "repetitionPenalty"};
    case Status::sampler_temperature_out_of_range: return {kArgument, "temperature"};
    case Status::sampler_top_k_out_of_range: return {kArgument, "topK"};
    case Status::sampler_top_p_out_of_range: return {kArgument, "topP"};
    case Status::sampler_min_p_out_of_range: return {kArgument, "minP"};
    case Status::sampler_frequency_penalty_out_of_range: return {kArgument, "frequencyPenalty"};
    case Status::sampler_presence_penalty_out_of_range: return {kArgument, "presencePenalty"};
    case Status::sampler_penalty_window_out_of_range: return {kArgument, "penaltyWindow"};
    case Status::sampler_dry_multiplier_out_of_range: return {kArgument, "dry.multiplier"};
    case Status::sampler_dry_base_out_of_range: return {kArgument, "dry.base"};
    case Status::sampler_dry_allowed_length_out_of_range: return {kArgument, "dry.allowedLength"};
    case Status::sampler_dry_window_out_of_range: return {kArgument, "dry.window"};
    case Status::sampler_top_n_sigma_out_of_range: return {kArgument, "topNSigma"};
    case Status::sampler_typical_p_out_of_range: return {kArgument, "typicalP"};
    case Status::sampler_xtc_probability_out_of_range: return {kArgument, "xtc.probability"};
    case Status::sampler_xtc_threshold_out_of_range: return {kArgument, "xtc.threshold"};
    case Status::sampler_mirostat_tau_out_of_range: return {kArgument, "mirostat.tau"};
    case Status::sampler_mirostat_eta_out_of_range: return {kArgument, "mirostat.eta"};
    case Status::no_token_allowed: return {kArgument, "logitBias", "must allow at least one token"};
  }
  return {kArgument, ""};
}

}  // namespace

StatusTexts status_texts(Status status) {
  const ErrorText error = error_of(status);
  return {error.code, error.field, error.requirement != nullptr ? error.requirement : describe_status(status).requirement};
}

}  // namespace ropewalk::bindings
