// Invalid arguments of rw.kvCache(), append() and attend(): each raises its code and field, and the cache doesn't change.
import assert from "node:assert/strict";
import test from "node:test";
import { randomFloats, sameBits, to16Bits } from "../helpers/arrays.mjs";
import { appendAll, pick, range } from "../helpers/caches.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";
import { cache, config, expectError, good, tokens } from "../helpers/unchanged_cache.mjs";

const options = [
  // what is wrong, options, code, field
  ["no kvHeads", { kvHeads: undefined }, "INVALID_ARGUMENT", "kvHeads"],
  ["no heads", { kvHeads: 0 }, "INVALID_ARGUMENT", "kvHeads"],
  ["half a head", { kvHeads: 1.5 }, "INVALID_ARGUMENT", "kvHeads"],
  ["too many heads", { kvHeads: 65537 }, "INVALID_ARGUMENT", "kvHeads"],
  ["a headDim that differs from the rope's", { headDim: 8 }, "INVALID_ARGUMENT", "headDim"],
  ["no rope and no headDim", { rope: undefined }, "INVALID_ARGUMENT", "headDim"],
  ["a headDim of 0", { rope: null, headDim: 0 }, "INVALID_ARGUMENT", "headDim"],
  ["a headDim beyond 8192", { rope: null, headDim: 8193 }, "INVALID_ARGUMENT", "headDim"],
  ["no maxLength", { maxLength: undefined }, "INVALID_ARGUMENT", "maxLength"],
  ["a maxLength of 0", { maxLength: 0 }, "INVALID_ARGUMENT", "maxLength"],
  ["an infinite maxLength", { maxLength: Infinity }, "INVALID_ARGUMENT", "maxLength"],
  ["a maxLength beyond 2^30", { maxLength: 2 ** 30 + 1 }, "INVALID_ARGUMENT", "maxLength"],
  ["a maxLength that is a string", { maxLength: "40" }, "INVALID_ARGUMENT", "maxLength"],
  ["no layers", { layers: [] }, "INVALID_ARGUMENT", "layers"],
  ["0 layers", { layers: 0 }, "INVALID_ARGUMENT", "layers"],
  ["half a layer", { layers: 0.5 }, "INVALID_ARGUMENT", "layers"],
  ["too many layers", { layers: 4097 }, "INVALID_ARGUMENT", "layers"],
  ["layers that are an object", { layers: {} }, "INVALID_ARGUMENT", "layers"],
  ["a layer that is null", { layers: [{}, null] }, "INVALID_ARGUMENT", "layers[1]"],
  ["a layer that is a number", { layers: [2] }, "INVALID_ARGUMENT", "layers[0]"],
  ["a layer without heads", { layers: [{}, { kvHeads: 0 }] }, "INVALID_ARGUMENT", "layers[1].kvHeads"],
  [
    "a layer with a headDim that differs from its rope's",
    { layers: [{}, { headDim: 8 }] },
    "INVALID_ARGUMENT",
    "layers[1].headDim",
  ],
  ["a layer whose rope is a name", { layers: [{ rope: "yarn" }] }, "INVALID_ARGUMENT", "layers[0].rope"],
  ["a rope that is a number", { rope: 5 }, "INVALID_ARGUMENT", "rope"],
  ["a rope without pairing", { rope: { head_dim: 16 } }, "INVALID_CONFIG", "pairing"],
  ["a rope with an unknown key", { rope: { ...config, theta: 5 } }, "UNKNOWN_KEY", "theta"],
  ["a rope with an invalid base", { rope: { ...config, rope_theta: 0.5 } }, "INVALID_CONFIG", "rope_theta"],
  [
    "a rope with an unknown type",
    { rope: { ...config, rope_scaling: { rope_type: "banana" } } },
    "UNSUPPORTED_ROPE_TYPE",
    "rope_scaling.rope_type",
  ],
  ["an unknown dtype", { dtype: "q5_0" }, "INVALID_DTYPE", "dtype"],
  ["a dtype that is null", { dtype: null }, "INVALID_DTYPE", "dtype"],
  ["an unknown key mode", { keys: "unrotated" }, "INVALID_ARGUMENT", "keys"],
  ["no sequences", { sequences: 0 }, "INVALID_ARGUMENT", "sequences"],
  ["too many sequences", { sequences: 65537 }, "INVALID_ARGUMENT", "sequences"],
];

