// Invalid arguments: each throws its code and field, leaves arrays unchanged, and later calls work.
import assert from "node:assert/strict";
import test from "node:test";
import { randomFloats, sameBits } from "../helpers/arrays.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

const config = { head_dim: 64, pairing: "half" };
const shape = [2, 3, 64];
const good = { layout: "thd", shape, positions: 0 };
const count = 2 * 3 * 64;
const x = randomFloats(count);
const rope = rw.rope(config);
const textAndImage = rw.rope({ ...config, rope_scaling: { rope_type: "default", mrope_section: [8, 12, 12] } });
const xpos = rw.rope({ ...config, xpos: { scale_base: 512 } });
const fast = rw.rope({ ...config, rope_scaling: { rope_type: "custom", inv_freq: new Array(32).fill(1000) } });
const tensor = rw.tensor(shape).set(x);
const expected = rope.rotate(x.slice(), { ...good, positions: 7 });

/** Asserts the error, that nothing was written, and that the rope still works. */
function expectError(act, code, field) {
  raises(act, code, field);
  sameBits(x, randomFloats(count), "x");
  sameBits(tensor.data.slice(), randomFloats(count), "tensor");
  sameBits(rope.rotate(x.slice(), { ...good, positions: 7 }), expected, "a later rotation");
}

const rotations = [
  // title, options, code, field
  ["no layout", { layout: undefined }, "INVALID_ARGUMENT", "layout"],
  ["an unknown layout", { layout: "tdh" }, "INVALID_ARGUMENT", "layout"],
  ["no shape", { shape: undefined }, "INVALID_SHAPE", "shape"],
  ["a shape that is a string", { shape: "2,3,64" }, "INVALID_SHAPE", "shape"],
  ["a shape with a negative extent", { shape: [-2, -3, 64] }, "INVALID_SHAPE", "shape"],
  ["a shape with a fraction", { shape: [1.5, 4, 64] }, "INVALID_SHAPE", "shape"],
  ["a shape with a zero", { shape: [0, 3, 64] }, "INVALID_SHAPE", "shape"],
  ["a shape with NaN", { shape: [NaN, 3, 64] }, "INVALID_SHAPE", "shape"],
  ["a shape with too many extents for the layout", { shape: [1, 2, 3, 64] }, "INVALID_SHAPE", "shape"],
  ["a shape with too few extents for the layout", { layout: "bthd" }, "INVALID_SHAPE", "shape"],
  ["a head_dim that differs from the config", { shape: [4, 3, 32] }, "INVALID_SHAPE", "shape"],
  ["too few elements for the shape", { shape: [3, 3, 64] }, "INVALID_SHAPE", "shape"],
  ["too many elements for the shape", { shape: [1, 3, 64] }, "INVALID_SHAPE", "shape"],
  ["a shape larger than any memory", { shape: [2 ** 31, 2 ** 31, 64] }, "INVALID_SHAPE", "shape"],
  ["no positions", { positions: undefined }, "INVALID_POSITION", "positions"],
  ["positions that are null", { positions: null }, "INVALID_POSITION", "positions"],
  ["a position that is a string", { positions: "0" }, "INVALID_POSITION", "positions"],
  ["a position that is a bigint", { positions: 0n }, "INVALID_POSITION", "positions"],
  ["NaN", { positions: NaN }, "INVALID_POSITION", "positions"],
  ["infinity", { positions: Infinity }, "INVALID_POSITION", "positions"],
  ["2^31", { positions: 2 ** 31 }, "INVALID_POSITION", "positions"],
  ["an offset that moves the last token beyond 2^31", { positions: 2 ** 31 - 1 }, "INVALID_POSITION", "positions"],
  ["below −2^31", { positions: -(2 ** 31) - 1 }, "INVALID_POSITION", "positions"],
  ["ids with NaN", { positions: [0, NaN] }, "INVALID_POSITION", "positions"],
  ["ids with a hole", { positions: Object.assign(Array(2), { 1: 1 }) }, "INVALID_POSITION", "positions"],
  ["ids with undefined", { positions: [0, undefined] }, "INVALID_POSITION", "positions"],
  ["ids with null", { positions: [0, null] }, "INVALID_POSITION", "positions"],
  ["ids that are strings", { positions: ["0", "1"] }, "INVALID_POSITION", "positions"],
  ["ids with a bigint", { positions: [0, 1n] }, "INVALID_POSITION", "positions"],
  ["ids that are all bigints", { positions: BigInt64Array.of(0n, 1n) }, "INVALID_POSITION", "positions"],
  ["ids in nested arrays", { positions: [[0], [1]] }, "INVALID_POSITION", "positions"],
  ["ids as bytes of a buffer", { positions: new DataView(new ArrayBuffer(16)) }, "INVALID_POSITION", "positions"],
  ["ids with one out of range", { positions: Float64Array.of(0, 2 ** 31) }, "INVALID_POSITION", "positions"],
  ["too few ids", { positions: [0] }, "INVALID_SHAPE", "positions"],
  ["too many ids", { positions: [0, 1, 2] }, "INVALID_SHAPE", "positions"],
  ["no ids", { positions: [] }, "INVALID_SHAPE", "positions"],
  ["a seqLen of 0", { seqLen: 0 }, "INVALID_ARGUMENT", "seqLen"],
  ["a seqLen that is NaN", { seqLen: NaN }, "INVALID_ARGUMENT", "seqLen"],
  ["a seqLen that is a string", { seqLen: "5" }, "INVALID_ARGUMENT", "seqLen"],
  ["a seqLen beyond 2^31", { seqLen: 2 ** 31 + 1 }, "INVALID_ARGUMENT", "seqLen"],
  ["an unknown role", { role: "value" }, "INVALID_ARGUMENT", "role"],
  ["an unknown dtype", { dtype: "f64" }, "INVALID_DTYPE", "dtype"],
  ["a dtype that doesn't match the array", { dtype: "f16" }, "INVALID_DTYPE", "dtype"],
  ["an out that is too short", { out: new Float32Array(count - 1) }, "INVALID_SHAPE", "out"],
  ["an out that is null", { out: null }, "INVALID_DTYPE", "out"],
  ["an out of another type", { out: new Float64Array(count) }, "INVALID_DTYPE", "out"],
];

