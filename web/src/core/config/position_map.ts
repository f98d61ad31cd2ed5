// Position maps: methods past the trained window that change positions inside attention. src/rope/plans/position_map.h has their formulas.
import { fail } from "../base/errors.js";
import { type Dict, isDict } from "../base/dict.js";
import { integerAt, nameOf, objectAt, type ReadValue } from "./values.js";

/** The types of position maps. C++ takes their indices, from 1. */
export const POSITION_MAP_TYPES = ["self_extend", "rerope", "dual_chunk", "lm_infinite"] as const;
/** One of {@link POSITION_MAP_TYPES}. */
export type PositionMapType = (typeof POSITION_MAP_TYPES)[number];

/**
 * Self-Extend (Jin et al. 2024, arXiv:2401.01325). A key less than `window` tokens before the query keeps its position. For earlier keys, positions
 * are divided by `group_size` and rounded down, and the query is moved so that the two ranges meet: ⌊p/G⌋ + w − ⌊w/G⌋ and ⌊k/G⌋.
 */
export interface SelfExtendMap {
  type: "self_extend";
  /** Positions that share one, from 1. */
  group_size: number;
  /** Tokens that keep their positions, from 1. */
  window: number;
}

/** ReRoPE (Su 2023, github.com/bojone/rerope). Keys `window` tokens or more before the query all have the distance `window`. */
export interface RectifiedMap {
  type: "rerope";
  /** Largest distance, from 1. */
  window: number;
}

/**
 * Dual Chunk Attention (An et al. 2024, arXiv:2402.17463; Qwen2.5-1M, vLLM). Positions start anew in each chunk of `chunk_size − local_size` tokens,
 * and queries get one of three positions: for keys of their own chunk, of the chunk before, and of earlier ones.
 */
export interface DualChunkMap {
  type: "dual_chunk";
  /** Largest distance, from 1. */
  chunk_size: number;
  /** chunk_size minus the length of a chunk: distances up to about this one stay exact across chunks. From 0, below chunk_size. */
  local_size: number;
}

/**
 * LM-Infinite (Han et al. 2024, arXiv:2308.16137). A query sees the last `window` tokens, and the first `sink_tokens` of the sequence at a distance of
 * at most `window`.
 */
export interface LmInfiniteMap {
  type: "lm_infinite";
  /** Visible tokens, and the largest distance, from 1. */
  window: number;
  /** First tokens that stay visible, from 0. */
  sink_tokens: number;
}

/** A method that changes positions in attention; each interface has its formula. All numbers are integers up to 2^31. */
export type PositionMap = SelfExtendMap | RectifiedMap | DualChunkMap | LmInfiniteMap;

/** The numbers of each type, in the order of the command line. @internal */
export const MAP_NUMBERS: { readonly [Type in PositionMapType]: readonly string[] } = {
  self_extend: ["group_size", "window"],
  rerope: ["window"],
  dual_chunk: ["chunk_size", "local_size"],
  lm_infinite: ["window", "sink_tokens"],
};

const typeAt = nameOf(POSITION_MAP_TYPES);

/** Reads a position map: its type and the numbers of that type, which are all required. @internal */
export const positionMapAt: ReadValue<PositionMap> = (value, path) => {
  if (!isDict(value)) return fail("INVALID_CONFIG", path, "must be an object or null");
  const type = typeAt(value["type"], `${path}.type`);
  const numbers = Object.fromEntries(MAP_NUMBERS[type].map((name) => [name, integerAt]));
  return objectAt<Dict>({ type: typeAt, ...numbers }, {})(value, path) as unknown as PositionMap;
};

const wasmField = (name: string): string => `map_${name}`;

/** The field of wasm for a path such as position_map.window, or undefined if the path is another. @internal */
export function mapFieldAt(path: string): string | undefined {
  const [, name] = /^position_map\.(\w+)$/.exec(path) ?? [];
  return name === undefined ? undefined : wasmField(name);
}

/** The fields of wasm. @internal */
export function mapFields(map: PositionMap | null | undefined): Record<string, number> {
  const fields: Record<string, number> = {};
  for (const [name, value] of Object.entries(map ?? {}) as [string, number | PositionMapType][]) {
    if (typeof value === "number") fields[wasmField(name)] = value;
    else fields["position_map"] = 1 + POSITION_MAP_TYPES.indexOf(value);
  }
  return fields;
}

/** The largest distance that a query and a key are rotated by in a text of `length` tokens. @internal */
export function largestDistance(map: PositionMap | null | undefined, length: number): number {
  const last = length - 1;
  switch (map?.type) {
    case undefined:
      return last;
    case "self_extend":
      return last < map.window ? last : grouped(last, map);
    case "dual_chunk":
      return Math.min(last, longestOfChunks(map));
    default:
      return Math.min(last, map!.window);
  }
}

/** Tokens that a map reads as plain RoPE does. @internal */
export const plainUpTo = (map: PositionMap): number =>
  map.type === "dual_chunk" ? map.chunk_size - map.local_size : map.window;

/** The longest text whose distances are below `limit`; Infinity for maps that bound them. @internal */
export function longestWithin(map: PositionMap | null | undefined, limit: number): number {
  if (!map) return limit;
  if (map.type === "dual_chunk") return longestOfChunks(map) < limit ? Infinity : limit;
  if (map.type !== "self_extend") return map.window < limit ? Infinity : limit;
  const { group_size: group, window } = map;
  return window >= limit ? limit : (limit - window + Math.floor(window / group)) * group;
}

/** The window that keeps near distances exact, of a map for distances below `limit`. @internal */
export const windowFor = (limit: number): number => Math.max(1, Math.floor(limit / 2));

/**
 * A map of a type that keeps the distances of a text of `length` tokens below a limit of 2 or more: a window of half of it, Self-Extend's group
 * size by the length, and for Dual Chunk Attention three quarters and a sixteenth. @internal
 */
export function mapFor(type: PositionMapType, below: number, length: number): PositionMap {
  const limit = Math.max(2, below);
  const half = windowFor(limit);
  switch (type) {
    case "self_extend":
      return { type, group_size: Math.ceil((2 * length) / limit), window: half };
    case "rerope":
      return { type, window: half };
    case "dual_chunk":
      return { type, chunk_size: Math.floor((3 * limit) / 4), local_size: Math.floor(limit / 16) };
    case "lm_infinite":
      return { type, window: Math.max(1, limit - 10), sink_tokens: 10 };
  }
}

/** What looks like two numbers in the wrong order. @internal */
export function swappedNumbers(map: PositionMap | null | undefined): string | undefined {
  if (map?.type !== "self_extend" || map.group_size <= map.window) return undefined;
  const { group_size: group, window } = map;
  return `self_extend has a group_size of ${group}, more than its window of ${window}: are they swapped?`;
}

const grouped = (position: number, { group_size: group, window }: SelfExtendMap): number =>
  Math.floor(position / group) + window - Math.floor(window / group);

const longestOfChunks = ({ chunk_size, local_size }: DualChunkMap): number =>
  Math.min(2 * (chunk_size - local_size) - 1, chunk_size);

/** A map as the command line has it: `self_extend:8:512`. @internal */
export const mapAsOption = (map: PositionMap): string =>
  [map.type, ...MAP_NUMBERS[map.type].map((name) => map[name as keyof PositionMap])].join(":");

/** A map with its numbers. @internal */
export function mapInWords(map: PositionMap): string {
  const words = Object.entries(map).map(([key, value]) =>
    key === "type" ? `position map ${value}` : `${key} ${value}`,
  );
  return words.join(", ");
}
