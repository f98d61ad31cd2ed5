// A cache with tokens that invalid calls must not change, for the tests of errors.
import { sameBits } from "./arrays.mjs";
import { appendAll, makeTokens } from "./caches.mjs";
import { raises, rw } from "./runtime.mjs";

export const config = { head_dim: 16, pairing: "half" };
export const good = { rope: config, kvHeads: 2, maxLength: 40 };
export const tokens = makeTokens(30, [
  { kvHeads: 2, headDim: 16 },
  { kvHeads: 1, headDim: 8 },
]);

/** Two layers, the second without RoPE, with 30 tokens. */
export const cache = rw.kvCache({ ...good, layers: [{}, { rope: null, kvHeads: 1, headDim: 8 }] });
appendAll(cache, tokens, { positions: 3 });
const expected = cache.save();

/** Asserts the error, and that nothing has changed. */
export function expectError(act, code, field) {
  raises(act, code, field);
  sameBits(cache.save(), expected, "the cache has changed");
}