for (const [title, change, code, field] of rotations) {
  test(`rotate: ${title}`, () => {
    expectError(() => rope.rotate(x, { ...good, ...change }), code, field);
    const { shape: _, ...options } = { ...good, ...change };
    if ("shape" in change || "dtype" in change) return; // a tensor has its own shape and dtype
    expectError(() => rope.rotate(tensor, options), code, field);
  });
}

test("rotate: a tensor with a different shape or dtype option", () => {
  expectError(() => rope.rotate(tensor, { layout: "bthd", positions: 0 }), "INVALID_SHAPE", "shape");
  expectError(() => rope.rotate(tensor, { ...good, shape: [3, 2, 64] }), "INVALID_SHAPE", "shape");
  expectError(() => rope.rotate(tensor, { ...good, dtype: "bf16" }), "INVALID_DTYPE", "dtype");
  const other = rw.tensor(shape, "bf16");
  expectError(() => rope.rotate(tensor, { ...good, out: other }), "INVALID_DTYPE", "out");
  other.dispose();
});

test("rotate: values that aren't arrays of elements", () => {
  for (const none of [
    null,
    undefined,
    5,
    "x",
    [1, 2],
    new Float64Array(count),
    new Int8Array(count),
    new ArrayBuffer(4 * count),
    new DataView(new ArrayBuffer(8)),
    {},
  ]) {
    expectError(() => rope.rotate(none, good), "INVALID_DTYPE", "x");
  }
  expectError(() => rope.rotate(new Uint16Array(count), good), "INVALID_DTYPE", "dtype");
  expectError(() => rope.rotate(new Uint16Array(count), { ...good, dtype: "f32" }), "INVALID_DTYPE", "dtype");
});

test("rotate: an out that overlaps x partly", () => {
  const memory = new Float32Array(count + 10);
  memory.set(x);
  expectError(
    () => rope.rotate(memory.subarray(0, count), { ...good, out: memory.subarray(10) }),
    "INVALID_ARGUMENT",
    "out",
  );
  sameBits(memory.slice(0, count), x, "memory");
  const large = rw.tensor([count + 10]);
  expectError(
    () => rope.rotate(large.data.subarray(10), { ...good, out: large.data.subarray(0, count) }),
    "INVALID_ARGUMENT",
    "out",
  );
  large.dispose();
});

test("rotate: a token of more than 512 KB, in an array", () => {
  const wide = new Float32Array(2050 * 64).fill(1);
  expectError(() => rope.rotate(wide, { layout: "thd", shape: [1, 2050, 64], positions: 3 }), "INVALID_SHAPE", "shape");
  assert.ok(wide.every((value) => value === 1));
});

