// Benchmark cases of attention, caches and linear attention. Every line is a ratio within this run.
import { race, ratio, repeatedly } from "./measure.mjs";

const HEADS = 32;
const KV_HEADS = 8;
const HEAD_DIM = 128;
export const ROPE = { head_dim: HEAD_DIM, rope_theta: 1e6, pairing: "half" };
const YARN = { ...ROPE, rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 32768 } };
const LENGTHS = [4096, 32768];
const DTYPES = {
  f32: { bytes: 4, target: 0.5 },
  f16: { bytes: 2, target: 0.3 },
  q8_0: { bytes: 34 / 32, target: 0.3 },
  q4_0: { bytes: 18 / 32, target: 0.3 },
};
/** For which there is a loop of nothing but loads, multiply-adds and exponentials, in the order of DType. */
const BOUND_DTYPES = ["f32", "f16"];
/** Shapes of models: query heads, key heads and head_dim of SmolLM2-135M, Qwen2.5-0.5B, Qwen3-0.6B and of larger models. */
export const SHAPES = [
  [9, 3, 64],
  [14, 2, 64],
  [16, 8, 128],
  [HEADS, KV_HEADS, HEAD_DIM],
];
const CHUNK = 512; // tokens appended at a time
const BLOCK = 32; // keys of a page
const ROWS = 256; // of cos and sin that a retune computes before it rotates their keys
const ROTATED = ["f32", "f16", "bf16"]; // in the order of DType
const MB = 1 << 20;

/** Takes the arguments of runCases (cases.mjs). */
export function runCases({ rw, module, report }) {
  promptMemory(rw, report); // first, as wasm memory never shrinks, so growth in earlier cases would hide this one's
  for (const dtype of Object.keys(DTYPES)) for (const tokens of LENGTHS) oneToken(rw, module, dtype, tokens, report);
  for (const dtype of BOUND_DTYPES) for (const shape of SHAPES) againstLoop(rw, module, dtype, shape, report);
  window(rw, report);
  prompt(rw, module, report);
  for (const dtype of ROTATED) {
    for (const pairing of ["half", "interleaved"]) retune(rw, module, { dtype, pairing }, report);
  }
  linear(rw, report);
}

/** Fills a tensor with numbers between −1 and 1 that don't repeat within a head. */
export function fill(tensor) {
  const { data } = tensor;
  for (let i = 0; i < data.length; i++) data[i] = Math.sin(i * 1.7 + (i >> 7));
  return tensor;
}

function cacheOf(rw, options) {
  return rw.kvCache({ rope: ROPE, kvHeads: KV_HEADS, maxLength: 40000, keys: "rotated", ...options });
}

export function fillCache(rw, cache, tokens, shape = [KV_HEADS, HEAD_DIM]) {
  const kv = fill(rw.tensor([CHUNK, ...shape]));
  while (cache.length < tokens) cache.append({ k: kv, v: kv, layout: "thd" });
  kv.dispose();
  return cache;
}

/** Contenders for the two bounds of attention: reading the same bytes, and doing as many multiply-adds. */
function bounds(module, address, bytes, multiplyAdds) {
  const count = Math.round(multiplyAdds / (12 * 4));
  return {
    read: (repeats) => module._read_bytes(address, bytes, repeats),
    multiply: repeatedly(() => module._multiply_add(count, 1)),
  };
}

/** The time of the slower bound divided by the time of `name`, as the median over rounds. */
function ofBound(results, name) {
  const slower = results.read.us > results.multiply.us ? "read" : "multiply";
  return ratio(results, slower, name);
}

