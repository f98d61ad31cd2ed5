// One attention layer over your own q, k and v: in one call, token by token from a cache, and with other position schemes.
import { load } from "ropewalk";

const rw = await load();
const [tokens, heads, kvHeads, head_dim] = [48, 8, 2, 64];
const numbers = (seed, count) =>
  Float32Array.from({ length: tokens * count * head_dim }, (_, i) => Math.sin(seed + i * i));
const [q, k, v] = [numbers(1, heads), numbers(2, kvHeads), numbers(3, kvHeads)];

const rope = rw.rope({ head_dim, rope_theta: 10000, pairing: "half" });
const shapes = { layout: "thd", shape: [tokens, heads, head_dim], kvShape: [tokens, kvHeads, head_dim] };
const out = rw.attention(q, k, v, { ...shapes, rope });
console.log(
  `attention of ${tokens} tokens, ${heads} heads on ${kvHeads} key heads of ${head_dim}: first outputs ${[...out.slice(0, 4)].map((x) => x.toFixed(4)).join(", ")}`,
);

// The same, the way a model generates: append each token's keys and values to a cache, then attend with its queries.
const difference = (a, b) => a.reduce((largest, value, i) => Math.max(largest, Math.abs(value - b[i])), 0);
const token = (array, count, t) => array.slice(t * count * head_dim, (t + 1) * count * head_dim);
for (const dtype of ["f32", "f16", "q8_0"]) {
  const cache = rw.kvCache({ rope, kvHeads, maxLength: tokens, dtype });
  let largest = 0;
  for (let t = 0; t < tokens; t++) {
    const newest = token(q, heads, t);
    cache.append({
      q: newest,
      k: token(k, kvHeads, t),
      v: token(v, kvHeads, t),
      layout: "thd",
      shape: [1, kvHeads, head_dim],
    }); // also rotates q in place
    const answer = cache.attend(newest, { layout: "thd", shape: [1, heads, head_dim] });
    largest = Math.max(largest, difference(answer, token(out, heads, t)));
  }
  console.log(
    `token by token from a cache of ${dtype.padEnd(4)} (${cache.bytes} bytes): largest difference ${largest.toExponential(1)}`,
  );
  cache.dispose();
}

const windowed = rw.attention(q, k, v, { ...shapes, rope, window: 8, sinkTokens: 2 });
console.log(
  `a window of 8 tokens plus the first 2 as sinks changes outputs by up to ${difference(out, windowed).toFixed(3)}`,
);

console.log("\nhow much the last token's outputs change when two earlier tokens swap places");
const swapped = (array, count) => {
  const copy = array.slice();
  copy.set(token(array, count, 5), 20 * count * head_dim);
  copy.set(token(array, count, 20), 5 * count * head_dim);
  return copy;
};
const schemes = {
  none: {},
  rope: { rope },
  sinusoidal: { position: { scheme: "sinusoidal" } },
  alibi: { position: { scheme: "alibi" } },
};
for (const [name, scheme] of Object.entries(schemes)) {
  const options = { ...shapes, ...scheme };
  const before = rw.attention(q, k, v, options);
  const after = rw.attention(q, swapped(k, kvHeads), swapped(v, kvHeads), options);
  const last = (outputs) => token(outputs, heads, tokens - 1);
  console.log(`  ${name.padEnd(11)} ${difference(last(before), last(after)).toExponential(1)}`);
}
rope.dispose();
