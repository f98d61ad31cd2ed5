// Reads a RopeConfig or the overrides of one: checks each key, and moves keys that may be in two places to one.
import * as advise from "../base/advice.js";
import type { Advised } from "../base/advice.js";
import { type Dict, isDict } from "../base/dict.js";
import { hereIs, KEY_ELSEWHERE } from "../base/elsewhere.js";
import { fail } from "../base/errors.js";
import { suggestion } from "../base/options.js";
import { positionMapAt } from "./position_map.js";
import { checkScaling, type CheckedScaling, readScaling, reads } from "./scaling.js";
import { MROPE_KEYS, SCALING_KEYS } from "./scaling_keys.js";
import {
  COMPATS,
  MROPE_LAYOUTS,
  PAIRINGS,
  PRECISIONS,
  QUERY_TEMPERATURE_LAYERS,
  type LognScale,
  type QueryTemperature,
  type RopeConfig,
  type RopeScaling,
  type XposScale,
} from "./types.js";
import {
  booleanAt,
  integerAt,
  integersAt,
  isAbsent,
  listAt,
  numberAt,
  objectAt,
  nameOf,
  type ReadValue,
  sameValue,
  stringAt,
} from "./values.js";

const xposAt = objectAt<XposScale>({ scale_base: numberAt }, { center: numberAt });
const temperatureAt = objectAt<QueryTemperature>(
  { scale: numberAt, floor_scale: numberAt, offset: numberAt },
  { layers: nameOf(QUERY_TEMPERATURE_LAYERS) },
);
const lognAt = objectAt<LognScale>({ length: numberAt }, { scale: numberAt, power: numberAt });

/** The keys of a config. Those of its scaling are in scaling_keys.ts. */
export const CONFIG_KEYS: { readonly [Key in keyof RopeConfig]-?: ReadValue<NonNullable<RopeConfig[Key]>> } = {
  model_type: stringAt,
  head_dim: integerAt,
  pairing: nameOf(PAIRINGS),
  rope_theta: numberAt,
  rotary_dim: integerAt,
  partial_rotary_factor: numberAt,
  rotary_offset: integerAt,
  reversed: booleanAt,
  frequency_dim: integerAt,
  max_position_embeddings: integerAt,
  original_max_position_embeddings: integerAt,
  context_length: integerAt,
  rope_scaling: readScaling,
  rope_parameters: readScaling,
  mrope_section: integersAt,
  mrope_interleaved: booleanAt,
  mrope_layout: nameOf(MROPE_LAYOUTS),
  freq_factors: listAt,
  xpos: xposAt,
  query_temperature: temperatureAt,
  logn: lognAt,
  position_map: positionMapAt,
  softmax_scale: numberAt,
  compat: nameOf(COMPATS),
  precision: nameOf(PRECISIONS),
};

/** Keys that may be in the scaling or at the top level. */
const EITHER = ["rope_theta", "partial_rotary_factor", "original_max_position_embeddings", ...MROPE_KEYS] as const;

/** The keys of a config, checked, each in one place: those of EITHER are at the top level. */
export interface ConfigKeys {
  top: Partial<Omit<RopeConfig, "rope_scaling" | "rope_parameters">>;
  /** Absent if neither `rope_scaling` nor `rope_parameters` is given. */
  scaling: RopeScaling | undefined;
}

/**
 * A config that has been read, from a model's files or from a caller, but not finished: rotary_dim, the original length
 * and YaRN's factor aren't derived yet, so overrides can still change what they follow from.
 * The position axes are in `rope_scaling`; the other keys of EITHER are at the top level.
 */
export interface ConfigDraft extends Partial<
  Omit<RopeConfig, "rope_scaling" | "rope_parameters" | "mrope_section" | "mrope_interleaved" | "mrope_layout">
> {
  rope_theta: number;
  rope_scaling: CheckedScaling;
  /** The rotated elements are the last ones of a head (DeepSeek-V4). */
  rotates_last?: true;
}

/** What to use instead of a key that a config doesn't have at its top level. */
function keyAdvice(name: string): Advised {
  const inScaling = name in SCALING_KEYS ? advise.spell({ name: `rope_scaling.${name}`, from: name }) : undefined;
  return hereIs(name, KEY_ELSEWHERE) ?? inScaling ?? suggestion(name, Object.keys(CONFIG_KEYS));
}

/**
 * Checks the keys of a config and the types of their values, and moves the keys that have two places to one.
 *
 * @param prefix path of `config`, with a trailing dot unless it is empty
 * @throws UNKNOWN_KEY, UNSUPPORTED_ROPE_TYPE, INVALID_CONFIG (wrong type of value, or two places that disagree)
 */
