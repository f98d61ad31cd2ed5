// Position maps and log-n scaling in attention() and caches: values of their definitions in f64, equal bits however a text is read, and what is refused.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "ropewalk";
import { randomFloats, sameBits } from "../helpers/arrays.mjs";
import { isExact, raises, rw, withRope } from "../helpers/runtime.mjs";

const config = { head_dim: 16, pairing: "half", rope_theta: 1000 };
const MAPS = [
  { type: "self_extend", group_size: 4, window: 10 },
  { type: "rerope", window: 24 },
  { type: "dual_chunk", chunk_size: 50, local_size: 13 },
  { type: "lm_infinite", window: 33, sink_tokens: 3 },
];

/** The distance of a query and a key under a map; undefined for a key that the query doesn't see. */
function distance(map, p, k) {
  const d = p - k;
  if (map.type === "self_extend") {
    const { group_size: g, window: w } = map;
    return d < w ? d : Math.floor(p / g) + w - Math.floor(w / g) - Math.floor(k / g);
  }
  if (map.type === "dual_chunk") {
    const [size, c] = [map.chunk_size, map.chunk_size - map.local_size];
    const apart = Math.floor(p / c) - Math.floor(k / c);
    const query = [p % c, Math.min((p % c) + c, size)][apart] ?? Math.min(2 * c - 1, size);
    return query - (k % c);
  }
  return map.type === "rerope" || d < map.window || k < map.sink_tokens ? Math.min(d, map.window) : undefined;
}

/** Attention of one head over [tokens, dim] rows, in f64. */
function reference({ q, k, v, tokens, dim, plan, map, logn = () => 1 }) {
  const out = new Float64Array(tokens * dim);
  for (let p = 0; p < tokens; p++) {
    const scores = [];
    for (let key = 0; key <= p; key++) {
      const d = distance(map, p, key);
      if (d === undefined) continue;
      let score = 0;
      plan.inv_freq.forEach((w, j) => {
        const [c, s] = [Math.cos(d * w), Math.sin(d * w)];
        const [a, b] = [q[p * dim + j], q[p * dim + dim / 2 + j]];
        const [x, y] = [k[key * dim + j], k[key * dim + dim / 2 + j]];
        score += (a * c - b * s) * x + (b * c + a * s) * y;
      });
      scores.push([key, score * plan.attention_factor ** 2 * plan.softmax_scale * logn(p)]);
    }
    const largest = Math.max(...scores.map(([, score]) => score));
    const sum = scores.reduce((total, [, score]) => total + Math.exp(score - largest), 0);
    for (const [key, score] of scores)
      for (let i = 0; i < dim; i++) out[p * dim + i] += (Math.exp(score - largest) / sum) * v[key * dim + i];
  }
  return out;
}

const planOf = (rope, seqLen) => withRope(rw.rope(rope), (made) => made.plan(seqLen));
const yarn = { rope_type: "yarn", factor: 4, original_max_position_embeddings: 32 };
const TOKENS = 600; // more than a chunk of 512 keys
const [q, k, v] = [1, 2, 3].map((seed) => randomFloats(TOKENS * 16, seed).map((x) => 2 * x));
const shape = [TOKENS, 1, 16];

/** Reads the tokens of a sequence in pieces, and returns what attention makes of them. */
function readIn(pieces, cache) {
  const parts = [];
  for (let at = 0, i = 0; at < TOKENS; i++) {
    const count = Math.min(pieces[i % pieces.length], TOKENS - at);
    const piece = (x) => x.slice(at * 16, (at + count) * 16);
    const given = { q: piece(q), k: piece(k), v: piece(v), layout: "thd", shape: [count, 1, 16] };
    cache.append(given);
    parts.push(...cache.attend(given.q, { layout: "thd", shape: [count, 1, 16] }));
    at += count;
  }
  cache.dispose();
  return Float32Array.from(parts);
}

for (const map of MAPS) {
  test(`${map.type}: the values of its definition, and the same bits read at once, in pieces and by scalar kernels`, async () => {
    for (const rope of [config, { ...config, rope_scaling: yarn, logn: { length: 100 } }]) {
      const mapped = { ...rope, position_map: map };
      const logn = rope.logn && ((p) => Math.max(1, Math.log(p + 1) / Math.log(100)));
      const expected = reference({
        q,
        k,
        v,
        tokens: TOKENS,
        dim: 16,
        plan: planOf(rope, TOKENS),
        map,
        ...(logn && { logn }),
      });
      const whole = withRope(rw.rope(mapped), (made) => rw.attention(q, k, v, { layout: "thd", shape, rope: made }));
      const difference = whole.reduce((most, x, i) => Math.max(most, Math.abs(x - expected[i])), 0);
      assert.ok(difference < 2e-5, `off by ${difference}`);
      const cacheOf = (runtime) => runtime.kvCache({ rope: mapped, kvHeads: 1, maxLength: TOKENS });
      const read = readIn([TOKENS], cacheOf(rw));
      sameBits(read, whole);
      sameBits(readIn([7, 1, 90, 33], cacheOf(rw)), read);
      if (isExact) sameBits(readIn([TOKENS], cacheOf(await load({ build: "scalar" }))), read);
    }
  });
}