function oneToken(rw, module, dtype, tokens, report) {
  const rotated = fillCache(rw, cacheOf(rw, { dtype }), tokens);
  const raw = fillCache(rw, cacheOf(rw, { dtype, keys: "raw" }), tokens);
  const q = fill(rw.tensor([1, HEADS, HEAD_DIM]));
  const out = rw.tensor([1, HEADS, HEAD_DIM]);
  const bytes = Math.round(2 * tokens * KV_HEADS * HEAD_DIM * DTYPES[dtype].bytes);
  const source = rw.tensor([bytes / 4]);
  source.data.fill(0.5); // also as f16 not subnormal
  const attend = (cache) => repeatedly(() => cache.attend(q, { layout: "thd", out }));
  const shape = [HEADS / KV_HEADS, HEAD_DIM, (2 * tokens * KV_HEADS) / BLOCK];
  const [queries, stored] = [q.data.byteOffset, source.data.byteOffset];
  const results = race(
    {
      ...bounds(module, stored, bytes, 2 * tokens * HEADS * HEAD_DIM),
      ...(BOUND_DTYPES.includes(dtype) && {
        loop: (repeats) => module._attend_bound(stored, BOUND_DTYPES.indexOf(dtype), ...shape, queries, repeats),
      }),
      rotated: attend(rotated),
      raw: attend(raw),
    },
    { rounds: 9, sampleMs: 100 }, // many passes, so that each contender's memory is in the CPU caches, as far as it fits
  );
  const at = `one token, ${tokens} keys, ${dtype}`;
  report({
    name: `${at}: share of the bound (reading or multiply-adds)`,
    value: ofBound(results, "rotated"),
    unit: "×",
    target: DTYPES[dtype].target,
  });
  if (results.loop)
    report({
      name: `${at}: share of a loop of nothing but its loads, multiply-adds and exponentials`,
      value: ratio(results, "loop", "rotated"),
      unit: "×",
      target: 0.9,
    });
  report({
    name: `${at}: keys rotated on read, time relative to rotated keys`,
    value: ratio(results, "raw", "rotated"),
    unit: "×",
    target: 1.6,
    better: "less",
  });
  for (const object of [rotated, raw, q, out, source]) object.dispose();
}

/** One token over the keys of a chunk, which fit into a cache, beside a loop of nothing but the inner work. */
function againstLoop(rw, module, dtype, [heads, kvHeads, headDim], report) {
  const rope = { ...ROPE, head_dim: headDim };
  const cache = fillCache(rw, rw.kvCache({ rope, kvHeads, maxLength: CHUNK, dtype }), CHUNK, [kvHeads, headDim]);
  const q = fill(rw.tensor([1, heads, headDim]));
  const out = rw.tensor([1, heads, headDim]);
  const source = rw.tensor([2 * CHUNK * kvHeads * headDim]);
  source.data.fill(0.5); // also as f16 not subnormal
  const [stored, queries] = [source.data.byteOffset, q.data.byteOffset];
  const shape = [heads / kvHeads, headDim, (2 * CHUNK * kvHeads) / BLOCK];
  const results = race(
    {
      loop: (repeats) => module._attend_bound(stored, BOUND_DTYPES.indexOf(dtype), ...shape, queries, repeats),
      attend: repeatedly(() => cache.attend(q, { layout: "thd", out })),
    },
    { rounds: 31 },
  );
  report({
    name: `one token, ${CHUNK} keys in a cache, ${dtype}, ${heads}/${kvHeads} heads of ${headDim}: share of that loop`,
    value: ratio(results, "loop", "attend"),
    unit: "×",
    target: 0.9,
  });
  for (const object of [cache, q, out, source]) object.dispose();
}

function window(rw, report) {
  const keys = 512;
  const short = fillCache(rw, cacheOf(rw, { dtype: "f16" }), keys);
  const long = fillCache(rw, cacheOf(rw, { dtype: "f16" }), 32768);
  const q = fill(rw.tensor([1, HEADS, HEAD_DIM]));
  const out = rw.tensor([1, HEADS, HEAD_DIM]);
  const attend = (cache) => repeatedly(() => cache.attend(q, { layout: "thd", out, window: keys }));
  report({
    name: `one token, window of ${keys} in 32768 keys, f16: time relative to ${keys} keys`,
    value: ratio(race({ short: attend(short), long: attend(long) }), "long", "short"),
    unit: "×",
    target: 1.15,
    better: "less",
  });
  for (const object of [short, long, q, out]) object.dispose();
}

function prompt(rw, module, report) {
  const tokens = 2048;
  const q = fill(rw.tensor([tokens, HEADS, HEAD_DIM]));
  const k = fill(rw.tensor([tokens, KV_HEADS, HEAD_DIM]));
  const out = rw.tensor([tokens, HEADS, HEAD_DIM]);
  const rope = rw.rope(ROPE);
  const multiplyAdds = tokens * (tokens + 1) * HEADS * HEAD_DIM; // q · k and weights · v over the visible keys
  const attend = (options) => repeatedly(() => rw.attention(q, k, k, { layout: "thd", out, ...options }));
  const results = race(
    {
      multiply: repeatedly(() => module._multiply_add(Math.round(multiplyAdds / 48), 1)),
      plain: attend({}),
      rope: attend({ rope }),
    },
    { rounds: 5, sampleMs: 1 },
  );
  const name = `prompt of ${tokens}, causal, f32`;
  report({
    name: `${name}: share of the multiply-add peak`,
    value: ratio(results, "multiply", "plain"),
    unit: "×",
    target: 0.4,
  });
  report({
    name: `${name}: the same, with q and k rotated on read`,
    value: ratio(results, "multiply", "rope"),
    unit: "×",
  });
  for (const object of [q, k, out, rope]) object.dispose();
}

