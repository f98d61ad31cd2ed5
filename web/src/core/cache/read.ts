import { wholeNumber } from "../base/checks.js";
import { checkOptions, optionNames } from "../base/options.js";
import type { KvCacheCore } from "./core.js";

/** Which cached tokens to read. */
export interface ReadOptions {
  /** Which layer. Default: 0. */
  layer?: number;
  /** Which sequence. Required if the cache has several sequences. Default: 0. */
  sequence?: number;
  /** First token. Default: 0. */
  first?: number;
  /** Number of tokens. Default: all that the layer has from `first` on. */
  count?: number;
}

/** Keys and values of some cached tokens. */
export interface CachedTokens {
  /** [count, kvHeads, headDim] keys as they are stored: rotated or raw. */
  k: Float32Array;
  /** [count, kvHeads, headDim] values. */
  v: Float32Array;
}

const OPTIONS = optionNames<ReadOptions>("read()", { layer: true, sequence: true, first: true, count: true });

/** @internal */
export function read(core: KvCacheCore, options: ReadOptions | undefined): CachedTokens {
  const {
    layer: givenLayer,
    sequence: givenSequence,
    first: givenFirst = 0,
    count: givenCount,
  } = checkOptions(options, OPTIONS);
  const { heap, address } = core;
  const layer = core.layer(givenLayer);
  const sequence = core.sequence(givenSequence);
  const written = heap.module.kv_written(address, layer, sequence);
  const first = wholeNumber(givenFirst, 0, written, "first");
  const count = wholeNumber(givenCount ?? written - first, 0, written - first, "count");
  const { kvHeads, headDim } = core.layers[layer]!;
  const length = count * kvHeads * headDim;
  return heap.borrow(length * 8, (at) => {
    heap.check(heap.module.kv_read(address, layer, sequence, first, count, at, at + length * 4));
    return { k: heap.floats(at, length).slice(), v: heap.floats(at + length * 4, length).slice() };
  });
}

/** Positions of a sequence's tokens, [axes · length], axis by axis. @internal */
export function positionsOf(core: KvCacheCore, sequence: number): Float64Array {
  const { heap, address, axes } = core;
  const length = axes * core.tokens(sequence);
  return heap.borrow(length * 8, (at) => {
    heap.module.kv_positions(address, sequence, at);
    return heap.doubles(at, length).slice();
  });
}
