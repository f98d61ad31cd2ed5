// The keys of a scaling: how each is read, which types read or require it, and its default. Reading, checking and
// flattening follow this table. tests/unit/config_keys.test.mjs compares it with C++, with the comments of
// RopeScaling in types.ts, and with the documentation.

import { booleanAt, integerAt, integersAt, listAt, numberAt, oneOf, type ReadValue } from "./values.js";
import {
  AXES_LAYOUTS,
  MROPE_LAYOUTS,
  type InvFreqFunction,
  RAMPS,
  ROPE_TYPES,
  type RopeScaling,
  type RopeType,
} from "./types.js";

/** A key of {@link RopeScaling}, except the scaling type: the type decides which of the others are read. */
export type ScalingKey = Exclude<keyof RopeScaling, "rope_type" | "type">;

/** What the package knows about a key. */
export interface ScalingKeyRule<Value = unknown> {
  /** Checks the type of a value and returns it. Ranges are checked in C++, where the value is used. */
  read: ReadValue<Value>;
  /** The scaling types that read the key; under any other type it is an error. */
  types: readonly RopeType[] | "all";
  /** Those of them that need the key. */
  required: readonly RopeType[];
  /** The value if the key is absent, unless it depends on other keys. */
  default?: Value;
  /** transformers reads the key with Python's `or`, so 0 means absent. */
  zeroIsAbsent?: true;
}

type Rule<Value> = ScalingKeyRule<Value>;

function optional<Value>(
  read: ReadValue<Value>,
  types: Rule<Value>["types"],
  more?: Partial<Rule<Value>>,
): Rule<Value> {
  return { read, types, required: [], ...more };
}

function required<Value>(read: ReadValue<Value>, types: readonly RopeType[]): Rule<Value> {
  return { read, types, required: types };
}

/** A list of frequencies, or a function that gives them when the config is finished. */
function frequenciesAt(value: unknown, path: string): number[] | InvFreqFunction {
  return typeof value === "function" ? (value as InvFreqFunction) : listAt(value, path);
}

const YARN = ["yarn", "dynamic_yarn"] as const;
const BY_PARTS = [...YARN, "ntk_by_parts"] as const;
const LONGROPE = ["longrope"] as const;
const LLAMA3 = ["llama3"] as const;
// Other types derive a missing factor from two lengths, and proportional uses 1.
const FACTOR = ["linear", "dynamic", "llama3", "ntk", "ntk_mix"] as const;

// The axial type has its own keys for axes.
const ALL_BUT_AXIAL = ROPE_TYPES.filter((type) => type !== "axial");

const zeroIsAbsent = true;

export const SCALING_KEYS: { readonly [Key in ScalingKey]: Rule<NonNullable<RopeScaling[Key]>> } = {
  // Base, rotated share and position axes aren't scaling, but transformers has them in the same object.
  rope_theta: optional(numberAt, "all", { default: 10000 }),
  partial_rotary_factor: optional(numberAt, "all", { default: 1 }),
  mrope_section: optional(integersAt, ALL_BUT_AXIAL),
  mrope_interleaved: optional(booleanAt, ALL_BUT_AXIAL),
  mrope_layout: optional((value, path) => oneOf(value, path, MROPE_LAYOUTS), ALL_BUT_AXIAL, { default: "chunked" }),
  llama_4_scaling_beta: optional(numberAt, "all", { zeroIsAbsent }),

  factor: optional(numberAt, [...FACTOR, "longrope", "proportional", ...BY_PARTS], { required: FACTOR }),
  original_max_position_embeddings: required(integerAt, ["longrope", "llama3", ...BY_PARTS]),
  attention_factor: optional(numberAt, ["longrope", "custom", ...YARN]),
  attn_factor: optional(numberAt, ["default", "linear", ...YARN], { default: 1 }),
  beta_fast: optional(numberAt, BY_PARTS, { default: 32, zeroIsAbsent }),
  beta_slow: optional(numberAt, BY_PARTS, { default: 1, zeroIsAbsent }),
  mscale: optional(numberAt, YARN, { zeroIsAbsent }),
  mscale_all_dim: optional(numberAt, YARN, { zeroIsAbsent }),
  truncate: optional(booleanAt, BY_PARTS, { default: true }),
  ramp: optional((value, path) => oneOf(value, path, RAMPS), BY_PARTS, { default: "pair_index" }),
  extrapolation_factor: optional(numberAt, BY_PARTS, { default: 1 }),
  finetuned: optional(booleanAt, ["dynamic_yarn"], { default: false }),
  short_factor: required(listAt, LONGROPE),
  long_factor: required(listAt, LONGROPE),
  short_mscale: optional(numberAt, LONGROPE),
  long_mscale: optional(numberAt, LONGROPE),
  low_freq_factor: required(numberAt, LLAMA3),
  high_freq_factor: required(numberAt, LLAMA3),
  alpha: { ...required(numberAt, ["ntk_alpha"]), zeroIsAbsent },
  mixed_b: required(numberAt, ["ntk_mix"]),
  inv_freq: required(frequenciesAt, ["custom"]),
  lengths: optional(integersAt, ["custom"]),
  axes_dim: optional(integersAt, ["axial"]),
  axes_layout: optional((value, path) => oneOf(value, path, AXES_LAYOUTS), ["axial"], { default: "chunked" }),
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
