import { type DType, type ElementArray, sizeOf } from "./elements.js";
import { fail } from "../base/errors.js";
import type { Heap } from "./heap.js";
import { checkTarget, openOperand, type Operand, operandOf } from "./operand.js";
import { placePositions, type Positions, slicePositions } from "./positions.js";
import { type Block, blocksOf, type Extents, type Layout } from "./shape.js";
import type { Tensor } from "./tensor.js";
import type { WasmPositions } from "./wasm_module.js";

/** How a tensor is to be read, and where the result goes: what rotate and rerotate have in common. @internal */
export interface TensorOptions {
  layout: Layout;
  shape?: readonly number[];
  dtype?: DType;
  out?: Tensor | ElementArray;
}

/** Checks a tensor, its layout and its target, and looks where they lie. `name` is the argument's, for errors. @internal */
export function openTensor(
  heap: Heap,
  head_dim: number,
  x: Tensor | ElementArray,
  options: TensorOptions,
  name: string,
) {
  const { dtype, out = x } = options;
  const source = openOperand(heap, x, options, head_dim, name);
  const target = out === x ? source : operandOf(heap, out, dtype, "out");
  checkTarget(source, target);
  return { extents: source.extents, source, target };
}

/** One call into the core: a piece of a tensor in wasm memory. @internal */
export type Pass = (source: number, target: number, block: Extents, part: Block | undefined) => void;

/**
 * Runs `pass` over a tensor: at once where source and target lie in wasm memory, else piece by piece through the scratch block, so that
 * an array outside costs a fixed amount of wasm memory whatever its size.
 * @internal
 */
export function passThrough(heap: Heap, source: Operand, target: Operand, extents: Extents, pass: Pass): void {
  if (source.address !== 0 && target.address !== 0) {
    pass(source.address, target.address, extents, undefined);
    return;
  }
  const size = sizeOf(source.dtype);
  const { scratch } = heap;
  for (const block of blocksOf(extents, heap.scratchBytes / size)) {
    const first = block.first * size;
    const bytes = block.tokens * block.heads * block.head_dim * size;
    if (bytes > heap.scratchBytes) fail("INVALID_SHAPE", "shape", "has a token of more than 512 KB; use a Tensor");
    const piece = (operand: Operand): Uint8Array =>
      operand.bytes === undefined
        ? heap.bytes(operand.address + first, bytes)
        : operand.bytes.subarray(first, first + bytes);
    heap.bytes(scratch, bytes).set(piece(source));
    pass(scratch, scratch, block, block);
    piece(target).set(heap.bytes(scratch, bytes));
  }
}

/** The positions of a piece, in wasm memory. @internal */
export function positionsOfPart(
  heap: Heap,
  positions: Positions,
  part: Block | undefined,
  address: number,
  sequenceLength: number,
): WasmPositions {
  const of = part === undefined ? positions : slicePositions(positions, part.batch, part.token, part.tokens);
  return placePositions(heap, of, address, sequenceLength);
}