test("rotate: an invalid position in the last chunk of a large array throws before anything is written", () => {
  const large = new Float32Array(4000 * 64).fill(1);
  const positions = Array.from({ length: 4000 }, (_, i) => i);
  positions[3999] = NaN;
  expectError(
    () => rope.rotate(large, { layout: "thd", shape: [4000, 1, 64], positions }),
    "INVALID_POSITION",
    "positions",
  );
  expectError(
    () => rope.rotate(large, { layout: "thd", shape: [4000, 1, 64], positions: 2 ** 31 - 3999 }),
    "INVALID_POSITION",
    "positions",
  );
  assert.ok(large.every((value) => value === 1));
});

test("positions out of range for the frequencies or the xPos scale of a rope", () => {
  expectError(() => fast.rotate(x, { ...good, positions: 2 ** 30 }), "INVALID_POSITION", "positions");
  expectError(() => xpos.rotate(x, { ...good, positions: 40000 }), "INVALID_POSITION", "positions");
  expectError(() => xpos.table([40000]), "INVALID_POSITION", "positions");
});

test("ids of several axes", () => {
  for (const length of [1, 4, 5, 7]) {
    expectError(
      () => textAndImage.rotate(x, { ...good, positions: new Array(length).fill(0) }),
      "INVALID_SHAPE",
      "positions",
    );
  }
  expectError(() => textAndImage.table([1, 2, 3, 4]), "INVALID_SHAPE", "positions");
});

test("plan and describe", () => {
  for (const seqLen of [0, -1, NaN, Infinity, 2 ** 31 + 1, "8", null]) {
    expectError(() => rope.plan(seqLen), "INVALID_ARGUMENT", "seqLen");
    expectError(() => rope.describe(seqLen), "INVALID_ARGUMENT", "seqLen");
    expectError(() => rw.describe(config, seqLen), "INVALID_ARGUMENT", "seqLen");
  }
});

test("table", () => {
  for (const none of [0, -1, 1.5, NaN, Infinity, [], [NaN], null, undefined, "10", ["1"], [2 ** 31]])
    expectError(() => rope.table(none), "INVALID_POSITION", "positions");
  expectError(() => rope.table(3, { layout: "wide" }), "INVALID_ARGUMENT", "layout");
  expectError(() => rope.table(3, { dtype: "f64" }), "INVALID_DTYPE", "dtype");
  expectError(() => rope.table(3, { role: "value" }), "INVALID_ARGUMENT", "role");
  expectError(() => rope.table(3, { seqLen: 0 }), "INVALID_ARGUMENT", "seqLen");
});

test("rerotate", () => {
  const move = { layout: "thd", shape, from: { positions: 0 }, to: { positions: 1 } };
  for (const [change, code, field] of [
    [{ from: undefined }, "INVALID_POSITION", "from.positions"],
    [{ to: null }, "INVALID_POSITION", "to.positions"],
    [{ from: { positions: NaN } }, "INVALID_POSITION", "from.positions"],
    [{ to: { positions: [0, NaN] } }, "INVALID_POSITION", "to.positions"],
    [{ to: { positions: [0, 1, 2] } }, "INVALID_SHAPE", "to.positions"],
    [{ from: { positions: 0, seqLen: 0 } }, "INVALID_ARGUMENT", "from.seqLen"],
    [{ from: { positions: 0, rope: {} } }, "INVALID_ARGUMENT", "from.rope"],
    [{ to: { positions: 0, rope: config } }, "INVALID_ARGUMENT", "to.rope"],
    [{ layout: "bhtd" }, "INVALID_SHAPE", "shape"],
    [{ shape: [2, 2, 64] }, "INVALID_SHAPE", "shape"],
    [{ out: new Float32Array(3) }, "INVALID_SHAPE", "out"],
    [{ dtype: "f16" }, "INVALID_DTYPE", "dtype"],
  ]) {
    expectError(() => rope.rerotate(x, { ...move, ...change }), code, field);
  }
  expectError(() => rope.rerotate([1], move), "INVALID_DTYPE", "keys");
});

