// Element types of tensors and arrays.
import * as advise from "../base/advice.js";
import { show } from "../base/show.js";
import { codeIn } from "../base/checks.js";
import { onnxHint } from "../base/elsewhere.js";
import { fail } from "../base/errors.js";
import { typedArrayName, viewBytes } from "../base/typed_arrays.js";

/** Element types of tensors. Arithmetic is always f32. 16-bit results are rounded once, to nearest even. */
export const DTYPES = ["f32", "f16", "bf16"] as const;
/** One of {@link DTYPES}. */
export type DType = (typeof DTYPES)[number];

/**
 * Element types of cached keys and values. `q8_0` and `q4_0` are GGUF's formats: blocks of 32 elements, each with an f16 scale and 32 integers of
 * 8 or 4 bits (8.5 or 4.5 bits per element). `q4_channel` stores 4.6 bits per element, for raw keys only: keys share scales by channel, over 32
 * tokens, values by token as in `q4_0`. The newest 32 to 63 tokens stay f16, and the first 32 become `q8_0`.
 */
export const CACHE_DTYPES = ["f32", "f16", "bf16", "q8_0", "q4_0", "q4_channel"] as const;
/** One of {@link CACHE_DTYPES}. */
export type CacheDType = (typeof CACHE_DTYPES)[number];

/** The engine's Float16Array, where it exists. A structural type, because older TypeScript libraries don't declare it. */
export interface Float16ArrayLike {
  readonly [Symbol.toStringTag]: "Float16Array";
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  readonly byteLength: number;
  readonly length: number;
}

/** Arrays that can be rotated: f32, or 16 bits wide (f16 or bf16). */
export type ElementArray = Float32Array | Uint16Array | Float16ArrayLike;

/** Size of an element in bytes. @internal */
export function sizeOf(dtype: DType): number {
  return dtype === "f32" ? 4 : 2;
}

/** Checks that `value` is the name of an element type. @internal */
export function checkDType(value: unknown, field = "dtype"): DType {
  codeIn(DTYPES, value, field, "INVALID_DTYPE");
  return value as DType;
}

/** An array argument: its element type and length, and its bytes as a view of a fixed length. @internal */
export interface ElementView {
  dtype: DType;
  length: number;
  bytes: Uint8Array;
}

/**
 * Reads an array argument, once. The element type of a Uint16Array is `dtype`, which the caller passed in the option `dtypeField`.
 * @internal
 */
export function viewElements(array: unknown, dtype: unknown, field: string, dtypeField = "dtype"): ElementView {
  const name = typedArrayName(array);
  const polyfill = name === undefined ? viewOfPolyfill(array) : undefined;
  const own = dtypeOf(polyfill === undefined ? name : "Float16Array", array, dtype, field, dtypeField);
  const bytes = polyfill ?? viewBytes(array);
  if (bytes === undefined) {
    fail(
      "INVALID_SHAPE",
      field,
      "is detached, as a view is when wasm memory has grown",
      advise.code("create a new view"),
    );
  }
  return { dtype: own, length: bytes.length / sizeOf(own), bytes };
}

function dtypeOf(name: string | undefined, array: unknown, dtype: unknown, field: string, dtypeField: string): DType {
  const given = dtype === undefined ? undefined : checkDType(dtype, dtypeField);
  if (name === "Uint16Array") {
    if (given === "f16" || given === "bf16") return given;
    fail("INVALID_DTYPE", dtypeField, `must be "f16" or "bf16" for a Uint16Array (got ${show(dtype)})`);
  }
  const own = name === "Float32Array" ? "f32" : name === "Float16Array" ? "f16" : undefined;
  if (own === undefined) {
    fail(
      "INVALID_DTYPE",
      field,
      "must be a Tensor, a Float32Array, a Float16Array, or a Uint16Array of f16 or bf16 bits",
      onnxHint(array),
    );
  }
  if (given !== undefined && given !== own)
    fail("INVALID_DTYPE", dtypeField, `must be ${own} for a ${name} (got ${given})`);
  return own;
}

/** The bytes of an object with the tag and the properties of a Float16Array, which libraries have for engines without one. */
function viewOfPolyfill(array: unknown): Uint8Array | undefined {
  try {
    const { [Symbol.toStringTag]: tag, buffer, byteOffset, length } = array as Partial<Float16ArrayLike>;
    if (tag !== "Float16Array" || buffer === undefined || length === undefined) return undefined;
    const view = new Uint8Array(buffer, byteOffset, 2 * length);
    return view.buffer === buffer && view.length === 2 * length ? view : undefined;
  } catch {
    return undefined; // null, or not what its tag says
  }
}

/** A new array for the elements of a table. Throws OUT_OF_MEMORY. @internal */
export function newElements<D extends DType>(dtype: D, length: number): D extends "f32" ? Float32Array : Uint16Array;
export function newElements(dtype: DType, length: number): Float32Array | Uint16Array {
  try {
    return dtype === "f32" ? new Float32Array(length) : new Uint16Array(length);
  } catch (cause) {
    fail("OUT_OF_MEMORY", "positions", `out of memory for a table of ${length} elements`, {
      ...advise.other("request fewer positions"),
      cause,
    });
  }
}
