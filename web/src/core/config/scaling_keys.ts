// The keys of a scaling: what each means, how it is read, and its default. rope_fields.ts has which types read them.
// `node scripts/fields.mjs` writes the "Types" sentences here, and the table of docs/scaling_types.md.
import type { AxesLayout, MropeLayout, Ramp, RopeType } from "./names.js";
import { AXES_LAYOUTS, MROPE_LAYOUTS, RAMPS } from "./names.js";
import { booleanAt, integerAt, integersAt, listAt, nameOf, numberAt, type ReadValue } from "./values.js";

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
   * Types: all but axial.
   */
  mrope_section?: number[];
  /**
   * transformers' flag for the interleaved layout. `mrope_layout` names all layouts.
   *
   * Types: all but axial.
   */
  mrope_interleaved?: boolean;
  /**
   * How pairs are assigned to position axes; see {@link MROPE_LAYOUTS}. Needs `mrope_section`.
   *
   * Types: all but axial. Default: `chunked`.
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

/** A key of {@link RopeScaling}, except the scaling type: the type decides which of the others are read. */
export type ScalingKey = Exclude<keyof RopeScaling, "rope_type" | "type">;

/** How a key is read. */
export interface ScalingKeyRule<Value = unknown> {
  /** Checks the type of a value and returns it. Ranges are checked in C++, where the value is used. */
  read: ReadValue<Value>;
  /** The value if the key is absent, unless it depends on other keys. */
  default?: Value;
  /** transformers reads the key with Python's `or`, so 0 means absent. */
  zeroIsAbsent?: true;
}

const zeroIsAbsent = true;

const key = <Value>(read: ReadValue<Value>, more?: Omit<ScalingKeyRule<Value>, "read">): ScalingKeyRule<Value> => ({
  read,
  ...more,
});

/** A list of frequencies, or a function that gives them when the config is finished. */
function frequenciesAt(value: unknown, path: string): number[] | InvFreqFunction {
  return typeof value === "function" ? (value as InvFreqFunction) : listAt(value, path);
}

/** Keys that aren't scaling, but that transformers has in the same object. Every type reads them. */
export const COMMON_KEYS: readonly string[] = ["rope_theta", "partial_rotary_factor", "llama_4_scaling_beta"];

/** Keys of M-RoPE's axes. Types with axes of their own don't read them. */
export const MROPE_KEYS = ["mrope_section", "mrope_interleaved", "mrope_layout"] as const;

export const SCALING_KEYS: { readonly [Key in ScalingKey]: ScalingKeyRule<NonNullable<RopeScaling[Key]>> } = {
  rope_theta: key(numberAt, { default: 10000 }),
  partial_rotary_factor: key(numberAt, { default: 1 }),
  mrope_section: key(integersAt),
  mrope_interleaved: key(booleanAt),
  mrope_layout: key(nameOf(MROPE_LAYOUTS), { default: "chunked" }),
  llama_4_scaling_beta: key(numberAt, { zeroIsAbsent }),

  factor: key(numberAt),
  original_max_position_embeddings: key(integerAt),
  attention_factor: key(numberAt),
  attn_factor: key(numberAt, { default: 1 }),
  beta_fast: key(numberAt, { default: 32, zeroIsAbsent }),
  beta_slow: key(numberAt, { default: 1, zeroIsAbsent }),
  mscale: key(numberAt, { zeroIsAbsent }),
  mscale_all_dim: key(numberAt, { zeroIsAbsent }),
  truncate: key(booleanAt, { default: true }),
  ramp: key(nameOf(RAMPS), { default: "pair_index" }),
  extrapolation_factor: key(numberAt, { default: 1 }),
  finetuned: key(booleanAt, { default: false }),
  short_factor: key(listAt),
  long_factor: key(listAt),
  short_mscale: key(numberAt),
  long_mscale: key(numberAt),
  low_freq_factor: key(numberAt),
  high_freq_factor: key(numberAt),
  alpha: key(numberAt, { zeroIsAbsent }),
  mixed_b: key(numberAt),
  inv_freq: key(frequenciesAt),
  lengths: key(integersAt),
  axes_dim: key(integersAt),
  axes_layout: key(nameOf(AXES_LAYOUTS), { default: "chunked" }),
};

/** Other names that released files and other systems use for a type. */
export const TYPE_ALIASES: Readonly<Record<string, RopeType>> = {
  su: "longrope", // Phi-3, first releases
  mrope: "default", // Qwen2-VL: the sections are independent of the scaling
  xdrope: "dynamic", // HunYuan-VL; effectiveType() makes it ntk_alpha because of its alpha
  "dynamic-yarn": "dynamic_yarn", // jquesnelle/yarn
  "ntk-by-parts": "ntk_by_parts",
  deepseek_yarn: "yarn", // vLLM; the family decides DeepSeek's softmax scale
};

/** Other names of keys. */
export const KEY_ALIASES: Readonly<Record<string, ScalingKey | "rope_type">> = {
  type: "rope_type", // older files
  interleaved: "mrope_interleaved", // Qwen3-Omni
  xdrope_section: "mrope_section", // HunYuan-VL
};

/** Keys that released files have under types that don't read them. They are dropped; any other key is an error. */
export const IGNORED_KEYS: { readonly [Type in RopeType]?: readonly ScalingKey[] } = {
  yarn: ["finetuned"], // Yarn-Llama-2, Yarn-Mistral
  ntk_alpha: ["factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"], // HunYuan
};