for (const [title, change, code, field] of options) {
  test(`kvCache: ${title}`, () => {
    expectError(() => rw.kvCache({ ...good, ...change }), code, field);
    if (field !== "keys" && field !== "maxLength")
      expectError(() => rw.kvCacheBytes({ ...good, ...change }), code, field);
  });
}

test("kvCacheBytes: invalid lengths", () => {
  for (const length of [-1, 0.5, NaN, "3", 2 ** 30 + 1])
    expectError(() => rw.kvCacheBytes({ ...good, length }), "INVALID_ARGUMENT", "length");
  expectError(() => rw.kvCacheBytes({ ...good, maxLength: undefined }), "INVALID_ARGUMENT", "maxLength");
});

test("a cache whose first page doesn't fit in memory", () => {
  const before = rw.memoryBytes;
  expectError(() => rw.kvCache({ ...good, layers: 4096, kvHeads: 300 }), "OUT_OF_MEMORY", "");
  assert.equal(rw.memoryBytes, before);
  withRope(rw.kvCache({ ...good, layers: 4096, kvHeads: 200, maxLength: 2 ** 30 }), (large) =>
    assert.equal(large.bytes, 0),
  ); // pages are allocated when tokens are appended
});

const k = tokens[0].k.slice(0, 64);
const v = tokens[0].v.slice(0, 64);
const q = randomFloats(128, 9);
const shape = [2, 2, 16];
const fresh = { k, v, q, layout: "thd", shape };

const appends = [
  ["no layout", { layout: undefined }, "INVALID_ARGUMENT", "layout"],
  ["no shape", { shape: undefined }, "INVALID_SHAPE", "shape"],
  ["another head_dim", { shape: [2, 4, 8] }, "INVALID_SHAPE", "shape"],
  ["other heads", { shape: [4, 1, 16] }, "INVALID_SHAPE", "k"],
  ["too few elements", { shape: [3, 2, 16] }, "INVALID_SHAPE", "shape"],
  ["a batch for one sequence", { layout: "bthd", shape: [2, 1, 2, 16] }, "INVALID_SHAPE", "k"],
  ["v of other tokens", { v: new Float32Array(32) }, "INVALID_SHAPE", "shape"],
  ["v of another type", { v: new Uint16Array(64) }, "INVALID_DTYPE", "dtype"],
  ["k without a type", { k: new Uint16Array(64), v: new Uint16Array(64) }, "INVALID_DTYPE", "dtype"],
  ["no k", { k: undefined }, "INVALID_DTYPE", "k"],
  ["no v", { v: null }, "INVALID_DTYPE", "v"],
  ["q that is null", { q: null }, "INVALID_DTYPE", "q"],
  ["q of other tokens", { q: new Float32Array(100) }, "INVALID_SHAPE", "q"],
  ["q that is empty", { q: new Float32Array(0) }, "INVALID_SHAPE", "q"],
  ["a number of q heads that isn't a multiple", { q: new Float32Array(96) }, "INVALID_SHAPE", "q"],
  ["q of another type", { q: new Uint16Array(128), dtype: "f32" }, "INVALID_DTYPE", "dtype"],
  ["an unknown layer", { layer: 2 }, "INVALID_ARGUMENT", "layer"],
  ["a layer that is a string", { layer: "0" }, "INVALID_ARGUMENT", "layer"],
  ["a layer with other heads and dimensions", { layer: 1 }, "INVALID_SHAPE", "shape"],
  ["an unknown sequence", { sequence: 1 }, "INVALID_ARGUMENT", "sequence"],
  ["a sequence below 0", { sequence: -1 }, "INVALID_ARGUMENT", "sequence"],
  ["a position of NaN", { positions: NaN }, "INVALID_POSITION", "positions"],
  ["a position beyond 2^31", { positions: 2 ** 31 - 1 }, "INVALID_POSITION", "positions"],
  ["ids with NaN", { positions: [0, NaN] }, "INVALID_POSITION", "positions"],
  ["too few ids", { positions: [0] }, "INVALID_SHAPE", "positions"],
  ["ids that are strings", { positions: ["0", "1"] }, "INVALID_POSITION", "positions"],
];

