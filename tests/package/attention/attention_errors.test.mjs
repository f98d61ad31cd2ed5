// Invalid arguments of rw.attention: each throws its code and field, writes nothing, and later calls work.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "ropewalk";
import { product, randomFloats, sameBits } from "../helpers/arrays.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

const shape = [4, 4, 8];
const kvShape = [6, 2, 8];
const [q, k, v] = [
  randomFloats(product(shape), 1),
  randomFloats(product(kvShape), 2),
  randomFloats(product(kvShape), 3),
];
const good = { layout: "thd", shape, kvShape };
const expected = rw.attention(q, k, v, good);
const out = new Float32Array(q.length).fill(7);
const tensors = [rw.tensor(shape).set(q), rw.tensor(kvShape).set(k), rw.tensor(kvShape).set(v)];
const target = rw.tensor(shape);
const rope = rw.rope({ head_dim: 8, pairing: "half" });

/** Asserts the error, that nothing was written, and that attention still works. */
function expectError(act, code, field) {
  raises(act, code, field);
  [q, k, v].forEach((x, i) => sameBits(x, randomFloats(x.length, i + 1)));
  [q, k, v].forEach((x, i) => sameBits(tensors[i].data.slice(), x));
  assert.ok(out.every((value) => value === 7) && target.data.every((value) => value === 0));
  sameBits(rw.attention(q, k, v, good), expected);
}