test("log-n scaling with its scale and power, on rotated keys, changes live", () => {
  const map = { type: "rerope", window: 1e6 }; // plain RoPE
  const logn = { length: 40, scale: 0.1, power: 2 };
  const factor = (p) => Math.max(1, (1 + 0.1 * Math.log((p + 1) / 40)) ** 2);
  const cache = rw.kvCache({ rope: config, kvHeads: 1, maxLength: TOKENS, keys: "rotated" });
  cache.retune({ rope: { ...config, logn } });
  const expected = reference({ q, k, v, tokens: TOKENS, dim: 16, plan: planOf(config, TOKENS), map, logn: factor });
  const difference = readIn([50], cache).reduce((most, x, i) => Math.max(most, Math.abs(x - expected[i])), 0);
  assert.ok(difference < 2e-5, `off by ${difference}`);
});

test("retune() sets, changes and removes a map on raw keys: attention is that of a new cache", () => {
  const cache = rw.kvCache({ rope: config, kvHeads: 1, maxLength: TOKENS, keys: "raw" });
  const last = { q: q.slice(-16), layout: "thd", shape: [1, 1, 16] };
  const attended = (from) => from.attend(last.q.slice(), { layout: "thd", shape: [1, 1, 16] });
  cache.append({ k, v, layout: "thd", shape });
  for (const position_map of [...MAPS, null]) {
    const rope = { ...config, position_map };
    cache.retune(rope);
    const fresh = rw.kvCache({ rope, kvHeads: 1, maxLength: TOKENS, keys: "raw" });
    fresh.append({ k, v, layout: "thd", shape });
    if (position_map === null) continue; // its queries are rotated by append()
    sameBits(attended(cache), attended(fresh));
    fresh.dispose();
  }
  cache.dispose();
});

test("shift() and truncate() leave what a map needs: the same bits as the remaining tokens alone", () => {
  for (const position_map of MAPS) {
    const make = () => rw.kvCache({ rope: { ...config, position_map }, kvHeads: 1, maxLength: TOKENS });
    const [cache, fresh] = [make(), make()];
    const rows = (x, from, to) => x.slice(from * 16, to * 16);
    cache.append({ k, v, layout: "thd", shape });
    cache.truncate(500);
    cache.shift({ keep: 4, discard: 96 });
    const kept = (x) => Float32Array.from([...rows(x, 0, 4), ...rows(x, 100, 500)]);
    fresh.append({ k: kept(k), v: kept(v), layout: "thd", shape: [404, 1, 16] });
    const one = { layout: "thd", shape: [1, 1, 16] };
    sameBits(cache.attend(rows(q, 0, 1), one), fresh.attend(rows(q, 0, 1), one));
    const more = { k: rows(k, 0, 9), v: rows(v, 0, 9), layout: "thd", shape: [9, 1, 16] };
    for (const each of [cache, fresh]) each.append(more);
    sameBits(cache.attend(rows(q, 1, 2), one), fresh.attend(rows(q, 1, 2), one));
    cache.dispose();
    fresh.dispose();
  }
});

test("caches choose raw keys for a map, and refuse rotated ones and positions that aren't consecutive", () => {
  const mapped = { ...config, position_map: MAPS[0] };
  const options = { kvHeads: 1, maxLength: 64 };
  const cache = rw.kvCache({ rope: mapped, ...options });
  assert.equal(cache.keys, "raw");
  raises(() => rw.kvCache({ rope: mapped, ...options, keys: "rotated" }), "INVALID_ARGUMENT", "keys");
  const rotated = rw.kvCache({ rope: config, ...options });
  raises(() => rotated.retune(mapped), "INVALID_ARGUMENT", "keys");
  const two = { k: new Float32Array(32), v: new Float32Array(32), layout: "thd", shape: [2, 1, 16] };
  raises(() => cache.append({ ...two, positions: [3, 5] }), "INVALID_POSITION", "positions");
  raises(() => cache.append({ ...two, positions: [0.5, 1.5] }), "INVALID_POSITION", "positions");
  cache.append({ ...two, positions: [3, 4] });
  raises(() => cache.append({ ...two, positions: [6, 7] }), "INVALID_POSITION", "positions");
  raises(() => cache.retune({ positions: [0, 2] }), "INVALID_POSITION", "positions");
  cache.retune({ positions: 100 });
  const apart = rw.kvCache({ rope: config, ...options, keys: "raw" });
  apart.append({ ...two, positions: [0, 7] });
  raises(() => apart.retune(mapped), "INVALID_POSITION", "positions");
  for (const each of [cache, rotated, apart]) each.dispose();
});

test("what has one rotation for a token refuses a map by its name", () => {
  const rope = { ...config, position_map: MAPS[1] };
  const x = new Float32Array(32);
  withRope(rw.rope(rope), (made) => {
    raises(() => made.rotate(x, { layout: "thd", shape: [2, 1, 16], positions: 0 }), "INVALID_CONFIG", "position_map");
    raises(() => made.table([0, 1]), "INVALID_CONFIG", "position_map");
    raises(
      () => rw.attention(x, x, x, { layout: "thd", shape: [2, 1, 16], causal: false, rope: made }),
      "INVALID_ARGUMENT",
      "causal",
    );
  });
});
