// Caches and their expected contents: tokens kept in JavaScript, from which another cache can be filled.
import assert from "node:assert/strict";
import { close, product, randomFloats, sameBits } from "./arrays.mjs";
import { rw, withRope } from "./runtime.mjs";

/** All combinations of element types and key modes. */
export const kinds = ["f32", "f16", "bf16", "q8_0"].flatMap((dtype) =>
  ["rotated", "raw"].map((keys) => ({ dtype, keys })),
);

/** Error of one rounding in a row with the largest magnitude `largest`: half an ulp, or for q8_0 half a step and the rounding of its f16 scale. */
export function quantumOf(dtype, largest) {
  return {
    f32: largest * 2 ** -24,
    f16: largest * 2 ** -11,
    bf16: largest * 2 ** -8,
    q8_0: largest / 254 + largest * 2 ** -11,
  }[dtype];
}

/** Keys and values of `count` tokens for each layer, [count, kvHeads, headDim] in [−2, 2). */
export function makeTokens(count, layers, seed = 1) {
  return layers.map(({ kvHeads, headDim }, layer) => {
    const length = count * kvHeads * headDim;
    return {
      count,
      kvHeads,
      headDim,
      k: randomFloats(length, 1000 * seed + 2 * layer),
      v: randomFloats(length, 1000 * seed + 2 * layer + 1),
    };
  });
}

/** Selects tokens by index. */
export function pick(tokens, indices) {
  return tokens.map(({ kvHeads, headDim, k, v }) => {
    const row = kvHeads * headDim;
    const take = (x) => {
      const taken = new Float32Array(indices.length * row);
      indices.forEach((from, to) => taken.set(x.subarray(from * row, (from + 1) * row), to * row));
      return taken;
    };
    return { count: indices.length, kvHeads, headDim, k: take(k), v: take(v) };
  });
}

export const range = (first, end) => Array.from({ length: end - first }, (_, i) => first + i);

/** Appends tokens to a cache, layer by layer. */
export function appendAll(cache, tokens, more = {}) {
  tokens.forEach(({ count, kvHeads, headDim, k, v }, layer) => {
    if (count > 0) cache.append({ k, v, layout: "thd", shape: [count, kvHeads, headDim], layer, ...more });
  });
}

/** Calls `use` with a cache of the same kind, to which `tokens` were appended at `positions` ([axes · count]) in one call. */
export function withFresh(cache, tokens, positions, use) {
  const layers = tokens.map(({ kvHeads, headDim }, layer) => ({ kvHeads, headDim, rope: cache.config(layer) }));
  return withRope(rw.kvCache({ layers, maxLength: cache.maxLength, dtype: cache.dtype, keys: cache.keys }), (fresh) => {
    appendAll(fresh, tokens, { positions });
    return use(fresh);
  });
}

/**
 * Asserts that a sequence holds `tokens` at `positions` as if it had been given them there: values to the bit, keys within a rounding for each
 * of the `roundings` that may have rounded them, and of the fresh cache's own.
 *
 * A rounding moves a pair by √2 quanta at most, and what rotates it later keeps that length but for the ratio of attention factors (at most 1.5
 * here), as it keeps the pair's own length of 2√2 at most. Each rotation is off by 4 · 2^-24 of that (reference.mjs).
 */
export function expectFresh(cache, tokens, positions, { sequence = 0, roundings = 1, message = "" } = {}) {
  const { count } = tokens[0];
  assert.equal(cache.lengthOf(sequence), count, message);
  sameBits(cache.positions(sequence), Float64Array.from(positions), message);
  if (count === 0) return;
  const radius = 2 * Math.SQRT2 * 1.5;
  const raw = cache.keys === "raw";
  const tolerance = raw
    ? 0
    : (roundings + 2) * (1.5 * Math.SQRT2 * quantumOf(cache.dtype, radius) + 4 * 2 ** -24 * radius);
  withFresh(cache, tokens, positions, (fresh) => {
    tokens.forEach((_, layer) => {
      const [held, expected] = [cache.read({ layer, sequence }), fresh.read({ layer })];
      sameBits(held.v, expected.v, `${message}: v of layer ${layer}`);
      close(held.k, expected.k, tolerance, `${message}: k of layer ${layer}`);
    });
  });
  tokens.forEach(({ kvHeads, headDim }, layer) =>
    expectAttention(cache, { layer, sequence, kvHeads, headDim, message }),
  );
}

/** Asserts that a layer attends to what it holds as rw.attention does to the same keys and values, to the bit. */
export function expectAttention(cache, { layer, sequence, kvHeads, headDim, message }) {
  const { k, v } = cache.read({ layer, sequence });
  const count = cache.lengthOf(sequence);
  const config = cache.config(layer);
  const tokens = Math.min(3, count);
  const [shape, kvShape] = [
    [tokens, 2 * kvHeads, headDim],
    [count, kvHeads, headDim],
  ];
  const q = randomFloats(product(shape), 77);
  const given = { layout: "thd", shape };
  const expectSame = (actual, expected) => sameBits(actual, expected, `${message}: attention of layer ${layer}`);
  if (config === null) {
    expectSame(cache.attend(q, { ...given, layer, sequence }), rw.attention(q, k, v, { ...given, kvShape }));
    return;
  }
  withRope(rw.rope(config), (rope) => {
    const all = cache.positions(sequence);
    const kvPositions = rope.axes === cache.axes ? all : all.subarray(0, count); // a rope of one axis goes by the first
    const positions = kvPositions.filter((_, i) => i % count >= count - tokens);
    const seqLen = Math.max(1, Math.ceil(Math.max(...all)) + 1);
    const scale = rope.plan(seqLen).softmax_scale;
    const actual = cache.attend(
      cache.keys === "rotated" ? q : rope.rotate(q.slice(), { ...given, positions, seqLen }),
      { ...given, layer, sequence },
    );
    const encoding = cache.keys === "rotated" ? {} : { position: rope, positions, kvPositions };
    expectSame(actual, rw.attention(q, k, v, { ...given, kvShape, scale, ...encoding }));
  });
}
