// The types of a config that users see. The comments of RopeScaling are compared with scaling_keys.ts by a test.

import type { AxesLayout, Compat, MropeLayout, Pairing, Precision, Ramp, RopeType } from "./names.js";

export * from "./names.js";

/**
 * The frequency of a pair of the custom type, in radians per position.
 *
 * @param pair from 0 to rotary_dim/2 − 1
 * @param model `length` is the entry of `lengths` that the frequency is for; undefined without `lengths`
 */
export type InvFreqFunction = (
  pair: number,
  model: { head_dim: number; rotary_dim: number; rope_theta: number; length: number | undefined },
) => number;

/**
 * The scaling in a config: the `rope_scaling` of a config.json, or `rope_parameters`, its newer name. The keys are
 * those of transformers. A key that the `rope_type` doesn't read is an error.
 */
export interface RopeScaling {
  /** The type of scaling (`default`: none). */
  rope_type?: RopeType;
  /** Older name of `rope_type`, with older names of types (`su` for longrope, `mrope` for default). */
  type?: string;
  /**
   * Base of the frequencies: a number above 1, at most 1e30. `rope_parameters` has it here, older configs have it at
   * the top level.
   *
   * Types: all. Default: 10000.
   */
  rope_theta?: number;
  /**
   * Rotated share of a head, above 0 and at most 1: rotary_dim = ⌊head_dim · factor⌋. For proportional (Gemma 4) it
   * is the share of pairs with a frequency; the others don't rotate.
   *
   * Types: all. Default: 1.
   */
  partial_rotary_factor?: number;
  /**
   * Extended length divided by original length, 1 to 1e30. yarn, dynamic_yarn, ntk_by_parts and longrope can derive
   * it from `max_position_embeddings` and `original_max_position_embeddings`; proportional divides by it, and uses 1
   * without.
   *
   * Types: linear, dynamic, yarn, longrope, llama3, proportional, ntk, ntk_mix, ntk_by_parts, dynamic_yarn. Required by
   * linear, dynamic, llama3, ntk, ntk_mix.
   */
  factor?: number;
  /**
   * Trained length before the extension, in positions: an integer from 1 (longrope: 2) to 2^31. `ropeConfig()` uses
   * `max_position_embeddings` if a model's files don't have it.
   *
   * Types: yarn, longrope, llama3, ntk_by_parts, dynamic_yarn. Required.
   */
  original_max_position_embeddings?: number;
  /**
   * Multiplies cos and sin, so it multiplies logits by its square; 1e-6 to 1e6. If absent it is computed:
   * 0.1 · ln(factor) + 1 for YaRN (see `mscale`), √(1 + ln(factor) / ln(original length)) for longrope, 1 for custom.
   * llama.cpp doesn't read YaRN's, and vLLM neither longrope's nor that of DeepSeek's families.
   *
   * Types: yarn, longrope, dynamic_yarn, custom.
   */
  attention_factor?: number;
  /**
   * Multiplies cos and sin, on top of YaRN's computed attention factor; 1e-6 to 1e6. GGUF's `rope.scaling.attn_factor`,
   * which only compat `llama.cpp` reads; default and linear refuse it under another compat. Under `llama.cpp` longrope
   * accepts it too, as another name of `attention_factor`.
   *
   * Types: default, linear, yarn, dynamic_yarn. Default: 1.
   */
  attn_factor?: number;
  /**
   * A pair with at least this many rotations in the original window keeps its frequency. At least `beta_slow`; 0 means
   * absent.
   *
   * Types: yarn, ntk_by_parts, dynamic_yarn. Default: 32.
   */
  beta_fast?: number;
  /**
   * A pair with at most this many rotations in the original window is fully interpolated. At least 0; 0 means absent.
   *
   * Types: yarn, ntk_by_parts, dynamic_yarn. Default: 1.
   */
  beta_slow?: number;
  /**
   * DeepSeek's numerator of the attention factor, 0 to 1e6; 0 means absent. With `mscale_all_dim` the attention
   * factor is (0.1 · mscale · ln(factor) + 1) / (0.1 · mscale_all_dim · ln(factor) + 1); without it, transformers
   * ignores mscale.
   *
   * Types: yarn, dynamic_yarn.
   */
  mscale?: number;
  /**
   * DeepSeek's denominator of the attention factor, 0 to 1e6; 0 means absent. In DeepSeek's families the softmax
   * scale is multiplied by (0.1 · mscale_all_dim · ln(factor) + 1)².
   *
   * Types: yarn, dynamic_yarn.
   */
  mscale_all_dim?: number;
  /**
   * Whether the ramp's ends are rounded outwards to whole pairs. gpt-oss has false.
   *
   * Types: yarn, ntk_by_parts, dynamic_yarn. Default: true.
   */
  truncate?: boolean;
  /**
   * How frequencies blend from unchanged to interpolated; see {@link RAMPS}. Not a key of transformers.
   *
   * Types: yarn, ntk_by_parts, dynamic_yarn. Default: `pair_index`.
   */
  ramp?: Ramp;
  /**
   * Multiplies how much of its frequency each pair keeps, 0 to 1: `extrapolation_factor` in the YaRN authors' code,
   * `yarn_ext_factor` in llama.cpp.
   *
   * Types: yarn, ntk_by_parts, dynamic_yarn. Default: 1.
   */
  extrapolation_factor?: number;
  /**
   * Whether the model was fine-tuned with `factor`. The scaling then starts at `factor`, otherwise at 1. From the YaRN
   * authors' dynamic YaRN.
   *
   * Types: dynamic_yarn. Default: false.
   */
  finetuned?: boolean;
  /**
   * Divisors of the frequencies for lengths up to the original one: rotary_dim/2 positive numbers.
   *
   * Types: longrope. Required.
   */
  short_factor?: number[];
  /**
   * Divisors of the frequencies for longer lengths: rotary_dim/2 positive numbers.
   *
   * Types: longrope. Required.
   */
  long_factor?: number[];
  /**
   * Attention factor of the short list, 1e-6 to 1e6, instead of the computed one (Phi-3.5-MoE).
   *
   * Types: longrope.
   */
  short_mscale?: number;
  /**
   * Attention factor of the long list, 1e-6 to 1e6, instead of the computed one (Phi-3.5-MoE).
   *
   * Types: longrope.
   */
  long_mscale?: number;
  /**
   * A pair with fewer rotations than this in the original window has its frequency divided by `factor`. A positive
   * number.
   *
   * Types: llama3. Required.
   */
  low_freq_factor?: number;
  /**
   * A pair with more rotations than this in the original window keeps its frequency. At least `low_freq_factor`; in
   * between, frequencies are blended.
   *
   * Types: llama3. Required.
   */
  high_freq_factor?: number;
  /**
   * Increases the base to base · alpha^(d/(d−2)), with d = rotary_dim; 1 to 1e30 (HunYuan).
   *
   * Types: ntk_alpha. Required.
   */
  alpha?: number;
  /**
   * Exponent of vLLM's mix: the frequency of pair j is divided by exp(a · (j + 1)^mixed_b), and that of the last pair
   * by `factor`. 0 to 10.
   *
   * Types: ntk_mix. Required.
   */
  mixed_b?: number;
  /**
   * The frequencies themselves, in radians per position: rotary_dim/2 numbers, or a function of the pair. With `lengths`,
   * as many for each of them, one list after another. A function is called when the config is read, once for each pair and
   * length, and the config then has its values.
   *
   * Types: custom. Required.
   */
  inv_freq?: number[] | InvFreqFunction;
  /**
   * The longest sequence for each list in `inv_freq`, in positions: increasing integers from 1 to 2^31. A sequence uses the
   * first list that is long enough, or the last one. If absent there is one list for every length.
   *
   * Types: custom.
   */
  lengths?: number[];
  /**
   * Rotated elements for each position axis, such as time, height and width: 1 to 4 even numbers that add up to rotary_dim
   * (FLUX has 16, 56, 56). If absent there are two axes with half of them each, as in transformers.
   *
   * Types: axial.
   */
  axes_dim?: number[];
  /**
   * How the pairs of the axes are laid out; see {@link AXES_LAYOUTS}.
   *
   * Types: axial. Default: `chunked`.
   */
  axes_layout?: AxesLayout;
  /**
   * The number of pairs for each position axis (M-RoPE): time, height, width, and HunYuan-VL's fourth. 2 to 4 integers
   * that add up to rotary_dim/2; exactly 3 for the layouts `interleaved` and `ernie`. If absent there is one axis.
   *
   * Types: default, linear, dynamic, yarn, longrope, llama3, proportional, ntk, ntk_mix, ntk_alpha, ntk_by_parts,
   * dynamic_yarn, custom.
   */
  mrope_section?: number[];
  /**
   * transformers' flag for the interleaved layout. `mrope_layout` names all layouts.
   *
   * Types: default, linear, dynamic, yarn, longrope, llama3, proportional, ntk, ntk_mix, ntk_alpha, ntk_by_parts,
   * dynamic_yarn, custom.
   */
  mrope_interleaved?: boolean;
  /**
   * How pairs are assigned to position axes; see {@link MROPE_LAYOUTS}. Needs `mrope_section`.
   *
   * Types: default, linear, dynamic, yarn, longrope, llama3, proportional, ntk, ntk_mix, ntk_alpha, ntk_by_parts,
   * dynamic_yarn, custom. Default: `chunked`.
   */
  mrope_layout?: MropeLayout;
  /**
   * Ministral 3's query temperature: q · (1 + beta · ln(1 + ⌊p / original length⌋)) at position p. 0 means absent.
   * Needs `original_max_position_embeddings`.
   *
   * Types: all.
   */
  llama_4_scaling_beta?: number;
}