for (const [title, change, code, field] of appends) {
  test(`append: ${title}`, () => {
    expectError(() => cache.append({ ...fresh, ...change }), code, field);
    sameBits(q, randomFloats(128, 9), "q has been rotated");
  });
}

test("append: NaN, infinity, and numbers beyond the range of the element type", () => {
  for (const value of [NaN, Infinity, -Infinity]) {
    for (const at of [0, 17, 63]) {
      const bad = k.slice();
      bad[at] = value;
      expectError(() => cache.append({ ...fresh, k: bad }), "INVALID_ARGUMENT", "k");
      expectError(() => cache.append({ ...fresh, v: bad }), "INVALID_ARGUMENT", "v");
    }
  }
  sameBits(q, randomFloats(128, 9), "q has been rotated");
  withRope(rw.kvCache({ ...good, dtype: "f16" }), (half) => {
    const before = half.save();
    for (const name of ["k", "v"]) {
      const large = fresh[name].slice();
      large[5] = 70000;
      raises(() => half.append({ ...fresh, [name]: large }), "INVALID_ARGUMENT", name);
      large[5] = name === "k" ? 50000 : 65504; // rotation can enlarge an element by √2
      if (name === "k") raises(() => half.append({ ...fresh, k: large }), "INVALID_ARGUMENT", "k");
    }
    sameBits(half.save(), before);
  });
  for (const dtype of ["f16", "bf16"]) {
    const { bits } = to16Bits(k, dtype);
    const bad = bits.slice();
    bad[40] = dtype === "f16" ? 0x7e00 : 0x7fc0;
    expectError(() => cache.append({ k: bad, v: bits, layout: "thd", shape, dtype }), "INVALID_ARGUMENT", "k");
    expectError(() => cache.append({ k: bits, v: bad, layout: "thd", shape, dtype }), "INVALID_ARGUMENT", "v");
  }
});

test("append: q overlaps k or v", () => {
  const memory = new Float32Array(300);
  memory.set(q, 50);
  const at = (from) => memory.subarray(from, from + 64);
  for (const from of [0, 50, 100, 177]) {
    expectError(() => cache.append({ ...fresh, q: memory.subarray(50, 178), k: at(from) }), "INVALID_ARGUMENT", "q");
    expectError(() => cache.append({ ...fresh, q: memory.subarray(50, 178), v: at(from) }), "INVALID_ARGUMENT", "q");
  }
});

test("a full cache raises CACHE_FULL, and accepts tokens that still fit", () => {
  withRope(rw.kvCache({ ...good, maxLength: 30 }), (full) => {
    appendAll(full, pick(tokens, range(0, 29)).slice(0, 1));
    const before = full.save();
    raises(() => full.append(fresh), "CACHE_FULL", "k");
    sameBits(full.save(), before);
    sameBits(q, randomFloats(128, 9), "q has been rotated");
    appendAll(full, pick(tokens, [29]).slice(0, 1));
    raises(() => appendAll(full, pick(tokens, [29]).slice(0, 1)), "CACHE_FULL", "k");
    full.shift({ keep: 4, discard: 2 });
    full.append(fresh);
    assert.equal(full.length, 30);
  });
});

test("later layers must repeat the positions of the first one", () => {
  withRope(rw.kvCache({ ...good, layers: 2 }), (two) => {
    two.append({ k, v, layout: "thd", shape, positions: 7 });
    const before = two.save();
    for (const positions of [0, 8, [7, 9], [8, 7]])
      raises(() => two.append({ k, v, layout: "thd", shape, layer: 1, positions }), "INVALID_POSITION", "positions");
    sameBits(two.save(), before);
    two.append({ k, v, layout: "thd", shape, layer: 1, positions: [7, 8] });
  });
});

