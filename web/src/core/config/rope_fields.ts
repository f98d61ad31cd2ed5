// Written by scripts/fields.mjs of src/rope/config_fields.def. Enumerators are numbers.

/** Numbers in wasm memory: their address, and how many. @internal */
export interface List {
  values: number;
  size: number;
}

type Keys = readonly (keyof RopeConfig)[];
const ramp_keys: Keys = ["factor", "beta_fast", "beta_slow", "truncate", "ramp", "extrapolation_factor"];
const yarn_keys: Keys = [...ramp_keys, "attention_factor", "mscale", "mscale_all_dim", "attn_factor"];

/** The keys that each scaling type needs, and those that it reads besides. @internal */
export const TYPE_KEYS: Readonly<Record<RopeType, readonly [needed: Keys, optional: Keys]>> = {
  /** nothing */
  default: [[], ["attn_factor"]],
  /** divides every frequency by the factor: position interpolation */
  linear: [["factor"], ["attn_factor"]],
  /** as `ntk`, with a factor that follows the length past `max_position_embeddings` */
  dynamic: [["factor"], []],
  /** as `ntk_by_parts`, and scales logits by the attention factor squared */
  yarn: [["original_max_position_embeddings"], yarn_keys],
  /** has a divisor for each pair, from one of two lists by length */
  longrope: [
    ["short_factor", "long_factor", "original_max_position_embeddings"],
    ["factor", "attention_factor", "short_mscale", "long_mscale"],
  ],
  /** keeps, smooths or divides each pair by its wavelength */
  llama3: [["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"], []],
  /** rotates some pairs, spaced over the whole head, and leaves the others unrotated (Gemma 4) */
  proportional: [[], ["factor"]],
  /** uses a larger base: the first pair is kept, the last is interpolated */
  ntk: [["factor"], []],
  /** vLLM's mix: the divisor grows from pair to pair up to the factor */
  ntk_mix: [["factor", "mixed_b"], []],
  /** HunYuan's larger base, the same at every length */
  ntk_alpha: [["alpha"], []],
  /** keeps fast pairs, interpolates slow ones, blends between them */
  ntk_by_parts: [["original_max_position_embeddings"], ramp_keys],
  /** `yarn` by the current length: sequences within the trained length aren't scaled */
  dynamic_yarn: [["original_max_position_embeddings"], [...yarn_keys, "finetuned"]],
  /** uses the frequencies you give */
  custom: [["inv_freq"], ["lengths", "attention_factor"]],
  /** gives each position axis its own pairs, whose frequencies start anew */
  axial: [[], ["axes_dim", "axes_layout"]],
};

/** The scaling types. `RopeScaling` says which keys each of them reads. */
export const ROPE_TYPES = /* @__PURE__ */ Object.keys(TYPE_KEYS) as unknown as readonly [
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
  "axial",
];
/** One of {@link ROPE_TYPES}. */
export type RopeType = (typeof ROPE_TYPES)[number];

/** The scaling types that each system has. @internal */
export const SYSTEM_TYPES = {
  hf: ["default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional", "ntk_alpha", "axial"],
  "llama.cpp": ["default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional", "ntk_alpha"],
  vllm: ["default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional", "ntk", "ntk_mix", "ntk_alpha"],
} as const satisfies Record<string, readonly RopeType[]>;

/** Types whose frequencies depend on the length of the sequence. @internal */
export const BY_LENGTH: readonly RopeType[] = ["dynamic", "longrope", "dynamic_yarn", "custom"];

/** Types whose frequencies are those of a larger base. @internal */
export const LARGER_BASE: readonly RopeType[] = ["dynamic", "ntk", "ntk_alpha"];

