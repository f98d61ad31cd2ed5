// Position arguments in all their forms, converted to one form.
import * as advise from "../base/advice.js";
import { show } from "../base/show.js";
import { count } from "../base/checks.js";
import { onnxHint } from "../base/elsewhere.js";
import { fail } from "../base/errors.js";
import { copyNumbers } from "../base/typed_arrays.js";
import type { Heap } from "./heap.js";
import type { PositionFields } from "./call_fields.js";

/** Arrays of position ids. Ids may be fractional, negative or repeated, in any order. Convert a BigInt64Array by `Array.from(ids, Number)`. */
export type PositionArray = Int32Array | Uint32Array | Float32Array | Float64Array | readonly number[];

/**
 * Positions of T tokens in B batch rows, each in [−2^31, 2^31):
 * - a number: the position of the first token. Token t is at this offset plus t, in every row.
 * - an array of T ids, shared by all rows, or of B·T ids, row by row.
 * - with A position axes (`mrope_section`), an array of A·T or A·B·T ids, axis by axis. A shorter array gives all axes the same position, as
 *   for text tokens. If A = B, the same number of ids could be those of A axes or of B rows: the option `axes` says which.
 */
export type PositionInput = number | PositionArray;

/** Positions as an offset, or as f64 ids [axes][rows][tokens]. @internal */
export interface Positions {
  offset: number;
  ids: Float64Array | undefined;
  axes: number;
  rows: number;
  tokens: number;
}

/** Largest absolute value of a position. */
const LIMIT = 2 ** 31;

function isOutside(position: number): boolean {
  return !(Math.abs(position) <= LIMIT);
}

function failOutside(position: number, field: string): never {
  fail("INVALID_POSITION", field, `must be a number from −2^31 up to 2^31 (got ${position})`);
}

/** Returns a copy of an array of ids. `checkLength` may throw before it is copied. @internal */
export function copyIds(ids: unknown, field: string, checkLength?: (length: number) => void): Float64Array {
  const copy = copyNumbers(ids, checkLength);
  if (copy === undefined)
    fail("INVALID_POSITION", field, "must be a number or an array of numbers (without bigints)", onnxHint(ids));
  return copy;
}

/**
 * Converts position input, and copies its ids. The length of an array tells which form it has, unless `givenAxes` does.
 * @internal
 */
export function readPositions(
  input: unknown,
  batches: number,
  tokens: number,
  axes: number,
  field: string,
  givenAxes?: number,
): Positions {
  if (givenAxes !== undefined && givenAxes !== 1 && givenAxes !== axes) {
    fail("INVALID_ARGUMENT", "axes", `must be 1 or the rope's number of axes, ${axes} (got ${show(givenAxes)})`);
  }
  if (typeof input === "number") {
    if (isOutside(input)) failOutside(input, field);
    return { offset: input, ids: undefined, axes: 1, rows: 1, tokens };
  }
  let idAxes = 1;
  let rows = 1;
  const ids = copyIds(input, field, (length) => {
    const fits = (a: number, b: number): boolean => length === a * b * tokens && (givenAxes ?? a) === a;
    const isOneAxis = fits(1, batches) || fits(1, 1);
    const isEveryAxis = fits(axes, batches) || fits(axes, 1);
    if (!isOneAxis && !isEveryAxis) failCount(length, tokens, field);
    if (isOneAxis && isEveryAxis && axes > 1 && batches > 1 && tokens > 0)
      failAmbiguous(length, batches, axes, tokens, field);
    idAxes = isEveryAxis ? axes : 1;
    rows = fits(idAxes, batches) ? batches : 1;
  });
  return { offset: 0, ids, axes: idAxes, rows, tokens };
}

function failCount(length: number, tokens: number, field: string): never {
  const all = tokens === 1 ? "the token" : `each of the ${tokens} tokens`;
  fail("INVALID_SHAPE", field, `must have one id for ${all} of this shape (got ${count(length, "id")})`);
}

