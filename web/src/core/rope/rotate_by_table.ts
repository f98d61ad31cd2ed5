// Rotates by given tables of cosines and sines, without a rope.
import { codeIn, wholeNumber } from "../base/checks.js";
import { fail } from "../base/errors.js";
import { checkOptions, optionNames } from "../base/options.js";
import { show } from "../base/show.js";
import { PAIRINGS, type Pairing } from "../config/types.js";
import { forEachChunk, openTensor } from "../memory/chunks.js";
import type { DType, ElementArray } from "../memory/elements.js";
import { sizeOf } from "../memory/elements.js";
import type { Heap } from "../memory/heap.js";
import { codeOf, type Operand, operandOf, overlap } from "../memory/operand.js";
import { type PositionArray, readPositions } from "../memory/positions.js";
import { countOf, type Extents, type Layout } from "../memory/shape.js";
import type { Tensor } from "../memory/tensor.js";
import { TABLE_LAYOUTS, type TableLayout } from "./table.js";

/** Options of {@link Ropewalk.rotate}. B batch rows of T tokens; a table has R rows. */
export interface TableRotateOptions {
  /** Cosines, one row for each position: [R, rotary_dim/2], or [R, rotary_dim] if `tableLayout` has one value for each element. */
  cos: Tensor | ElementArray;
  /** Sines, with the shape and element type of `cos`. */
  sin: Tensor | ElementArray;
  /** Layout of both tables. Default: `"compact"`, which ONNX's RotaryEmbedding takes. The cos and sin of transformers are `"half"`. */
  tableLayout?: TableLayout;
  /** Element type of tables that are Uint16Arrays: `"f16"` or `"bf16"`. */
  tableDtype?: DType;
  /**
   * Rows of the tokens, from 0 (ONNX's position_ids): the row of the first token, T rows, or B·T rows, sequence by sequence. Default: the tables have one
   * row for each token, T rows for all sequences or B·T.
   */
  positions?: number | PositionArray;
  /** Which elements rotate together. ONNX's `interleaved` 0 is `"half"`, and 1 is `"interleaved"`. */
  pairing: Pairing;
  /** Number of rotated elements of a head, even. Default: head_dim. */
  rotary_dim?: number;
  /** First rotated element of a head. Default: 0. */
  rotary_offset?: number;
  /** Order of the dimensions. */
  layout: Layout;
  /** As in {@link RotateOptions.shape}. */
  shape?: readonly number[];
  /** As in {@link RotateOptions.strides}. */
  strides?: readonly number[];
  /** As in {@link RotateOptions.offset}. */
  offset?: number;
  /** Element type of a Uint16Array: `"f16"` or `"bf16"`. */
  dtype?: DType;
  /** As in {@link RotateOptions.out}. */
  out?: Tensor | ElementArray;
}

const OPTIONS = optionNames<TableRotateOptions>("rotate()", {
  cos: true,
  sin: true,
  tableLayout: true,
  tableDtype: true,
  positions: true,
  pairing: true,
  rotary_dim: true,
  rotary_offset: true,
  layout: true,
  shape: true,
  strides: true,
  offset: true,
  dtype: true,
  out: true,
});

/** Tables of cosines and sines, and the geometry of their rows. */
interface Tables {
  cos: Operand;
  sin: Operand;
  /** Index in TABLE_LAYOUTS. */
  layout: number;
  pairs: number;
  columns: number;
  rows: number;
}

/** @internal */
export function rotateByTable<X>(heap: Heap, useScalarKernels: boolean, x: X, options: TableRotateOptions): X {
  const {
    cos,
    sin,
    tableLayout = "compact",
    tableDtype,
    positions,
    pairing,
    rotary_dim,
    rotary_offset = 0,
    layout,
    shape,
    strides,
    offset,
    dtype,
    out = x,
  } = checkOptions(options, OPTIONS);
  const tensor = openTensor(heap, undefined, x, { layout, shape, strides, offset, dtype, out }, "x");
  const { extents, source, target } = tensor;
  const { tokens, head_dim } = extents;
  const pairingCode = codeIn(PAIRINGS, pairing, "pairing");
  const size = evenNumber(rotary_dim ?? head_dim, Math.min(head_dim, 8192));
  wholeNumber(rotary_offset, 0, head_dim - size, "rotary_offset");
  const tables = openTables(heap, cos, sin, tableDtype, codeIn(TABLE_LAYOUTS, tableLayout, "tableLayout"), size);
  const rows = rowsOf(positions, extents, tables);
  for (const table of [tables.cos, tables.sin])
    if (overlap(table, target)) fail("INVALID_ARGUMENT", "out", "must not overlap the tables");

  // From here on no code of the caller runs, so addresses stay valid.
  if (countOf(extents) === 0) return out as X;
  const perBatch = rows.length > tokens;
  const { pairs } = tables;
  heap.borrow(rows.length * pairs * 8, (cosAddress) => {
    const sinAddress = cosAddress + rows.length * pairs * 4;
    placeRows(heap, tables, tables.cos, rows, cosAddress, "cos");
    placeRows(heap, tables, tables.sin, rows, sinAddress, "sin");
    forEachChunk(heap, tensor, (from, to, part, chunk, stridesAddress) => {
      const row = chunk === undefined ? 0 : (perBatch ? chunk.batch * tokens : 0) + chunk.token;
      const status = heap.module.rotate_by_rows(
        from,
        to,
        codeOf.dtype(source.dtype),
        codeOf.layout(part),
        part.batches,
        part.tokens,
        part.heads,
        head_dim,
        stridesAddress,
        pairingCode,
        rotary_offset,
        size,
        cosAddress + row * pairs * 4,
        sinAddress + row * pairs * 4,
        perBatch && chunk === undefined,
        useScalarKernels,
      );
      heap.check(status);
    });
  });
  return out as X;
}

