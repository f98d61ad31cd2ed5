import * as advise from "../base/advice.js";
import { codeIn, trueOrFalse, wholeNumber } from "../base/checks.js";
import { checkOptions, type Given, optionNames } from "../base/options.js";
import { isArray } from "../base/typed_arrays.js";
import { flattenConfig } from "../config/flatten.js";
import type { RopeConfig } from "../config/types.js";
import type { CacheDType } from "../memory/elements.js";
import { fail } from "../base/errors.js";
import { configOf } from "../attention/rope_argument.js";
import type { Heap } from "../memory/heap.js";
import type { Rope } from "../rope/rope.js";

/**
 * How a cache stores keys. `rotated`: keys are rotated when they are appended, and attention uses them as they are; each change of rope or
 * position re-rotates them and rounds once. `raw`: attention rotates keys as it reads them; changes cost nothing and never round.
 */
export const KEY_MODES = ["rotated", "raw"] as const;
/** One of {@link KEY_MODES}. */
export type KeyMode = (typeof KEY_MODES)[number];

/** Checks how keys are stored, if that is given. @internal */
export function checkKeyMode(keys: KeyMode | undefined, dtype: CacheDType | undefined, field = "keys"): void {
  if (keys === undefined) return;
  if (codeIn(KEY_MODES, keys, field) === 0 && dtype === "q4_channel")
    fail("INVALID_ARGUMENT", field, "must be raw for q4_channel");
}

/** Options of a single layer. Absent options have the cache's values. */
export interface CacheLayerOptions {
  /** Rope of the layer; null for a layer without RoPE. */
  rope?: Rope | RopeConfig | null;
  /** Number of key and value heads, 1 to 65536. */
  kvHeads?: number;
  /** Elements of a head, 1 to 8192. Default: the rope's `head_dim`. */
  headDim?: number;
  /**
   * Whether it stores values. If not, its keys are also its values, as in multi-head latent attention, and `append()` doesn't read `v`. Default:
   * true.
   */
  hasValues?: boolean;
}

/** Options of a KV cache. */
export interface KvCacheOptions extends CacheLayerOptions {
  /** Number of layers, or the options of each layer; 1 to 4096. Layers with the same Rope, or equal configs, share one rope. Default: 1. */
  layers?: number | readonly CacheLayerOptions[];
  /** Maximum number of tokens of a sequence, 1 to 2^30. Memory is allocated as tokens are appended, 32 at a time. */
  maxLength: number;
  /** Element type of the stored keys and values. Default: `f32`. `q4_channel` needs layers that store values. */
  dtype?: CacheDType;
  /**
   * How keys are stored. Default: `rotated`, or `raw` for `q4_channel`, which has no other, and if a rope has a `position_map`, or frequencies that change
   * with every length beyond the trained context length (dynamic, dynamic_yarn). With such a rope each new token would re-rotate and round all rotated keys, which costs more than rotating the visible keys
   * as they are read.
   */
  keys?: KeyMode;
  /** Number of sequences, 1 to 65536. Their lengths are independent. Default: 1. */
  sequences?: number;
}

/** A layer of a cache. @internal */
export interface CacheLayer {
  kvHeads: number;
  headDim: number;
  hasValues: boolean;
  /** Index of its rope group; −1 without RoPE. */
  group: number;
}

/** Layers that share a rope. @internal */
export interface RopeGroup {
  config: Readonly<RopeConfig>;
  layers: number[];
}

/** The names of {@link KvCacheOptions}, for option checks. @internal */
export const CACHE_OPTIONS = {
  rope: true,
  kvHeads: true,
  headDim: true,
  hasValues: true,
  layers: true,
  maxLength: true,
  dtype: true,
  keys: true,
  sequences: true,
} as const;

const LAYER_OPTIONS = optionNames<CacheLayerOptions>("a layer", {
  rope: true,
  kvHeads: true,
  headDim: true,
  hasValues: true,
});

/** The most layers of a cache. */
const LARGEST_COUNT = 4096;

/** The elements of an array, each read once; undefined for other values. Throws if there are more than a cache has layers. @internal */
export function elementsOf(value: unknown, field: string): unknown[] | undefined {
  if (!isArray(value)) return undefined;
  const length = wholeNumber(value.length, 0, LARGEST_COUNT, field, " of layers");
  return Array.from({ length }, (_, index) => value[index]);
}

/**
 * Reads the options of the layers, and groups layers by rope.
 * @param least - 0 for the layers of a model, which may have no attention
 * @internal
 */
export function readLayers(
  heap: Heap,
  options: Given<Pick<KvCacheOptions, "layers" | keyof CacheLayerOptions>>,
  least = 1,
): { layers: CacheLayer[]; groups: RopeGroup[] } {
  const given: unknown = options.layers ?? 1;
  const list = elementsOf(given, "layers")?.map((own, index) => readLayer(own, index));
  const count = wholeNumber(list?.length ?? given, least, LARGEST_COUNT, "layers");
  const groups: RopeGroup[] = [];
  const known = new Map<unknown, number>(); // groups by the given object, and by the content of its config

  const groupOf = (rope: unknown, field: string): number => {
    let group = known.get(rope);
    if (group === undefined) {
      const config = configOf(heap, rope, field);
      const content = JSON.stringify(flattenConfig(config));
      group = known.get(content) ?? groups.push({ config, layers: [] }) - 1;
      known.set(rope, group).set(content, group);
    }
    return group;
  };

  const layers = Array.from({ length: count }, (_, index): CacheLayer => {
    const own: CacheLayerOptions = list?.[index] ?? {};
    const field = (name: keyof CacheLayerOptions): string =>
      own[name] === undefined ? name : `layers[${index}].${name}`;
    const rope = own.rope === undefined ? options.rope : own.rope;
    const group = rope === undefined || rope === null ? -1 : groupOf(rope, field("rope"));
    groups[group]?.layers.push(index);
    const ropeDim = groups[group]?.config.head_dim;
    if ((own.headDim ?? options.headDim ?? ropeDim) === undefined)
      fail(
        "INVALID_ARGUMENT",
        "headDim",
        "is missing",
        advise.code("pass `rope`, or `headDim` for layers without RoPE"),
      );
    const headDim = wholeNumber(own.headDim ?? options.headDim ?? ropeDim, 1, 8192, field("headDim"));
    if (headDim !== (ropeDim ?? headDim)) {
      fail("INVALID_ARGUMENT", field("headDim"), `must equal the rope's head_dim, ${ropeDim} (got ${headDim})`);
    }
    const kvHeads = wholeNumber(own.kvHeads ?? options.kvHeads, 1, 65536, field("kvHeads"));
    return {
      kvHeads,
      headDim,
      hasValues: trueOrFalse(own.hasValues ?? options.hasValues ?? true, field("hasValues")),
      group,
    };
  });
  return { layers, groups };
}

function readLayer(given: unknown, index: number): CacheLayerOptions {
  const path = `layers[${index}]`;
  if (given === undefined) fail("INVALID_ARGUMENT", path, "must be an object (got undefined)");
  const { rope, kvHeads, headDim, hasValues } = checkOptions(given as CacheLayerOptions, LAYER_OPTIONS, path);
  return {
    ...(rope !== undefined && { rope }),
    ...(kvHeads !== undefined && { kvHeads }),
    ...(headDim !== undefined && { headDim }),
    ...(hasValues !== undefined && { hasValues }),
  };
}
