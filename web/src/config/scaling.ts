import { fail } from "../base/errors.js";
import { booleanAt, integerAt, integersAt, isAbsent, isDict, listAt, numberAt, oneOf, sameValue } from "./check.js";
import { MROPE_LAYOUTS, RAMPS, ROPE_TYPES, type RopeScaling, type RopeType } from "./types.js";

/** A scaling whose type is settled: legacy names folded, nothing left that its type does not read. */
export type SettledScaling = RopeScaling & { rope_type: RopeType };

/** What every type reads: the base, the rotated share and the axes are not scaling, transformers only keeps them there. */
export const SHARED_KEYS = [
  "rope_theta",
  "partial_rotary_factor",
  "mrope_section",
  "mrope_interleaved",
  "mrope_layout",
  "llama_4_scaling_beta",
] as const;

type Key = Exclude<keyof RopeScaling, "rope_type" | "type">;
interface KeyRule {
  at: (value: unknown, path: string) => unknown;
  read_by: readonly RopeType[] | "all";
  /** transformers reads it with Python's `or`, so that 0 means absent. */
  zero_is_absent?: true;
}

const YARN = ["yarn", "dynamic_yarn"] as const;
const BY_PARTS = [...YARN, "ntk_by_parts"] as const;

const KEYS: Record<Key, KeyRule> = {
  rope_theta: { at: numberAt, read_by: "all" },
  partial_rotary_factor: { at: numberAt, read_by: "all" },
  mrope_section: { at: integersAt, read_by: "all" },
  mrope_interleaved: { at: booleanAt, read_by: "all" },
  mrope_layout: { at: (value, path) => oneOf(value, path, MROPE_LAYOUTS), read_by: "all" },
  llama_4_scaling_beta: { at: numberAt, read_by: "all", zero_is_absent: true },
  factor: {
    at: numberAt,
    read_by: ["linear", "dynamic", "longrope", "llama3", "proportional", "ntk", "ntk_mix", ...BY_PARTS],
  },
  original_max_position_embeddings: { at: integerAt, read_by: ["longrope", "llama3", ...BY_PARTS] },
  attention_factor: { at: numberAt, read_by: ["longrope", ...YARN] },
  attn_factor: { at: numberAt, read_by: YARN },
  beta_fast: { at: numberAt, read_by: BY_PARTS, zero_is_absent: true },
  beta_slow: { at: numberAt, read_by: BY_PARTS, zero_is_absent: true },
  mscale: { at: numberAt, read_by: YARN, zero_is_absent: true },
  mscale_all_dim: { at: numberAt, read_by: YARN, zero_is_absent: true },
  truncate: { at: booleanAt, read_by: BY_PARTS },
  ramp: { at: (value, path) => oneOf(value, path, RAMPS), read_by: BY_PARTS },
  extrapolation_factor: { at: numberAt, read_by: BY_PARTS },
  finetuned: { at: booleanAt, read_by: ["dynamic_yarn"] },
  short_factor: { at: listAt, read_by: ["longrope"] },
  long_factor: { at: listAt, read_by: ["longrope"] },
  short_mscale: { at: numberAt, read_by: ["longrope"] },
  long_mscale: { at: numberAt, read_by: ["longrope"] },
  low_freq_factor: { at: numberAt, read_by: ["llama3"] },
  high_freq_factor: { at: numberAt, read_by: ["llama3"] },
  alpha: { at: numberAt, read_by: ["ntk_alpha"], zero_is_absent: true },
  mixed_b: { at: numberAt, read_by: ["ntk_mix"] },
  inv_freq: { at: listAt, read_by: ["custom"] },
};

/** Other names that released files and other systems use for a type. */
const TYPE_NAMES: Record<string, RopeType> = {
  su: "longrope", // Phi-3, first releases
  mrope: "default", // Qwen2-VL: the sections are orthogonal to the scaling
  xdrope: "dynamic", // HunYuan-VL; its alpha makes it ntk_alpha below
  "dynamic-yarn": "dynamic_yarn", // jquesnelle/yarn
  "ntk-by-parts": "ntk_by_parts",
  deepseek_yarn: "yarn", // vLLM; the family decides DeepSeek's softmax scale
};

/** Other names of keys. */
const KEY_NAMES: Record<string, Key> = {
  interleaved: "mrope_interleaved", // Qwen3-Omni
  xdrope_section: "mrope_section", // HunYuan-VL
};

