import { fail } from "../base/errors.js";
import {
  booleanAt,
  integerAt,
  integersAt,
  isAbsent,
  isDict,
  listAt,
  numberAt,
  oneOf,
  sameValue,
  stringAt,
  type Dict,
} from "./check.js";
import { readScaling } from "./scaling.js";
import {
  COMPATS,
  MROPE_LAYOUTS,
  PAIRINGS,
  PRECISIONS,
  QUERY_TEMPERATURE_LAYERS,
  type QueryTemperature,
  type RopeConfig,
  type RopeScaling,
  type XposScale,
} from "./types.js";

const KEYS: Record<keyof RopeConfig, (value: unknown, path: string) => unknown> = {
  model_type: stringAt,
  head_dim: integerAt,
  pairing: (value, path) => oneOf(value, path, PAIRINGS),
  rope_theta: numberAt,
  rotary_dim: integerAt,
  partial_rotary_factor: numberAt,
  rotary_offset: integerAt,
  max_position_embeddings: integerAt,
  original_max_position_embeddings: integerAt,
  context_length: integerAt,
  rope_scaling: readScaling,
  rope_parameters: readScaling,
  mrope_section: integersAt,
  mrope_interleaved: booleanAt,
  mrope_layout: (value, path) => oneOf(value, path, MROPE_LAYOUTS),
  freq_factors: (value, path) => listAt(value, path),
  xpos: xposAt,
  query_temperature: temperatureAt,
  softmax_scale: numberAt,
  compat: (value, path) => oneOf(value, path, COMPATS),
  precision: (value, path) => oneOf(value, path, PRECISIONS),
};

/** Keys that may stand in the scaling or beside it. */
const EITHER = [
  "rope_theta",
  "partial_rotary_factor",
  "original_max_position_embeddings",
  "mrope_section",
  "mrope_interleaved",
  "mrope_layout",
] as const;

/** A config whose keys are checked and stand in one place each: base, share, lengths and sections at the top. */
export interface FoldedConfig {
  top: Partial<Omit<RopeConfig, "rope_scaling" | "rope_parameters">>;
  /** Absent where neither `rope_scaling` nor `rope_parameters` is given. */
  scaling: RopeScaling | undefined;
}

/**
 * Checks the keys of a config and the types of their values, and brings the keys that have two places to one.
 *
 * @param prefix path of `config`, with a dot at its end where it is not empty
 * @throws UNKNOWN_KEY, UNSUPPORTED_ROPE_TYPE, INVALID_CONFIG (wrong type; two places that disagree)
 */
export function foldConfig(config: Dict, prefix: string): FoldedConfig {
  const read: Dict = {};
  for (const [name, value] of Object.entries(config)) {
    if (!Object.hasOwn(KEYS, name)) fail("UNKNOWN_KEY", prefix + name, "is not a key of a RoPE config");
    if (!isAbsent(value)) read[name] = KEYS[name as keyof RopeConfig](value, prefix + name);
  }
  const { rope_scaling, rope_parameters, ...top } = read as Partial<RopeConfig> & Dict;
  if (rope_scaling && rope_parameters && !sameValue(rope_scaling, rope_parameters)) {
    fail(
      "INVALID_CONFIG",
      `${prefix}rope_parameters`,
      "differs from rope_scaling, which is an older name of it; give one",
    );
  }
  const scaling = rope_scaling ?? rope_parameters ?? undefined;
  if (scaling === undefined) return { top, scaling };

  const rest: Dict = { ...scaling };
  const where = rope_scaling ? "rope_scaling" : "rope_parameters";
  for (const name of EITHER) {
    if (rest[name] === undefined) continue;
    if (top[name] !== undefined && !sameValue(top[name], rest[name])) {
      fail("INVALID_CONFIG", `${prefix}${where}.${name}`, `disagrees with ${prefix}${name}`);
    }
    (top as Dict)[name] = rest[name];
    delete rest[name];
  }
  return { top, scaling: rest };
}

/** `chunked` or `interleaved` from transformers' flag and our own name, which must not disagree. */
export function layoutOf(
  { mrope_interleaved, mrope_layout }: FoldedConfig["top"],
  prefix: string,
): RopeConfig["mrope_layout"] {
  if (mrope_interleaved === undefined) return mrope_layout;
  const flagged = mrope_interleaved ? "interleaved" : "chunked";
  if (mrope_layout !== undefined && (mrope_layout === "interleaved") !== mrope_interleaved) {
    return fail(
      "INVALID_CONFIG",
      `${prefix}mrope_layout`,
      `disagrees with mrope_interleaved, which is ${mrope_interleaved}`,
    );
  }
  return mrope_layout ?? flagged;
}

function xposAt(value: unknown, path: string): XposScale {
  const { scale_base, center } = onlyKeys(value, path, ["scale_base", "center"]);
  return {
    scale_base: numberAt(scale_base, `${path}.scale_base`),
    ...(!isAbsent(center) && { center: numberAt(center, `${path}.center`) }),
  };
}

function temperatureAt(value: unknown, path: string): QueryTemperature {
  const { scale, floor_scale, offset, layers } = onlyKeys(value, path, ["scale", "floor_scale", "offset", "layers"]);
  return {
    scale: numberAt(scale, `${path}.scale`),
    floor_scale: numberAt(floor_scale, `${path}.floor_scale`),
    offset: numberAt(offset, `${path}.offset`),
    ...(!isAbsent(layers) && { layers: oneOf(layers, `${path}.layers`, QUERY_TEMPERATURE_LAYERS) }),
  };
}

function onlyKeys(value: unknown, path: string, names: readonly string[]): Dict {
  if (!isDict(value)) return fail("INVALID_CONFIG", path, "must be an object or null");
  const unknown = Object.keys(value).find((name) => !names.includes(name));
  return unknown === undefined ? value : fail("UNKNOWN_KEY", `${path}.${unknown}`, `is not one of ${names.join(", ")}`);
}