const bad = [
  // title, options, code, field
  ["no layout", { layout: undefined }, "INVALID_ARGUMENT", "layout"],
  ["an unknown layout", { layout: "tdh" }, "INVALID_ARGUMENT", "layout"],
  ["a window of 0", { window: 0 }, "INVALID_ARGUMENT", "window"],
  ["a negative window", { window: -3 }, "INVALID_ARGUMENT", "window"],
  ["a fractional window", { window: 2.5 }, "INVALID_ARGUMENT", "window"],
  ["a window that is a string", { window: "4" }, "INVALID_ARGUMENT", "window"],
  ["an infinite window", { window: Infinity }, "INVALID_ARGUMENT", "window"],
  ["negative sink tokens", { sinkTokens: -1 }, "INVALID_ARGUMENT", "sinkTokens"],
  ["a fractional number of sink tokens", { sinkTokens: 0.5 }, "INVALID_ARGUMENT", "sinkTokens"],
  ["sinks with NaN", { sinks: [0, NaN, 0, 0] }, "INVALID_ARGUMENT", "sinks"],
  ["sinks with infinity", { sinks: [0, 0, 0, -Infinity] }, "INVALID_ARGUMENT", "sinks"],
  ["sinks beyond f32", { sinks: [0, 0, 0, 1e39] }, "INVALID_ARGUMENT", "sinks"],
  ["sinks for the key heads", { sinks: [0, 0] }, "INVALID_SHAPE", "sinks"],
  ["sinks that are a number", { sinks: 3 }, "INVALID_ARGUMENT", "sinks"],
  ["sinks that are strings", { sinks: ["0", "0", "0", "0"] }, "INVALID_ARGUMENT", "sinks"],
  ["a temperature for each key", { temperature: [1, 1, 1, 1, 1, 1] }, "INVALID_SHAPE", "temperature"],
  ["a temperature that is NaN", { temperature: [1, 1, NaN, 1] }, "INVALID_ARGUMENT", "temperature"],
  ["one temperature", { temperature: 1 }, "INVALID_ARGUMENT", "temperature"],
  ["a negative cap", { softCap: -50 }, "INVALID_ARGUMENT", "softCap"],
  ["a cap that is NaN", { softCap: NaN }, "INVALID_ARGUMENT", "softCap"],
  ["a cap of almost 0", { softCap: 1e-9 }, "INVALID_ARGUMENT", "softCap"],
  ["a scale that is NaN", { scale: NaN }, "INVALID_ARGUMENT", "scale"],
  ["an infinite scale", { scale: Infinity }, "INVALID_ARGUMENT", "scale"],
  ["a scale beyond f32", { scale: 1e39 }, "INVALID_ARGUMENT", "scale"],
  ["a scale that is a string", { scale: "1" }, "INVALID_ARGUMENT", "scale"],
  ["an unknown position", { position: "rope" }, "INVALID_ARGUMENT", "position"],
  ["a position that is null", { position: null }, "INVALID_ARGUMENT", "position"],
  ["a position that is a number", { position: 3 }, "INVALID_ARGUMENT", "position"],
  ["a config as position", { position: { head_dim: 8, pairing: "half" } }, "INVALID_ARGUMENT", "position"],
  ["an unknown scheme", { position: { scheme: "rope" } }, "INVALID_ARGUMENT", "position.scheme"],
  ["a base of 1", { position: { scheme: "sinusoidal", base: 1 } }, "INVALID_ARGUMENT", "position.base"],
  ["a base that is NaN", { position: { scheme: "sinusoidal", base: NaN } }, "INVALID_ARGUMENT", "position.base"],
  ["no table", { position: { scheme: "learned" } }, "INVALID_DTYPE", "position.table"],
  [
    "a table of plain numbers",
    { position: { scheme: "learned", table: [1, 2, 3] } },
    "INVALID_DTYPE",
    "position.table",
  ],
  [
    "a table with another width",
    { position: { scheme: "learned", table: new Float32Array(12) } },
    "INVALID_SHAPE",
    "position.table",
  ],
  [
    "a table that is too short",
    { position: { scheme: "learned", table: new Float32Array(5 * 8) } },
    "INVALID_ARGUMENT",
    "position.table",
  ],
  [
    "learned positions that are fractions",
    { position: { scheme: "learned", table: new Float32Array(80) }, positions: 0.5 },
    "INVALID_ARGUMENT",
    "position.table",
  ],
  [
    "negative learned positions",
    { position: { scheme: "learned", table: new Float32Array(80) }, kvPositions: -1 },
    "INVALID_ARGUMENT",
    "position.table",
  ],
  ["slopes for the key heads", { position: { scheme: "alibi", slopes: [1, 1] } }, "INVALID_SHAPE", "position.slopes"],
  ["slopes with NaN", { position: { scheme: "alibi", slopes: [1, NaN, 1, 1] } }, "INVALID_ARGUMENT", "position"],
  [
    "biases for another number of heads",
    { position: { scheme: "t5", table: new Float32Array(33) } },
    "INVALID_SHAPE",
    "position.table",
  ],
  [
    "biases with NaN",
    { position: { scheme: "t5", table: new Float32Array(32).fill(NaN) } },
    "INVALID_ARGUMENT",
    "position",
  ],
  ["one bucket", { position: { scheme: "t5", table: new Float32Array(4) } }, "INVALID_ARGUMENT", "position"],
  [
    "a maxDistance within the exact buckets",
    { position: { scheme: "t5", table: new Float32Array(128), maxDistance: 16 } },
    "INVALID_ARGUMENT",
    "position",
  ],
  [
    "an invalid maxDistance",
    { position: { scheme: "t5", table: new Float32Array(128), maxDistance: 1.5 } },
    "INVALID_ARGUMENT",
    "position.maxDistance",
  ],
  ["a position that is NaN", { positions: NaN }, "INVALID_POSITION", "positions"],
  ["a position beyond 2^31", { kvPositions: 2 ** 31 }, "INVALID_POSITION", "kvPositions"],
  ["NaN among ids", { positions: [0, 1, NaN, 3] }, "INVALID_POSITION", "positions"],
  [
    "key positions with NaN, with a scheme",
    { kvPositions: [0, 1, NaN, 3, 4, 5], position: { scheme: "alibi" } },
    "INVALID_POSITION",
    "kvPositions",
  ],
  ["too few ids", { positions: [0, 1] }, "INVALID_SHAPE", "positions"],
  ["query positions for the keys", { kvPositions: [0, 1, 2, 3] }, "INVALID_SHAPE", "kvPositions"],
  ["positions that are strings", { positions: "0" }, "INVALID_POSITION", "positions"],
];

for (const [title, change, code, field] of bad) {
  test(title, () => {
    expectError(() => rw.attention(q, k, v, { ...good, out, ...change }), code, field);
    const { shape: _, kvShape: __, ...options } = { ...good, ...change };
    expectError(() => rw.attention(...tensors, { ...options, out: target }), code, field);
    expectError(() => rw.attention(...tensors, options), code, field);
  });
}

