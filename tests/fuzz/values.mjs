// Values that a user or a file may give: valid ones, boundaries, and ones of other types.
import assert from "node:assert/strict";

export const EDGE_NUMBERS = [
  ...[0, -0, 1, -1, 2, 0.5, 1.5, 7, 31, 32, 64, 127, 128, 255, 4096, 8192, 8193, 1e6, 1e30, 1e-30, 1e308, 5e-324],
  ...[2 ** 24, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53, 2 ** 53 + 2, -(2 ** 31), -(2 ** 53)],
  ...[Math.PI, 1 + 2 ** -52, NaN, Infinity, -Infinity],
];

/** Values that options and configs never accept, or accept by accident. */
export function strangeValue(random) {
  return random.pick([
    () => random.pick(EDGE_NUMBERS),
    () => random.pick(["", "0", "1", "half", "__proto__", "constructor", "x".repeat(1000), "\u202e\u001b[2J"]),
    () => random.pick([null, undefined, true, false]),
    () => random.pick([10n, -(2n ** 70n), Symbol("s"), Symbol.iterator]),
    () => random.pick([[], [1], [1, "2"], [NaN], new Array(3), [[1]], new Float32Array(2), new BigInt64Array(2)]),
    () => random.pick([{}, { length: 3 }, Object.create(null), new Date(0), new Map(), () => 1, new Proxy({}, {})]),
    () => JSON.parse('{ "__proto__": { "polluted": 1 }, "constructor": 1 }'),
  ])();
}

/** Mostly `valid()`, else an edge number or a strange value. */
export function mostly(random, valid, { share = 0.97 } = {}) {
  if (random.chance(share)) return valid();
  return random.chance(0.5) ? random.pick(EDGE_NUMBERS) : strangeValue(random);
}

/** A number between two positive numbers, evenly distributed in its logarithm. */
export function logBetween(random, low, high) {
  return low * (high / low) ** random.unit();
}

/** Calls `act`. Returns `[result]`, or the code of the RopewalkError that it throws. Any other error is a failure. */
export function attempt(act) {
  try {
    return [act()];
  } catch (error) {
    return codeOf(error);
  }
}

/** The same for a function that returns a promise. */
export async function attemptAsync(act) {
  try {
    return [await act()];
  } catch (error) {
    return codeOf(error);
  }
}

function codeOf(error) {
  if (error?.name !== "RopewalkError") throw error;
  assert.ok(typeof error.code === "string" && typeof error.field === "string" && error.message.length > 0);
  return error.code;
}
