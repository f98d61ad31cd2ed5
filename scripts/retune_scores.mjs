// Measures what retuning a cache does to attention scores, for the picture of draw_retune.mjs.

import { load } from "ropewalk";

const [head_dim, factor] = [128, 4];
/** Tokens in the cache. */
export const length = 4096;

const plain = { head_dim, rope_theta: 10000, pairing: "half" };
const yarn = { ...plain, rope_scaling: { rope_type: "yarn", factor, original_max_position_embeddings: length } };

/**
 * Scores of the newest token's query with all keys, by distance. All elements of queries and keys are 1 before rotation. `curves` has the
 * scores in f32 of keys recomputed under YaRN, of retuned keys and of stale keys; `errors` their largest errors by element type.
 */
export async function measureRetune() {
  const rw = await load({ build: "simd" }); // it computes the same bits on every machine
  const ones = (tokens) => new Float32Array(tokens * head_dim).fill(1);
  const shape = (tokens) => ({ layout: "thd", shape: [tokens, 1, head_dim] });
  const rope = rw.rope(yarn);
  const { inv_freq, attention_factor, softmax_scale } = rope.plan();
  const query = rope.rotate(ones(1), { ...shape(1), positions: length - 1 });

  const exact = Array.from({ length }, (_, distance) => {
    const cosines = inv_freq.reduce((sum, frequency) => sum + Math.cos(frequency * distance), 0);
    return 2 * cosines * attention_factor ** 2 * softmax_scale;
  });
  const largestError = (scores) => Math.max(...scores.map((score, distance) => Math.abs(score - exact[distance])));

  const fill = (config, dtype) => {
    const cache = rw.kvCache({ rope: config, kvHeads: 1, maxLength: length, dtype });
    cache.append({ k: ones(length), v: ones(length), ...shape(length) });
    return cache;
  };
  const scoresOf = (cache) => {
    const { k } = cache.read();
    const scoreAt = (token) =>
      query.reduce((sum, element, i) => sum + element * k[token * head_dim + i], 0) * softmax_scale;
    return Array.from({ length }, (_, distance) => scoreAt(length - 1 - distance));
  };

  const curves = {};
  const errors = ["f32", "f16", "bf16", "q8_0"].map((dtype) => {
    const [cache, recomputed] = [fill(plain, dtype), fill(yarn, dtype)];
    const [stale, fresh] = [scoresOf(cache), scoresOf(recomputed)];
    cache.retune({ rope: yarn });
    const retuned = scoresOf(cache);
    if (dtype === "f32") Object.assign(curves, { fresh, retuned, stale });
    cache.dispose();
    recomputed.dispose();
    return { dtype, fresh: largestError(fresh), retuned: largestError(retuned), stale: largestError(stale) };
  });
  rope.dispose();
  return { curves, errors };
}
