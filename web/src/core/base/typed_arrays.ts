// Typed arrays and lists of numbers that callers pass. The engine's own getters know typed arrays of other realms.

const prototype = Object.getPrototypeOf(Uint8Array.prototype) as object;

function getter(name: PropertyKey): (array: unknown) => unknown {
  const { get } = Object.getOwnPropertyDescriptor(prototype, name) as { get: (this: unknown) => unknown };
  return (array) => get.call(array);
}

const tagOf = getter(Symbol.toStringTag);
const bufferOf = getter("buffer");
const byteOffsetOf = getter("byteOffset");
const byteLengthOf = getter("byteLength");
const lengthOf = getter("length");

/** The name of a typed array's type, such as `Float32Array`; undefined for everything else. @internal */
export function typedArrayName(value: unknown): string | undefined {
  return tagOf(value) as string | undefined;
}

/** The number of elements of a typed array. @internal */
export function typedArrayLength(array: unknown): number {
  return lengthOf(array) as number;
}

/** The bytes of a typed array, as a view of a fixed length; undefined if its buffer is detached. @internal */
export function viewBytes(array: unknown): Uint8Array | undefined {
  try {
    return new Uint8Array(bufferOf(array) as ArrayBuffer, byteOffsetOf(array) as number, byteLengthOf(array) as number);
  } catch {
    return undefined;
  }
}

/** A copy of a typed array, of the same type. A class that extends a typed array may run code here. @internal */
export function sliceOf<T>(array: T): T {
  return Uint8Array.prototype.slice.call(array) as T;
}

/** Array.isArray, whose elements have any type. @internal */
export function isArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** The elements as f64; undefined for an array beyond the end of a buffer that became shorter. */
function copyOf(array: Float64Array): Float64Array | undefined {
  try {
    return new Float64Array(array);
  } catch {
    return undefined;
  }
}

/**
 * A copy of an array of numbers, with each element read once; undefined if `value` is something else, is detached, or has an element that isn't a
 * number. Typed arrays would silently convert strings and nulls, and their bigints aren't numbers. `checkLength` may throw before anything
 * is copied.
 * @internal
 */
export function copyNumbers(value: unknown, checkLength?: (length: number) => void): Float64Array | undefined {
  const name = typedArrayName(value);
  if (name !== undefined) {
    if (name === "BigInt64Array" || name === "BigUint64Array" || viewBytes(value) === undefined) return undefined;
    checkLength?.(typedArrayLength(value));
    return copyOf(value as Float64Array);
  }
  if (!isArray(value)) return undefined;
  const { length } = value;
  checkLength?.(length);
  const copy = new Float64Array(length);
  for (let i = 0; i < length; i++) {
    const element = value[i];
    if (typeof element !== "number") return undefined;
    copy[i] = element;
  }
  return copy;
}
