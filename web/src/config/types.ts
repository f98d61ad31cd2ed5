/**
 * Which elements of a head turn together.
 *
 * ```text
 * half                 rotary_dim = 8 → [c c c c s s s s]   pairs (j, j + rotary_dim/2)   NeoX, Hugging Face Llama
 * interleaved          rotary_dim = 8 → [c s c s c s c s]   pairs (2j, 2j + 1)            GPT-J, Meta Llama, GGUF Llama
 * interleaved_to_half  reads interleaved, writes half                                     DeepSeek-V3 in transformers
 * ```
 *
 * Taking the other pairing raises no shape error and ruins the model, so it is always named.
 */
export const PAIRINGS = ["half", "interleaved", "interleaved_to_half"] as const;
/** One of {@link PAIRINGS}. */
export type Pairing = (typeof PAIRINGS)[number];

/** The scaling families. The first seven are Hugging Face's; see the docs of {@link RopeScaling} for the keys of each. */
export const ROPE_TYPES = [
  "default",
  "linear",
  "dynamic",
  "yarn",
  "longrope",
  "llama3",
  "proportional",
  "ntk",
  "ntk_mix",
  "ntk_alpha",
  "ntk_by_parts",
  "dynamic_yarn",
  "custom",
] as const;
/** One of {@link ROPE_TYPES}. */
export type RopeType = (typeof ROPE_TYPES)[number];

/** Whose rules hold where the systems differ in a number. */
export const COMPATS = ["hf", "llama.cpp", "vllm"] as const;
/** One of {@link COMPATS}. */
export type Compat = (typeof COMPATS)[number];

/** `exact`: computed in f64 and rounded once. `hf`: every step rounded to f32 as transformers does. */
export const PRECISIONS = ["exact", "hf"] as const;
/** One of {@link PRECISIONS}. */
export type Precision = (typeof PRECISIONS)[number];

/** How the frequencies are shared among several position axes (time, height, width). */
export const MROPE_LAYOUTS = ["chunked", "interleaved", "ernie", "vision"] as const;
/** One of {@link MROPE_LAYOUTS}. */
export type MropeLayout = (typeof MROPE_LAYOUTS)[number];

/**
 * How NTK-by-parts and YaRN go from keeping to interpolating: one ramp over the pair index (every shipped implementation), one over the
 * rotations inside the window (the paper's text), or the two of the YaRN authors' first NTK-by-parts, by way of NTK-aware (that type only).
 */
export const RAMPS = ["pair_index", "rotations", "two_ramps"] as const;
/** One of {@link RAMPS}. */
export type Ramp = (typeof RAMPS)[number];

/**
 * The scaling part of a config: `rope_scaling` of a config.json, or its newer name `rope_parameters`.
 * Keys are those of transformers; a key that the type does not read is an error, not a silent no-op.
 */
export interface RopeScaling {
  rope_type?: RopeType;
  /** Legacy name of `rope_type`. */
  type?: string;
  /** Base of the frequencies; in `rope_parameters` it stands here, in older configs beside `rope_scaling`. */
  rope_theta?: number;
  partial_rotary_factor?: number;
  /** Extended length over original length, at least 1. linear, dynamic, yarn, dynamic_yarn, longrope, llama3, proportional, ntk, ntk_mix, ntk_by_parts. */
  factor?: number;
  /** Trained length before extension. yarn, dynamic_yarn, ntk_by_parts, longrope, llama3. */
  original_max_position_embeddings?: number;
  /** Multiplies cos and sin (so logits by its square). yarn, dynamic_yarn, longrope. */
  attention_factor?: number;
  /**
   * vLLM's multiplier on YaRN's own factor, and GGUF's `rope.scaling.attn_factor`. Read under compat `vllm` and
   * `llama.cpp`. yarn, dynamic_yarn; under `llama.cpp` also longrope, where it is the attention_factor.
   */
  attn_factor?: number;
  /** Rotations over the original window above which a pair is left alone (32). yarn, dynamic_yarn, ntk_by_parts. */
  beta_fast?: number;
  /** Rotations below which a pair is fully interpolated (1). yarn, dynamic_yarn, ntk_by_parts. */
  beta_slow?: number;
  /** DeepSeek's pair of YaRN temperature multipliers. yarn, dynamic_yarn. */
  mscale?: number;
  mscale_all_dim?: number;
  /** Whether the correction range is rounded outwards to whole pairs (true). yarn, dynamic_yarn, ntk_by_parts. */
  truncate?: boolean;
  /** What is ramped over (`pair_index`). yarn, dynamic_yarn, ntk_by_parts. */
  ramp?: Ramp;
  /** Multiplies the kept share of each pair (1): llama.cpp's `yarn_ext_factor`, YaRN's own `extrapolation_factor`. yarn, dynamic_yarn, ntk_by_parts. */
  extrapolation_factor?: number;
  /** dynamic_yarn: whether the model was fine-tuned at `factor`, so that scaling starts there and not at 1 (false). */
  finetuned?: boolean;
  /** longrope: one divisor a pair, rotary_dim/2 of them, for lengths up to the original one and past it. */
  short_factor?: number[];
  long_factor?: number[];
  /** longrope in Phi-3.5-MoE: attention factors that replace the computed one. */
  short_mscale?: number;
  long_mscale?: number;
  /** llama3. */
  low_freq_factor?: number;
  high_freq_factor?: number;
  /** ntk_alpha (HunYuan): base · alpha^(d/(d−2)). */
  alpha?: number;
  /** ntk_mix (vLLM): exponent of the mix. */
  mixed_b?: number;
  /** custom: the frequencies themselves, radians a position, rotary_dim/2 of them. */
  inv_freq?: number[];
  /** Pairs that follow each position axis (M-RoPE): time, height, width, and the fourth of HunYuan-VL. Any type. */
  mrope_section?: number[];
  /** transformers' flag for the interleaved layout; `mrope_layout` names all of them. */
  mrope_interleaved?: boolean;
  mrope_layout?: MropeLayout;
  /** Ministral 3's query temperature: q · (1 + beta · ln(1 + ⌊p / original length⌋)). */
  llama_4_scaling_beta?: number;
}

