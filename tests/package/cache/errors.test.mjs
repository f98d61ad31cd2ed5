// Bad arguments of caches: each raises its code and field, and the cache holds and answers what it did.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "ropewalk";
import { randomFloats, sameBits, to16Bits } from "../helpers/arrays.mjs";
import { appendAll, makeTokens, pick, range } from "../helpers/caches.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

const config = { head_dim: 16, pairing: "half" };
const good = { rope: config, kvHeads: 2, maxLength: 40 };
const tokens = makeTokens(30, [
  { kvHeads: 2, headDim: 16 },
  { kvHeads: 1, headDim: 8 },
]);

/** Two layers, the second without RoPE, with 30 tokens. */
const cache = rw.kvCache({ ...good, layers: [{}, { rope: null, kvHeads: 1, headDim: 8 }] });
appendAll(cache, tokens, { positions: 3 });
const expected = cache.save();

/** Asserts the error, and that nothing has changed. */
function refuses(act, code, field) {
  raises(act, code, field);
  sameBits(cache.save(), expected, "what is held");
}

const options = [
  // what is wrong, options, code, field
  ["no kvHeads", { kvHeads: undefined }, "INVALID_ARGUMENT", "kvHeads"],
  ["no heads", { kvHeads: 0 }, "INVALID_ARGUMENT", "kvHeads"],
  ["half a head", { kvHeads: 1.5 }, "INVALID_ARGUMENT", "kvHeads"],
  ["heads beyond reason", { kvHeads: 65537 }, "INVALID_ARGUMENT", "kvHeads"],
  ["another headDim than the rope's", { headDim: 8 }, "INVALID_ARGUMENT", "headDim"],
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
  ["a layer of no heads", { layers: [{}, { kvHeads: 0 }] }, "INVALID_ARGUMENT", "layers[1].kvHeads"],
  [
    "a layer of another headDim than its rope's",
    { layers: [{}, { headDim: 8 }] },
    "INVALID_ARGUMENT",
    "layers[1].headDim",
  ],
  ["a layer whose rope is a name", { layers: [{ rope: "yarn" }] }, "INVALID_ARGUMENT", "layers[0].rope"],
  ["a rope that is a number", { rope: 5 }, "INVALID_ARGUMENT", "rope"],
  ["a rope of no pairing", { rope: { head_dim: 16 } }, "INVALID_CONFIG", "pairing"],
  ["a rope of an unknown key", { rope: { ...config, theta: 5 } }, "UNKNOWN_KEY", "theta"],
  ["a rope of a bad base", { rope: { ...config, rope_theta: 0.5 } }, "INVALID_CONFIG", "rope_theta"],
  [
    "a rope of an unknown type",
    { rope: { ...config, rope_scaling: { rope_type: "banana" } } },
    "UNSUPPORTED_ROPE_TYPE",
    "rope_scaling.rope_type",
  ],
  ["an unknown dtype", { dtype: "q4_0" }, "INVALID_DTYPE", "dtype"],
  ["a dtype that is null", { dtype: null }, "INVALID_DTYPE", "dtype"],
  ["an unknown kind of keys", { keys: "unrotated" }, "INVALID_ARGUMENT", "keys"],
  ["no sequences", { sequences: 0 }, "INVALID_ARGUMENT", "sequences"],
  ["too many sequences", { sequences: 65537 }, "INVALID_ARGUMENT", "sequences"],
];

for (const [what, change, code, field] of options) {
  test(`kvCache: ${what}`, () => {
    refuses(() => rw.kvCache({ ...good, ...change }), code, field);
    if (field !== "keys" && field !== "maxLength") refuses(() => rw.kvCacheBytes({ ...good, ...change }), code, field);
  });
}

test("kvCacheBytes: a length that is none", () => {
  for (const length of [-1, 0.5, NaN, "3", 2 ** 30 + 1])
    refuses(() => rw.kvCacheBytes({ ...good, length }), "INVALID_ARGUMENT", "length");
  refuses(() => rw.kvCacheBytes({ ...good, maxLength: undefined }), "INVALID_ARGUMENT", "maxLength");
});