function retune(rw, module, { dtype, pairing }, report) {
  const tokens = 32768;
  const [rope, yarn] = [ROPE, YARN].map((config) => ({ ...config, pairing }));
  const cache = fillCache(rw, cacheOf(rw, { dtype, rope }), tokens);
  const elements = tokens * KV_HEADS * HEAD_DIM;
  const keys = rw.tensor([elements], dtype);
  const angles = rw.rope(yarn);
  const [cos, sin] = [0, 0].map(() => rw.tensor([ROWS, HEAD_DIM / 2]));
  const positions = Array.from({ length: tokens / ROWS }, (_, i) =>
    Float64Array.from({ length: ROWS }, (_, j) => i * ROWS + j),
  );
  const rotateKeys = () =>
    module._rotate_bound(keys.data.byteOffset, pairing !== "half", ROTATED.indexOf(dtype), elements, 1);
  let next = yarn;
  const results = race(
    {
      limit: (repeats) => module[`_multiply_${dtype}`](keys.data.byteOffset, elements, 1, repeats),
      bound: repeatedly(() => {
        for (const chunk of positions) angles.table(chunk, { out: { cos, sin } });
        rotateKeys();
      }),
      retune: repeatedly(() => {
        cache.retune({ rope: next });
        next = next === yarn ? rope : yarn;
      }),
    },
    { rounds: 15 },
  );
  report({
    name: `retune of ${tokens} cached positions, ${dtype}, ${pairing}, relative to multiplying the keys in place`,
    value: ratio(results, "limit", "retune"),
    unit: "×",
    target: 0.5,
  });
  report({
    name: `the same, ${dtype}, ${pairing}, share of its bound (rows of cos and sin, and loads, arithmetic and stores of the keys)`,
    value: ratio(results, "bound", "retune"),
    unit: "×",
    target: 0.9,
  });
  for (const object of [cache, keys, angles, cos, sin]) object.dispose();
}

export function promptMemory(rw, report) {
  const tokens = 32768;
  const before = rw.memoryBytes;
  const cache = cacheOf(rw, { dtype: "f16" });
  const q = fill(rw.tensor([CHUNK, HEADS, HEAD_DIM]));
  const kv = fill(rw.tensor([CHUNK, KV_HEADS, HEAD_DIM]));
  const beyond = () => rw.memoryBytes - before - cache.bytes;
  let early;
  while (cache.length < tokens) {
    cache.append({ q, k: kv, v: kv, layout: "thd" });
    if (cache.length % 8192 === 0) cache.attend(q, { layout: "thd", out: q }); // not each time: memory use is the same, and it would take minutes
    if (cache.length === 8192) early = beyond();
  }
  report({
    name: `prompt of ${tokens} in chunks of ${CHUNK}: memory beyond the cache, including q, k and v`,
    value: beyond() / MB,
    unit: "MB",
    target: 32,
    better: "less",
  });
  report({
    name: `the same, more than a prompt of 8192`,
    value: (beyond() - early) / MB,
    unit: "MB",
  });
  for (const object of [cache, q, kv]) object.dispose();
}

function linear(rw, report) {
  const heads = 4;
  const headDim = 64;
  const tokens = 1000;
  const rope = rw.rope({ head_dim: headDim, rope_theta: 1e6, pairing: "half" });
  const [q, k, out] = [0, 0, 0].map(() => fill(rw.tensor([tokens, heads, headDim])));
  const [early, late] = [0, 0].map(() => rw.linearState({ heads, kvHeads: heads, headDim, rope }));
  const append = (state) => state.append(q, k, k, { layout: "thd", out });
  while (late.tokens < 1e6) append(late);
  const restarted = () => {
    early.reset();
    append(early);
  };
  const results = race({ early: repeatedly(restarted), late: repeatedly(() => append(late)) }, { rounds: 15 });
  report({
    name: "linear attention: time for a token at 1,000,000, relative to the first 1,000",
    value: ratio(results, "late", "early"),
    unit: "×",
    target: 1.15,
    better: "less",
  });
  for (const object of [early, late, q, k, out, rope]) object.dispose();
}
