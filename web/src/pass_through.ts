import { bytesOf, dtypeOf, DTYPES, type DType, type ElementArray, sizeOf } from "./elements.js";
import { RopewalkError } from "./errors.js";
import type { Heap } from "./heap.js";
import { placePositions, type Positions, slicePositions } from "./positions.js";
import { type Block, blocksOf, checkLayout, checkShape, elementCount, type Extents, extentsOf, type Layout, LAYOUTS } from "./shape.js";
import { Tensor } from "./tensor.js";
import type { WasmPositions } from "./wasm_module.js";

/** An array or tensor as bytes and an element type, wherever it lies. @internal */
export interface Operand {
  dtype: DType;
  length: number;
  /** Address in wasm memory, or 0 for an array outside it. */
  address: number;
  /** The bytes of an array outside wasm memory. */
  bytes: Uint8Array | undefined;
}

/** Looks where `value` lies. Views of our own memory are used in place. @internal */
export function operandOf(heap: Heap, value: Tensor | ElementArray, dtype: DType | undefined, field: string): Operand {
  if (value instanceof Tensor) {
    if (value.heap !== heap) throw new RopewalkError("INVALID_ARGUMENT", field, "belongs to another load() of the module");
    if (dtype !== undefined && dtype !== value.dtype) throw new RopewalkError("INVALID_DTYPE", "dtype", `is ${dtype}, but the tensor holds ${value.dtype}`);
    return { dtype: value.dtype, length: value.length, address: value.address, bytes: undefined };
  }
  const ownDType = dtypeOf(value, dtype, field);
  if (value.byteLength === 0 && value.length === 0 && value.buffer.byteLength === 0) {
    throw new RopewalkError("INVALID_SHAPE", field, "is empty, or a view of memory that has since moved; take a fresh one");
  }
  const inside = value.buffer === heap.buffer;
  return { dtype: ownDType, length: value.length, address: inside ? value.byteOffset : 0, bytes: inside ? undefined : bytesOf(value) };
}

/** The shape of an array as given; a Tensor has its own, which a given one may only repeat. @internal */
function shapeOf(value: Tensor | ElementArray, given: unknown): readonly number[] {
  if (!(value instanceof Tensor)) return checkShape(given, "shape");
  if (given !== undefined && JSON.stringify(given) !== JSON.stringify(value.shape)) {
    throw new RopewalkError("INVALID_SHAPE", "shape", `is ${JSON.stringify(given)}, but the tensor's own is ${JSON.stringify(value.shape)}`);
  }
  return value.shape;
}

/** Checks that a shape accounts for every element. @internal */
function checkLength(operand: Operand, shape: readonly number[], field: string): void {
  if (operand.length !== elementCount(shape)) {
    throw new RopewalkError("INVALID_SHAPE", "shape", `${JSON.stringify(shape)} has ${elementCount(shape)} elements, but ${field} has ${operand.length}`);
  }
}

/** Checks that `target` can take what `source` holds: the same elements, and no partial overlap. @internal */
function checkTarget(source: Operand, target: Operand): void {
  if (target === source) return;
  if (target.dtype !== source.dtype) throw new RopewalkError("INVALID_DTYPE", "out", `must hold ${source.dtype} as x does (got ${target.dtype})`);
  if (target.length !== source.length) {
    throw new RopewalkError("INVALID_SHAPE", "out", `must have x's ${source.length} elements (got ${target.length})`);
  }
  const distance = distanceOf(source, target);
  if (distance !== 0 && distance < source.length * sizeOf(source.dtype)) {
    throw new RopewalkError("INVALID_ARGUMENT", "out", "must be x itself or not overlap it");
  }
}

/** Bytes from the start of one operand to that of the other; Infinity where they lie in different memory. @internal */
export function distanceOf(one: Operand, other: Operand): number {
  const [a, b] = [one.bytes, other.bytes];
  if (a !== undefined && b !== undefined && a.buffer === b.buffer) return Math.abs(a.byteOffset - b.byteOffset);
  return one.address !== 0 && other.address !== 0 ? Math.abs(one.address - other.address) : Infinity;
}

/** How a tensor is to be read, and where the result goes: what rotate and rerotate have in common. @internal */
export interface TensorOptions {
  layout: Layout;
  shape?: readonly number[];
  dtype?: DType;
  out?: Tensor | ElementArray;
}

/** Checks a tensor, its layout and its target, and looks where they lie. `name` is the argument's, for errors. @internal */
export function openTensor(heap: Heap, head_dim: number, x: Tensor | ElementArray, options: TensorOptions, name: string) {
  const { dtype, out = x } = options;
  const layout = checkLayout(options.layout);
  const shape = shapeOf(x, options.shape);
  const extents = extentsOf(layout, shape, head_dim);
  const source = operandOf(heap, x, dtype, name);
  checkLength(source, shape, name);
  const target = out === x ? source : operandOf(heap, out, dtype, "out");
  checkTarget(source, target);
  return { extents, source, target };
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
    if (bytes > heap.scratchBytes) throw new RopewalkError("INVALID_SHAPE", "shape", "has a token of more than 512 KB; use a Tensor");
    const piece = (operand: Operand): Uint8Array =>
      operand.bytes === undefined ? heap.bytes(operand.address + first, bytes) : operand.bytes.subarray(first, first + bytes);
    heap.bytes(scratch, bytes).set(piece(source));
    pass(scratch, scratch, block, block);
    piece(target).set(heap.bytes(scratch, bytes));
  }
}

/** The positions of a piece, in wasm memory. @internal */
export function positionsOfPart(heap: Heap, positions: Positions, part: Block | undefined, address: number, sequenceLength: number): WasmPositions {
  const of = part === undefined ? positions : slicePositions(positions, part.batch, part.token, part.tokens);
  return placePositions(heap, of, address, sequenceLength);
}

/** The numbers by which the core knows a layout and an element type. @internal */
export const codeOf = {
  layout: (extents: Extents): number => LAYOUTS.indexOf(extents.layout),
  dtype: (dtype: DType): number => DTYPES.indexOf(dtype),
};
