import { areNumbers } from "../base/checks.js";
import { fail } from "../base/errors.js";
import type { Heap } from "./heap.js";
import type { WasmPositions } from "./wasm_module.js";

/** Arrays of position ids: integers or fractions, negative, repeated, in any order. */
export type PositionArray = Int32Array | Uint32Array | Float32Array | Float64Array | readonly number[];

/**
 * Where the T tokens of B batch rows stand, on [−2^31, 2^31):
 * - a number: token t stands at that offset plus t, in every row;
 * - an array of T ids, shared by the rows, or of B·T ids, one row after the other;
 * - with A position axes (`mrope_section`), an array of A·T or A·B·T ids, one axis after the other. Shorter arrays put all axes at the
 *   same position, as text tokens are.
 */
export type PositionInput = number | PositionArray;

/** Positions in their one form: an offset, or f64 ids [axes][rows][tokens]. @internal */
export interface Positions {
  offset: number;
  ids: PositionArray | undefined;
  axes: number;
  rows: number;
  tokens: number;
}

/** No position is farther from 0. */
const LIMIT = 2 ** 31;

/** Checks that `ids` is an array of numbers. @internal */
export function checkIds(ids: unknown, field: string): PositionArray {
  if (!areNumbers(ids)) fail("INVALID_POSITION", field, "must be a number or an array of numbers");
  return ids as PositionArray;
}

/** Recognises the form of `input` by its length. @internal */
export function readPositions(
  input: PositionInput,
  batches: number,
  tokens: number,
  axes: number,
  field: string,
): Positions {
  if (typeof input === "number") return { offset: input, ids: undefined, axes: 1, rows: 1, tokens };
  const ids = checkIds(input, field);
  const { length } = ids;
  if (length === axes * batches * tokens) return { offset: 0, ids, axes, rows: batches, tokens };
  if (length === axes * tokens) return { offset: 0, ids, axes, rows: 1, tokens };
  if (length === batches * tokens) return { offset: 0, ids, axes: 1, rows: batches, tokens };
  if (length === tokens) return { offset: 0, ids, axes: 1, rows: 1, tokens };
  const lengths = [...new Set([tokens, batches * tokens, axes * tokens, axes * batches * tokens])].join(", ");
  fail("INVALID_SHAPE", field, `must have ${lengths} ids for this shape (got ${length})`);
}

/** The positions of the rows of a table: 0 … n−1, or ids, as many for each axis. @internal */
export function readLengthOrPositions(lengthOrPositions: number | PositionArray, axes: number): Positions {
  if (typeof lengthOrPositions === "number") {
    if (!Number.isInteger(lengthOrPositions) || lengthOrPositions < 1 || lengthOrPositions > LIMIT) {
      fail("INVALID_POSITION", "positions", `must be an array or a length from 1 to 2^31 (got ${lengthOrPositions})`);
    }
    return readPositions(0, 1, lengthOrPositions, axes, "positions");
  }
  const { length } = checkIds(lengthOrPositions, "positions");
  if (length === 0) fail("INVALID_POSITION", "positions", "must hold at least one position");
  if (length % axes !== 0)
    fail("INVALID_SHAPE", "positions", `must hold as many ids for each of the ${axes} axes (got ${length})`);
  return readPositions(lengthOrPositions, 1, length / axes, axes, "positions");
}

/** Refuses positions that no way of telling them takes. @internal */
export function checkPositions(positions: Positions, field: string): void {
  const { ids, offset, tokens } = positions;
  const bad = (id: number): boolean => !(Math.abs(id) <= LIMIT);
  const outside = ids === undefined ? bad(offset) || bad(offset + tokens - 1) : (ids as readonly number[]).some(bad);
  if (outside) fail("INVALID_POSITION", field, "must be finite and within ±2^31");
}

function largestPosition(positions: Positions): number {
  if (positions.ids === undefined) return positions.offset + positions.tokens - 1;
  let largest = -Infinity;
  for (const id of positions.ids) largest = id > largest ? id : largest;
  return largest;
}

/** The length to plan for: up to the largest position, as transformers takes it. @internal */
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

/** Writes ids to wasm memory at `address` ([axes][rows][tokens] f64), and says what the core is to be told. @internal */
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

/** Checks an optional sequence length; 0 stands for "as long as the positions say". @internal */
export function checkSequenceLength(seqLen: unknown, field = "seqLen"): number {
  if (seqLen === undefined) return 0;
  if (typeof seqLen !== "number" || !(seqLen >= 1 && seqLen <= 2 ** 31)) {
    fail("INVALID_ARGUMENT", field, `must be a number from 1 to 2^31 (got ${String(seqLen)})`);
  }
  return seqLen;
}
