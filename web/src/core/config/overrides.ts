// Merges a caller's overrides into a config.
import * as advise from "../base/advice.js";
import { type Dict, isDict } from "../base/dict.js";
import { fail } from "../base/errors.js";
import { type ConfigDraft, mropeLayoutOf, readKeys } from "./read_config.js";
import { checkScaling, type CheckedScaling, effectiveType, hasRamp, reads } from "./scaling.js";
import type { RopeConfig, RopeScaling, RopeType } from "./types.js";
import { isAbsent, withoutAbsent } from "./values.js";

type Nullable<T> = { [K in keyof T]?: T[K] | null };

/** Changes to a scaling. A key that is left out keeps the model's value; null removes it. */
export interface ScalingOverrides extends Nullable<RopeScaling> {
  /**
   * True allows dropping the model's own scaling, or parts of it that the new `rope_type` doesn't read. Without it
   * such a change is an error. Default: false.
   */
  replace?: boolean;
}

/**
 * Changes to a {@link RopeConfig}, key by key. A key that is left out keeps the model's value; null removes it.
 *
 * - A key of `rope_scaling` changes on its own: `{ rope_scaling: { factor: 8 } }` keeps the type, betas, lists and
 *   original length.
 * - A new `rope_type` on a model without scaling adds a scaling. On a model with another type it is an error without
 *   `replace: true`. Between yarn, dynamic_yarn and ntk_by_parts it's only an error if the new type doesn't read one of
 *   the model's keys; the other keys are kept.
 * - With yarn, dynamic_yarn or ntk_by_parts and a larger `max_position_embeddings`, the model's own is the original length.
 * - `rope_scaling: null` removes the model's scaling, including a GGUF file's frequency factors.
 * - A GGUF file's frequency factors are a scaling too. Adding another scaling needs `replace: true`, which drops them,
 *   or `freq_factors` in the same overrides.
 */
export interface RopeOverrides extends Nullable<Omit<RopeConfig, "rope_scaling" | "rope_parameters">> {
  /** Changes to the scaling; null removes it. */
  rope_scaling?: ScalingOverrides | null;
  /** Newer name of `rope_scaling`; give one of the two. */
  rope_parameters?: ScalingOverrides | null;
}

const ORIGINAL = "original_max_position_embeddings";

/** What every change of the scaling type keeps: these keys describe the model's axes and queries. */
const ALWAYS_KEPT = ["mrope_section", "mrope_layout", "llama_4_scaling_beta"];

/**
 * Merges a caller's overrides into what a model has, by the rules of {@link RopeOverrides}.
 *
 * @throws UNKNOWN_KEY, UNSUPPORTED_ROPE_TYPE, INVALID_CONFIG, with paths that begin with `overrides.`
 */
export function applyOverrides(draft: ConfigDraft, overrides: unknown): ConfigDraft {
  if (isAbsent(overrides)) return draft;
  if (!isDict(overrides)) return fail("INVALID_ARGUMENT", "overrides", "must be an object");
  const name =
    isAbsent(overrides["rope_scaling"]) && "rope_parameters" in overrides ? "rope_parameters" : "rope_scaling";
  const { [name]: given, ...others } = overrides;
  const path = `overrides.${name}`;
  const { replace, keys, removedKeys } = splitScaling(given, path);
  const { top, scaling } = readKeys(keys === undefined ? others : { ...others, [name]: keys }, "overrides.");

  const removed = [...removedKeys, ...Object.keys(overrides).filter((key) => overrides[key] === null)];
  const { mrope_section, mrope_interleaved: _, mrope_layout: __, ...plain } = top;
  const changed: Record<string, unknown> = { ...draft, ...plain };
  for (const key of removed) delete changed[key];
  const changesWidth = "rotary_dim" in plain || "partial_rotary_factor" in plain;
  if (changesWidth && !("frequency_dim" in plain)) delete changed["frequency_dim"];
  if ("rotary_dim" in plain && !("partial_rotary_factor" in plain)) delete changed["partial_rotary_factor"];
  if ("partial_rotary_factor" in plain && !("rotary_dim" in plain)) delete changed["rotary_dim"];

  const axes = withoutAbsent<RopeScaling>({ mrope_section, mrope_layout: mropeLayoutOf(top, "overrides.") });
  const rope_scaling =
    given === null
      ? checkScaling({ ...withoutScaling(draft.rope_scaling), ...axes }, path)
      : mergeScaling(draft, { ...scaling, ...axes }, removed, replace, path);
  const changesScaling = given === null || (scaling !== undefined && Object.keys(scaling).length > 0);
  if (draft.freq_factors !== undefined && changesScaling && !("freq_factors" in overrides)) {
    if (given !== null && !replace) failOverFreqFactors(path);
    delete changed["freq_factors"];
  }
  // partial_rotary_factor is a share of frequencies for the proportional type, and of elements for the others.
  const leavesProportional =
    draft.rope_scaling.rope_type === "proportional" && rope_scaling.rope_type !== "proportional";
  if (leavesProportional && !("partial_rotary_factor" in plain)) delete changed["partial_rotary_factor"];
  const rope_theta = (changed as Partial<ConfigDraft>).rope_theta ?? 10000;
  const result: ConfigDraft = { ...changed, rope_theta, rope_scaling };
  if (scaling?.rope_type === undefined || !hasRamp(rope_scaling.rope_type)) return result;
  return withTrainedLength(result, removed.includes(ORIGINAL) ? undefined : draft.max_position_embeddings, path);
}

