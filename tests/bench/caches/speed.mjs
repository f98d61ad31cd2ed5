// The time of attention from one token over a long cache, by element type, beside f16 with raw and with rotated keys:
//
//   node tests/bench/caches/speed.mjs [simd|relaxed]

import { randomNumbers } from "../../../examples/random_numbers.mjs";
import { load } from "../../../dist/index.node.js";
import { median } from "../measure.mjs";

const [build = "simd"] = process.argv.slice(2);
const TOKENS = 4096;
const ROUNDS = 15;
/** Calls in a round: one is shorter than the clock is fine. */
const CALLS = 4;
const CACHES = [
  { dtype: "f16", keys: "raw" },
  { dtype: "f16", keys: "rotated" },
  { dtype: "q8_0", keys: "rotated" },
  { dtype: "q4_0", keys: "rotated" },
  { dtype: "q4_0", keys: "raw" },
  { dtype: "q4_channel", keys: "raw" },
];
const SHAPES = {
  "SmolLM2-135M: 9 heads of 64 over 3": { heads: 9, kvHeads: 3, headDim: 64 },
  "32 heads of 128 over 8": { heads: 32, kvHeads: 8, headDim: 128 },
};

const rw = await load({ build, threads: 1 });
const random = randomNumbers(1);
const numbers = (length) => Float32Array.from({ length }, () => 2 * random() - 1);

for (const [name, { heads, kvHeads, headDim }] of Object.entries(SHAPES)) {
  const rope = { head_dim: headDim, rope_theta: 1e5, pairing: "half", max_position_embeddings: 2 * TOKENS };
  const [k, v] = [numbers(TOKENS * kvHeads * headDim), numbers(TOKENS * kvHeads * headDim)];
  const caches = CACHES.map((kind) => {
    const cache = rw.kvCache({ rope, kvHeads, maxLength: TOKENS + 1, ...kind });
    for (let at = 0; at < TOKENS; at += 128) {
      const part = (values) => values.subarray(at * kvHeads * headDim, (at + 128) * kvHeads * headDim);
      cache.append({ k: part(k), v: part(v), layout: "thd", shape: [128, kvHeads, headDim] });
    }
    return cache;
  });
  const samples = CACHES.map(() => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, cache] of caches.entries()) {
      const query = numbers(heads * headDim);
      const start = performance.now();
      for (let call = 0; call < CALLS; call++) cache.attend(query, { layout: "thd", shape: [1, heads, headDim] });
      samples[i].push((performance.now() - start) / CALLS);
    }
  }
  console.log(`${name}, ${TOKENS} tokens, one layer, ${build}`);
  for (const [i, { dtype, keys }] of CACHES.entries()) {
    const times = (other) => median(samples[i].map((ms, round) => ms / samples[other][round])).toFixed(2);
    console.log(
      `  ${dtype}, ${keys}: ${median(samples[i]).toFixed(3)} ms, ${times(0)} times f16 raw, ${times(1)} times f16 rotated`,
    );
  }
  for (const cache of caches) cache.dispose();
}
