import * as advise from "../base/advice.js";
import { codeIn, count, wholeNumber } from "../base/checks.js";
import { CACHE_DTYPES, type CacheDType } from "../memory/elements.js";
import { fail } from "../base/errors.js";
import { checkOptions, optionNames } from "../base/options.js";
import { withRopes } from "../attention/rope_argument.js";
import type { Heap } from "../memory/heap.js";
import {
  CACHE_OPTIONS,
  checkKeyMode,
  type CacheLayer,
  KEY_MODES,
  type KeyMode,
  type KvCacheOptions,
  readLayers,
  type RopeGroup,
} from "./options.js";
import { Owned } from "../memory/owned.js";
import type { RopeCore } from "../rope/core.js";

/** Size of the core's KvLayer. */
const LAYER_BYTES = 16;
/** Tells the core that batch row i belongs to sequence i. */
const ALL_SEQUENCES = -1;

/** Options of `rw.kvCacheBytes()`: those of the cache, and a length. */
export interface KvCacheBytesOptions extends Omit<KvCacheOptions, "maxLength"> {
  /** As in {@link KvCacheOptions.maxLength}; required if `length` is absent. */
  maxLength?: number;
  /** Tokens in each sequence, 0 to 2^30. Default: `maxLength`. */
  length?: number;
}

const OPTIONS = optionNames<KvCacheOptions>("kvCache()", CACHE_OPTIONS);
const BYTES_OPTIONS = optionNames<KvCacheBytesOptions>("kvCacheBytes()", { ...CACHE_OPTIONS, length: true });

/**
 * A cache in wasm memory: its handle and shape, for the operations on it.
 * @internal
 */
export class KvCacheCore {
  readonly heap: Heap;
  readonly layers: readonly CacheLayer[];
  readonly groups: readonly RopeGroup[];
  readonly dtype: CacheDType;
  readonly keys: KeyMode;
  readonly sequences: number;
  readonly maxLength: number;
  /** Number of position axes. */
  readonly axes: number;
  readonly #owned: Owned;

  /** `minLayers` is 0 for a model's cache. */
  constructor(heap: Heap, options: KvCacheOptions, useScalarKernels: boolean, minLayers = 1) {
    const {
      layers: givenLayers,
      rope,
      kvHeads,
      headDim,
      hasValues,
      maxLength,
      dtype,
      keys: givenKeys,
      sequences = 1,
    } = checkOptions(options, OPTIONS);
    const { module } = heap;
    const given = { layers: givenLayers, rope, kvHeads, headDim, hasValues };
    const { layers, groups } = readLayers(heap, given, minLayers);
    const type = readDType(dtype);
    this.heap = heap;
    this.layers = layers;
    this.groups = groups;
    this.sequences = wholeNumber(sequences, 1, 65536, "sequences");
    this.maxLength = wholeNumber(maxLength, 1, 2 ** 30, "maxLength");
    this.dtype = CACHE_DTYPES[type]!;
    checkKeyMode(givenKeys, this.dtype);

    const configs = groups.map(({ config }) => config);
    const [address, keys] = withRopes(heap, configs, (ropes) => {
      groups.forEach((group, i) => (group.config = ropes[i]!.config)); // a copy: callers may change their object
      const isRaw = this.dtype === "q4_channel" || ropes.some(needsRawKeys);
      const mode = givenKeys ?? (isRaw ? "raw" : "rotated");
      const rest = [type, KEY_MODES.indexOf(mode), this.sequences, this.maxLength, useScalarKernels] as const;
      const created = placeLayers(heap, layers, ropes, (at, ropesAt) => {
        const cache = module.kv_create();
        if (cache === 0)
          fail("OUT_OF_MEMORY", "", "out of memory for a cache", advise.dispose({ of: ["tensors", "caches"] }));
        const status = module.kv_configure(cache, at, layers.length, ropesAt, ropes.length, ...rest);
        if (status !== 0) module.kv_destroy(cache);
        heap.check(status);
        return cache;
      });
      return [created, mode] as const;
    });
    this.keys = keys;
    this.axes = module.kv_axes(address);
    this.#owned = new Owned(heap, address, "kvCache", destroyCache);
  }