/** Keys that released files carry under types that do not read them. They are dropped; any other one is an error. */
const CARRIED: Partial<Record<RopeType, readonly Key[]>> = {
  yarn: ["finetuned"], // Yarn-Llama-2, Yarn-Mistral
  ntk_alpha: ["factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"], // HunYuan
};

/**
 * Reads the keys of a `rope_scaling` or `rope_parameters`: names, types and legacy spellings, without asking yet
 * whether the type reads them. Null counts as absent.
 *
 * @throws UNKNOWN_KEY, UNSUPPORTED_ROPE_TYPE, INVALID_CONFIG (wrong type of value; two spellings that disagree)
 */
export function readScaling(value: unknown, path: string): RopeScaling {
  if (!isDict(value)) return fail("INVALID_CONFIG", path, "must be an object or null");
  const keys: Record<string, unknown> = {};
  for (const [given, item] of Object.entries(value)) {
    const at = `${path}.${given}`;
    const name = given === "type" ? "rope_type" : Object.hasOwn(KEY_NAMES, given) ? KEY_NAMES[given]! : given;
    const rule = Object.hasOwn(KEYS, name) ? KEYS[name as Key] : undefined;
    if (rule === undefined && name !== "rope_type" && name !== "max_position_embeddings") {
      fail("UNKNOWN_KEY", at, "is not a key of RoPE scaling");
    }
    if (isAbsent(item)) continue;
    // Ministral 3 repeats the top-level length inside the dict.
    if (name === "max_position_embeddings") {
      integerAt(item, at);
      continue;
    }
    const read = rule === undefined ? typeAt(item, at) : rule.at(item, at);
    if (name in keys && !sameValue(keys[name], read)) {
      fail("INVALID_CONFIG", at, `disagrees with ${path}'s other spelling of ${name}`);
    }
    keys[name] = read;
  }
  return keys;
}

function typeAt(value: unknown, path: string): RopeType {
  if (typeof value === "string" && Object.hasOwn(TYPE_NAMES, value)) return TYPE_NAMES[value]!;
  if (ROPE_TYPES.includes(value as RopeType)) return value as RopeType;
  return fail("UNSUPPORTED_ROPE_TYPE", path, `${JSON.stringify(value)} is not one of ${ROPE_TYPES.join(", ")}`);
}

/**
 * Settles the type of a scaling (`default` where none is named) and refuses keys which that type does not read.
 *
 * @throws UNKNOWN_KEY naming the key and the types that do read it
 */
export function settleScaling(keys: RopeScaling, path: string): SettledScaling {
  const rope_type = settledType(keys);
  const settled: SettledScaling & Record<string, unknown> = { rope_type };
  for (const [name, value] of Object.entries(keys)) {
    if (name === "rope_type") continue;
    const rule = KEYS[name as Key];
    if (rule.zero_is_absent && value === 0) continue;
    if (reads(rope_type, name)) settled[name] = value;
    else if (!isCarried(rope_type, name as Key, value)) {
      const type = keys.rope_type === undefined ? "no rope_type is given, and default" : `rope_type ${rope_type}`;
      fail(
        "UNKNOWN_KEY",
        `${path}.${name}`,
        `${type} does not read it; ${(rule.read_by as string[]).join(", ")} would`,
      );
    }
  }
  return settled;
}

/** Whether a scaling type makes use of a key. */
export function reads(type: RopeType, name: string): boolean {
  if (!Object.hasOwn(KEYS, name)) return false;
  const { read_by } = KEYS[name as Key];
  return read_by === "all" || read_by.includes(type);
}

/** The type a scaling names, seen through the legacy names that only its other keys give away. */
export function settledType(keys: RopeScaling): RopeType {
  const type = keys.rope_type ?? "default";
  // Phi-3's first files call longrope "yarn"; only longrope has the two lists.
  if (type === "yarn" && keys.short_factor !== undefined && keys.long_factor !== undefined) return "longrope";
  // HunYuan calls a fixed stretch of the base "dynamic".
  if (type === "dynamic" && keys.alpha !== undefined && keys.alpha !== 0) return "ntk_alpha";
  return type;
}

function isCarried(type: RopeType, name: Key, value: unknown): boolean {
  if (name === "original_max_position_embeddings") return true; // a fact of the model, under every type
  if (name === "factor" && value === 1) return true;
  return CARRIED[type]?.includes(name) ?? false;
}
