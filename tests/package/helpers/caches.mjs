// Fills caches with random tokens, and compares caches with fresh ones that have the same tokens.
import assert from "node:assert/strict";
import { close, product, randomFloats, sameBits } from "./arrays.mjs";
import { rw, withRope } from "./runtime.mjs";

/** All combinations of element types and key modes. */
export const kinds = ["f32", "f16", "bf16", "q8_0", "q4_0"].flatMap((dtype) =>
  ["rotated", "raw"].map((keys) => ({ dtype, keys })),
);

/** Error of one rounding in a row with the largest magnitude `largest`: half an ulp, or for q8_0 half a step, for q4_0 a step, and the rounding of its f16 scale. */
export function quantumOf(dtype, largest) {
  return {
    f32: largest * 2 ** -24,
    f16: largest * 2 ** -11,
    bf16: largest * 2 ** -8,
    q8_0: largest / 254 + largest * 2 ** -11,
    q4_0: largest / 8 + largest * 2 ** -11,
  }[dtype];
}

/** The options k and v of append(). */
export const keysAndValues = ({ k, v }) => ({ k, v });

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
      const picked = new Float32Array(indices.length * row);
      indices.forEach((from, to) => picked.set(x.subarray(from * row, (from + 1) * row), to * row));
      return picked;
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
 * Asserts that a sequence equals a fresh one with `tokens` appended at `positions`: the same bits of values, and keys within the tolerance of
 * `roundings` roundings and those of the fresh cache.
 *
 * A rounding moves a pair by at most √2 quanta. Later rotations scale this error and the pair's length (at most 2√2) by the ratio of attention
 * factors, at most 1.5 here. Each rotation adds an error of 4 · 2^-24 of the length (reference.mjs).
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
      const [actual, expected] = [cache.read({ layer, sequence }), fresh.read({ layer })];
      sameBits(actual.v, expected.v, `${message}: v of layer ${layer}`);
      close(actual.k, expected.k, tolerance, `${message}: k of layer ${layer}`);
    });
  });
  tokens.forEach(({ kvHeads, headDim }, layer) =>
    expectAttention(cache, { layer, sequence, kvHeads, headDim, message }),
  );
}

/** Asserts that a layer's attention has the same bits as rw.attention over the same keys and values. */
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
    const kvPositions = rope.axes === cache.axes ? all : all.subarray(0, count); // a rope of one axis uses the first
    const positions = kvPositions.filter((_, i) => i % count >= count - tokens);
    const seqLen = Math.max(1, Math.ceil(Math.max(...all)) + 1);
    const scale = rope.plan(seqLen).softmax_scale;
    const actual = cache.attend(
      cache.keys === "rotated" ? q : rope.rotate(q.slice(), { ...given, positions, seqLen }),
      { ...given, layer, sequence },
    );
    const encoding = cache.keys === "rotated" ? {} : { rope, positions, kvPositions };
    expectSame(actual, rw.attention(q, k, v, { ...given, kvShape, scale, ...encoding }));
  });
}
