// Tables of position encodings: sinusoidal rows, ALiBi slopes, T5 buckets.
import { finiteNumber, trueOrFalse, wholeNumber } from "../base/checks.js";
import { checkOptions, optionNames } from "../base/options.js";
import { newElements } from "../memory/elements.js";
import { fail } from "../base/errors.js";
import type { Heap } from "../memory/heap.js";
import {
  copyIds,
  checkPositions,
  type PositionArray,
  readLengthOrPositions,
  slicePositions,
} from "../memory/positions.js";

/** Options of {@link Ropewalk.sinusoidalTable}. */
export interface SinusoidalTableOptions {
  /** Base of the frequencies, above 1 and at most 1e30. Default: 10000. */
  base?: number;
}

/** Options of {@link Ropewalk.t5Buckets}. */
export interface T5BucketOptions {
  /** Number of buckets, at least 2, or 4 if bidirectional (32). */
  buckets?: number;
  /** Distances from this many tokens up share the last bucket. Must be more than half of the buckets of a direction. Default: 128. */
  maxDistance?: number;
  /** Whether half of the buckets are for keys after the query. Default: false. */
  bidirectional?: boolean;
}

const SINUSOIDAL_TABLE = optionNames<SinusoidalTableOptions>("sinusoidalTable()", { base: true });
const T5_BUCKETS = optionNames<T5BucketOptions>("t5Buckets()", {
  buckets: true,
  maxDistance: true,
  bidirectional: true,
});

/** @internal */
export function sinusoidalTable(
  heap: Heap,
  lengthOrPositions: number | PositionArray,
  dim: number,
  options?: SinusoidalTableOptions,
): Float32Array {
  const { base: givenBase = 10000 } = checkOptions(options, SINUSOIDAL_TABLE);
  const positions = readLengthOrPositions(lengthOrPositions, 1);
  checkPositions(positions, "positions");
  wholeNumber(dim, 1, 8192, "dim");
  const base = finiteNumber(givenBase, "base");
  const rows = positions.tokens;
  const table = newElements("f32", rows * dim);
  const step = Math.floor(heap.scratchBytes / (4 * dim));
  for (let row = 0; row < rows; row += step) {
    const count = Math.min(step, rows - row);
    const ids = heap.idBlock(count);
    const { offset, ids: given } = slicePositions(positions, 0, row, count);
    heap.doubles(ids, count).set(given ?? Float64Array.from({ length: count }, (_, i) => offset + i));
    heap.check(heap.module.sinusoidal_rows(ids, count, base, dim, heap.scratch), undefined, "base");
    table.set(heap.floats(heap.scratch, count * dim), row * dim);
  }
  return table;
}

/** @internal */
export function alibiSlopes(heap: Heap, heads: number): Float32Array {
  wholeNumber(heads, 1, 65536, "heads");
  heap.module.alibi_slopes(heads, heap.scratch);
  return heap.floats(heap.scratch, heads).slice();
}

/** @internal */
export function t5Buckets(heap: Heap, relativePositions: PositionArray, options?: T5BucketOptions): Int32Array {
  const {
    buckets: givenBuckets = 32,
    maxDistance: givenDistance = 128,
    bidirectional = false,
  } = checkOptions(options, T5_BUCKETS);
  const relative = copyIds(relativePositions, "relativePositions");
  if (!relative.every(Number.isFinite)) fail("INVALID_POSITION", "relativePositions", "must be finite numbers");
  const buckets = wholeNumber(givenBuckets, 2, 2 ** 30, "buckets");
  const maxDistance = wholeNumber(givenDistance, 1, 2 ** 30, "maxDistance");
  trueOrFalse(bidirectional, "bidirectional");
  const count = relative.length;
  return heap.borrow(count * 12, (address) => {
    heap.doubles(address, count).set(relative);
    const target = address + count * 8;
    heap.check(
      heap.module.t5_buckets(address, count, buckets, maxDistance, bidirectional, target),
      undefined,
      "maxDistance",
    );
    return new Int32Array(heap.bytes(target, count * 4).slice().buffer);
  });
}
