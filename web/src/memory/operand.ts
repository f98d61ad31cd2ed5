// Array and tensor arguments: checked, with their addresses in wasm memory.
import { areNumbers } from "../base/checks.js";
import { bytesOf, dtypeOf, DTYPES, type DType, type ElementArray, sizeOf } from "./elements.js";
import { fail } from "../base/errors.js";
import { show } from "../base/show.js";
import type { Heap } from "./heap.js";
import { checkLayout, checkShape, elementCount, type Extents, extentsOf, type Layout, LAYOUTS } from "./shape.js";
import { Tensor } from "./tensor.js";
import type { WasmTensor } from "./wasm_module.js";

/** An array or tensor argument, in wasm memory or outside it. @internal */
export interface Operand {
  dtype: DType;
  length: number;
  /** Address in wasm memory, or 0 for an array outside it. */
  address: number;
  /** The bytes of an array outside wasm memory. */
  bytes: Uint8Array | undefined;
}

/** Checks an argument and locates its elements. Views of wasm memory are used in place. @internal */
export function operandOf(
  heap: Heap,
  value: Tensor | ElementArray,
  dtype: DType | undefined,
  field: string,
  dtypeField = "dtype",
): Operand {
  if (value instanceof Tensor) {
    checkSameHeap(heap, value, field);
    if (dtype !== undefined && dtype !== value.dtype)
      fail("INVALID_DTYPE", dtypeField, `must be ${value.dtype}, as the tensor is (got ${dtype})`);
    return { dtype: value.dtype, length: value.length, address: value.address, bytes: undefined };
  }
  const ownDType = dtypeOf(value, dtype, field, dtypeField);
  if (value.byteLength === 0 && value.length === 0 && value.buffer.byteLength === 0) {
    fail("INVALID_SHAPE", field, "is empty, or a view that was detached when wasm memory grew; create a new view");
  }
  const inside = value.buffer === heap.buffer;
  return {
    dtype: ownDType,
    length: value.length,
    address: inside ? value.byteOffset : 0,
    bytes: inside ? undefined : bytesOf(value),
  };
}

/** Checks that a tensor or rope was created by the same load() of the module. @internal */
export function checkSameHeap(heap: Heap, owner: { readonly heap: Heap }, field: string): void {
  if (owner.heap !== heap) fail("INVALID_ARGUMENT", field, "comes from another load(); create it with this one");
}

/** Same as operandOf, for arguments that must be f32. @internal */
export function floatsOf(heap: Heap, value: unknown, field: string): Operand {
  const tag = (value as { [Symbol.toStringTag]?: string } | null | undefined)?.[Symbol.toStringTag];
  if (value instanceof Tensor ? value.dtype !== "f32" : tag !== "Float32Array") {
    fail("INVALID_DTYPE", field, "must be a Float32Array or an f32 Tensor");
  }
  return operandOf(heap, value as Tensor | Float32Array, undefined, field);
}

/** A list of numbers, such as one per head or one per token. */
export type NumberArray = Float32Array | Float64Array | readonly number[];

/** Copies a list of `length` numbers as f32. Returns undefined if there is none. @internal */
export function listOf(value: unknown, length: number, field: string): Operand | undefined {
  if (value === undefined || value === null) return undefined;
  if (!areNumbers(value)) fail("INVALID_ARGUMENT", field, "must be an array of numbers");
  if (value.length !== length) fail("INVALID_SHAPE", field, `must have ${length} entries (got ${value.length})`);
  return { dtype: "f32", length, address: 0, bytes: bytesOf(Float32Array.from(value)) };
}

/** Bytes from the start of one operand to the start of the other; Infinity if they are in different buffers. @internal */
export function distanceOf(one: Operand, other: Operand): number {
  const [a, b] = [one.bytes, other.bytes];
  if (a !== undefined && b !== undefined) return a.buffer === b.buffer ? b.byteOffset - a.byteOffset : Infinity;
  return one.address !== 0 && other.address !== 0 ? other.address - one.address : Infinity;
}

/** Whether two operands have a byte in common. @internal */
export function overlap(one: Operand, other: Operand): boolean {
  const distance = distanceOf(one, other);
  return distance >= 0 ? distance < one.length * sizeOf(one.dtype) : -distance < other.length * sizeOf(other.dtype);
}

/** What errors call the shape and dtype options of an argument. @internal */
export interface OptionNames {
  shape: string;
  dtype: string;
}

/** The options that describe an array argument. @internal */
export interface OperandOptions {
  layout: Layout;
  shape?: readonly number[] | undefined;
  dtype?: DType | undefined;
}

/** An operand with its shape and extents. @internal */
export interface ShapedOperand extends Operand {
  shape: readonly number[];
  extents: Extents;
}

/** Checks an argument, its layout and its shape, and locates its elements. `name` is the argument's name in errors. @internal */
export function openOperand(
  heap: Heap,
  value: Tensor | ElementArray,
  { layout, shape: given, dtype }: OperandOptions,
  head_dim: number | undefined,
  name: string,
  names: OptionNames = { shape: "shape", dtype: "dtype" },
): ShapedOperand {
  checkLayout(layout);
  const shape = shapeOf(value, given, names.shape);
  const extents = extentsOf(layout, shape, head_dim, names.shape);
  const operand = operandOf(heap, value, dtype, name, names.dtype);
  if (operand.length !== elementCount(shape)) {
    fail(
      "INVALID_SHAPE",
      names.shape,
      `${show(shape)} has ${elementCount(shape)} elements, but ${name} has ${operand.length}`,
    );
  }
  const { length, address, bytes } = operand;
  return { dtype: operand.dtype, length, address, bytes, shape, extents }; // not a spread, which would take as long as the rest of a small call
}

/** The given shape of an array, or the shape of a Tensor. A shape given for a Tensor must be the same. */
function shapeOf(value: Tensor | ElementArray, given: unknown, field: string): readonly number[] {
  if (!(value instanceof Tensor)) return checkShape(given, field);
  if (given !== undefined && String(checkShape(given, field)) !== String(value.shape)) {
    fail("INVALID_SHAPE", field, `must be the tensor's shape ${show(value.shape)} (got ${show(given)})`);
  }
  return value.shape;
}

/** Checks that `target` has the element type and length of `source`, the argument `name`, and doesn't overlap it partly. @internal */
export function checkTarget(source: Operand, target: Operand, name = "x"): void {
  if (target === source) return;
  if (target.dtype !== source.dtype)
    fail("INVALID_DTYPE", "out", `must be ${source.dtype}, as ${name} is (got ${target.dtype})`);
  if (target.length !== source.length) {
    fail("INVALID_SHAPE", "out", `must have ${source.length} elements, as ${name} has (got ${target.length})`);
  }
  if (distanceOf(source, target) !== 0 && overlap(source, target)) {
    fail("INVALID_ARGUMENT", "out", `must be ${name} itself, or not overlap it`);
  }
}

/** Codes of layouts and element types in wasm. @internal */
export const codeOf = {
  layout: (extents: Extents): number => LAYOUTS.indexOf(extents.layout),
  dtype: (dtype: DType): number => DTYPES.indexOf(dtype),
};

/** A tensor as an argument of wasm calls. @internal */
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
