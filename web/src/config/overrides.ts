import { fail } from "../base/errors.js";
import { isAbsent, isDict, withoutAbsent, type Dict } from "./check.js";
import { foldConfig, layoutOf } from "./config_keys.js";
import type { Draft } from "./draft.js";
import { settledType, settleScaling, reads, type SettledScaling } from "./scaling.js";
import type { RopeConfig, RopeScaling, RopeType } from "./types.js";

type Nullable<T> = { [K in keyof T]?: T[K] | null };

/** Keys of a scaling to change. A key that is left out stays as the model has it, null takes it away. */
export interface ScalingOverrides extends Nullable<RopeScaling> {
  /** Consent to losing what the model's own scaling has and the new `rope_type` has no use for. */
  replace?: boolean;
}

/** Keys of a {@link RopeConfig} to change. A key that is left out stays as the model has it, null takes it away. */
export interface RopeOverrides extends Nullable<Omit<RopeConfig, "rope_scaling" | "rope_parameters">> {
  rope_scaling?: ScalingOverrides | null;
  rope_parameters?: ScalingOverrides | null;
}

/** Types that read the same keys in the same sense, so that one's values carry over to the other. */
const YARN_KIN: readonly RopeType[] = ["yarn", "dynamic_yarn", "ntk_by_parts"];

/** What stays through any change of the scaling type: it tells of the model's axes and queries. */
const KEPT = ["rope_type", "mrope_section", "mrope_layout", "llama_4_scaling_beta"];

/**
 * Merges a caller's overrides into what a model has.
 *
 * - A scaling key changes alone: `{ rope_scaling: { factor: 8 } }` keeps type, betas, lists and original length.
 * - A new `rope_type` on a model without scaling adds one.
 * - A new `rope_type` on a model with another one keeps the keys where both are of YaRN's kin. Where anything the model
 *   has would be lost, it is an error unless `rope_scaling.replace` is true.
 * - `rope_scaling: null` takes the model's scaling away, GGUF's frequency factors included.
 * - GGUF's frequency factors are a scaling too: adding another one needs `replace: true`, which drops them, or
 *   `freq_factors` beside it, which says what they shall be.
 *
 * @throws UNKNOWN_KEY, UNSUPPORTED_ROPE_TYPE, INVALID_CONFIG, with paths that begin with `overrides.`
 */
export function applyOverrides(draft: Draft, overrides: unknown): Draft {
  if (isAbsent(overrides)) return draft;
  if (!isDict(overrides)) return fail("INVALID_ARGUMENT", "overrides", "must be an object");
  const name =
    isAbsent(overrides["rope_scaling"]) && "rope_parameters" in overrides ? "rope_parameters" : "rope_scaling";
  const { [name]: given, ...others } = overrides;
  const path = `overrides.${name}`;
  const { replace, keys, removed } = splitScaling(given, path);
  const { top, scaling } = foldConfig(keys === undefined ? others : { ...others, [name]: keys }, "overrides.");

  const taken = Object.keys(overrides).filter((key) => overrides[key] === null);
  const { mrope_section, mrope_interleaved: _, mrope_layout: __, ...plain } = top;
  const changed: Dict = { ...draft, ...plain };
  for (const key of [...taken, ...removed]) delete changed[key];
  if ("rotary_dim" in plain && !("partial_rotary_factor" in plain)) delete changed["partial_rotary_factor"];
  if ("partial_rotary_factor" in plain && !("rotary_dim" in plain)) delete changed["rotary_dim"];

  const sections = withoutAbsent<RopeScaling>({ mrope_section, mrope_layout: layoutOf(top, "overrides.") });
  const merged =
    given === null
      ? settleScaling({ ...kept(draft.rope_scaling), ...sections }, path)
      : mergeScaling(draft, { ...scaling, ...sections }, [...removed, ...taken], replace, path);
  const scales = given === null || (scaling !== undefined && Object.keys(scaling).length > 0);
  if (draft.freq_factors !== undefined && scales && !("freq_factors" in overrides)) {
    if (given !== null && !replace) failFactored(path);
    delete changed["freq_factors"];
  }
  // The proportional type's share is of another kind than the others': of frequencies, not of elements.
  if (
    draft.rope_scaling.rope_type === "proportional" &&
    merged.rope_type !== "proportional" &&
    !("partial_rotary_factor" in plain)
  ) {
    delete changed["partial_rotary_factor"];
  }
  return { ...changed, rope_theta: (changed as Partial<Draft>).rope_theta ?? 10000, rope_scaling: merged };
}

