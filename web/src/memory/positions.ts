// Position arguments in all their forms, converted to one form.
import { show } from "../base/show.js";
import { areNumbers, count } from "../base/checks.js";
import { fail } from "../base/errors.js";
import type { Heap } from "./heap.js";
import type { WasmPositions } from "./wasm_module.js";

/** Arrays of position ids. Ids may be fractional, negative or repeated, in any order. */
export type PositionArray = Int32Array | Uint32Array | Float32Array | Float64Array | readonly number[];

/**
 * Positions of T tokens in B batch rows, each in [−2^31, 2^31):
 * - a number: the position of the first token. Token t is at this offset plus t, in every row.
 * - an array of T ids, shared by all rows, or of B·T ids, row by row.
 * - with A position axes (`mrope_section`), an array of A·T or A·B·T ids, axis by axis. A shorter array gives all axes the same position, as
 *   for text tokens.
 */
export type PositionInput = number | PositionArray;

/** Positions as an offset, or as f64 ids [axes][rows][tokens]. @internal */
export interface Positions {
  offset: number;
  ids: PositionArray | undefined;
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

/** Checks that `ids` is an array of numbers. @internal */
export function checkIds(ids: unknown, field: string): PositionArray {
  if (!areNumbers(ids)) fail("INVALID_POSITION", field, "must be a number or an array of numbers");
  return ids as PositionArray;
}

/** Converts position input. The length of an array tells which form it has. @internal */
export function readPositions(
  input: PositionInput,
  batches: number,
  tokens: number,
  axes: number,
  field: string,
): Positions {
  if (typeof input === "number") {
    if (isOutside(input)) failOutside(input, field);
    return { offset: input, ids: undefined, axes: 1, rows: 1, tokens };
  }
  const ids = checkIds(input, field);
  const { length } = ids;
  if (length === axes * batches * tokens) return { offset: 0, ids, axes, rows: batches, tokens };
  if (length === axes * tokens) return { offset: 0, ids, axes, rows: 1, tokens };
  if (length === batches * tokens) return { offset: 0, ids, axes: 1, rows: batches, tokens };
  if (length === tokens) return { offset: 0, ids, axes: 1, rows: 1, tokens };
  const all = tokens === 1 ? "the token" : `each of the ${tokens} tokens`;
  fail("INVALID_SHAPE", field, `must have one id for ${all} of this shape (got ${count(length, "id")})`);
}

/** The positions of the rows of a table: 0 … n−1 for a length, or the given ids, the same number for each axis. @internal */
export function readLengthOrPositions(lengthOrPositions: number | PositionArray, axes: number): Positions {
  if (typeof lengthOrPositions === "number") {
    if (!Number.isInteger(lengthOrPositions) || lengthOrPositions < 1 || lengthOrPositions > LIMIT) {
      fail("INVALID_POSITION", "positions", `must be an array or a length from 1 to 2^31 (got ${lengthOrPositions})`);
    }
    return readPositions(0, 1, lengthOrPositions, axes, "positions");
  }
  const { length } = checkIds(lengthOrPositions, "positions");
  if (length === 0) fail("INVALID_POSITION", "positions", "must have at least one position (got an empty array)");
  if (length % axes !== 0)
    fail(
      "INVALID_SHAPE",
      "positions",
      `must have the same number of ids for each of the ${axes} axes (got ${length} ids)`,
    );
  return readPositions(lengthOrPositions, 1, length / axes, axes, "positions");
}

/** Checks positions for schemes other than RoPE. @internal */
export function checkPositions(positions: Positions, field: string): void {
  const { ids, offset, tokens } = positions;
  const checked = ids === undefined ? [offset, offset + tokens - 1] : (ids as readonly number[]);
  const wrong = checked.find(isOutside);
  if (wrong !== undefined) failOutside(wrong, field);
}

/** The smallest and the largest position on any axis, as the positions of two tokens. @internal */
export function positionRange(positions: Positions): Positions {
  const { ids, offset, tokens } = positions;
  let [smallest, largest] = ids === undefined ? [offset, offset + tokens - 1] : [Infinity, -Infinity];
  for (const id of ids ?? []) [smallest, largest] = [id < smallest ? id : smallest, id > largest ? id : largest];
  return { offset: 0, ids: [smallest, largest], axes: 1, rows: 1, tokens: 2 };
}

function largestPosition(positions: Positions): number {
  if (positions.ids === undefined) return positions.offset + positions.tokens - 1;
  let largest = -Infinity;
  for (const id of positions.ids) largest = id > largest ? id : largest;
  return largest;
}

/** The default sequence length to plan for: the largest position + 1, as in transformers. @internal */
export function lengthOf(positions: Positions): number {
  return Math.max(1, Math.ceil(largestPosition(positions)) + 1);
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
): WasmPositions {
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
