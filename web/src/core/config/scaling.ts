// Reads a rope_scaling or rope_parameters and checks that its type reads each of its keys.
import * as advise from "../base/advice.js";
import { isDict } from "../base/dict.js";
import { show } from "../base/show.js";
import { fail } from "../base/errors.js";
import { suggestion } from "../base/options.js";
import { integerAt, isAbsent, sameValue } from "./values.js";
import { type RopeConfig as RopeFields, TYPE_KEYS } from "./rope_fields.js";
import {
  COMMON_KEYS,
  IGNORED_KEYS,
  KEY_ALIASES,
  MROPE_KEYS,
  SCALING_KEYS,
  type ScalingKey,
  TYPE_ALIASES,
} from "./scaling_keys.js";
import { ROPE_TYPES, type RopeScaling, type RopeType } from "./types.js";

/** A scaling with a `rope_type` and only keys that this type reads, all under their current names. */
export type CheckedScaling = Omit<RopeScaling, "type"> & { rope_type: RopeType };

/**
 * Reads the keys of a `rope_scaling` or `rope_parameters`: their names, aliases and types. Whether the scaling type
 * reads them is not checked yet. Null counts as absent.
 *
 * @throws UNKNOWN_KEY, UNSUPPORTED_ROPE_TYPE, INVALID_CONFIG (wrong type of value, or two aliases of a key that differ)
 */
export function readScaling(value: unknown, path: string): RopeScaling {
  if (!isDict(value)) return fail("INVALID_CONFIG", path, "must be an object or null");
  const keys: Record<string, unknown> = {};
  for (const [given, item] of Object.entries(value)) {
    const at = `${path}.${given}`;
    const name = Object.hasOwn(KEY_ALIASES, given) ? KEY_ALIASES[given]! : given;
    const read = readerOf(name);
    if (read === undefined) {
      const names = ["rope_type", ...(path.startsWith("overrides.") ? ["replace"] : []), ...Object.keys(SCALING_KEYS)];
      fail("UNKNOWN_KEY", at, "is not a key of RoPE scaling", suggestion(given, names));
    }
    if (isAbsent(item)) continue;
    const result = read(item, at);
    if (name === "max_position_embeddings") continue;
    if (name in keys && !sameValue(keys[name], result)) {
      fail("INVALID_CONFIG", at, `disagrees with another spelling of ${name} in ${path}`);
    }
    keys[name] = result;
  }
  return keys;
}

function readerOf(name: string): ((value: unknown, path: string) => unknown) | undefined {
  if (name === "rope_type") return typeAt;
  // Ministral 3 repeats the top-level length in its scaling.
  if (name === "max_position_embeddings") return integerAt;
  return Object.hasOwn(SCALING_KEYS, name) ? SCALING_KEYS[name as ScalingKey].read : undefined;
}

function typeAt(value: unknown, path: string): RopeType {
  if (typeof value === "string" && Object.hasOwn(TYPE_ALIASES, value)) return TYPE_ALIASES[value]!;
  if (ROPE_TYPES.includes(value as RopeType)) return value as RopeType;
  return fail("UNSUPPORTED_ROPE_TYPE", path, `must be one of ${ROPE_TYPES.join(", ")} (got ${show(value)})`);
}

/**
 * Decides the type of a scaling (`default` if it has none) and checks that this type reads every key.
 *
 * @throws UNKNOWN_KEY, with the types that do read the key
 */
export function checkScaling(keys: RopeScaling, path: string): CheckedScaling {
  const rope_type = effectiveType(keys);
  const checked: CheckedScaling = { rope_type };
  const { rope_type: _, ...others } = keys;
  for (const [name, value] of Object.entries(others) as [ScalingKey, never][]) {
    if (SCALING_KEYS[name].zeroIsAbsent && value === 0) continue;
    if (reads(rope_type, name)) checked[name] = value;
    else if (!isIgnored(rope_type, name, value)) {
      const type = keys.rope_type === undefined ? "without a rope_type the scaling" : `rope_type ${rope_type}`;
      const types = ROPE_TYPES.filter((type) => reads(type, name));
      fail("UNKNOWN_KEY", `${path}.${name}`, `${type} doesn't read this key`, advise.ropeType({ types }));
    }
  }
  return checked;
}

/** Whether a scaling type needs a key. */
export function needs(type: RopeType, name: string): boolean {
  return TYPE_KEYS[type][0].includes(name as keyof RopeFields);
}

/** Whether a scaling type reads a key. */
export function reads(type: RopeType, name: string): boolean {
  if ((MROPE_KEYS as readonly string[]).includes(name)) return !reads(type, "axes_dim");
  return COMMON_KEYS.includes(name) || TYPE_KEYS[type].some((keys) => keys.includes(name as keyof RopeFields));
}

/** Whether a scaling type has a ramp over the pairs. Such types read the same keys with the same meaning. */
export const hasRamp = (type: RopeType): boolean => reads(type, "ramp");

/** Whether the factor of a scaling type is the extended length divided by the original one, which gives it if it is absent. */
export const hasRatio = (type: RopeType): boolean =>
  reads(type, "factor") && !needs(type, "factor") && needs(type, "original_max_position_embeddings");

/** The type of a scaling. Some released files use a type's name for another one, which only their other keys show. */
export function effectiveType(keys: RopeScaling): RopeType {
  const type = keys.rope_type ?? "default";
  // Phi-3's first files call longrope "yarn"; only longrope has the two lists.
  if (type === "yarn" && keys.short_factor !== undefined && keys.long_factor !== undefined) return "longrope";
  // HunYuan calls its constant change of base "dynamic".
  if (type === "dynamic" && keys.alpha !== undefined && keys.alpha !== 0) return "ntk_alpha";
  return type;
}

function isIgnored(type: RopeType, name: ScalingKey, value: unknown): boolean {
  if (name === "original_max_position_embeddings") return true; // a fact about the model, whatever its scaling
  if (name === "factor" && value === 1) return true;
  return IGNORED_KEYS[type]?.includes(name) ?? false;
}