test("a new output Tensor is freed after an error", () => {
  const before = rw.memoryBytes;
  const large = rw.tensor([4096, 4, 8]);
  for (let i = 0; i < 200; i++)
    raises(() => rw.attention(large, large, large, { layout: "thd", scale: 1e39 }), "INVALID_ARGUMENT", "scale"); // 100 MB of output
  assert.ok(rw.memoryBytes - before < 20 * 2 ** 20);
  large.dispose();
});

test("with a rope: positions out of range, and another head_dim", () => {
  for (const positions of [NaN, 2 ** 31, -(2 ** 31) - 1]) {
    expectError(() => rw.attention(q, k, v, { ...good, out, rope, positions }), "INVALID_POSITION", "positions");
    expectError(
      () => rw.attention(q, k, v, { ...good, out, rope, kvPositions: positions }),
      "INVALID_POSITION",
      "kvPositions",
    );
  }
  withRope(rw.rope({ head_dim: 16, pairing: "half" }), (other) => {
    expectError(() => rw.attention(q, k, v, { ...good, out, rope: other }), "INVALID_SHAPE", "shape");
  });
});

test("shapes", () => {
  for (const [change, code, field] of [
    [{ shape: undefined }, "INVALID_SHAPE", "shape"],
    [{ shape: [4, 4, 9] }, "INVALID_SHAPE", "shape"],
    [{ shape: [4, 32] }, "INVALID_SHAPE", "shape"],
    [{ shape: [0, 4, 8] }, "INVALID_SHAPE", "shape"],
    [{ shape: [4, 4, 4] }, "INVALID_SHAPE", "shape"],
    [{ kvShape: undefined }, "INVALID_SHAPE", "kvShape"],
    [{ kvShape: [6, 1, 16] }, "INVALID_SHAPE", "kvShape"],
    [{ kvShape: [6, 2, 9] }, "INVALID_SHAPE", "kvShape"],
    [{ kvShape: [5, 2, 8] }, "INVALID_SHAPE", "kvShape"],
    [{ kvShape: [4, 3, 8] }, "INVALID_SHAPE", "q"],
    [{ kvShape: "6,2,8" }, "INVALID_SHAPE", "kvShape"],
    [{ layout: "bthd" }, "INVALID_SHAPE", "shape"],
  ]) {
    expectError(() => rw.attention(q, k, v, { ...good, out, ...change }), code, field);
  }
  // query heads that aren't a multiple of the key heads, and another number of batch rows
  expectError(
    () => rw.attention(q, k.subarray(0, 48), v.subarray(0, 48), { ...good, out, kvShape: [2, 3, 8], causal: false }),
    "INVALID_SHAPE",
    "q",
  );
  expectError(
    () => rw.attention(q, k, v, { layout: "bthd", shape: [2, 2, 4, 8], kvShape: [3, 2, 2, 8], out }),
    "INVALID_SHAPE",
    "kvShape",
  );
  expectError(() => rw.attention(q, k, v.subarray(8), { ...good, out }), "INVALID_SHAPE", "kvShape");
  // more causal queries than keys
  expectError(
    () => rw.attention(q, k.subarray(0, 48), v.subarray(0, 48), { ...good, out, kvShape: [3, 2, 8] }),
    "INVALID_SHAPE",
    "q",
  );
});

