// Finishes a config: derives what its keys leave open, gives every key its one place, and freezes the result.
import * as advise from "../base/advice.js";
import { isDict } from "../base/dict.js";
import { fail } from "../base/errors.js";
import { type ConfigDraft, readConfig } from "./read_config.js";
import { type CheckedScaling, hasRamp, reads } from "./scaling.js";
import { PAIRINGS, type QueryTemperature, type RopeConfig, type RopeType } from "./types.js";
import { deepFreeze, numberAt, oneOf, withoutAbsent } from "./values.js";

/**
 * A config that needs no more checks: `ropeConfig()` returns these, and any other config becomes one before it is
 * used.
 */
export interface FinishedConfig extends RopeConfig {
  rope_theta: number;
  rotary_dim: number;
  rope_scaling: FinishedScaling;
  rope_parameters?: never;
}

/** A scaling whose frequencies are numbers. */
export interface FinishedScaling extends Omit<CheckedScaling, "inv_freq"> {
  inv_freq?: number[];
}

// Finished configs are frozen, so one that is in here is still what finish() returned.
const finished = new WeakSet();

function isFinished(config: unknown): config is FinishedConfig {
  return typeof config === "object" && config !== null && finished.has(config);
}

/**
 * A config from a caller, checked and finished. One that is finished already is returned as it is.
 *
 * @throws UNKNOWN_KEY (not a key, or a key that its type doesn't read), UNSUPPORTED_ROPE_TYPE, INVALID_CONFIG
 */
export function finishedConfig(config: unknown): FinishedConfig {
  return isFinished(config) ? config : finish(readConfig(config));
}

/** The config itself if nobody can change it, otherwise a frozen copy. */
export function frozenConfig(config: RopeConfig): Readonly<RopeConfig> {
  return isFinished(config) ? config : Object.freeze(copyOf(config));
}

/** Levels of objects and lists in a config. */
const DEPTH = 3;

/** A copy of a config. structuredClone() refuses Proxies, such as the reactive objects of web frameworks. */
function copyOf<T>(value: T, depth = DEPTH): T {
  if (typeof value !== "object" || value === null || depth === 0) return value;
  if (ArrayBuffer.isView(value)) return structuredClone(value);
  if (Array.isArray(value)) return value.map((item: unknown) => copyOf(item, depth - 1)) as T;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyOf<unknown>(item, depth - 1)])) as T;
}

/**
 * The config itself, or the finished one if a function gives its frequencies: so the function is called once, and what
 * is kept of the config is JSON.
 */
export function withNumbers<Config>(config: Config): Config | FinishedConfig {
  if (!isDict(config)) return config;
  const scaling = config["rope_scaling"] ?? config["rope_parameters"];
  return isDict(scaling) && typeof scaling["inv_freq"] === "function" ? finishedConfig(config) : config;
}

/** A config that overrides can be merged into. @throws as {@link finishedConfig} */
export function draftOf(config: unknown): ConfigDraft {
  if (!isFinished(config)) return readConfig(config);
  const { rope_scaling, rope_parameters: _, ...top } = config;
  const { original_max_position_embeddings: original, ...scaling } = rope_scaling;
  return {
    ...top,
    ...(original !== undefined && { original_max_position_embeddings: original }),
    rope_scaling: scaling,
  };
}

/**
 * Adds what transformers derives for the files of a model that leave it out: the original length is
 * `max_position_embeddings`, and YaRN's factor is the ratio of the two.
 */
export function withDerivedLengths(draft: ConfigDraft): ConfigDraft {
  const { max_position_embeddings: max, rope_scaling } = draft;
  const original = draft.original_max_position_embeddings ?? max;
  const factor = rope_scaling.factor ?? (max === undefined || original === undefined ? undefined : max / original);
  return withoutAbsent<ConfigDraft>({
    ...draft,
    ...(reads(rope_scaling.rope_type, "original_max_position_embeddings") && {
      original_max_position_embeddings: original,
    }),
    query_temperature: draft.query_temperature ?? scaledTemperature(draft, original),
    rope_scaling:
      rope_scaling.rope_type === "yarn" && factor !== undefined ? { ...rope_scaling, factor } : rope_scaling,
  });
}

/**
 * Derives rotary_dim, the rotary offset and the query temperature, and freezes the result.
 *
 * @throws INVALID_CONFIG (pairing or head_dim missing; nothing to rotate; a query temperature without its length)
 */