/**
 * A scaling of YaRN's kind that an override names: with a larger max_position_embeddings, the file's own is the length
 * that the model was trained for.
 *
 * @throws INVALID_CONFIG if a factor of 1 would follow, which changes nothing
 */
function withTrainedLength(draft: ConfigDraft, own: number | undefined, path: string): ConfigDraft {
  const { max_position_embeddings: max, rope_scaling } = draft;
  const trained = own !== undefined && max !== undefined && max > own ? own : undefined;
  const original = draft[ORIGINAL] ?? trained;
  // dynamic_yarn extends by the length of the sequence.
  const isPlain = rope_scaling.rope_type !== "dynamic_yarn" && rope_scaling.factor === undefined;
  if (isPlain && (original ?? max) === max) {
    const message = "is missing, and 1 would change nothing";
    const advised = advise.other("name it, or max_position_embeddings above the trained length");
    fail("INVALID_CONFIG", `${path}.factor`, message, advised);
  }
  return original === undefined ? draft : { ...draft, [ORIGINAL]: original };
}

interface GivenScaling {
  replace: boolean;
  /** Its keys, null ones included; undefined if no scaling is given. */
  keys: Dict | undefined;
  /** The keys that are null. */
  removedKeys: string[];
}

function splitScaling(given: unknown, path: string): GivenScaling {
  if (isAbsent(given)) return { replace: false, keys: undefined, removedKeys: [] };
  if (!isDict(given)) return fail("INVALID_CONFIG", path, "must be an object or null");
  const { replace, ...keys } = given;
  if (!isAbsent(replace) && typeof replace !== "boolean") {
    return fail("INVALID_CONFIG", `${path}.replace`, "must be true or false");
  }
  return { replace: replace === true, keys, removedKeys: Object.keys(keys).filter((key) => keys[key] === null) };
}

function mergeScaling(
  draft: ConfigDraft,
  keys: RopeScaling,
  removed: readonly string[],
  replace: boolean,
  path: string,
): CheckedScaling {
  const own = draft.rope_scaling;
  const type = keys.rope_type === undefined ? own.rope_type : effectiveType(keys);
  const keeps = (key: string): boolean => type === own.rope_type || carriesOver(key, own.rope_type, type);
  const base = Object.fromEntries(Object.entries(own).filter(([key]) => !removed.includes(key) && keeps(key)));
  const lost = Object.keys(own).filter((key) => !removed.includes(key) && !keeps(key) && !(key in keys));
  if (own.rope_type === "proportional" && type !== own.rope_type) lost.push("partial_rotary_factor");
  const drops = type !== own.rope_type && own.rope_type !== "default" && !areYarnTypes(own.rope_type, type);
  if ((drops || lost.length > 0) && !replace) {
    const losing = lost.length === 0 ? "" : ` and drop its ${lost.join(", ")}`;
    const message = `${type} would replace the model's own ${own.rope_type}${losing}`;
    fail("INVALID_CONFIG", `${path}.rope_type`, message, advise.replace({}));
  }
  const merged = checkScaling({ ...base, ...keys, rope_type: type }, path);
  if (merged.mrope_section === undefined) delete merged.mrope_layout;
  return merged;
}

function areYarnTypes(from: RopeType, to: RopeType): boolean {
  return hasRamp(from) && hasRamp(to);
}

function carriesOver(key: string, from: RopeType, to: RopeType): boolean {
  if (key === "rope_type") return true;
  return reads(to, key) && (ALWAYS_KEPT.includes(key) || areYarnTypes(from, to));
}

function withoutScaling(scaling: CheckedScaling): CheckedScaling {
  const rest = Object.fromEntries(Object.entries(scaling).filter(([key]) => ALWAYS_KEPT.includes(key)));
  return { ...rest, rope_type: "default" };
}

function failOverFreqFactors(path: string): never {
  return fail(
    "INVALID_CONFIG",
    path,
    "this file already scales its frequencies (rope_freqs.weight)",
    advise.replace({ key: "freq_factors" }),
  );
}