test("a cache of which 32 tokens are more than memory can hold", () => {
  const before = rw.memoryBytes;
  refuses(() => rw.kvCache({ ...good, layers: 4096, kvHeads: 300 }), "OUT_OF_MEMORY", "");
  assert.equal(rw.memoryBytes, before);
  withRope(rw.kvCache({ ...good, layers: 4096, kvHeads: 200, maxLength: 2 ** 30 }), (large) =>
    assert.equal(large.bytes, 0),
  ); // pages come with tokens
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
  ["k of no type", { k: new Uint16Array(64), v: new Uint16Array(64) }, "INVALID_DTYPE", "dtype"],
  ["no k", { k: undefined }, "INVALID_DTYPE", "k"],
  ["no v", { v: null }, "INVALID_DTYPE", "v"],
  ["q that is null", { q: null }, "INVALID_DTYPE", "q"],
  ["q of other tokens", { q: new Float32Array(100) }, "INVALID_SHAPE", "q"],
  ["q that is empty", { q: new Float32Array(0) }, "INVALID_SHAPE", "q"],
  ["q of heads that no group has", { q: new Float32Array(96) }, "INVALID_SHAPE", "q"],
  ["q of another type", { q: new Uint16Array(128), dtype: "f32" }, "INVALID_DTYPE", "dtype"],
  ["an unknown layer", { layer: 2 }, "INVALID_ARGUMENT", "layer"],
  ["a layer that is a string", { layer: "0" }, "INVALID_ARGUMENT", "layer"],
  ["a layer of other heads and dimensions", { layer: 1 }, "INVALID_SHAPE", "shape"],
  ["an unknown sequence", { sequence: 1 }, "INVALID_ARGUMENT", "sequence"],
  ["a sequence below 0", { sequence: -1 }, "INVALID_ARGUMENT", "sequence"],
  ["NaN for a position", { positions: NaN }, "INVALID_POSITION", "positions"],
  ["a position beyond 2^31", { positions: 2 ** 31 - 1 }, "INVALID_POSITION", "positions"],
  ["ids with NaN", { positions: [0, NaN] }, "INVALID_POSITION", "positions"],
  ["too few ids", { positions: [0] }, "INVALID_SHAPE", "positions"],
  ["ids that are strings", { positions: ["0", "1"] }, "INVALID_POSITION", "positions"],
];

for (const [what, change, code, field] of appends) {
  test(`append: ${what}`, () => {
    refuses(() => cache.append({ ...fresh, ...change }), code, field);
    sameBits(q, randomFloats(128, 9), "q has not been turned");
  });
}

test("append: NaN, infinity, and what the element type cannot hold", () => {
  for (const value of [NaN, Infinity, -Infinity]) {
    for (const at of [0, 17, 63]) {
      const bad = k.slice();
      bad[at] = value;
      refuses(() => cache.append({ ...fresh, k: bad }), "INVALID_ARGUMENT", "k");
      refuses(() => cache.append({ ...fresh, v: bad }), "INVALID_ARGUMENT", "v");
    }
  }
  sameBits(q, randomFloats(128, 9), "q has not been turned");
  withRope(rw.kvCache({ ...good, dtype: "f16" }), (half) => {
    const before = half.save();
    for (const name of ["k", "v"]) {
      const large = fresh[name].slice();
      large[5] = 70000;
      raises(() => half.append({ ...fresh, [name]: large }), "INVALID_ARGUMENT", name);
      large[5] = name === "k" ? 50000 : 65504; // turned, a key grows by √2
      if (name === "k") raises(() => half.append({ ...fresh, k: large }), "INVALID_ARGUMENT", "k");
    }
    sameBits(half.save(), before);
  });
  for (const dtype of ["f16", "bf16"]) {
    const { bits } = to16Bits(k, dtype);
    const bad = bits.slice();
    bad[40] = dtype === "f16" ? 0x7e00 : 0x7fc0;
    refuses(() => cache.append({ k: bad, v: bits, layout: "thd", shape, dtype }), "INVALID_ARGUMENT", "k");
    refuses(() => cache.append({ k: bits, v: bad, layout: "thd", shape, dtype }), "INVALID_ARGUMENT", "v");
  }
});

test("append: q over k or v", () => {
  const memory = new Float32Array(300);
  memory.set(q, 50);
  const at = (from) => memory.subarray(from, from + 64);
  for (const from of [0, 50, 100, 177]) {
    refuses(() => cache.append({ ...fresh, q: memory.subarray(50, 178), k: at(from) }), "INVALID_ARGUMENT", "q");
    refuses(() => cache.append({ ...fresh, q: memory.subarray(50, 178), v: at(from) }), "INVALID_ARGUMENT", "q");
  }
});

test("a full cache says so, and takes what still fits", () => {
  withRope(rw.kvCache({ ...good, maxLength: 30 }), (full) => {
    appendAll(full, pick(tokens, range(0, 29)).slice(0, 1));
    const before = full.save();
    raises(() => full.append(fresh), "CACHE_FULL", "k");
    sameBits(full.save(), before);
    sameBits(q, randomFloats(128, 9), "q has not been turned");
    appendAll(full, pick(tokens, [29]).slice(0, 1));
    raises(() => appendAll(full, pick(tokens, [29]).slice(0, 1)), "CACHE_FULL", "k");
    full.shift({ keep: 4, discard: 2 });
    full.append(fresh);
    assert.equal(full.length, 30);
  });
});

test("a layer that follows must stand where the first one stood", () => {
  withRope(rw.kvCache({ ...good, layers: 2 }), (two) => {
    two.append({ k, v, layout: "thd", shape, positions: 7 });
    const before = two.save();
    for (const positions of [0, 8, [7, 9], [8, 7]])
      raises(() => two.append({ k, v, layout: "thd", shape, layer: 1, positions }), "INVALID_POSITION", "positions");
    sameBits(two.save(), before);
    two.append({ k, v, layout: "thd", shape, layer: 1, positions: [7, 8] });
  });
});

const asked = { layout: "thd", shape: [2, 4, 16] };
const attends = [
  ["no layout", { layout: undefined }, "INVALID_ARGUMENT", "layout"],
  ["no shape", { shape: undefined }, "INVALID_SHAPE", "shape"],
  ["another head_dim", { shape: [2, 8, 8] }, "INVALID_SHAPE", "shape"],
  ["heads that no group has", { shape: [8, 1, 16] }, "INVALID_SHAPE", "q"],
  ["a batch for one sequence", { layout: "bthd", shape: [2, 1, 4, 16] }, "INVALID_SHAPE", "q"],
  ["an unknown layer", { layer: -1 }, "INVALID_ARGUMENT", "layer"],
  ["an unknown sequence", { sequence: 3 }, "INVALID_ARGUMENT", "sequence"],
  ["a window of 0", { window: 0 }, "INVALID_ARGUMENT", "window"],
  ["sinks with NaN", { sinks: [0, 0, 0, NaN] }, "INVALID_ARGUMENT", "sinks"],
  ["sinks of the key heads", { sinks: [0, 0] }, "INVALID_SHAPE", "sinks"],
  ["a scale that is NaN", { scale: NaN }, "INVALID_ARGUMENT", "scale"],
  ["a cap below 0", { softCap: -1 }, "INVALID_ARGUMENT", "softCap"],
  ["a temperature too many", { temperature: [1, 1, 1] }, "INVALID_SHAPE", "temperature"],
  ["a scheme beside the rope", { position: { scheme: "alibi" } }, "INVALID_ARGUMENT", "position"],
  ["none beside the rope", { position: "none" }, "INVALID_ARGUMENT", "position"],
  ["an out that is too short", { out: new Float32Array(5) }, "INVALID_SHAPE", "out"],
  ["an out of another type", { out: new Uint16Array(128) }, "INVALID_DTYPE", "out"],
];

for (const [what, change, code, field] of attends) {
  test(`attend: ${what}`, () => {
    const out = new Float32Array(128).fill(7);
    refuses(() => cache.attend(q, { out, ...asked, ...change }), code, field);
    assert.ok(out.every((value) => value === 7));
  });
}

test("attend: what is no q, and more of it than there are tokens", () => {
  for (const none of [null, undefined, [1], new Uint16Array(128), new Float64Array(128)])
    refuses(() => cache.attend(none, asked), "INVALID_DTYPE", "q");
  withRope(rw.kvCache(good), (empty) => {
    raises(() => empty.attend(q, asked), "INVALID_SHAPE", "q");
    empty.append({ k: k.subarray(0, 32), v: v.subarray(0, 32), layout: "thd", shape: [1, 2, 16] });
    raises(() => empty.attend(q, asked), "INVALID_SHAPE", "q");
    empty.attend(q, { ...asked, causal: false });
  });
});

test("attend: a rope where there is none", () => {
  withRope(rw.rope({ head_dim: 8, pairing: "half" }), (rope) => {
    for (const [position, field] of [
      [rope, "position"],
      ["rope", "position"],
      [{ scheme: "learned", table: new Float32Array(16) }, "position.table"],
    ]) {
      refuses(
        () => cache.attend(randomFloats(16), { layout: "thd", shape: [2, 1, 8], layer: 1, position }),
        "INVALID_ARGUMENT",
        field,
      );
    }
  });
});

test("truncate, shift, copyPrefix, read, positions", () => {
  for (const length of [-1, 31, 0.5, NaN, undefined, "3"])
    refuses(() => cache.truncate(length), "INVALID_ARGUMENT", "length");
  for (const [given, field] of [
    [{}, "discard"],
    [{ discard: 0 }, "discard"],
    [{ discard: 31 }, "discard"],
    [{ discard: 1.5 }, "discard"],
    [{ keep: 1, discard: 30 }, "discard"],
    [{ keep: -1, discard: 1 }, "keep"],
    [{ keep: "1", discard: 1 }, "keep"],
    [{ discard: 1, sequence: 1 }, "sequence"],
  ]) {
    refuses(() => cache.shift(given), "INVALID_ARGUMENT", field);
    const { possible, code, field: at, reason } = cache.canShift(given);
    assert.deepEqual([possible, code, at], [false, "INVALID_ARGUMENT", field]);
    assert.ok(reason.startsWith(`${field}: `));
  }
  for (const [given, field] of [
    [{ from: 0, to: 1 }, "to"],
    [{ from: -1, to: 0 }, "from"],
    [{ from: 0, to: 0, length: 31 }, "length"],
    [{ from: 0, to: 0, length: -1 }, "length"],
  ]) {
    refuses(() => cache.copyPrefix(given), "INVALID_ARGUMENT", field);
  }
  for (const [given, field] of [
    [{ layer: 9 }, "layer"],
    [{ first: 31 }, "first"],
    [{ first: -1 }, "first"],
    [{ count: 31 }, "count"],
    [{ first: 30, count: 1 }, "count"],
    [{ sequence: 1 }, "sequence"],
  ]) {
    refuses(() => cache.read(given), "INVALID_ARGUMENT", field);
  }
  for (const none of [1, -1, "0", 0.5]) {
    refuses(() => cache.positions(none), "INVALID_ARGUMENT", "sequence");
    refuses(() => cache.lengthOf(none), "INVALID_ARGUMENT", "sequence");
  }
  for (const none of [2, -1, "0", 0.5]) refuses(() => cache.config(none), "INVALID_ARGUMENT", "layer");
});

test("retune", () => {
  for (const [given, code, field] of [
    [{}, "INVALID_ARGUMENT", "rope"],
    [{ rope: null }, "INVALID_ARGUMENT", "rope"],
    [{ rope: 5 }, "INVALID_ARGUMENT", "rope"],
    [{ rope: { head_dim: 16 } }, "INVALID_CONFIG", "pairing"],
    [{ rope: { ...config, rope_theta: 0 } }, "INVALID_CONFIG", "rope_theta"],
    [{ rope: { head_dim: 32, pairing: "half" } }, "INVALID_ARGUMENT", "rope"],
    [{ rope: { ...config, pairing: "interleaved" } }, "INVALID_ARGUMENT", "rope"],
    [{ rope: config, layers: 1 }, "INVALID_ARGUMENT", "layers"],
    [{ rope: config, layers: [0, 1] }, "INVALID_ARGUMENT", "layers"],
    [{ rope: config, layers: [] }, "INVALID_ARGUMENT", "layers"],
    [{ rope: config, layers: 2 }, "INVALID_ARGUMENT", "layers"],
    [{ positions: NaN }, "INVALID_POSITION", "positions"],
    [{ positions: 2 ** 31 - 5 }, "INVALID_POSITION", "positions"],
    [{ positions: [1, 2] }, "INVALID_SHAPE", "positions"],
    [{ positions: new Array(30).fill(NaN) }, "INVALID_POSITION", "positions"],
    [{ positions: "4" }, "INVALID_POSITION", "positions"],
    [{ positions: 4, sequence: 1 }, "INVALID_ARGUMENT", "sequence"],
    // what is wrong with the second is found before the first is done
    [{ rope: { ...config, rope_theta: 7 }, positions: [1, 2] }, "INVALID_SHAPE", "positions"],
    [{ rope: { ...config, rope_theta: 7 }, positions: 2 ** 31 }, "INVALID_POSITION", "positions"],
    [{ rope: { ...config, xpos: { scale_base: 1 } }, positions: 5000 }, "INVALID_POSITION", "positions"],
  ]) {
    refuses(() => cache.retune(given), code, field);
    const { possible, code: own, field: at } = cache.canRetune(given);
    assert.deepEqual({ possible, code: own, field: at }, { possible: false, code, field });
    assert.deepEqual(cache.config(), config);
  }
});

test("a cache of no ropes has none to retune", () => {
  withRope(rw.kvCache({ kvHeads: 1, headDim: 8, maxLength: 10 }), (plain) => {
    raises(() => plain.retune({ rope: config }), "INVALID_ARGUMENT", "layers");
    plain.append({ k: new Float32Array(16), v: new Float32Array(16), layout: "thd", shape: [2, 1, 8] });
    plain.retune({ positions: 5 });
    assert.deepEqual([...plain.positions()], [5, 6]);
  });
});

test("several sequences are named", () => {
  withRope(rw.kvCache({ ...good, sequences: 2 }), (two) => {
    appendAll(two, pick(tokens, range(0, 5)).slice(0, 1), { sequence: 1 });
    const before = [0, 1].map((sequence) => two.save({ sequence }));
    for (const act of [
      () => two.truncate(0),
      () => two.shift({ discard: 1 }),
      () => two.read(),
      () => two.positions(),
      () => two.retune({ positions: 4 }),
      () => two.save(),
    ]) {
      raises(act, "INVALID_ARGUMENT", "sequence");
    }
    raises(() => two.copyPrefix({ to: 1 }), "INVALID_ARGUMENT", "from");
    raises(() => two.copyPrefix({ from: 1 }), "INVALID_ARGUMENT", "to");
    raises(() => two.copyPrefix({ from: 1, to: 0, length: 6 }), "INVALID_ARGUMENT", "length");
    raises(() => two.append({ ...fresh }), "INVALID_SHAPE", "k");
    raises(() => two.attend(q, asked), "INVALID_SHAPE", "q");
    // a row that is wrong keeps the others from being written
    const bad = new Float32Array(64).fill(1);
    bad[63] = NaN;
    raises(
      () => two.append({ k: bad, v: new Float32Array(64), layout: "bthd", shape: [2, 1, 2, 16] }),
      "INVALID_ARGUMENT",
      "k",
    );
    raises(
      () => two.append({ k, v, layout: "bthd", shape: [2, 1, 2, 16], positions: [0, NaN] }),
      "INVALID_POSITION",
      "positions",
    );
    [0, 1].forEach((sequence) => sameBits(two.save({ sequence }), before[sequence]));
    assert.deepEqual(
      [0, 1].map((sequence) => two.lengthOf(sequence)),
      [0, 5],
    );
  });
});

test("use after disposal", () => {
  const gone = rw.kvCache(good);
  const lost = rw.rope(config);
  const [bytes, tensor] = [gone.save(), rw.tensor(shape)];
  gone.dispose();
  gone.dispose();
  lost.dispose();
  tensor.dispose();
  for (const act of [
    () => gone.append(fresh),
    () => gone.attend(q, asked),
    () => gone.length,
    () => gone.lengthOf(0),
    () => gone.bytes,
    () => gone.positions(),
    () => gone.truncate(0),
    () => gone.clear(),
    () => gone.shift({ discard: 1 }),
    () => gone.canShift({ discard: 1 }),
    () => gone.copyPrefix({ from: 0, to: 0 }),
    () => gone.retune({ rope: config }),
    () => gone.canRetune({ rope: config }),
    () => gone.read(),
    () => gone.save(),
    () => gone.restore(bytes),
  ]) {
    refuses(act, "DISPOSED", "kvCache");
  }
  assert.deepEqual(
    [gone.layers, gone.maxLength, gone.dtype, gone.keys, gone.config()],
    [1, 40, "f32", "rotated", config],
    "what needs no memory stays",
  );
  refuses(() => rw.kvCache({ ...good, rope: lost }), "DISPOSED", "rope");
  refuses(() => cache.retune({ rope: lost }), "DISPOSED", "rope");
  assert.throws(() => cache.canRetune({ rope: lost }), { code: "DISPOSED" });
  for (const change of [{ k: tensor }, { v: tensor }, { q: tensor }])
    refuses(() => cache.append({ ...fresh, ...change }), "DISPOSED", "tensor");
});

test("ropes and tensors of another module", async () => {
  const scalar = await load({ build: "scalar" });
  withRope(scalar.rope(config), (rope) => {
    refuses(() => rw.kvCache({ ...good, rope }), "INVALID_ARGUMENT", "rope");
    refuses(() => rw.kvCache({ ...good, layers: [{ rope }] }), "INVALID_ARGUMENT", "layers[0].rope");
    refuses(() => cache.retune({ rope }), "INVALID_ARGUMENT", "rope");
  });
  withRope(scalar.tensor(shape), (tensor) => {
    refuses(() => cache.append({ ...fresh, k: tensor }), "INVALID_ARGUMENT", "k");
    refuses(() => cache.append({ ...fresh, q: tensor }), "INVALID_ARGUMENT", "q");
  });
});
