// Array and tensor arguments: checked, with their addresses in wasm memory.
import * as advise from "../base/advice.js";
import { type DType, type ElementView, sizeOf, viewElements } from "./elements.js";
import { onnxHint } from "../base/elsewhere.js";
import { fail } from "../base/errors.js";
import { show } from "../base/show.js";
import { copyNumbers, typedArrayName, viewBytes } from "../base/typed_arrays.js";
import type { Heap } from "./heap.js";
import type { Owned } from "./owned.js";
import { checkLayout, checkShape, elementCount, type Extents, extentsOf, type Layout } from "./shape.js";
import { tensorMemory } from "./tensor.js";
import type { TensorMemory } from "./tensor_memory.js";
import type { TensorFields } from "./call_fields.js";

/**
 * An array or tensor argument, in wasm memory or outside it. Its address and bytes are looked up when they are used, because memory may grow until then.
 * @internal
 */
export class Operand {
  readonly dtype: DType;
  readonly length: number;
  readonly #owner: Owned | undefined;
  readonly #address: number;
  /** The bytes of an array outside wasm memory. */
  readonly bytes: Uint8Array | undefined;
  /** Of an argument with a layout; openOperand() sets them. */
  shape: readonly number[] | undefined;
  extents: Extents | undefined;

  private constructor(
    dtype: DType,
    length: number,
    owner: Owned | undefined,
    address: number,
    bytes: Uint8Array | undefined,
  ) {
    this.dtype = dtype;
    this.length = length;
    this.#owner = owner;
    this.#address = address;
    this.bytes = bytes;
  }

  static ofTensor({ dtype, length, owned }: TensorMemory): Operand {
    return new this(dtype, length, owned, 0, undefined);
  }

  static ofView(heap: Heap, { dtype, length, bytes }: ElementView): Operand {
    const inside = heap.isMemory(bytes.buffer); // then its address stays the same when memory grows
    return new this(dtype, length, undefined, inside ? bytes.byteOffset : 0, inside ? undefined : bytes);
  }

  static ofFloats(floats: Float32Array): Operand {
    return new this("f32", floats.length, undefined, 0, viewBytes(floats));
  }

  /** Address in wasm memory, or 0 for an array outside it. Throws DISPOSED. */
  get address(): number {
    return this.#owner === undefined ? this.#address : this.#owner.address;
  }
}

/** Checks an argument and finds its elements. Views of wasm memory are used in place. @internal */
export function operandOf(
  heap: Heap,
  value: unknown,
  dtype: DType | undefined,
  field: string,
  dtypeField = "dtype",
): Operand {
  const tensor = tensorMemory(value);
  if (tensor === undefined) return Operand.ofView(heap, viewElements(value, dtype, field, dtypeField));
  checkSameHeap(heap, tensor.owned, field);
  tensor.owned.check();
  if (dtype !== undefined && dtype !== tensor.dtype)
    fail("INVALID_DTYPE", dtypeField, `must be ${tensor.dtype}, as the tensor is (got ${show(dtype)})`);
  return Operand.ofTensor(tensor);
}

/** Checks that a tensor or rope was created by the same load() of the module. @internal */
export function checkSameHeap(heap: Heap, owner: { readonly heap: Heap }, field: string): void {
  if (owner.heap !== heap)
    fail("INVALID_ARGUMENT", field, "comes from another load()", advise.code("create it with this one"));
}

/** Same as operandOf, for arguments that must be f32. @internal */
export function floatsOf(heap: Heap, value: unknown, field: string): Operand {
  const tensor = tensorMemory(value);
  if (tensor === undefined ? typedArrayName(value) !== "Float32Array" : tensor.dtype !== "f32") {
    fail("INVALID_DTYPE", field, "must be a Float32Array or an f32 Tensor", onnxHint(value));
  }
  return operandOf(heap, value, undefined, field);
}

/** A list of numbers, such as one per head or one per token. */
export type NumberArray = Float32Array | Float64Array | readonly number[];

/** Copies a list of `length` numbers as f32. Returns undefined if there is none. @internal */
export function listOf(value: unknown, length: number, field: string): Operand | undefined {
  if (value === undefined || value === null) return undefined;
  const numbers = copyNumbers(value, (given) => {
    if (given !== length) fail("INVALID_SHAPE", field, `must have ${length} entries (got ${given})`);
  });
  if (numbers === undefined) fail("INVALID_ARGUMENT", field, "must be an array of numbers", onnxHint(value));
  return Operand.ofFloats(new Float32Array(numbers));
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
export type ShapedOperand = Operand & { shape: readonly number[]; extents: Extents };

/** Checks an argument, its layout and its shape, and finds its elements. `name` is the argument's name in errors. @internal */
export function openOperand(
  heap: Heap,
  value: unknown,
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
  operand.shape = shape;
  operand.extents = extents;
  return operand as ShapedOperand;
}

/** The given shape of an array, or the shape of a Tensor. A shape given for a Tensor must be the same. */
function shapeOf(value: unknown, given: unknown, field: string): readonly number[] {
  const tensor = tensorMemory(value);
  if (tensor === undefined) return checkShape(given, field);
  if (given !== undefined && String(checkShape(given, field)) !== String(tensor.shape)) {
    fail("INVALID_SHAPE", field, `must be the tensor's shape ${show(tensor.shape)} (got ${show(given)})`);
  }
  return tensor.shape;
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

const LAYOUT_CODES: Record<Layout, number> = { bthd: 0, bhtd: 1, thd: 2 };
const DTYPE_CODES: Record<DType, number> = { f32: 0, f16: 1, bf16: 2 };

/** Codes of layouts and element types in wasm. @internal */
export const codeOf = {
  layout: (extents: Extents): number => LAYOUT_CODES[extents.layout],
  dtype: (dtype: DType): number => DTYPE_CODES[dtype],
};

/** A tensor as an argument of wasm calls. @internal */
export function tensorAt(dtype: DType, extents: Extents, source: number, target: number): TensorFields {
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
