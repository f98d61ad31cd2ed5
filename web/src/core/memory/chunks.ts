// Runs rotate and rerotate on a tensor in wasm memory at once, and on an array outside it in chunks.
import * as advise from "../base/advice.js";
import { fail } from "../base/errors.js";
import { sizeOf } from "./elements.js";
import type { Heap } from "./heap.js";
import { checkTarget, openOperand, type Operand, type OperandOptions, operandOf, overlap } from "./operand.js";
import { contiguousPlacement, copyHeads, type Placement, readPlacement } from "./placement.js";
import { placePositions, type Positions, slicePositions } from "./positions.js";
import { checkLayout, checkShape, type Chunk, chunksOf, countOf, type Extents, extentsOf } from "./shape.js";
import type { PositionFields } from "./call_fields.js";

/** What a call's options say about its tensor. @internal */
export interface TensorOptions extends OperandOptions {
  strides?: readonly number[] | undefined;
  offset?: number | undefined;
  out: unknown;
}

/** A checked tensor and where its result goes, which may be the same operand. @internal */
export interface OpenTensor {
  extents: Extents;
  source: Operand;
  target: Operand;
  /** Where the heads lie in `source`, if it isn't contiguous. */
  placement: Placement | undefined;
}

/** Checks a tensor, its layout and its target. `name` is the argument's name in errors. @internal */
export function openTensor(
  heap: Heap,
  head_dim: number | undefined,
  x: unknown,
  options: TensorOptions,
  name: string,
): OpenTensor {
  const { dtype, out, strides, offset } = options;
  if (strides !== undefined || offset !== undefined) return openPart(heap, head_dim, x, options, name);
  const source = openOperand(heap, x, options, head_dim, name);
  const target = out === x ? source : operandOf(heap, out, dtype, "out");
  checkTarget(source, target);
  return { extents: source.extents, source, target, placement: undefined };
}

/** The same for a tensor that is part of a larger array or Tensor. */
function openPart(
  heap: Heap,
  head_dim: number | undefined,
  x: unknown,
  { layout, shape, strides, offset = 0, dtype, out }: TensorOptions,
  name: string,
): OpenTensor {
  checkLayout(layout);
  const extents = extentsOf(layout, checkShape(shape, "shape"), head_dim);
  const source = operandOf(heap, x, dtype, name);
  const placement = readPlacement(extents, strides, offset, source.length);
  if (out === x) return { extents, source, target: source, placement };

  const target = operandOf(heap, out, dtype, "out");
  if (target.dtype !== source.dtype)
    fail("INVALID_DTYPE", "out", `must be ${source.dtype}, as ${name} is (got ${target.dtype})`);
  if (target.length !== countOf(extents)) {
    fail("INVALID_SHAPE", "out", `must have ${countOf(extents)} elements, as the shape has (got ${target.length})`);
  }
  if (overlap(source, target)) fail("INVALID_ARGUMENT", "out", `must be ${name} itself, or not overlap it`);
  return { extents, source, target, placement };
}

/**
 * One call into wasm, for a whole tensor (`chunk` is undefined) or for a chunk of it. `strides` is the address of its strides, 0 if it is contiguous.
 * @internal
 */
export type ChunkCall = (
  source: number,
  target: number,
  extents: Extents,
  chunk: Chunk | undefined,
  strides: number,
) => void;

/**
 * Calls `call` once if source and target are in wasm memory. Otherwise calls it for each chunk, copied through the scratch block, so that an
 * array of any size needs the same amount of wasm memory. Doesn't call it for an empty tensor.
 * @internal
 */
export function forEachChunk(heap: Heap, tensor: OpenTensor, call: ChunkCall): void {
  const { source, target, extents, placement } = tensor;
  const [from, to] = [source.address, target.address];
  if (countOf(extents) === 0) return;
  if (from !== 0 && to !== 0) {
    if (placement === undefined) call(from, to, extents, undefined, 0);
    else callWithStrides(heap, tensor, placement, call);
    return;
  }
  const size = sizeOf(source.dtype);
  const { scratch } = heap;
  for (const chunk of chunksOf(extents, heap.scratchBytes / size)) {
    const bytes = chunk.tokens * chunk.heads * chunk.head_dim * size;
    if (bytes > heap.scratchBytes)
      fail(
        "INVALID_SHAPE",
        "shape",
        `an array's token may have at most 512 KB (got ${bytes} bytes)`,
        advise.code("use a Tensor"),
      );
    copyChunk(heap, tensor, chunk, true);
    call(scratch, scratch, chunk, chunk, 0);
    copyChunk(heap, tensor, chunk, false);
  }
}

function callWithStrides(
  heap: Heap,
  { source, target, extents }: OpenTensor,
  placement: Placement,
  call: ChunkCall,
): void {
  const written = target === source ? placement : contiguousPlacement(extents);
  const strides = [placement, written].flatMap(({ batch, token, head }) => [batch, token, head]);
  const size = sizeOf(source.dtype);
  heap.borrow(4 * strides.length, (address) => {
    new Int32Array(heap.buffer, address, strides.length).set(strides);
    const [from, to] = [source.address + placement.offset * size, target.address + written.offset * size];
    call(from, to, extents, undefined, address);
  });
}

/** Copies a chunk of the source to the scratch block, or the scratch block to a chunk of the target. */
function copyChunk(heap: Heap, { source, target, placement }: OpenTensor, chunk: Chunk, isInput: boolean): void {
  const operand = isInput ? source : target;
  const size = sizeOf(operand.dtype);
  const all = operand.bytes ?? heap.bytes(operand.address, operand.length * size);
  const first = chunk.first * size;
  const bytes = chunk.tokens * chunk.heads * chunk.head_dim * size;
  const scratch = heap.bytes(heap.scratch, bytes);
  if (placement === undefined || operand !== source) {
    const part = all.subarray(first, first + bytes);
    if (isInput) scratch.set(part);
    else part.set(scratch);
    return;
  }
  // In the scratch block, the chunk is a contiguous tensor that starts at its first batch row, token and head.
  const { batch, token, head } = contiguousPlacement(chunk);
  const offset = -(chunk.batch * batch + chunk.token * token + chunk.head * head);
  const inScratch = { offset, batch, token, head };
  if (isInput) copyHeads(all, placement, scratch, inScratch, chunk, size);
  else copyHeads(scratch, inScratch, all, placement, chunk, size);
}

/** Writes the positions of a chunk, or all of them, to wasm memory at `address`. @internal */
export function placeChunkPositions(
  heap: Heap,
  positions: Positions,
  chunk: Chunk | undefined,
  address: number,
  sequenceLength: number,
): PositionFields {
  const slice = chunk === undefined ? positions : slicePositions(positions, chunk.batch, chunk.token, chunk.tokens);
  return placePositions(heap, slice, address, sequenceLength);
}
