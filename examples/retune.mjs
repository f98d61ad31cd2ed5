// Retunes a cache filled under plain RoPE to YaRN without recomputing a key, then streams tokens through a fixed window at constant memory.
//
//   node examples/retune.mjs [length]
import { load } from "ropewalk";

const rw = await load();
const [heads, kvHeads, head_dim, chunk] = [8, 2, 64, 256];
const length = Number(process.argv[2] ?? 4096);
const plain = { head_dim, rope_theta: 10000, pairing: "half" };
const yarn = { ...plain, rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: length } };

/** Deterministic test vectors that differ from token to token. */
const numbers = (first, tokens, count) =>
  Float32Array.from({ length: tokens * count * head_dim }, (_, i) =>
    Math.sin(first * 0.37 + i * 1.7 + ((i * i) % 101)),
  );
const thd = (tokens, count) => ({ layout: "thd", shape: [tokens, count, head_dim] });
const difference = (a, b) => a.reduce((largest, value, i) => Math.max(largest, Math.abs(value - b[i])), 0);

const fill = (cache) => {
  for (let first = 0; first < length; first += chunk) {
    const count = Math.min(chunk, length - first);
    cache.append({ k: numbers(first, count, kvHeads), v: numbers(first + 1, count, kvHeads), ...thd(count, kvHeads) });
  }
  return cache;
};

const yarnRope = rw.rope(yarn);
const q = yarnRope.rotate(numbers(7, 1, heads), { ...thd(1, heads), positions: length - 1 });
yarnRope.dispose();

/** What that query (the newest token's, under YaRN) gets from a cache: its outputs, and its score with every key. */
const ask = (cache) => {
  const outputs = cache.attend(q, thd(1, heads));
  const { k } = cache.read();
  if (cache.keys === "raw") {
    const rope = rw.rope(cache.config());
    rope.rotate(k, { ...thd(length, kvHeads), positions: cache.positions() });
    rope.dispose();
  }
  const scores = Float32Array.from({ length: length * heads }, (_, i) => {
    const [token, head] = [Math.floor(i / heads), i % heads];
    const from = (token * kvHeads + Math.floor((head * kvHeads) / heads)) * head_dim;
    return (
      k.subarray(from, from + head_dim).reduce((sum, element, j) => sum + element * q[head * head_dim + j], 0) /
      Math.sqrt(head_dim)
    );
  });
  return { outputs, scores };
};

console.log(
  `${length} tokens cached under plain RoPE, then extended by YaRN to ${4 * length}. Largest difference of the newest token's scores and outputs`,
);
console.log("from those of a cache filled under YaRN:\n");
console.log("                 not retuned          retuned");
console.log("  keys           scores    outputs    scores    outputs    in");
for (const [dtype, keys] of [
  ["f32", "rotated"],
  ["f16", "rotated"],
  ["q8_0", "rotated"],
  ["f32", "raw"],
  ["f16", "raw"],
]) {
  const options = { kvHeads, maxLength: length, dtype, keys };
  const cache = fill(rw.kvCache({ ...options, rope: plain }));
  const reference = fill(rw.kvCache({ ...options, rope: yarn }));
  const expected = ask(reference);
  const stale = ask(cache);
  const start = performance.now();
  cache.retune({ rope: yarn });
  const ms = performance.now() - start;
  const retuned = ask(cache);
  const shown = [stale, retuned].flatMap(({ scores, outputs }) => [
    difference(scores, expected.scores),
    difference(outputs, expected.outputs),
  ]);
  const columns = shown.map((value, i) => value.toExponential(1).padEnd(i % 2 === 0 ? 10 : 11)).join("");
  console.log(`  ${keys.padEnd(8)}${dtype.padEnd(7)}${columns}${ms.toFixed(1)} ms`);
  for (const object of [cache, reference]) object.dispose();
}

const [window, keep, discard, stream] = [1024, 4, 256, 100000];
console.log(
  `\n${stream} tokens through a window of ${window}: when it's full, the first ${keep} stay, the next ${discard} are dropped, the rest move up`,
);
const cache = rw.kvCache({ rope: plain, kvHeads, maxLength: window, dtype: "f16" });
const k = rw.tensor([1, kvHeads, head_dim]);
const queries = rw.tensor([1, heads, head_dim]);
// a thousand tokens, again and again
const drawn = Array.from({ length: 1000 }, (_, t) => ({ key: numbers(t, 1, kvHeads), query: numbers(t, 1, heads) }));
let memory = 0;
for (let t = 0; t < stream; t++) {
  if (cache.length === window) cache.shift({ keep, discard });
  const { key, query } = drawn[t % drawn.length];
  k.set(key);
  queries.set(query);
  cache.append({ q: queries, k, v: k, layout: "thd" });
  if (t % 100 === 0) cache.attend(queries, { layout: "thd", out: queries });
  if (t === 2 * window) memory = rw.memoryBytes;
}
console.log(
  `  memory grew by ${rw.memoryBytes - memory} bytes after the first ${2 * window} tokens; the cache holds ${cache.length} tokens at positions 0 to ${cache.positions().at(-1)}`,
);
for (const object of [cache, k, queries]) object.dispose();
