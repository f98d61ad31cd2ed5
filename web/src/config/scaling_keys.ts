// The keys of a scaling: how each is read, which types read it, and what happens without it. The reader, the checks, the flattening for wasm
// and the tests of the C++ fields and of the documentation all follow this table. docs: RopeScaling in types.ts.

import { booleanAt, integerAt, integersAt, listAt, numberAt, oneOf, type ReadValue } from "./values.js";
import { MROPE_LAYOUTS, RAMPS, type RopeScaling, type RopeType } from "./types.js";

/** A key of {@link RopeScaling}. The type of scaling itself is not one: it decides which of the keys are read. */
export type ScalingKey = Exclude<keyof RopeScaling, "rope_type" | "type">;

/** What the package knows about a key. */
export interface ScalingKeyRule<Value = unknown> {
  /** Checks the kind of value and returns it. Ranges are checked in C++, where the value is used. */
  read: ReadValue<Value>;
  /** The types that read the key; under any other type it is an error. */
  types: readonly RopeType[] | "all";
  /** Those of them that can't do without it. */
  required?: readonly RopeType[];
  /** The value where the key is absent. */
  default?: Value;
  /** transformers reads the key with Python's `or`, so 0 means absent. */
  zero_is_absent?: true;
}

const YARN = ["yarn", "dynamic_yarn"] as const;
const BY_PARTS = [...YARN, "ntk_by_parts"] as const;
const FACTOR = ["linear", "dynamic", "llama3", "ntk", "ntk_mix"] as const;
const TRAINED_LENGTH = ["longrope", "llama3", ...BY_PARTS] as const;
const LONGROPE = ["longrope"] as const;
const LLAMA3 = ["llama3"] as const;

export const SCALING_KEYS: { readonly [Key in ScalingKey]: ScalingKeyRule<NonNullable<RopeScaling[Key]>> } = {
  // Base, rotated share and position axes are no scaling, but transformers keeps them in the same object.
  rope_theta: { read: numberAt, types: "all", default: 10000 },
  partial_rotary_factor: { read: numberAt, types: "all", default: 1 },
  mrope_section: { read: integersAt, types: "all" },
  mrope_interleaved: { read: booleanAt, types: "all" },
  mrope_layout: { read: (value, path) => oneOf(value, path, MROPE_LAYOUTS), types: "all", default: "chunked" },
  llama_4_scaling_beta: { read: numberAt, types: "all", zero_is_absent: true },

  factor: { read: numberAt, types: [...FACTOR, "longrope", "proportional", ...BY_PARTS], required: FACTOR },
  original_max_position_embeddings: { read: integerAt, types: TRAINED_LENGTH, required: TRAINED_LENGTH },
  attention_factor: { read: numberAt, types: ["longrope", ...YARN] },
  attn_factor: { read: numberAt, types: YARN },
  beta_fast: { read: numberAt, types: BY_PARTS, default: 32, zero_is_absent: true },
  beta_slow: { read: numberAt, types: BY_PARTS, default: 1, zero_is_absent: true },
  mscale: { read: numberAt, types: YARN, zero_is_absent: true },
  mscale_all_dim: { read: numberAt, types: YARN, zero_is_absent: true },
  truncate: { read: booleanAt, types: BY_PARTS, default: true },
  ramp: { read: (value, path) => oneOf(value, path, RAMPS), types: BY_PARTS, default: "pair_index" },
  extrapolation_factor: { read: numberAt, types: BY_PARTS, default: 1 },
  finetuned: { read: booleanAt, types: ["dynamic_yarn"], default: false },
  short_factor: { read: listAt, types: LONGROPE, required: LONGROPE },
  long_factor: { read: listAt, types: LONGROPE, required: LONGROPE },
  short_mscale: { read: numberAt, types: LONGROPE },
  long_mscale: { read: numberAt, types: LONGROPE },
  low_freq_factor: { read: numberAt, types: LLAMA3, required: LLAMA3 },
  high_freq_factor: { read: numberAt, types: LLAMA3, required: LLAMA3 },
  alpha: { read: numberAt, types: ["ntk_alpha"], required: ["ntk_alpha"], zero_is_absent: true },
  mixed_b: { read: numberAt, types: ["ntk_mix"], required: ["ntk_mix"] },
  inv_freq: { read: listAt, types: ["custom"], required: ["custom"] },
};

/** Other names that released files and other systems use for a type. */
export const TYPE_ALIASES: Readonly<Record<string, RopeType>> = {
  su: "longrope", // Phi-3, first releases
  mrope: "default", // Qwen2-VL: the sections are independent of the scaling
  xdrope: "dynamic", // HunYuan-VL; settledType() makes it ntk_alpha because of its alpha
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
