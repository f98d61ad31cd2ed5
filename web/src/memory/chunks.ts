// Runs rotate and rerotate on a tensor in wasm memory at once, and on an array outside it in chunks.
import { sizeOf } from "./elements.js";
import { fail } from "../base/errors.js";
import type { Heap } from "./heap.js";
import { checkTarget, openOperand, type Operand, type OperandOptions, operandOf } from "./operand.js";
import { placePositions, type Positions, slicePositions } from "./positions.js";
import { type Chunk, chunksOf, type Extents } from "./shape.js";
import type { WasmPositions } from "./wasm_module.js";

/** What a call's options say about its tensor. @internal */
export interface TensorOptions extends OperandOptions {
  out: unknown;
}

/** Checks a tensor, its layout and its target. `name` is the argument's name in errors. @internal */
export function openTensor(heap: Heap, head_dim: number, x: unknown, options: TensorOptions, name: string) {
  const { dtype, out } = options;
  const source = openOperand(heap, x, options, head_dim, name);
  const target = out === x ? source : operandOf(heap, out, dtype, "out");
  checkTarget(source, target);
  return { extents: source.extents, source, target };
}

/** One call into wasm, for a whole tensor (`chunk` is undefined) or for a chunk of it. @internal */
export type ChunkCall = (source: number, target: number, extents: Extents, chunk: Chunk | undefined) => void;

/**
 * Calls `call` once if source and target are in wasm memory. Otherwise calls it for each chunk, copied through the scratch block, so that an
 * array of any size needs the same amount of wasm memory.
 * @internal
 */
export function forEachChunk(heap: Heap, source: Operand, target: Operand, extents: Extents, call: ChunkCall): void {
  const [from, to] = [source.address, target.address];
  if (source.length === 0) return;
  if (from !== 0 && to !== 0) {
    call(from, to, extents, undefined);
    return;
  }
  const size = sizeOf(source.dtype);
  const { scratch } = heap;
  for (const chunk of chunksOf(extents, heap.scratchBytes / size)) {
    const first = chunk.first * size;
    const bytes = chunk.tokens * chunk.heads * chunk.head_dim * size;
    if (bytes > heap.scratchBytes)
      fail("INVALID_SHAPE", "shape", `an array's token may have at most 512 KB (got ${bytes} bytes); use a Tensor`);
    const part = (operand: Operand): Uint8Array =>
      operand.bytes === undefined
        ? heap.bytes(operand.address + first, bytes)
        : operand.bytes.subarray(first, first + bytes);
    heap.bytes(scratch, bytes).set(part(source));
    call(scratch, scratch, chunk, chunk);
    part(target).set(heap.bytes(scratch, bytes));
  }
}

/** Writes the positions of a chunk, or all of them, to wasm memory at `address`. @internal */
export function placeChunkPositions(
  heap: Heap,
  positions: Positions,
  chunk: Chunk | undefined,
  address: number,
  sequenceLength: number,
): WasmPositions {
  const slice = chunk === undefined ? positions : slicePositions(positions, chunk.batch, chunk.token, chunk.tokens);
  return placePositions(heap, slice, address, sequenceLength);
}