/** A factor on queries that grows with their position p: q · (1 + scale · ln(1 + ⌊(p + offset) / floor_scale⌋)). */
export interface QueryTemperature {
  /** From 0 to 1e6. */
  scale: number;
  /** Positions after which the factor grows, at least 0.001. */
  floor_scale: number;
  /** Added to the position; within ±2^31. */
  offset: number;
  /** The layers that have it (`all`): every layer in Ministral 3, only those without RoPE in Llama 4. */
  layers?: QueryTemperatureLayers;
}

/** The layers that a query temperature may be for. */
export const QUERY_TEMPERATURE_LAYERS = ["all", "no_rope"] as const;
/** One of {@link QUERY_TEMPERATURE_LAYERS}. */
export type QueryTemperatureLayers = (typeof QUERY_TEMPERATURE_LAYERS)[number];

/**
 * xPos (length-extrapolatable transformer): queries are multiplied by ζ_j^((p − center) / scale_base) at position p,
 * and keys are divided by it.
 */
export interface XposScale {
  /** Positions per power of ζ, 0.001 to 1e30 (512 in lucidrains and flash-attention). */
  scale_base: number;
  /** The position whose scale is 1, within ±2^31. Default: 0. */
  center?: number;
}

/**
 * Everything that determines a rotation. The keys are those of config.json, so a pasted `rope_scaling` or
 * `rope_parameters` works. `ropeConfig()` makes one from a whole config.json or from GGUF metadata.
 */