test("element types", () => {
  for (const none of [
    null,
    undefined,
    5,
    [1, 2],
    new Float64Array(128),
    new Uint16Array(128),
    rw,
    new DataView(new ArrayBuffer(512)),
  ]) {
    expectError(() => rw.attention(none, k, v, { ...good, out }), "INVALID_DTYPE", "q");
  }
  for (const none of [null, undefined, 5, [1, 2], new Float64Array(96)]) {
    expectError(() => rw.attention(q, none, v, { ...good, out }), "INVALID_DTYPE", "k");
    expectError(() => rw.attention(q, k, none, { ...good, out }), "INVALID_DTYPE", "v");
  }
  const half = new Uint16Array(96);
  expectError(() => rw.attention(q, half, half, { ...good, out }), "INVALID_DTYPE", "kvDtype");
  expectError(() => rw.attention(q, half, half, { ...good, out, kvDtype: "f32" }), "INVALID_DTYPE", "kvDtype");
  expectError(() => rw.attention(q, half, half, { ...good, out, kvDtype: "q8_0" }), "INVALID_DTYPE", "kvDtype");
  expectError(() => rw.attention(q, k, half, { ...good, out }), "INVALID_DTYPE", "kvDtype");
  expectError(() => rw.attention(q, half, v, { ...good, out, kvDtype: "f16" }), "INVALID_DTYPE", "kvDtype");
  expectError(() => rw.attention(q, k, v, { ...good, out, kvDtype: "bf16" }), "INVALID_DTYPE", "kvDtype");
  withRope(rw.tensor(shape, "bf16"), (tensor) => {
    expectError(() => rw.attention(tensor, k, v, { ...good, out }), "INVALID_DTYPE", "q");
    expectError(() => rw.attention(q, k, v, { ...good, out: tensor }), "INVALID_DTYPE", "out");
  });
});

test("an out with a wrong size, or that overlaps an input", () => {
  for (const [given, code] of [
    [new Float32Array(127), "INVALID_SHAPE"],
    [null, "INVALID_DTYPE"],
    [new Float64Array(128), "INVALID_DTYPE"],
    [[1, 2], "INVALID_DTYPE"],
  ]) {
    expectError(() => rw.attention(q, k, v, { ...good, out: given }), code, "out");
  }
  const memory = new Float32Array(400);
  memory.set(q);
  memory.set(k, 200);
  const [mq, mk] = [memory.subarray(0, 128), memory.subarray(200, 296)];
  for (const from of [1, 127])
    raises(
      () => rw.attention(mq, mk, v, { ...good, out: memory.subarray(from, from + 128) }),
      "INVALID_ARGUMENT",
      "out",
    );
  for (const from of [150, 200, 250, 272])
    raises(
      () => rw.attention(mq, mk, v, { ...good, out: memory.subarray(from, from + 128) }),
      "INVALID_ARGUMENT",
      "out",
    );
  sameBits(memory.slice(0, 128), q);
  // out can't be q itself if k is inside q
  raises(() => rw.attention(mq, memory.subarray(0, 96), v, { ...good, out: mq }), "INVALID_ARGUMENT", "out");
  raises(() => rw.attention(tensors[0], tensors[1], v, { layout: "thd", out: tensors[1] }), "INVALID_SHAPE", "out");
  withRope(rw.tensor([4, 4, 8]), (table) => {
    raises(
      () => rw.attention(q, k, v, { ...good, position: { scheme: "learned", table }, out: table }),
      "INVALID_ARGUMENT",
      "out",
    );
  });
});

test("disposed objects, and objects of another module", async () => {
  const disposed = rw.rope({ head_dim: 8, pairing: "half" });
  const disposedTensor = rw.tensor(shape);
  disposed.dispose();
  disposedTensor.dispose();
  expectError(() => rw.attention(q, k, v, { ...good, out, rope: disposed }), "DISPOSED", "rope");
  expectError(() => rw.attention(disposedTensor, k, v, { ...good, out }), "DISPOSED", "tensor");
  expectError(() => rw.attention(q, k, v, { ...good, out: disposedTensor }), "DISPOSED", "tensor");
  const scalar = await load({ build: "scalar" });
  withRope(scalar.rope({ head_dim: 8, pairing: "half" }), (other) => {
    expectError(() => rw.attention(q, k, v, { ...good, out, rope: other }), "INVALID_ARGUMENT", "rope");
  });
  withRope(scalar.tensor(shape), (other) => {
    expectError(() => rw.attention(other, k, v, { ...good, out }), "INVALID_ARGUMENT", "q");
    expectError(() => rw.attention(q, k, v, { ...good, out: other }), "INVALID_ARGUMENT", "out");
  });
});

test("options in the place of v say that v is missing", () => {
  assert.throws(() => rw.attention(q, k, good), {
    code: "INVALID_ARGUMENT",
    field: "v",
    message: "v: is missing (got an object in its place); call attention(q, k, v, options)",
  });
  raises(() => rw.linearAttention(q, k, good), "INVALID_ARGUMENT", "v");
  raises(() => rw.attention(q, k, v), "INVALID_ARGUMENT", "layout");
});