  /** Address of the cache in wasm memory. Throws DISPOSED. */
  get address(): number {
    return this.#owned.address;
  }

  /** Throws DISPOSED. */
  checkAlive(): void {
    this.#owned.check();
  }

  /** Checks a layer index (default: 0). */
  layer(given: unknown): number {
    const { length } = this.layers;
    return wholeNumber(given ?? 0, 0, length - 1, "layer", `: this cache has ${count(length, "layer")}`);
  }

  /** Checks a sequence index, which is optional if there is only one sequence. */
  sequence(given: unknown, field = "sequence"): number {
    return wholeNumber(given ?? (this.sequences === 1 ? 0 : undefined), 0, this.sequences - 1, field);
  }

  /** The same for batch operations, where the default is all sequences. */
  sequenceOrAll(given: unknown): number {
    return given === undefined && this.sequences > 1 ? ALL_SEQUENCES : this.sequence(given);
  }

  /** Number of tokens of a sequence. */
  tokens(sequence: number): number {
    return this.heap.module.kv_tokens(this.address, sequence);
  }

  dispose(): void {
    this.#owned.dispose();
  }
}

/** Size in bytes of the pages of a cache at a length. `minLayers` is 0 for a model's cache. @internal */
export function kvCacheBytes(heap: Heap, options: KvCacheBytesOptions, minLayers = 1): number {
  const {
    layers: givenLayers,
    rope,
    kvHeads,
    headDim,
    hasValues,
    maxLength,
    dtype,
    keys,
    sequences: givenSequences = 1,
    length: givenLength,
  } = checkOptions(options, BYTES_OPTIONS);
  const given = { layers: givenLayers, rope, kvHeads, headDim, hasValues };
  const { layers, groups } = readLayers(heap, given, minLayers);
  const type = readDType(dtype);
  checkKeyMode(keys, CACHE_DTYPES[type]);
  const sequences = wholeNumber(givenSequences, 1, 65536, "sequences");
  const field = givenLength === undefined ? "maxLength" : "length";
  const length = wholeNumber(givenLength ?? maxLength, 0, 2 ** 30, field);
  const configs = groups.map(({ config }) => config);
  return withRopes(heap, configs, (ropes) => {
    const axes = ropes.reduce((most, rope) => Math.max(most, rope.axes), 1);
    const result = heap.scratch;
    heap.check(
      placeLayers(heap, layers, ropes, (at) => heap.module.kv_estimate(at, layers.length, type, axes, length, result)),
    );
    return sequences * heap.doubles(result, 1)[0]!;
  });
}

function readDType(dtype: CacheDType = "f32"): number {
  return codeIn(CACHE_DTYPES, dtype, "dtype", "INVALID_DTYPE");
}

/** Whether keys can't be rotated once: their map has several positions, or plans beyond the trained length hold for a single length only. */
function needsRawKeys(rope: RopeCore): boolean {
  if (rope.config.position_map) return true;
  rope.useLength(2 ** 31);
  const { valid_from, valid_to } = rope.heap.module.rope_plan(rope.address);
  return valid_from === valid_to;
}

/** Copies layers and rope addresses to wasm memory during a call. @internal */
export function placeLayers<T>(
  heap: Heap,
  layers: readonly CacheLayer[],
  ropes: readonly RopeCore[],
  call: (layers: number, ropes: number) => T,
): T {
  const words = Int32Array.from([
    ...layers.flatMap(({ kvHeads, headDim, group, hasValues }) => [kvHeads, headDim, group, Number(hasValues)]),
    ...ropes.map((rope) => rope.address),
  ]);
  return heap.borrow(words.byteLength, (address) => {
    heap.bytes(address, words.byteLength).set(new Uint8Array(words.buffer));
    return call(address, address + layers.length * LAYER_BYTES);
  });
}

function destroyCache(heap: Heap, address: number): void {
  heap.module.kv_destroy(address);
}
