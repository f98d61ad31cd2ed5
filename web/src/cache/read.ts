import { wholeNumber } from "../base/checks.js";
import type { KvCacheCore } from "./core.js";

/** Which of the tokens that a cache holds to look at. */
export interface ReadOptions {
  /** Which layer (0). */
  layer?: number;
  /** Which sequence (0; to be named in a cache of several). */
  sequence?: number;
  /** First token, from 0 (0). */
  first?: number;
  /** Number of tokens (all that the layer has been given, from `first` on). */
  count?: number;
}

/** Keys and values of some tokens. */
export interface HeldTokens {
  /** [count, kvHeads, headDim] keys as they are held: rotated, or raw. */
  k: Float32Array;
  /** [count, kvHeads, headDim] values. */
  v: Float32Array;
}

/** @internal */
export function read(core: KvCacheCore, options: ReadOptions): HeldTokens {
  const { heap, address } = core;
  const layer = core.layer(options.layer);
  const sequence = core.sequence(options.sequence);
  const written = heap.module.kv_written(address, layer, sequence);
  const first = wholeNumber(options.first ?? 0, 0, written, "first");
  const count = wholeNumber(options.count ?? written - first, 0, written - first, "count");
  const { kvHeads, headDim } = core.layers[layer]!;
  const length = count * kvHeads * headDim;
  return heap.borrow(length * 8, (at) => {
    heap.check(heap.module.kv_read(address, layer, sequence, first, count, at, at + length * 4));
    return { k: heap.floats(at, length).slice(), v: heap.floats(at + length * 4, length).slice() };
  });
}

/** Where the tokens of a sequence stand, one axis after the other. @internal */
export function heldPositions(core: KvCacheCore, sequence: number): Float64Array {
  const { heap, address, axes } = core;
  const length = axes * core.tokens(sequence);
  return heap.borrow(length * 8, (at) => {
    heap.module.kv_positions(address, sequence, at);
    return heap.doubles(at, length).slice();
  });
}