/** Position-dependent query temperature: q · (1 + scale · ln(1 + ⌊(p + offset) / floor_scale⌋)). */
export interface QueryTemperature {
  scale: number;
  floor_scale: number;
  offset: number;
  /** The layers it is for (`all`): Ministral 3 has it on every layer, Llama 4 only on those without RoPE. */
  layers?: QueryTemperatureLayers;
}

/** Layers that a query temperature may be for. */
export const QUERY_TEMPERATURE_LAYERS = ["all", "no_rope"] as const;
/** One of {@link QUERY_TEMPERATURE_LAYERS}. */
export type QueryTemperatureLayers = (typeof QUERY_TEMPERATURE_LAYERS)[number];

/** xPos (length-extrapolatable transformer): q · ζ_j^((p − center)/scale_base), k by its inverse. */
export interface XposScale {
  /** Positions over which one power of ζ falls (512 in lucidrains, flash-attention). */
  scale_base: number;
  /** Position of scale 1 (0). */
  center?: number;
}

/**
 * Everything that decides a rotation, with config.json's own keys: a pasted `rope_scaling` or `rope_parameters` works.
 * `ropeConfig()` makes one from a whole config.json or from GGUF metadata.
 */
export interface RopeConfig {
  /** Family, as config.json's `model_type` or GGUF's architecture names it; some have YaRN rules of their own (DeepSeek). */
  model_type?: string;
  /** Elements of one head. */
  head_dim: number;
  pairing: Pairing;
  /** Base of the frequencies, above 1 (10000). */
  rope_theta?: number;
  /** Rotated elements of a head, even; instead of `partial_rotary_factor`. */
  rotary_dim?: number;
  /** Rotated share of a head: rotary_dim = ⌊head_dim · factor⌋ (1). */
  partial_rotary_factor?: number;
  /** First rotated element of a head (0). */
  rotary_offset?: number;
  max_position_embeddings?: number;
  original_max_position_embeddings?: number;
  /** Length the system is started for; compat `llama.cpp` and `vllm` choose longrope's list by it (max_position_embeddings). */
  context_length?: number;
  rope_scaling?: RopeScaling | null;
  /** Newer name of `rope_scaling`; give one of the two. */
  rope_parameters?: RopeScaling | null;
  /** Sections of the pairs by axis (M-RoPE); here or in the scaling. */
  mrope_section?: number[];
  mrope_interleaved?: boolean;
  mrope_layout?: MropeLayout;
  /** Divisors of the frequencies, rotary_dim/2 of them: GGUF's `rope_freqs.weight`. */
  freq_factors?: number[];
  xpos?: XposScale | null;
  query_temperature?: QueryTemperature | null;
  /** Attention's scale before YaRN's share (1/√head_dim); Gemma gives query_pre_attn_scalar^−½. */
  softmax_scale?: number;
  /** `hf` unless given. */
  compat?: Compat;
  /** `exact` unless given. */
  precision?: Precision;
}