export interface RopeConfig {
  /**
   * Name of the family: config.json's `model_type` or GGUF's architecture. Some have their own YaRN rules (DeepSeek).
   */
  model_type?: string;
  /** Elements per head, 2 to 8192. */
  head_dim: number;
  /** Which elements of a head are rotated together; see {@link PAIRINGS}. */
  pairing: Pairing;
  /** Base of the frequencies: a number above 1, at most 1e30. Default: 10000. */
  rope_theta?: number;
  /**
   * Rotated elements per head: even, at least 2, for NTK scaling at least 4. Replaces `partial_rotary_factor`.
   * Default: `head_dim`.
   */
  rotary_dim?: number;
  /** Rotated share of a head, above 0 and at most 1: rotary_dim = ⌊head_dim · factor⌋. Default: 1. */
  partial_rotary_factor?: number;
  /**
   * d in the frequencies rope_theta^(−2j/d), rotary_dim − 1 to 8192. Default: `rotary_dim`. A `partial_rotary_factor` that gives an odd
   * width is d, and rotary_dim is the width rounded up, as in transformers.
   */
  frequency_dim?: number;
  /** Index of the first rotated element of a head. rotary_offset + rotary_dim is at most head_dim. Default: 0. */
  rotary_offset?: number;
  /** Whether pairs turn by the negative angle (nanochat). Default: false. */
  reversed?: boolean;
  /**
   * Longest sequence of the model, in positions: an integer from 1 to 2^31. dynamic scaling starts past it and needs
   * it; others derive a missing factor from it.
   */
  max_position_embeddings?: number;
  /** Trained length before extension, in positions: an integer from 1 to 2^31. Here or in the scaling. */
  original_max_position_embeddings?: number;
  /**
   * Length that the system was started with, in positions: an integer from 1 to 2^31 (max_position_embeddings). Under
   * compat `llama.cpp` and `vllm` it decides which of longrope's lists is used.
   */
  context_length?: number;
  /** The scaling; absent or null for none. */
  rope_scaling?: RopeScaling | null;
  /** Newer name of `rope_scaling`; give one of the two. */
  rope_parameters?: RopeScaling | null;
  /** The number of pairs for each position axis (M-RoPE), adding up to rotary_dim/2. Here or in the scaling. */
  mrope_section?: number[];
  /** transformers' flag for the interleaved layout. Here or in the scaling. */
  mrope_interleaved?: boolean;
  /** How pairs are assigned to position axes (`chunked`); see {@link MROPE_LAYOUTS}. Here or in the scaling. */
  mrope_layout?: MropeLayout;
  /**
   * Divisors of the frequencies, rotary_dim/2 positive numbers, applied after the scaling: GGUF's
   * `rope_freqs.weight`.
   */
  freq_factors?: number[];
  /** Scales queries and keys by position; absent or null for none. */
  xpos?: XposScale | null;
  /** Scales queries by position; absent or null for none. */
  query_temperature?: QueryTemperature | null;
  /** Factor on q · k before YaRN's share, 1e-9 to 1e9. Gemma has query_pre_attn_scalar^−½. Default: 1/√head_dim. */
  softmax_scale?: number;
  /** The system to follow where systems differ (`hf`); see {@link COMPATS}. */
  compat?: Compat;
  /** How numbers are rounded (`exact`); see {@link PRECISIONS}. */
  precision?: Precision;
}
