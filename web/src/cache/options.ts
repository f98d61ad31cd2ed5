import { wholeNumber } from "../base/checks.js";
import { flattenConfig } from "../config/flatten.js";
import type { RopeConfig } from "../config/types.js";
import type { CacheDType } from "../memory/elements.js";
import { RopewalkError } from "../base/errors.js";
import { configOf } from "../attention/given_rope.js";
import type { Heap } from "../memory/heap.js";
import type { Rope } from "../rope/rope.js";

/**
 * How a cache holds keys. `rotated`: turned as they are written, so that attention reads them as they are; each change of plan or position
 * turns them again and rounds once. `raw`: as they come, turned as they are read; changes cost nothing and never round.
 */
export const KEY_MODES = ["rotated", "raw"] as const;
/** One of {@link KEY_MODES}. */
export type KeyMode = (typeof KEY_MODES)[number];

/** What differs between the layers of a cache; what is absent is as the cache's own options say. */
export interface CacheLayerOptions {
  /** What turns the layer's keys; null for a layer without RoPE. */
  rope?: Rope | RopeConfig | null;
  /** Key and value heads, 1 to 65536. */
  kvHeads?: number;
  /** Elements of a head, 1 to 8192 (the rope's `head_dim`). */
  headDim?: number;
}

/** What a cache is to hold. */
export interface KvCacheOptions extends CacheLayerOptions {
  /** Number of layers (1), or what differs for each; 1 to 4096. Layers of one rope, or of equal configs, are turned together. */
  layers?: number | readonly CacheLayerOptions[];
  /** Tokens of a sequence at most, 1 to 2^30. Memory is taken as tokens come, 32 at a time. */
  maxLength: number;
  /** Element type in which keys and values are held (`f32`). */
  dtype?: CacheDType;
  /**
   * How keys are held. Unless given, `rotated`, but `raw` where the frequencies of some rope are other ones at every length beyond the trained
   * one (dynamic, dynamic_yarn): all keys would have to be turned, and rounded, for each new token, which costs more than turning those in
   * sight as they are read.
   */
  keys?: KeyMode;
  /** Number of sequences, 1 to 65536 (1): batch rows that grow on their own. */
  sequences?: number;
}

/** A layer of a cache. @internal */
export interface CacheLayer {
  kvHeads: number;
  headDim: number;
  /** Which of the cache's rope groups turns it, −1 for none. */
  group: number;
}

/** Layers whose keys one config turns. @internal */
export interface RopeGroup {
  config: Readonly<RopeConfig>;
  layers: number[];
}

/** Reads what a caller says of layers, and groups them by what turns them. @internal */
export function readLayers(
  heap: Heap,
  options: Omit<KvCacheOptions, "maxLength">,
): { layers: CacheLayer[]; groups: RopeGroup[] } {
  const given: unknown = options.layers ?? 1;
  const list = Array.isArray(given) ? (given as unknown[]) : undefined;
  const count = wholeNumber(list?.length ?? given, 1, 4096, "layers");
  const groups: RopeGroup[] = [];
  const known = new Map<unknown, number>(); // groups by the object that was given, and by what it says

  const groupOf = (rope: unknown, field: string): number => {
    let group = known.get(rope);
    if (group === undefined) {
      const config = configOf(heap, rope, field);
      const said = JSON.stringify(flattenConfig(config));
      group = known.get(said) ?? groups.push({ config, layers: [] }) - 1;
      known.set(rope, group).set(said, group);
    }
    return group;
  };

  const layers = Array.from({ length: count }, (_, index): CacheLayer => {
    const own = list === undefined ? {} : checkLayer(list[index], index);
    const field = (name: keyof CacheLayerOptions): string =>
      own[name] === undefined ? name : `layers[${index}].${name}`;
    const rope = own.rope === undefined ? options.rope : own.rope;
    const group = rope === undefined || rope === null ? -1 : groupOf(rope, field("rope"));
    groups[group]?.layers.push(index);
    const ropeDim = groups[group]?.config.head_dim;
    const headDim = wholeNumber(own.headDim ?? options.headDim ?? ropeDim, 1, 8192, field("headDim"));
    if (headDim !== (ropeDim ?? headDim)) {
      throw new RopewalkError(
        "INVALID_ARGUMENT",
        field("headDim"),
        `must be the rope's head_dim ${ropeDim} (got ${headDim})`,
      );
    }
    return { kvHeads: wholeNumber(own.kvHeads ?? options.kvHeads, 1, 65536, field("kvHeads")), headDim, group };
  });
  return { layers, groups };
}

function checkLayer(given: unknown, index: number): CacheLayerOptions {
  if (typeof given === "object" && given !== null) return given;
  throw new RopewalkError("INVALID_ARGUMENT", `layers[${index}]`, `must be an object (got ${String(given)})`);
}
