import { areNumbers } from "../base/checks.js";
import { bytesOf, dtypeOf, DTYPES, type DType, type ElementArray, sizeOf } from "./elements.js";
import { fail } from "../base/errors.js";
import type { Heap } from "./heap.js";
import { checkLayout, checkShape, elementCount, type Extents, extentsOf, type Layout, LAYOUTS } from "./shape.js";
import { Tensor } from "./tensor.js";
import type { WasmTensor } from "./wasm_module.js";

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
export function operandOf(
  heap: Heap,
  value: Tensor | ElementArray,
  dtype: DType | undefined,
  field: string,
  dtypeField = "dtype",
): Operand {
  if (value instanceof Tensor) {
    if (value.heap !== heap) fail("INVALID_ARGUMENT", field, "belongs to another load() of the module");
    if (dtype !== undefined && dtype !== value.dtype)
      fail("INVALID_DTYPE", dtypeField, `is ${dtype}, but the tensor holds ${value.dtype}`);
    return { dtype: value.dtype, length: value.length, address: value.address, bytes: undefined };
  }
  const ownDType = dtypeOf(value, dtype, field, dtypeField);
  if (value.byteLength === 0 && value.length === 0 && value.buffer.byteLength === 0) {
    fail("INVALID_SHAPE", field, "is empty, or a view of memory that has since moved; take a fresh one");
  }
  const inside = value.buffer === heap.buffer;
  return {
    dtype: ownDType,
    length: value.length,
    address: inside ? value.byteOffset : 0,
    bytes: inside ? undefined : bytesOf(value),
  };
}

/** The same for what has to hold f32. @internal */
export function floatsOf(heap: Heap, value: unknown, field: string): Operand {
  const tag = (value as { [Symbol.toStringTag]?: string } | null | undefined)?.[Symbol.toStringTag];
  if (value instanceof Tensor ? value.dtype !== "f32" : tag !== "Float32Array") {
    fail("INVALID_DTYPE", field, "must be a Float32Array, or a Tensor of f32");
  }
  return operandOf(heap, value as Tensor | Float32Array, undefined, field);
}

/** Lists of as many numbers as are asked for. */
export type NumberArray = Float32Array | Float64Array | readonly number[];

/** Copies a list of `length` numbers as f32; undefined where there is none. @internal */
export function listOf(value: unknown, length: number, field: string): Operand | undefined {
  if (value === undefined || value === null) return undefined;
  if (!areNumbers(value)) fail("INVALID_ARGUMENT", field, "must be an array of numbers");
  if (value.length !== length) fail("INVALID_SHAPE", field, `must have ${length} entries (got ${value.length})`);
  return { dtype: "f32", length, address: 0, bytes: bytesOf(Float32Array.from(value)) };
}

/** Bytes from the start of one operand to that of the other; Infinity where they lie in different memory. @internal */
export function distanceOf(one: Operand, other: Operand): number {
  const [a, b] = [one.bytes, other.bytes];
  if (a !== undefined && b !== undefined) return a.buffer === b.buffer ? b.byteOffset - a.byteOffset : Infinity;
  return one.address !== 0 && other.address !== 0 ? other.address - one.address : Infinity;
}

/** Whether two operands share a byte. @internal */
export function overlap(one: Operand, other: Operand): boolean {
  const distance = distanceOf(one, other);
  return distance >= 0 ? distance < one.length * sizeOf(one.dtype) : -distance < other.length * sizeOf(other.dtype);
}

/** What the arguments that say how a tensor is to be read are called. @internal */
export interface Names {
  shape: string;
  dtype: string;
}

/** How a tensor is to be read. @internal */
export interface Reading {
  layout: Layout;
  shape?: readonly number[] | undefined;
  dtype?: DType | undefined;
}

/** An operand, and its extents in a layout. @internal */
export interface Opened extends Operand {
  shape: readonly number[];
  extents: Extents;
}

/** Checks a tensor and its layout, and looks where it lies. `name` is the argument's, for errors. @internal */
export function openOperand(
  heap: Heap,
  value: Tensor | ElementArray,
  { layout, shape: given, dtype }: Reading,
  head_dim: number | undefined,
  name: string,
  names: Names = { shape: "shape", dtype: "dtype" },
): Opened {
  checkLayout(layout);
  const shape = shapeOf(value, given, names.shape);
  const extents = extentsOf(layout, shape, head_dim, names.shape);
  const operand = operandOf(heap, value, dtype, name, names.dtype);
  if (operand.length !== elementCount(shape)) {
    fail(
      "INVALID_SHAPE",
      names.shape,
      `${JSON.stringify(shape)} has ${elementCount(shape)} elements, but ${name} has ${operand.length}`,
    );
  }
  const { length, address, bytes } = operand;
  return { dtype: operand.dtype, length, address, bytes, shape, extents }; // spread, it would take as long as the rest of a small call
}

/** The shape of an array as given; a Tensor has its own, which a given one may only repeat. */
function shapeOf(value: Tensor | ElementArray, given: unknown, field: string): readonly number[] {
  if (!(value instanceof Tensor)) return checkShape(given, field);
  if (given !== undefined && JSON.stringify(given) !== JSON.stringify(value.shape)) {
    fail("INVALID_SHAPE", field, `is ${JSON.stringify(given)}, but the tensor's own is ${JSON.stringify(value.shape)}`);
  }
  return value.shape;
}

/** Checks that `target` can take what `source`, the argument `name`, holds: the same elements, and no partial overlap. @internal */
export function checkTarget(source: Operand, target: Operand, name = "x"): void {
  if (target === source) return;
  if (target.dtype !== source.dtype)
    fail("INVALID_DTYPE", "out", `must hold ${source.dtype} as ${name} does (got ${target.dtype})`);
  if (target.length !== source.length) {
    fail("INVALID_SHAPE", "out", `must have ${name}'s ${source.length} elements (got ${target.length})`);
  }
  if (distanceOf(source, target) !== 0 && overlap(source, target)) {
    fail("INVALID_ARGUMENT", "out", `must be ${name} itself or not overlap it`);
  }
}

/** The numbers by which the core knows a layout and an element type. @internal */
export const codeOf = {
  layout: (extents: Extents): number => LAYOUTS.indexOf(extents.layout),
  dtype: (dtype: DType): number => DTYPES.indexOf(dtype),
};

/** A tensor as the core is told of it. @internal */
export function tensorAt(dtype: DType, extents: Extents, source: number, target: number): WasmTensor {
  const { batches, tokens, heads, head_dim } = extents;
  return {
    source,
    target,
    dtype: codeOf.dtype(dtype),
    layout: codeOf.layout(extents),
    batches,
    tokens,
    heads,
    head_dim,
  };
}