const attendOptions = { layout: "thd", shape: [2, 4, 16] };
const attends = [
  ["no layout", { layout: undefined }, "INVALID_ARGUMENT", "layout"],
  ["no shape", { shape: undefined }, "INVALID_SHAPE", "shape"],
  ["another head_dim", { shape: [2, 8, 8] }, "INVALID_SHAPE", "shape"],
  ["a number of heads that isn't a multiple", { shape: [8, 1, 16] }, "INVALID_SHAPE", "q"],
  ["a batch for one sequence", { layout: "bthd", shape: [2, 1, 4, 16] }, "INVALID_SHAPE", "q"],
  ["an unknown layer", { layer: -1 }, "INVALID_ARGUMENT", "layer"],
  ["an unknown sequence", { sequence: 3 }, "INVALID_ARGUMENT", "sequence"],
  ["a window of 0", { window: 0 }, "INVALID_ARGUMENT", "window"],
  ["sinks with NaN", { sinks: [0, 0, 0, NaN] }, "INVALID_ARGUMENT", "sinks"],
  ["sinks of the key heads", { sinks: [0, 0] }, "INVALID_SHAPE", "sinks"],
  ["a scale that is NaN", { scale: NaN }, "INVALID_ARGUMENT", "scale"],
  ["a cap below 0", { softCap: -1 }, "INVALID_ARGUMENT", "softCap"],
  ["too many temperatures", { temperature: [1, 1, 1] }, "INVALID_SHAPE", "temperature"],
  ["a scheme for a layer with RoPE", { position: { scheme: "alibi" } }, "INVALID_ARGUMENT", "position"],
  ["the scheme none for a layer with RoPE", { position: "none" }, "INVALID_ARGUMENT", "position"],
  ["an out that is too short", { out: new Float32Array(5) }, "INVALID_SHAPE", "out"],
  ["an out of another type", { out: new Uint16Array(128) }, "INVALID_DTYPE", "out"],
];

for (const [title, change, code, field] of attends) {
  test(`attend: ${title}`, () => {
    const out = new Float32Array(128).fill(7);
    expectError(() => cache.attend(q, { out, ...attendOptions, ...change }), code, field);
    assert.ok(out.every((value) => value === 7));
  });
}

test("attend: invalid q, and more queries than tokens", () => {
  for (const none of [null, undefined, [1], new Uint16Array(128), new Float64Array(128)])
    expectError(() => cache.attend(none, attendOptions), "INVALID_DTYPE", "q");
  withRope(rw.kvCache(good), (empty) => {
    raises(() => empty.attend(q, attendOptions), "INVALID_SHAPE", "q");
    empty.append({ k: k.subarray(0, 32), v: v.subarray(0, 32), layout: "thd", shape: [1, 2, 16] });
    raises(() => empty.attend(q, attendOptions), "INVALID_SHAPE", "q");
    empty.attend(q, { ...attendOptions, causal: false });
  });
});

test("attend: a rope for a layer without RoPE", () => {
  withRope(rw.rope({ head_dim: 8, pairing: "half" }), (rope) => {
    for (const [position, field] of [
      [rope, "position"],
      ["rope", "position"],
      [{ scheme: "learned", table: new Float32Array(16) }, "position.table"],
    ]) {
      expectError(
        () => cache.attend(randomFloats(16), { layout: "thd", shape: [2, 1, 8], layer: 1, position }),
        "INVALID_ARGUMENT",
        field,
      );
    }
  });
});

test("a cache without a rope and a headDim: the message names both", () => {
  const { rope: _, ...others } = good;
  assert.throws(() => rw.kvCache(others), /^RopewalkError: headDim: is missing; pass `rope`, or `headDim`/);
});

test("restore: a number in place of the options is an error that names restore()", () => {
  assert.throws(
    () => cache.restore(cache.save(), 0),
    /^RopewalkError: options: .*options of restore\(\): sequence \(got 0\)/,
  );
});