export function readKeys(config: Dict, prefix: string): ConfigKeys {
  const read: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(config)) {
    if (!Object.hasOwn(CONFIG_KEYS, name)) {
      const isModelKey = ["architectures", "hidden_size", "num_attention_heads"].includes(prefix + name);
      fail(
        "UNKNOWN_KEY",
        prefix + name,
        `is not a key of a RoPE config${isModelKey ? ", but of a config.json" : ""}`,
        isModelKey ? advise.call({ calls: ["ropeConfig"] }) : keyAdvice(name),
      );
    }
    if (!isAbsent(value)) read[name] = CONFIG_KEYS[name as keyof RopeConfig](value, prefix + name);
  }
  const { rope_scaling, rope_parameters, ...top } = read as Partial<RopeConfig> & Dict;
  if (rope_scaling && rope_parameters && !sameValue(rope_scaling, rope_parameters)) {
    fail(
      "INVALID_CONFIG",
      `${prefix}rope_parameters`,
      "differs from rope_scaling, its older name",
      advise.other("give only one"),
    );
  }
  const scaling = rope_scaling ?? rope_parameters ?? undefined;
  if (scaling === undefined) return { top, scaling };

  const rest: Record<string, unknown> = { ...scaling };
  const where = rope_scaling ? "rope_scaling" : "rope_parameters";
  for (const name of EITHER) {
    if (rest[name] === undefined) continue;
    if (top[name] !== undefined && !sameValue(top[name], rest[name])) {
      fail("INVALID_CONFIG", `${prefix}${where}.${name}`, `disagrees with ${prefix}${name}`);
    }
    (top as Record<string, unknown>)[name] = rest[name];
    delete rest[name];
  }
  return { top, scaling: rest };
}

/** The layout of the position axes: our own key, or transformers' flag. The two must not disagree. */
export function mropeLayoutOf(
  { mrope_interleaved, mrope_layout }: ConfigKeys["top"],
  prefix: string,
): RopeConfig["mrope_layout"] {
  if (mrope_interleaved === undefined) return mrope_layout;
  if (mrope_layout === undefined) return mrope_interleaved ? "interleaved" : "chunked";
  if ((mrope_layout === "interleaved") === mrope_interleaved) return mrope_layout;
  return fail(
    "INVALID_CONFIG",
    `${prefix}mrope_layout`,
    `disagrees with mrope_interleaved, which is ${mrope_interleaved}`,
  );
}

/**
 * Reads a config that a caller wrote.
 *
 * @throws UNKNOWN_KEY (not a key, or a key that its type doesn't read), UNSUPPORTED_ROPE_TYPE, INVALID_CONFIG
 */
export function readConfig(config: unknown): ConfigDraft {
  if (!isDict(config)) return fail("INVALID_CONFIG", "", "a RoPE config must be an object");
  const { top, scaling } = readKeys(config, "");
  const path = isAbsent(config["rope_scaling"]) ? "rope_parameters" : "rope_scaling";
  const { mrope_section, mrope_interleaved: _, mrope_layout: __, ...rest } = top;
  const mrope = MROPE_KEYS.find((name) => top[name] !== undefined);
  if (scaling?.rope_type !== undefined && mrope !== undefined && !reads(scaling.rope_type, mrope)) {
    fail(
      "UNKNOWN_KEY",
      `${path}.${mrope}`,
      `isn't read by rope_type ${scaling.rope_type}, whose axes axes_dim and axes_layout describe`,
    );
  }
  const layout = mropeLayoutOf(top, `${path}.`) ?? "chunked";
  if (mrope_section === undefined && layout !== "chunked") {
    fail("INVALID_CONFIG", `${path}.mrope_section`, `is missing, and the layout ${layout} needs it`);
  }
  const axes = mrope_section && { mrope_section, mrope_layout: layout };
  const rope_scaling = checkScaling({ ...withLongropeFactor(scaling ?? {}, rest.compat), ...axes }, path);
  checkTemperature(rest, rope_scaling.llama_4_scaling_beta, path);
  return { ...rest, rope_theta: rest.rope_theta ?? 10000, rope_scaling };
}

/** llama_4_scaling_beta is another way to write some query temperatures. The two must not disagree. */
function checkTemperature(top: ConfigKeys["top"], beta: number | undefined, path: string): void {
  const { query_temperature: given, original_max_position_embeddings: original } = top;
  if (!given || beta === undefined) return;
  if (given.scale !== beta || given.floor_scale !== original || given.offset !== 0) {
    fail("INVALID_CONFIG", `${path}.llama_4_scaling_beta`, "disagrees with query_temperature");
  }
}

/** llama.cpp's one factor on longrope's cos and sin, stored in GGUF as `rope.scaling.attn_factor`. */
function withLongropeFactor(scaling: RopeScaling, compat: RopeConfig["compat"]): RopeScaling {
  const { attn_factor, ...rest } = scaling;
  if (compat !== "llama.cpp" || scaling.rope_type !== "longrope" || attn_factor === undefined) return scaling;
  return { ...rest, attention_factor: scaling.attention_factor ?? attn_factor };
}
