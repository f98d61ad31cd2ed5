// The types of a config that users see.

import type { Compat, MropeLayout, Pairing, Precision } from "./names.js";
import type { PositionMap } from "./position_map.js";
import type { RopeScaling } from "./scaling_keys.js";

export * from "./names.js";
export { POSITION_MAP_TYPES } from "./position_map.js";
export type {
  DualChunkMap,
  LmInfiniteMap,
  PositionMap,
  PositionMapType,
  RectifiedMap,
  SelfExtendMap,
} from "./position_map.js";
export type { InvFreqFunction, RopeScaling } from "./scaling_keys.js";

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

/**
 * Log-n scaling: the scores of a query at position p are multiplied by max(1, 1 + scale · ln((p + 1) / length))^power. The defaults give
 * ln(p + 1) / ln(length), as Su 2021 (kexue.fm/archives/8823) and Qwen have it. `scale: 0.1, power: 2` is YaRN's factor by position.
 */
export interface LognScale {
  /** Positions without a factor, usually the trained length: from 2 to 2^31. */
  length: number;
  /** From 0 to 1e6. Default: 1 / ln(length). */
  scale?: number;
  /** From 0 to 16. Default: 1. */
  power?: number;
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
  /** Scales scores by the position of the query, in every layer with RoPE; absent or null for none. */
  logn?: LognScale | null;
  /**
   * Method past the trained window that changes positions in attention; absent or null for none. It goes with every scaling except axial. Caches need
   * `keys: "raw"` for it, and positions must be consecutive integers.
   */
  position_map?: PositionMap | null;
  /** Factor on q · k before YaRN's share, 1e-9 to 1e9. Gemma has query_pre_attn_scalar^−½. Default: 1/√head_dim. */
  softmax_scale?: number;
  /** The system to follow where systems differ (`hf`); see {@link COMPATS}. */
  compat?: Compat;
  /** How numbers are rounded (`exact`); see {@link PRECISIONS}. */
  precision?: Precision;
}