/** The keys. A number has a range and the status of a value outside it, a length is a whole number of positions. Lists are views of the caller's memory. They must stay valid until make_plan or Rope::configure returns. @internal */
export interface RopeConfig {
  /** elements per head */
  head_dim: number;
  /** rotated elements, even; 0 means head_dim */
  rotary_dim: number;
  /** first rotated element */
  rotary_offset: number;
  /** d in base^(-2j/d); 0 means rotary_dim. An odd width of transformers, of which rotary_dim is rounded up */
  frequency_dim: number;
  /** pairs turn by the negative angle (nanochat) */
  reversed: boolean;
  pairing: number;
  rope_type: number;
  compat: number;
  precision: number;
  family: number;
  rope_theta: number;
  /** extended length / original length, >= 1 */
  factor?: number | undefined;
  /** positions */
  max_position_embeddings?: number | undefined;
  /** positions before extension */
  original_max_position_embeddings?: number | undefined;
  /** positions that the system is configured for */
  context_length?: number | undefined;
  /** multiplies cos and sin */
  attention_factor?: number | undefined;
  /** multiplies cos and sin in llama.cpp, on top of YaRN's own factor */
  attn_factor?: number | undefined;
  /** rotations, default 32 */
  beta_fast?: number | undefined;
  /** rotations, default 1 */
  beta_slow?: number | undefined;
  mscale?: number | undefined;
  mscale_all_dim?: number | undefined;
  /** multiplies the kept share, default 1 */
  extrapolation_factor?: number | undefined;
  /** round the correction range outward */
  truncate: boolean;
  /** dynamic_yarn starts at factor instead of 1 */
  finetuned: boolean;
  ramp: number;
  low_freq_factor?: number | undefined;
  high_freq_factor?: number | undefined;
  alpha?: number | undefined;
  mixed_b?: number | undefined;
  short_mscale?: number | undefined;
  long_mscale?: number | undefined;
  /** proportional: share of head_dim that is rotated */
  partial_rotary_factor?: number | undefined;
  /** without YaRN's factor; default 1/sqrt(head_dim) */
  softmax_scale?: number | undefined;
  /** positions per power of zeta; absent: no xPos */
  xpos_scale_base?: number | undefined;
  xpos_center: number;
  /** absent: no temperature */
  query_temperature_scale?: number | undefined;
  query_temperature_floor_scale: number;
  query_temperature_offset: number;
  /** absent: scores don't grow with the position */
  logn_length?: number | undefined;
  /** default 1/ln(logn_length) */
  logn_scale?: number | undefined;
  /** default 1 */
  logn_power?: number | undefined;
  /** plans/position_map.h */
  position_map: number;
  /** self_extend: positions that share one */
  map_group_size?: number | undefined;
  /** keys closer than this keep their positions */
  map_window?: number | undefined;
  /** dual_chunk: largest distance */
  map_chunk_size?: number | undefined;
  /** dual_chunk: chunk_size minus the length of a chunk */
  map_local_size?: number | undefined;
  /** lm_infinite: first tokens that stay visible */
  map_sink_tokens?: number | undefined;
  /** [rotary_dim/2] */
  short_factor: List;
  /** [rotary_dim/2] */
  long_factor: List;
  /** [max(1, lengths)][rotary_dim/2], custom */
  inv_freq: List;
  /** custom: the longest sequence for each list of frequencies, increasing; empty: one list */
  lengths: List;
  /** [rotary_dim/2], divisors of the frequencies */
  freq_factors: List;
  /** axial: rotated elements per axis, even */
  axes_dim: List;
  /** pairs per axis; empty: one axis */
  mrope_section: List;
  mrope_layout: number;
  axes_layout: number;
}

/** @internal */
export function defaultRopeConfig(): RopeConfig {
  return {
    head_dim: 0,
    rotary_dim: 0,
    rotary_offset: 0,
    frequency_dim: 0,
    reversed: false,
    pairing: 0,
    rope_type: 0,
    compat: 0,
    precision: 0,
    family: 0,
    rope_theta: 10000,
    truncate: true,
    finetuned: false,
    ramp: 0,
    xpos_center: 0,
    query_temperature_floor_scale: 1,
    query_temperature_offset: 0,
    position_map: 0,
    short_factor: { values: 0, size: 0 },
    long_factor: { values: 0, size: 0 },
    inv_freq: { values: 0, size: 0 },
    lengths: { values: 0, size: 0 },
    freq_factors: { values: 0, size: 0 },
    axes_dim: { values: 0, size: 0 },
    mrope_section: { values: 0, size: 0 },
    mrope_layout: 0,
    axes_layout: 0,
  };
}

/** Multiplies a query by 1 + scale · ln(1 + floor((position + offset) / floor_scale)), as Llama 4 and Ministral 3 do. @internal */
export interface QueryTemperature {
  /** 0: none */
  scale: number;
  floor_scale: number;
  offset: number;
}

/** @internal */
export function defaultQueryTemperature(): QueryTemperature {
  return { scale: 0, floor_scale: 1, offset: 0 };
}
