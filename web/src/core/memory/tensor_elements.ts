// Copies numbers or bits into a tensor.
import { fail, RopewalkError } from "../base/errors.js";
import { copyNumbers, typedArrayLength, typedArrayName, viewBytes } from "../base/typed_arrays.js";
import type { DType } from "./elements.js";
import type { TensorMemory } from "./tensor_memory.js";

/** Copies `elements` into a tensor. @internal */
export function copyElements(tensor: TensorMemory, elements: unknown): void {
  const { dtype } = tensor;
  const name = typedArrayName(elements);
  if (name !== undefined) checkLength(tensor, typedArrayLength(elements));
  const isBits =
    dtype === "f32" ? name === "Float32Array" : name === "Uint16Array" || (name === "Float16Array" && dtype === "f16");
  if (isBits) {
    const { data } = tensor;
    new Uint8Array(data.buffer, data.byteOffset, data.byteLength).set(viewBytes(elements) ?? []);
    return;
  }
  const numbers = copyNumbers(name === undefined ? listOf(tensor, elements) : elements);
  if (numbers === undefined) fail("INVALID_ARGUMENT", "elements", "must be an array of numbers");
  if (dtype === "f32") tensor.data.set(numbers);
  else writeBits(numbers, dtype, tensor.data as Uint16Array);
}

function checkLength(tensor: TensorMemory, length: unknown): void {
  if (length === tensor.length) return;
  const got = typeof length === "number" ? length : "no length";
  fail("INVALID_SHAPE", "elements", `must have ${tensor.length} elements, as the tensor has (got ${got})`);
}

/** The elements of an array, or of another object with a length and indices. */
function listOf(tensor: TensorMemory, elements: unknown): unknown[] {
  try {
    const { length } = elements as ArrayLike<unknown>;
    if (typeof elements === "object") checkLength(tensor, length);
    return Array.from({ length: tensor.length }, (_, i) => (elements as ArrayLike<unknown>)[i]);
  } catch (cause) {
    if (cause instanceof RopewalkError) throw cause;
    fail("INVALID_ARGUMENT", "elements", "must be an array of numbers", { cause }); // null
  }
}

/** Fraction bits, smallest exponent, and bits of infinity of each 16-bit type. NaN is infinity with the highest fraction bit. */
const FORMATS = {
  f16: { fractionBits: 10, minExponent: -14, infinity: 0x7c00 },
  bf16: { fractionBits: 7, minExponent: -126, infinity: 0x7f80 },
};

/** Rounds numbers to 16 bits: once, from f64, to nearest even. */
function writeBits(numbers: Float64Array, dtype: Exclude<DType, "f32">, bits: Uint16Array): void {
  const { fractionBits, minExponent, infinity } = FORMATS[dtype];
  const words = new Uint32Array(numbers.buffer, numbers.byteOffset, 2 * numbers.length);
  for (let i = 0; i < numbers.length; i++) {
    const value = numbers[i]!;
    const high = words[2 * i + 1]!;
    const sign = (high >>> 16) & 0x8000;
    const exponent = Math.max(((high >>> 20) & 0x7ff) - 1023, minExponent);
    // In units of the last place, a number below 2^52 is rounded by adding 2^52. A fraction that rounds up carries into the exponent.
    const units = Math.abs(value) * 2 ** (fractionBits - exponent) + 2 ** 52 - 2 ** 52;
    const magnitude = Math.min((exponent - minExponent) * 2 ** fractionBits + units, infinity);
    bits[i] = sign | (value !== value ? infinity | (1 << (fractionBits - 1)) : magnitude);
  }
}
