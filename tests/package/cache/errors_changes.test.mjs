// Invalid changes of a cache, sequences that must be named, and use after disposal: each raises its code and field, and the cache doesn't change.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "ropewalk";
import { randomFloats, sameBits } from "../helpers/arrays.mjs";
import { appendAll, pick, range } from "../helpers/caches.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";
import { cache, config, expectError, good, tokens } from "../helpers/unchanged_cache.mjs";

const k = tokens[0].k.slice(0, 64);
const v = tokens[0].v.slice(0, 64);
const q = randomFloats(128, 9);
const shape = [2, 2, 16];
const fresh = { k, v, q, layout: "thd", shape };
const attendOptions = { layout: "thd", shape: [2, 4, 16] };

test("truncate, shift, copyPrefix, read, positions", () => {
  for (const length of [-1, 31, 0.5, NaN, undefined, "3"])
    expectError(() => cache.truncate(length), "INVALID_ARGUMENT", "length");
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
    expectError(() => cache.shift(given), "INVALID_ARGUMENT", field);
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
    expectError(() => cache.copyPrefix(given), "INVALID_ARGUMENT", field);
  }
  for (const [given, field] of [
    [{ layer: 9 }, "layer"],
    [{ first: 31 }, "first"],
    [{ first: -1 }, "first"],
    [{ count: 31 }, "count"],
    [{ first: 30, count: 1 }, "count"],
    [{ sequence: 1 }, "sequence"],
  ]) {
    expectError(() => cache.read(given), "INVALID_ARGUMENT", field);
  }
  for (const none of [1, -1, "0", 0.5]) {
    expectError(() => cache.positions(none), "INVALID_ARGUMENT", "sequence");
    expectError(() => cache.lengthOf(none), "INVALID_ARGUMENT", "sequence");
  }
  for (const none of [2, -1, "0", 0.5]) expectError(() => cache.config(none), "INVALID_ARGUMENT", "layer");
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
    // both are checked before either is applied
    [{ rope: { ...config, rope_theta: 7 }, positions: [1, 2] }, "INVALID_SHAPE", "positions"],
    [{ rope: { ...config, rope_theta: 7 }, positions: 2 ** 31 }, "INVALID_POSITION", "positions"],
    [{ rope: { ...config, xpos: { scale_base: 1 } }, positions: 5000 }, "INVALID_POSITION", "positions"],
  ]) {
    expectError(() => cache.retune(given), code, field);
    const { possible, code: own, field: at } = cache.canRetune(given);
    assert.deepEqual({ possible, code: own, field: at }, { possible: false, code, field });
    assert.deepEqual(cache.config(), config);
  }
});

test("a cache without ropes has no rope to retune", () => {
  withRope(rw.kvCache({ kvHeads: 1, headDim: 8, maxLength: 10 }), (plain) => {
    raises(() => plain.retune({ rope: config }), "INVALID_ARGUMENT", "layers");
    plain.append({ k: new Float32Array(16), v: new Float32Array(16), layout: "thd", shape: [2, 1, 8] });
    plain.retune({ positions: 5 });
    assert.deepEqual([...plain.positions()], [5, 6]);
  });
});

test("with several sequences, calls must name one", () => {
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
    raises(() => two.attend(q, attendOptions), "INVALID_SHAPE", "q");
    // an invalid row prevents the others from being written
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
  const disposed = rw.kvCache(good);
  const disposedRope = rw.rope(config);
  const [bytes, tensor] = [disposed.save(), rw.tensor(shape)];
  disposed.dispose();
  disposed.dispose();
  disposedRope.dispose();
  tensor.dispose();
  for (const act of [
    () => disposed.append(fresh),
    () => disposed.attend(q, attendOptions),
    () => disposed.length,
    () => disposed.lengthOf(0),
    () => disposed.bytes,
    () => disposed.positions(),
    () => disposed.truncate(0),
    () => disposed.clear(),
    () => disposed.shift({ discard: 1 }),
    () => disposed.canShift({ discard: 1 }),
    () => disposed.copyPrefix({ from: 0, to: 0 }),
    () => disposed.retune({ rope: config }),
    () => disposed.canRetune({ rope: config }),
    () => disposed.read(),
    () => disposed.save(),
    () => disposed.restore(bytes),
  ]) {
    expectError(act, "DISPOSED", "kvCache");
  }
  assert.deepEqual(
    [disposed.layers, disposed.maxLength, disposed.dtype, disposed.keys, disposed.config()],
    [1, 40, "f32", "rotated", config],
    "properties that need no memory still work",
  );
  expectError(() => rw.kvCache({ ...good, rope: disposedRope }), "DISPOSED", "rope");
  expectError(() => cache.retune({ rope: disposedRope }), "DISPOSED", "rope");
  assert.throws(() => cache.canRetune({ rope: disposedRope }), { code: "DISPOSED" });
  for (const change of [{ k: tensor }, { v: tensor }, { q: tensor }])
    expectError(() => cache.append({ ...fresh, ...change }), "DISPOSED", "tensor");
});

test("ropes and tensors of another module", async () => {
  const scalar = await load({ build: "scalar" });
  withRope(scalar.rope(config), (rope) => {
    expectError(() => rw.kvCache({ ...good, rope }), "INVALID_ARGUMENT", "rope");
    expectError(() => rw.kvCache({ ...good, layers: [{ rope }] }), "INVALID_ARGUMENT", "layers[0].rope");
    expectError(() => cache.retune({ rope }), "INVALID_ARGUMENT", "rope");
  });
  withRope(scalar.tensor(shape), (tensor) => {
    expectError(() => cache.append({ ...fresh, k: tensor }), "INVALID_ARGUMENT", "k");
    expectError(() => cache.append({ ...fresh, q: tensor }), "INVALID_ARGUMENT", "q");
  });
});