function evenNumber(rotary_dim: number, most: number): number {
  wholeNumber(rotary_dim, 2, most, "rotary_dim", ", even");
  if (rotary_dim % 2 !== 0) fail("INVALID_ARGUMENT", "rotary_dim", `must be even (got ${show(rotary_dim)})`);
  return rotary_dim;
}

function openTables(
  heap: Heap,
  givenCos: unknown,
  givenSin: unknown,
  dtype: DType | undefined,
  layout: number,
  rotary_dim: number,
): Tables {
  const cos = operandOf(heap, givenCos, dtype, "cos", "tableDtype");
  const sin = operandOf(heap, givenSin, dtype, "sin", "tableDtype");
  const pairs = rotary_dim / 2;
  const columns = layout === 0 ? pairs : rotary_dim;
  const rows = cos.length / columns;
  if (!Number.isInteger(rows)) {
    const unit = layout === 0 ? "rotary_dim/2" : "rotary_dim";
    fail("INVALID_SHAPE", "cos", `must have rows of ${unit} = ${columns} elements (got ${cos.length} elements)`);
  }
  if (sin.dtype !== cos.dtype) fail("INVALID_DTYPE", "sin", `must be ${cos.dtype}, as cos is (got ${sin.dtype})`);
  if (sin.length !== cos.length) {
    fail("INVALID_SHAPE", "sin", `must have ${cos.length} elements, as cos has (got ${sin.length})`);
  }
  return { cos, sin, layout, pairs, columns, rows };
}

/** The row of the tables for each token: T rows for all sequences, or B·T. */
function rowsOf(positions: unknown, { batches, tokens }: Extents, { rows }: Tables): Float64Array {
  if (positions === undefined) {
    if (rows !== tokens && rows !== batches * tokens) {
      const wanted = batches === 1 ? tokens : `${tokens} or ${batches * tokens}`;
      fail(
        "INVALID_SHAPE",
        "cos",
        `must have ${wanted} rows, one for each token, or positions are required (got ${rows})`,
      );
    }
    return Float64Array.from({ length: rows }, (_, i) => i);
  }
  const { offset, ids } = readPositions(positions, batches, tokens, 1, "positions");
  const list = ids ?? Float64Array.from({ length: tokens }, (_, i) => offset + i);
  const wrong = list.find((row) => !Number.isInteger(row) || row < 0 || row >= rows);
  if (wrong !== undefined) {
    fail(
      "INVALID_POSITION",
      "positions",
      `must be rows of the tables, which are integers from 0 to ${rows - 1} (got ${wrong})`,
    );
  }
  return list;
}

/** Writes the given rows of a table to `target`, as kernels take them: [rows][pairs] f32. */
function placeRows(
  heap: Heap,
  tables: Tables,
  table: Operand,
  rows: Float64Array,
  target: number,
  field: string,
): void {
  const { layout, pairs, columns } = tables;
  const rowBytes = columns * sizeOf(table.dtype);
  const isReady = layout === 0 && table.dtype === "f32";
  const { scratch } = heap;
  const step = Math.max(1, Math.floor(heap.scratchBytes / rowBytes));
  for (let first = 0; first < rows.length; first += step) {
    const count = Math.min(step, rows.length - first);
    const address = target + first * pairs * 4;
    const copy = heap.bytes(isReady ? address : scratch, count * rowBytes);
    const all = table.bytes ?? heap.bytes(table.address, table.length * sizeOf(table.dtype));
    for (let i = 0; i < count;) {
      const row = rows[first + i]!;
      let run = 1;
      while (i + run < count && rows[first + i + run] === row + run) run++;
      copy.set(all.subarray(row * rowBytes, (row + run) * rowBytes), i * rowBytes);
      i += run;
    }
    if (isReady) continue;
    const status = heap.module.read_table(scratch, codeOf.dtype(table.dtype), layout, count, pairs, address);
    heap.check(status, undefined, field);
  }
}
