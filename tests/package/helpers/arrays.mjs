// Arrays for tests: random ones, 16-bit floats by their definition, and comparisons.
import assert from "node:assert/strict";

/** Numbers on [0, 1), the same for the same seed (mulberry32). */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** f32 values on [-2, 2). */
export function randomFloats(length, seed = 1) {
  const next = randomNumbers(seed);
  return Float32Array.from({ length }, () => 4 * next() - 2);
}

export const product = (shape) => shape.reduce((count, extent) => count * extent, 1);

/** Rounds to a multiple of `quantum`, ties to even. Exact, because dividing and multiplying by a power of two is. */
function roundTo(value, quantum) {
  const scaled = value / quantum;
  const below = Math.floor(scaled);
  const rest = scaled - below;
  return (rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below) * quantum;
}

/** The two 16-bit formats: bits of the mantissa, least exponent of a normal number. */
const formats = { f16: { mantissa: 10, least: -14 }, bf16: { mantissa: 7, least: -126 } };

/** The bits of the nearest 16-bit float to a finite number within its range. */
export function toBits(value, dtype) {
  const { mantissa, least } = formats[dtype];
  const magnitude = Math.abs(value);
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  let exponent = Math.max(least, Math.floor(Math.log2(magnitude || 2 ** least)));
  if (2 ** exponent > magnitude && exponent > least) exponent--; // log2 rounds up just below a power of two
  const rounded = roundTo(magnitude, 2 ** (exponent - mantissa));
  // counted in steps of the exponent's quantum, the bits of a positive float are consecutive
  return sign | ((exponent - least) * 2 ** mantissa + rounded / 2 ** (exponent - mantissa));
}

/** The number that 16 bits stand for (finite ones only). */
export function fromBits(bits, dtype) {
  const { mantissa, least } = formats[dtype];
  const sign = bits & 0x8000 ? -1 : 1;
  const field = (bits & 0x7fff) >> mantissa;
  const fraction = (bits & (2 ** mantissa - 1)) / 2 ** mantissa;
  return sign * (field === 0 ? fraction * 2 ** least : (1 + fraction) * 2 ** (field - 1 + least));
}

/** The values as f32, rounded to what a 16-bit format can hold, and the bits that hold them. */
export function to16Bits(values, dtype) {
  const bits = Uint16Array.from(values, (value) => toBits(value, dtype));
  return { bits, floats: Float32Array.from(bits, (b) => fromBits(b, dtype)) };
}

/** Asserts that two arrays hold the same bytes. */
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