interface GivenScaling {
  replace: boolean;
  /** The keys with a value; undefined where no scaling is given at all. */
  keys: Dict | undefined;
  /** The keys that are null. */
  removed: string[];
}

function splitScaling(given: unknown, path: string): GivenScaling {
  if (isAbsent(given)) return { replace: false, keys: undefined, removed: [] };
  if (!isDict(given)) return fail("INVALID_CONFIG", path, "must be an object or null");
  const { replace, ...keys } = given;
  if (!isAbsent(replace) && typeof replace !== "boolean") {
    return fail("INVALID_CONFIG", `${path}.replace`, "must be true or false");
  }
  return { replace: replace === true, keys, removed: Object.keys(keys).filter((key) => keys[key] === null) };
}

function mergeScaling(
  draft: Draft,
  keys: RopeScaling,
  removed: readonly string[],
  replace: boolean,
  path: string,
): SettledScaling {
  const own = draft.rope_scaling;
  const type = keys.rope_type === undefined ? own.rope_type : settledType(keys);
  const stays = type === own.rope_type ? () => true : carriesOver(own.rope_type, type);
  const base = Object.fromEntries(Object.entries(own).filter(([key]) => !removed.includes(key) && stays(key)));
  const lost = Object.keys(own).filter((key) => !removed.includes(key) && !stays(key) && !(key in keys));
  if (own.rope_type === "proportional" && type !== own.rope_type) lost.push("partial_rotary_factor");
  const native = type !== own.rope_type && own.rope_type !== "default" && !isKin(own.rope_type, type);
  if ((native || lost.length > 0) && !replace) {
    const losing = lost.length === 0 ? "" : `, with its ${lost.join(", ")}`;
    const message = `${type} would replace the model's own ${own.rope_type}${losing}; add replace: true to agree`;
    fail("INVALID_CONFIG", `${path}.rope_type`, message);
  }
  const merged = settleScaling({ ...base, ...keys, rope_type: type }, path);
  if (merged.mrope_section === undefined) delete merged.mrope_layout;
  return merged;
}

function isKin(from: RopeType, to: RopeType): boolean {
  return YARN_KIN.includes(from) && YARN_KIN.includes(to);
}

function carriesOver(from: RopeType, to: RopeType): (key: string) => boolean {
  return (key) => KEPT.includes(key) || (isKin(from, to) && reads(to, key));
}

function kept(scaling: SettledScaling): SettledScaling {
  const rest = Object.fromEntries(Object.entries(scaling).filter(([key]) => KEPT.includes(key)));
  return { ...rest, rope_type: "default" };
}

function failFactored(path: string): never {
  return fail(
    "INVALID_CONFIG",
    path,
    "this file scales its frequencies already (rope_freqs.weight); add replace: true to drop that, or name freq_factors to keep it",
  );
}

/** The draft that a finished config stands for, so that overrides can be merged into it. */
export function draftOfConfig(config: RopeConfig): Draft {
  const { top, scaling } = foldConfig(config as unknown as Dict, "");
  const { mrope_section, mrope_interleaved: _, mrope_layout: __, ...rest } = top;
  const sections = mrope_section === undefined ? {} : { mrope_section, mrope_layout: layoutOf(top, "") ?? "chunked" };
  return {
    ...rest,
    rope_theta: rest.rope_theta ?? 10000,
    rope_scaling: settleScaling({ ...scaling, ...sections }, "rope_scaling"),
  };
}