export function finish(draft: ConfigDraft): FinishedConfig {
  const { head_dim, rope_scaling, original_max_position_embeddings: original } = draft;
  if (head_dim === undefined) {
    return fail(
      "INVALID_CONFIG",
      "head_dim",
      "is missing and can't be derived from the hidden size and heads",
      advise.other("name it"),
    );
  }
  const { rope_type, llama_4_scaling_beta: _, ...scaling } = rope_scaling;
  const isOnlyLlamaCpp = scaling.attn_factor !== undefined && !reads(rope_type, "attention_factor");
  if (isOnlyLlamaCpp && draft.compat !== "llama.cpp") {
    fail(
      "INVALID_CONFIG",
      "rope_scaling.attn_factor",
      `is read for ${rope_type} by llama.cpp only`,
      advise.override({ key: "compat", value: "llama.cpp" }),
    );
  }
  const width = rotatedWidthOf(head_dim, draft, rope_type);
  // transformers and vLLM make a ramp for half of an odd width, rounded down, and the frequencies for half of it rounded
  // up: they stop at 5 elements and more, and scale both pairs of 3 as the first.
  if (width % 2 !== 0 && hasRamp(rope_type)) {
    const message = `leaves ${width} rotated elements, but ${rope_type} needs an even number: its ramp has a value for each pair`;
    fail("INVALID_CONFIG", draft.partial_rotary_factor === undefined ? "rotary_dim" : "partial_rotary_factor", message);
  }
  const rotary_dim = width < head_dim ? (draft.rotary_dim ?? width + (width % 2)) : width;
  const in_scaling = reads(rope_type, "original_max_position_embeddings");
  const last = draft.rotates_last && head_dim > rotary_dim ? head_dim - rotary_dim : undefined;
  const config = withoutAbsent<FinishedConfig & { rotates_last?: never }>({
    ...draft,
    head_dim,
    pairing: oneOf(draft.pairing, "pairing", PAIRINGS),
    rotary_dim,
    frequency_dim: draft.frequency_dim ?? (rotary_dim === width ? undefined : width),
    rotary_offset: draft.rotary_offset ?? last,
    rotates_last: undefined,
    // The other types have it in rotary_dim.
    partial_rotary_factor: rope_type === "proportional" ? draft.partial_rotary_factor : undefined,
    original_max_position_embeddings: in_scaling ? undefined : original,
    rope_scaling: withoutAbsent<FinishedScaling>({
      rope_type,
      ...scaling,
      inv_freq: invFreqOf(draft, head_dim, rotary_dim),
      axes_dim: scaling.axes_dim ?? (rope_type === "axial" ? [rotary_dim / 2, rotary_dim / 2] : undefined),
      original_max_position_embeddings: in_scaling ? original : undefined,
    }),
    query_temperature: draft.query_temperature ?? scaledTemperature(draft, original),
  });
  finished.add(deepFreeze(config));
  return config;
}

type Widths = Pick<ConfigDraft, "rotary_dim" | "partial_rotary_factor">;

/** The frequencies of the custom type; those of a function for each of `lengths`. */
function invFreqOf(
  { rope_theta, rope_scaling }: ConfigDraft,
  head_dim: number,
  rotary_dim: number,
): number[] | undefined {
  const { inv_freq, lengths = [undefined] } = rope_scaling;
  if (typeof inv_freq !== "function") return inv_freq;
  const pairs = Array.from({ length: Math.max(0, Math.min(rotary_dim, head_dim)) >> 1 }, (_, pair) => pair);
  return lengths.flatMap((length) =>
    pairs.map((pair) => {
      const path = `rope_scaling.inv_freq(${pair})`;
      const value: unknown = inv_freq(pair, { head_dim, rotary_dim, rope_theta, length });
      if (length === undefined && Number.isNaN(value)) {
        fail(
          "INVALID_CONFIG",
          path,
          "must be a finite number (got NaN): length is undefined without rope_scaling.lengths",
        );
      }
      return numberAt(value, path);
    }),
  );
}

/**
 * The width that the frequencies belong to: rotary_dim, or ⌊head_dim · partial_rotary_factor⌋, or the whole head. An odd
 * share of a head is rounded up to whole pairs, as in transformers.
 */
function rotatedWidthOf(
  head_dim: number,
  { rotary_dim, partial_rotary_factor: factor }: Widths,
  type: RopeType,
): number {
  // The proportional type rotates the whole head; its factor is the share of frequencies that aren't zero.
  const share = factor === undefined || type === "proportional" ? undefined : Math.trunc(head_dim * factor);
  if (share !== undefined && rotary_dim !== undefined && share !== rotary_dim) {
    const derived = `partial_rotary_factor ${factor} of head_dim ${head_dim} is ${share}`;
    fail("INVALID_CONFIG", "rotary_dim", `is ${rotary_dim}, but ${derived}`, advise.other("give only one of the two"));
  }
  const width = rotary_dim ?? share ?? head_dim;
  // In C++ 0 means the whole head.
  if (width === 0) {
    const field = head_dim === 0 ? "head_dim" : rotary_dim === 0 ? "rotary_dim" : "partial_rotary_factor";
    fail("INVALID_CONFIG", field, "leaves no element to rotate");
  }
  return width;
}

/** Ministral 3's query temperature: queries are scaled by how many original lengths lie before their position. */
function scaledTemperature({ rope_scaling }: ConfigDraft, original: number | undefined): QueryTemperature | undefined {
  const { llama_4_scaling_beta: scale } = rope_scaling;
  if (scale === undefined) return undefined;
  if (original === undefined) {
    return fail("INVALID_CONFIG", "original_max_position_embeddings", "is missing, and llama_4_scaling_beta needs it");
  }
  return { scale, floor_scale: original, offset: 0, layers: "all" };
}
