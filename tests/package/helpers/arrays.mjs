// Random arrays, a reference implementation of 16-bit floats, and comparisons.
import assert from "node:assert/strict";

/** A generator of numbers in [0, 1), determined by the seed (mulberry32). */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** f32 values in [-2, 2). */
export function randomFloats(length, seed = 1) {
  const next = randomNumbers(seed);
  return Float32Array.from({ length }, () => 4 * next() - 2);
}

export const product = (shape) => shape.reduce((count, extent) => count * extent, 1);

/** Rounds to a multiple of `quantum`, a power of two, ties to even. Exact, because multiplying and dividing by a power of two is exact. */
function roundTo(value, quantum) {
  const scaled = value / quantum;
  const below = Math.floor(scaled);
  const rest = scaled - below;
  return (rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below) * quantum;
}

/** The 16-bit formats: bits of the mantissa, smallest exponent of a normal number. */
const formats = { f16: { mantissa: 10, least: -14 }, bf16: { mantissa: 7, least: -126 } };

/** The bits of the nearest 16-bit float to a finite number within its range. */
export function toBits(value, dtype) {
  const { mantissa, least } = formats[dtype];
  const magnitude = Math.abs(value);
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  let exponent = Math.max(least, Math.floor(Math.log2(magnitude || 2 ** least)));
  if (2 ** exponent > magnitude && exponent > least) exponent--; // log2 rounds up just below a power of two
  const rounded = roundTo(magnitude, 2 ** (exponent - mantissa));
  // the bits of positive floats are consecutive, in steps of the quantum of the exponent
  return sign | ((exponent - least) * 2 ** mantissa + rounded / 2 ** (exponent - mantissa));
}

/** The finite number with these 16 bits. */
export function fromBits(bits, dtype) {
  const { mantissa, least } = formats[dtype];
  const sign = bits & 0x8000 ? -1 : 1;
  const field = (bits & 0x7fff) >> mantissa;
  const fraction = (bits & (2 ** mantissa - 1)) / 2 ** mantissa;
  return sign * (field === 0 ? fraction * 2 ** least : (1 + fraction) * 2 ** (field - 1 + least));
}

/** The values rounded to a 16-bit format, as f32 and as bits. */
export function to16Bits(values, dtype) {
  const bits = Uint16Array.from(values, (value) => toBits(value, dtype));
  return { bits, floats: Float32Array.from(bits, (b) => fromBits(b, dtype)) };
}

/** Asserts that two arrays have the same type and bytes. */
export function sameBits(actual, expected, message = "") {
  assert.equal(actual.constructor, expected.constructor, message);
  assert.equal(actual.length, expected.length, message);
  const bytes = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);
  if (bytes(actual).equals(bytes(expected))) return;
  const index = actual.findIndex((value, i) => !Object.is(value, expected[i]));
  assert.fail(`${message} differs at ${index}: ${actual[index]} instead of ${expected[index]}`);
}

/** Asserts |actual − expected| ≤ tolerance for every element; `tolerance` may be a number or a function of the index. */
export function close(actual, expected, tolerance, message = "") {
  assert.equal(actual.length, expected.length, message);
  for (let i = 0; i < actual.length; i++) {
    const allowed = typeof tolerance === "function" ? tolerance(i) : tolerance;
    if (!(Math.abs(actual[i] - expected[i]) <= allowed)) {
      assert.fail(`${message} element ${i}: ${actual[i]} is not within ${allowed} of ${expected[i]}`);
    }
  }
}
