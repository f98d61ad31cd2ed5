import { checkDType, DTYPES, type DType, sizeOf } from "./elements.js";
import { RopewalkError } from "./errors.js";
import { checkSequenceLength, lengthOf, placePositions, type PositionArray, readPositions, slicePositions } from "./positions.js";
import { codeOfRole, type Role, type RopeCore } from "./rope_core.js";

/**
 * How a table is laid out: one value a pair (`compact`, [n, rotary_dim/2]: what kernels and ONNX's RotaryEmbedding take), or one value an
 * element ([n, rotary_dim]) as `half` (c0 c1 … c0 c1 …) or `interleaved` (c0 c0 c1 c1 …).
 */
export const TABLE_LAYOUTS = ["compact", "half", "interleaved"] as const;
export type TableLayout = (typeof TABLE_LAYOUTS)[number];

/** What table to make. */
export interface TableOptions {
  /** Element type (`f32`). */
  dtype?: DType;
  /** `compact` unless given. */
  layout?: TableLayout;
  /** For xPos (`query`). */
  role?: Role;
  /** The table of the inverse rotation (false). */
  inverse?: boolean;
  /** Length to plan for (largest position + 1). */
  seqLen?: number;
}

/** Cosines and sines, row after row. f16 and bf16 as bits. */
export interface CosSinTable {
  cos: Float32Array | Uint16Array;
  sin: Float32Array | Uint16Array;
  /** [rows, columns] of each. */
  shape: readonly [rows: number, columns: number];
}

/** @internal */
export function writeTable(core: RopeCore, lengthOrPositions: number | PositionArray, options: TableOptions): CosSinTable {
  const { heap, address, geometry, axes } = core;
  const dtype = checkDType(options.dtype ?? "f32");
  const layout = TABLE_LAYOUTS.indexOf(options.layout ?? "compact");
  if (layout < 0) throw new RopewalkError("INVALID_ARGUMENT", "layout", `must be one of ${TABLE_LAYOUTS.join(", ")} (got ${String(options.layout)})`);
  const role = codeOfRole(options.role ?? "query");
  const isLength = typeof lengthOrPositions === "number";
  if (isLength && (!Number.isInteger(lengthOrPositions) || lengthOrPositions < 1 || lengthOrPositions > 2 ** 31)) {
    throw new RopewalkError("INVALID_POSITION", "positions", `must be an array or a length from 1 to 2^31 (got ${lengthOrPositions})`);
  }
  const tokens = isLength ? lengthOrPositions : lengthOrPositions.length % axes === 0 ? lengthOrPositions.length / axes : lengthOrPositions.length;
  if (tokens === 0) throw new RopewalkError("INVALID_POSITION", "positions", "must hold at least one position");
  const positions = readPositions(isLength ? 0 : lengthOrPositions, 1, tokens, axes, "positions");
  core.checkPositions(positions);
  const sequenceLength = checkSequenceLength(options.seqLen) || lengthOf(positions);

  const columns = layout === 0 ? geometry.rotary_dim / 2 : geometry.rotary_dim;
  const cos = newElements(dtype, tokens * columns);
  const sin = newElements(dtype, tokens * columns);
  const rowBytes = columns * sizeOf(dtype);
  const step = Math.max(1, Math.floor(heap.scratchBytes / (2 * rowBytes)));
  for (let token = 0; token < tokens; token += step) {
    const count = Math.min(step, tokens - token);
    const part = slicePositions(positions, 0, token, count);
    const ids = part.ids === undefined ? 0 : heap.idBlock(part.ids.length);
    const { scratch } = heap;
    const placed = placePositions(heap, part, ids, sequenceLength);
    heap.check(heap.module.rope_write_table(address, placed, role, options.inverse ?? false, DTYPES.indexOf(dtype), layout, scratch, scratch + count * rowBytes));
    copyRows(heap.bytes(scratch, count * rowBytes), cos, token * rowBytes);
    copyRows(heap.bytes(scratch + count * rowBytes, count * rowBytes), sin, token * rowBytes);
  }
  return { cos, sin, shape: [tokens, columns] };
}

function newElements(dtype: DType, length: number): Float32Array | Uint16Array {
  try {
    return dtype === "f32" ? new Float32Array(length) : new Uint16Array(length);
  } catch (cause) {
    throw new RopewalkError("OUT_OF_MEMORY", "positions", `a table of ${length} elements cannot be had; ask for fewer positions`, { cause });
  }
}

function copyRows(rows: Uint8Array, table: Float32Array | Uint16Array, offset: number): void {
  new Uint8Array(table.buffer, offset, rows.length).set(rows);
}
