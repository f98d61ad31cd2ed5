import { codeIn } from "../base/checks.js";
import { fail } from "../base/errors.js";

/** Element types of tensors. Arithmetic is always f32; 16-bit values are rounded once, to nearest even. */
export const DTYPES = ["f32", "f16", "bf16"] as const;
/** One of {@link DTYPES}. */
export type DType = (typeof DTYPES)[number];

/**
 * Element types in which a cache holds keys and values. `q8_0` is GGUF's: blocks of 32 elements, each an f16 scale and 32 signed bytes, so
 * 8.5 bits an element.
 */
export const CACHE_DTYPES = ["f32", "f16", "bf16", "q8_0"] as const;
/** One of {@link CACHE_DTYPES}. */
export type CacheDType = (typeof CACHE_DTYPES)[number];

/** Where an engine has it, a 16-bit float array of its own. Structural, because older TypeScript libraries do not name it. */
export interface Float16ArrayLike {
  readonly [Symbol.toStringTag]: "Float16Array";
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  readonly byteLength: number;
  readonly length: number;
}

/** Arrays whose elements can be rotated: f32, or 16 bits wide (f16 or bf16). */
export type ElementArray = Float32Array | Uint16Array | Float16ArrayLike;

/** Bytes of one element. @internal */
export function sizeOf(dtype: DType): number {
  return dtype === "f32" ? 4 : 2;
}

/** Checks that `value` is the name of an element type. @internal */
export function checkDType(value: unknown, field = "dtype"): DType {
  codeIn(DTYPES, value, field, "INVALID_DTYPE");
  return value as DType;
}

/** The element type of an array: its own, or for a Uint16Array the one that `dtype`, given in `dtypeField`, names. @internal */
export function dtypeOf(array: unknown, dtype: DType | undefined, field: string, dtypeField = "dtype"): DType {
  const tag = (array as { [Symbol.toStringTag]?: string } | null)?.[Symbol.toStringTag];
  const given = dtype === undefined ? undefined : checkDType(dtype, dtypeField);
  if (tag === "Uint16Array") {
    if (given === "f16" || given === "bf16") return given;
    fail("INVALID_DTYPE", dtypeField, "must say whether a Uint16Array holds f16 or bf16");
  }
  const own = tag === "Float32Array" ? "f32" : tag === "Float16Array" ? "f16" : undefined;
  if (own === undefined) {
    fail("INVALID_DTYPE", field, "must be a Tensor, a Float32Array, or a Uint16Array or Float16Array of 16-bit floats");
  }
  if (given !== undefined && given !== own)
    fail("INVALID_DTYPE", dtypeField, `is ${given}, but a ${String(tag)} holds ${own}`);
  return own;
}

/** The bytes of an array, as they lie. @internal */
export function bytesOf(array: ElementArray): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** A new array of a table's elements. Throws OUT_OF_MEMORY. @internal */
export function newElements<D extends DType>(dtype: D, length: number): D extends "f32" ? Float32Array : Uint16Array;
export function newElements(dtype: DType, length: number): Float32Array | Uint16Array {
  try {
    return dtype === "f32" ? new Float32Array(length) : new Uint16Array(length);
  } catch (cause) {
    fail("OUT_OF_MEMORY", "positions", `a table of ${length} elements cannot be had; ask for fewer positions`, {
      cause,
    });
  }
}
