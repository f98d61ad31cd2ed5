// Tables of cosines and sines.
import { codeIn, trueOrFalse } from "../base/checks.js";
import { checkOptions, optionNames } from "../base/options.js";
import { checkDType, DTYPES, type DType, type ElementArray, newElements, sizeOf } from "../memory/elements.js";
import { fail } from "../base/errors.js";
import type { Heap } from "../memory/heap.js";
import { type Operand, operandOf, overlap } from "../memory/operand.js";
import {
  checkSequenceLength,
  lengthOf,
  placePositions,
  type PositionArray,
  readLengthOrPositions,
  slicePositions,
} from "../memory/positions.js";
import { codeOfRole, type Role, type RopeCore } from "./core.js";
import { type Tensor, tensorMemory } from "../memory/tensor.js";

/**
 * Layouts of a table. `compact`: one value per pair, [n, rotary_dim/2], as kernels and ONNX's RotaryEmbedding take it. `half` and `interleaved`:
 * one value per element, [n, rotary_dim], in the order c0 c1 … c0 c1 … or c0 c0 c1 c1 ….
 */
export const TABLE_LAYOUTS = ["compact", "half", "interleaved"] as const;
/** One of {@link TABLE_LAYOUTS}. */
export type TableLayout = (typeof TABLE_LAYOUTS)[number];

/** Options of {@link Rope.table}. */
export interface TableOptions {
  /** Element type. Default: `"f32"`. */
  dtype?: DType;
  /** Layout. Default: `"compact"`. */
  layout?: TableLayout;
  /** What the table rotates; matters only for xPos. Default: `"query"`. */
  role?: Role;
  /** Whether it is the table of the inverse rotation. Default: false. */
  inverse?: boolean;
  /** Sequence length of the plan. Default: largest position + 1. */
  seqLen?: number;
}

/** Cosines and sines, row by row. f16 and bf16 values are bits in a Uint16Array. */
export interface CosSinTable<Elements = Float32Array | Uint16Array> {
  cos: Elements;
  sin: Elements;
  /** [rows, columns] of each. */
  shape: readonly [rows: number, columns: number];
}

/** Options of {@link Rope.table}, with arrays or tensors to write to. */
export interface TableIntoOptions<Elements> extends TableOptions {
  /** Where to write; rows · columns elements each. Tensors are written without a copy. */
  out: { cos: Elements; sin: Elements };
}

const OPTIONS = optionNames<Partial<TableIntoOptions<unknown>>>("table()", {
  dtype: true,
  layout: true,
  role: true,
  inverse: true,
  seqLen: true,
  out: true,
});
const OUT = optionNames<TableIntoOptions<unknown>["out"] & { shape?: unknown }>("table()", {
  cos: true,
  sin: true,
  shape: true,
});

/** @internal */
export function writeTable<Elements extends Tensor | ElementArray>(
  core: RopeCore,
  lengthOrPositions: number | PositionArray,
  options: (TableOptions & Partial<TableIntoOptions<Elements>>) | undefined,
): CosSinTable<Elements> {
  const {
    dtype: givenDType,
    layout: givenLayout = "compact",
    role: givenRole = "query",
    inverse = false,
    seqLen,
    out,
  } = checkOptions(options, OPTIONS) as Partial<TableIntoOptions<Elements>>;
  const { cos: givenCos, sin: givenSin } = checkOptions(out, OUT, "out") as Partial<NonNullable<typeof out>>;
  const { heap, geometry } = core;
  const dtype = checkDType(givenDType ?? tensorMemory(givenCos)?.dtype ?? "f32");
  const layout = codeIn(TABLE_LAYOUTS, givenLayout, "layout");
  const role = codeOfRole(givenRole);
  trueOrFalse(inverse, "inverse");
  const positions = readLengthOrPositions(lengthOrPositions, core.axes);
  const givenLength = checkSequenceLength(seqLen);
  core.checkPositions(positions, "positions", givenLength);
  const sequenceLength = givenLength || lengthOf(positions);

  const rows = positions.tokens;
  const columns = layout === 0 ? geometry.rotary_dim / 2 : geometry.rotary_dim;
  const cos = out === undefined ? (newElements(dtype, rows * columns) as Elements) : givenCos!;
  const sin = out === undefined ? (newElements(dtype, rows * columns) as Elements) : givenSin!;
  const targets = [
    tableTarget(heap, cos, dtype, rows * columns, "out.cos"),
    tableTarget(heap, sin, dtype, rows * columns, "out.sin"),
  ] as const;

  // From here on no code of the caller runs, so addresses stay valid.
  const rowBytes = columns * sizeOf(dtype);
  if (overlap(targets[0], targets[1])) fail("INVALID_ARGUMENT", "out.sin", "must not overlap out.cos");
  const step = Math.max(1, Math.floor(heap.scratchBytes / (2 * rowBytes)));
  for (let row = 0; row < rows; row += step) {
    const count = Math.min(step, rows - row);
    const part = slicePositions(positions, 0, row, count);
    const placed = placePositions(
      heap,
      part,
      part.ids === undefined ? 0 : heap.idBlock(part.ids.length),
      sequenceLength,
    );
    const { scratch } = heap;
    const [first, bytes] = [row * rowBytes, count * rowBytes];
    const [cosAddress, sinAddress] = targets.map(({ address }, i) =>
      address === 0 ? scratch + i * bytes : address + first,
    ) as [number, number];
    const purpose = [role, inverse, DTYPES.indexOf(dtype), layout] as const;
    heap.check(heap.module.rope_write_table(core.address, placed, ...purpose, cosAddress, sinAddress));
    targets.forEach((target, i) => target.bytes?.set(heap.bytes(scratch + i * bytes, bytes), first));
  }
  return { cos, sin, shape: [rows, columns] };
}

function tableTarget(heap: Heap, target: unknown, dtype: DType, length: number, field: string): Operand {
  const operand = operandOf(heap, target, dtype, field);
  if (operand.length !== length) fail("INVALID_SHAPE", field, `must have ${length} elements (got ${operand.length})`);
  return operand;
}