function failAmbiguous(length: number, batches: number, axes: number, tokens: number, field: string): never {
  fail(
    "INVALID_SHAPE",
    field,
    `could be those of ${axes} axes or of ${batches} batch rows (got ${length} ids)`,
    advise.code(`pass ${axes * batches * tokens} ids, or say which by the option axes: ${axes} or 1`),
  );
}

/** The positions of the rows of a table: 0 … n−1 for a length, or the given ids, the same number for each axis. @internal */
export function readLengthOrPositions(lengthOrPositions: unknown, axes: number): Positions {
  if (typeof lengthOrPositions === "number") {
    if (!Number.isInteger(lengthOrPositions) || lengthOrPositions < 1 || lengthOrPositions > LIMIT) {
      fail("INVALID_POSITION", "positions", `must be an array or a length from 1 to 2^31 (got ${lengthOrPositions})`);
    }
    return { offset: 0, ids: undefined, axes: 1, rows: 1, tokens: lengthOrPositions };
  }
  const ids = copyIds(lengthOrPositions, "positions", (length) => {
    if (length === 0) fail("INVALID_POSITION", "positions", "must have at least one position (got an empty array)");
    if (length % axes !== 0) {
      const got = `(got ${length} ids)`;
      fail("INVALID_SHAPE", "positions", `must have the same number of ids for each of the ${axes} axes ${got}`);
    }
  });
  return { offset: 0, ids, axes, rows: 1, tokens: ids.length / axes };
}

/** Checks positions for schemes other than RoPE. @internal */
export function checkPositions(positions: Positions, field: string): void {
  const { ids, offset, tokens } = positions;
  const checked = ids ?? Float64Array.of(offset, offset + tokens - 1);
  const wrong = checked.find(isOutside);
  if (wrong !== undefined) failOutside(wrong, field);
}

function largestPosition(positions: Positions): number {
  if (positions.ids === undefined) return positions.offset + positions.tokens - 1;
  let largest = -Infinity;
  for (const id of positions.ids) largest = id > largest ? id : largest;
  return largest;
}

/** The default sequence length to plan for: the largest position + 1, as in transformers. @internal */
export function lengthOf(positions: Positions): number {
  return Math.min(2 ** 31, Math.max(1, Math.ceil(largestPosition(positions)) + 1));
}

/** The positions of some tokens of one batch row. @internal */
export function slicePositions(positions: Positions, batch: number, token: number, tokens: number): Positions {
  const { ids, axes, rows } = positions;
  if (ids === undefined) return { ...positions, offset: positions.offset + token, tokens };
  const row = rows === 1 ? 0 : batch;
  const slice = new Float64Array(axes * tokens);
  for (let axis = 0; axis < axes; axis++) {
    const first = (axis * rows + row) * positions.tokens + token;
    for (let t = 0; t < tokens; t++) slice[axis * tokens + t] = ids[first + t]!;
  }
  return { offset: 0, ids: slice, axes, rows: 1, tokens };
}

/** Writes ids to wasm memory at `address` ([axes][rows][tokens] f64), and returns the arguments of the wasm call. @internal */
export function placePositions(
  heap: Heap,
  positions: Positions,
  address: number,
  sequenceLength: number,
): PositionFields {
  const { offset, ids, axes, rows, tokens } = positions;
  if (ids !== undefined) heap.doubles(address, ids.length).set(ids);
  return { offset, ids: ids === undefined ? 0 : address, axes, rows, tokens, sequence_length: sequenceLength };
}

/** Checks an optional sequence length. Returns 0, which means largest position + 1, if it is missing. @internal */
export function checkSequenceLength(seqLen: unknown, field = "seqLen"): number {
  if (seqLen === undefined) return 0;
  if (typeof seqLen !== "number" || !(seqLen >= 1 && seqLen <= 2 ** 31)) {
    fail("INVALID_ARGUMENT", field, `must be a number from 1 to 2^31 (got ${show(seqLen)})`);
  }
  return seqLen;
}
