// Tasks that tests of attention and caches run in a page. `entry` is the address of the package's main entry.

import { CASES, computeCase } from "./digest.mjs";

const [heads, kvHeads, head_dim] = [4, 2, 64];
const plain = { head_dim, rope_theta: 10000, pairing: "half" };
const stretched = (length) => ({
  ...plain,
  rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: length },
});

const bthd = (tokens, count) => ({ layout: "bthd", shape: [1, tokens, count, head_dim] });
const numbers = (seed, tokens, count) =>
  Float32Array.from({ length: tokens * count * head_dim }, (_, i) => Math.sin(seed + i * 1.7 + ((i * i) % 101)));

const difference = (a, b) => a.reduce((largest, value, i) => Math.max(largest, Math.abs(value - b[i])), 0);
const areEqual = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);

const toText = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
const fromText = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

async function loadBuild(entry, build) {
  const { load } = await import(entry);
  return load({ build });
}

function append(cache, seed, tokens) {
  const q = numbers(seed + 2, tokens, heads);
  cache.append({
    q,
    k: numbers(seed, tokens, kvHeads),
    v: numbers(seed + 1, tokens, kvHeads),
    ...bthd(tokens, kvHeads),
  });
  return cache.attend(q, bthd(tokens, heads));
}

/** The largest difference between the relaxed and the simd build in each case, by name. */
export async function relaxedDifferences(entry, kinds) {
  const [simd, relaxed] = [await loadBuild(entry, "simd"), await loadBuild(entry, "relaxed")];
  const of = (one) => {
    const [expected, actual] = [computeCase(simd, one), computeCase(relaxed, one)];
    const compared = expected.map((array, i) => (array instanceof Float32Array ? difference(array, actual[i]) : 0));
    return Math.max(...compared);
  };
  return Object.fromEntries(
    Object.entries(CASES)
      .filter(([, one]) => kinds.includes(one.kind))
      .map(([name, one]) => [name, of(one)]),
  );
}

/** Imports an example, and returns the lines it prints. */
export async function runExample(address) {
  const lines = [];
  const { log } = console;
  console.log = (text) => lines.push(...text.split("\n"));
  try {
    await import(address);
  } finally {
    console.log = log;
  }
  return lines;
}

/** Difference of a cache's newest outputs from those of a cache filled with YaRN, before and after retuning to YaRN. */
export async function retuneCache(entry, dtype, keys) {
  const rw = await loadBuild(entry, "simd");
  const length = 300;
  const filled = (rope) => {
    const cache = rw.kvCache({ rope, kvHeads, maxLength: length, dtype, keys });
    append(cache, 1, length);
    return cache;
  };
  const [cache, fresh] = [filled(plain), filled(stretched(length))];
  const q = numbers(3, 1, heads);
  const attend = (one) => one.attend(q, bthd(1, heads));
  const expected = attend(fresh);
  const before = difference(attend(cache), expected);
  cache.retune({ rope: stretched(length) });
  const after = difference(attend(cache), expected);
  for (const one of [cache, fresh]) one.dispose();
  return { before, after };
}

/** Appends tokens to a cache that is shifted when it is full. Returns how much memory grew after the first two windows. */
export async function streamThroughWindow(entry) {
  const rw = await loadBuild(entry, "simd");
  const window = 128;
  const cache = rw.kvCache({ rope: plain, kvHeads, maxLength: window, dtype: "f16" });
  let memory = 0;
  for (let t = 0; t < 20 * window; t++) {
    if (cache.length === window) cache.shift({ keep: 4, discard: 32 });
    append(cache, t, 1);
    if (t === 2 * window) memory = rw.memoryBytes;
  }
  const result = { grownBy: rw.memoryBytes - memory, length: cache.length, last: cache.positions().at(-1) };
  cache.dispose();
  return result;
}

/** An empty cache for saveCache() and restoreCache(), or running sums if `dtype` is "linear". */
function openEmpty(rw, dtype, keys, rope) {
  return dtype === "linear"
    ? rw.linearState({ heads, kvHeads, rope: plain })
    : rw.kvCache({ rope, kvHeads, maxLength: 96, dtype, keys });
}

/** The saved bytes of a cache, and its output for one more token. Disposes of the cache. */
function end(created, dtype) {
  const image = toText(created.save());
  const next =
    dtype === "linear"
      ? created.append(numbers(1, 1, heads), numbers(2, 1, kvHeads), numbers(3, 1, kvHeads))
      : append(created, 9, 1);
  created.dispose();
  return { image, next: toText(new Uint8Array(next.buffer)) };
}

/** Saves a cache after append, shift, retune and truncate. */
export async function saveCache(entry, dtype, keys) {
  const created = openEmpty(await loadBuild(entry, "simd"), dtype, keys, stretched(64));
  if (dtype === "linear") {
    created.append(numbers(4, 40, heads), numbers(5, 40, kvHeads), numbers(6, 40, kvHeads));
  } else {
    append(created, 1, 40);
    created.shift({ keep: 4, discard: 8 });
    created.retune({ rope: plain });
    append(created, 5, 3);
    created.truncate(33);
  }
  return end(created, dtype);
}

/** Restores the bytes of saveCache(). */
export async function restoreCache(entry, dtype, keys, saved) {
  const created = openEmpty(await loadBuild(entry, "simd"), dtype, keys, plain);
  created.restore(fromText(saved));
  return end(created, dtype);
}

/** Fills a cache from tensors and arrays in turn until wasm memory has grown. */
export async function growCache(entry) {
  const rw = await loadBuild(entry, "simd");
  const [tokens, piece] = [40, 1024];
  const cache = rw.kvCache({ rope: plain, kvHeads, maxLength: 2 ** 17 });
  const tensorOf = (seed, count, n) => rw.tensor([1, n, count, head_dim]).set(numbers(seed, n, count));
  const [k, v, q] = [tensorOf(1, kvHeads, tokens), tensorOf(2, kvHeads, tokens), tensorOf(3, heads, tokens)];
  cache.append({ q, k, v, layout: "bthd" });
  const rotated = q.data.slice();
  const out = rw.tensor([1, tokens, heads, head_dim]);
  const first = cache.attend(q, { layout: "bthd", out }).data.slice();
  const oldView = q.data;

  const large = tensorOf(4, kvHeads, piece);
  const given = numbers(5, piece, kvHeads);
  const grewBy = { tensors: false, arrays: false };
  for (let i = 0; !(grewBy.tensors && grewBy.arrays) && cache.length + piece <= cache.maxLength; i++) {
    const [before, kind] = [rw.memoryBytes, i % 2 === 0 ? "tensors" : "arrays"];
    if (kind === "tensors") cache.append({ k: large, v: large, layout: "bthd" });
    else cache.append({ k: given, v: given, ...bthd(piece, kvHeads) });
    const stored = cache.read({ first: cache.length - piece });
    if (!areEqual(stored.v, kind === "tensors" ? large.data : given))
      throw new Error(`values from ${kind} differ from those appended`);
    grewBy[kind] ||= rw.memoryBytes > before;
  }
  cache.truncate(tokens);
  const again = cache.attend(q, { layout: "bthd" });
  const same = {
    queries: areEqual(q.data, rotated),
    keys: areEqual(k.data, numbers(1, tokens, kvHeads)),
    outputs: areEqual(again.data, first),
  };
  for (const one of [cache, k, v, q, out, large, again]) one.dispose();
  return { grewBy, oldViewLength: oldView.length, same };
}