test("decay, first negative distance, smallest base, query temperature", () => {
  for (const [options, code, field] of [
    [{}, "INVALID_ARGUMENT", "count"],
    [{ count: 0 }, "INVALID_ARGUMENT", "count"],
    [{ count: 1.5 }, "INVALID_ARGUMENT", "count"],
    [{ count: 2 ** 40 }, "INVALID_ARGUMENT", "count"],
    [{ count: 1, curve: "zeros" }, "INVALID_ARGUMENT", "curve"],
    [{ count: 1, draws: 0 }, "INVALID_ARGUMENT", "draws"],
    [{ count: 1, seed: -1 }, "INVALID_ARGUMENT", "seed"],
    [{ count: 1, seed: 2 ** 32 }, "INVALID_ARGUMENT", "seed"],
    [{ count: 1, first: NaN }, "INVALID_ARGUMENT", "first"],
    [{ count: 1, step: Infinity }, "INVALID_ARGUMENT", "step"],
    [{ count: 2, step: 2 ** 31 }, "INVALID_POSITION", "positions"],
    [{ count: 1, seqLen: 0 }, "INVALID_ARGUMENT", "seqLen"],
  ]) {
    expectError(() => rope.decay(options), code, field);
  }
  for (const limit of [0, NaN, undefined, 2 ** 32])
    expectError(() => rope.firstNegativeDistance(limit), "INVALID_POSITION", "limit");
  expectError(() => rope.firstNegativeDistance(10, 0), "INVALID_ARGUMENT", "seqLen");
  for (const rotary_dim of [0, 7, 64.5, NaN, undefined])
    expectError(() => rw.smallestBase(rotary_dim, 100), "INVALID_CONFIG", "rotary_dim");
  for (const window of [0, NaN, undefined, 2 ** 25])
    expectError(() => rw.smallestBase(64, window), "INVALID_ARGUMENT", "window");
  for (const none of [NaN, [1, Infinity], "12", ["1"], undefined, null])
    expectError(() => rope.queryTemperature(none), "INVALID_POSITION", "positions");
});

test("tensor", () => {
  for (const given of [undefined, null, 5, [], [-1], [1.5], new Array(33).fill(1), [Infinity], "8", [2, "3"]])
    expectError(() => rw.tensor(given), "INVALID_SHAPE", "shape");
  for (const dtype of ["f64", null, 32]) expectError(() => rw.tensor([2], dtype), "INVALID_DTYPE", "dtype");
  for (const elements of [[], [1], new Float32Array(count + 1)])
    expectError(() => tensor.set(elements), "INVALID_SHAPE", "elements");
});

test("use after dispose", () => {
  const disposed = rw.rope(config);
  const disposedTensor = rw.tensor(shape);
  disposed.dispose();
  disposedTensor.dispose();
  for (const act of [
    () => disposed.rotate(x, good),
    () => disposed.rotate(tensor, good),
    () => disposed.plan(),
    () => disposed.table(3),
    () => disposed.rerotate(x, { layout: "thd", shape, from: { positions: 0 }, to: { positions: 1 } }),
    () => rope.rerotate(x, { layout: "thd", shape, from: { positions: 0, rope: disposed }, to: { positions: 1 } }),
    () => rope.rerotate(x, { layout: "thd", shape, from: { positions: 0 }, to: { positions: 1, rope: disposed } }),
    () => disposed.decay({ count: 1 }),
    () => disposed.firstNegativeDistance(10),
    () => disposed.queryTemperature(1),
    () => disposed.describe(),
  ]) {
    expectError(act, "DISPOSED", "rope");
  }
  for (const act of [
    () => disposedTensor.data,
    () => disposedTensor.set(x),
    () => rope.rotate(disposedTensor, good),
    () => rope.rotate(x, { ...good, out: disposedTensor }),
    () => rope.table(6, { out: { cos: disposedTensor, sin: disposedTensor } }),
  ]) {
    expectError(act, "DISPOSED", "tensor");
  }
  assert.deepEqual(
    [disposed.config, disposed.axes, disposedTensor.shape, disposedTensor.length],
    [config, 1, shape, count],
    "properties that need no memory remain",
  );
});

test("disposing in a different order than creating", () => {
  withRope(rw.rope(config), (first) => {
    const second = rw.rope({ ...config, rope_theta: 1e6 });
    first.dispose();
    sameBits(
      second.rotate(x.slice(), good),
      withRope(rw.rope({ ...config, rope_theta: 1e6 }), (fresh) => fresh.rotate(x.slice(), good)),
    );
    second.dispose();
  });
});
