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
function refuses(act, code, field) {
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
  ["a window below 0", { window: -3 }, "INVALID_ARGUMENT", "window"],
  ["half a window", { window: 2.5 }, "INVALID_ARGUMENT", "window"],
  ["a window that is a string", { window: "4" }, "INVALID_ARGUMENT", "window"],
  ["an infinite window", { window: Infinity }, "INVALID_ARGUMENT", "window"],
  ["negative sink tokens", { sinkTokens: -1 }, "INVALID_ARGUMENT", "sinkTokens"],
  ["half a sink token", { sinkTokens: 0.5 }, "INVALID_ARGUMENT", "sinkTokens"],
  ["sinks with NaN", { sinks: [0, NaN, 0, 0] }, "INVALID_ARGUMENT", "sinks"],
  ["sinks with infinity", { sinks: [0, 0, 0, -Infinity] }, "INVALID_ARGUMENT", "sinks"],
  ["sinks beyond f32", { sinks: [0, 0, 0, 1e39] }, "INVALID_ARGUMENT", "sinks"],
  ["sinks of the key heads", { sinks: [0, 0] }, "INVALID_SHAPE", "sinks"],
  ["sinks that are a number", { sinks: 3 }, "INVALID_ARGUMENT", "sinks"],
  ["sinks that are strings", { sinks: ["0", "0", "0", "0"] }, "INVALID_ARGUMENT", "sinks"],
  ["a temperature for each key", { temperature: [1, 1, 1, 1, 1, 1] }, "INVALID_SHAPE", "temperature"],
  ["a temperature that is NaN", { temperature: [1, 1, NaN, 1] }, "INVALID_ARGUMENT", "temperature"],
  ["one temperature", { temperature: 1 }, "INVALID_ARGUMENT", "temperature"],
  ["a cap below 0", { softCap: -50 }, "INVALID_ARGUMENT", "softCap"],
  ["a cap that is NaN", { softCap: NaN }, "INVALID_ARGUMENT", "softCap"],
  ["a cap of nothing", { softCap: 1e-9 }, "INVALID_ARGUMENT", "softCap"],
  ["a scale that is NaN", { scale: NaN }, "INVALID_ARGUMENT", "scale"],
  ["an infinite scale", { scale: Infinity }, "INVALID_ARGUMENT", "scale"],
  ["a scale beyond f32", { scale: 1e39 }, "INVALID_ARGUMENT", "scale"],
  ["a scale that is a string", { scale: "1" }, "INVALID_ARGUMENT", "scale"],
  ["an unknown position", { position: "rope" }, "INVALID_ARGUMENT", "position"],
  ["a position that is null", { position: null }, "INVALID_ARGUMENT", "position"],
  ["a position that is a number", { position: 3 }, "INVALID_ARGUMENT", "position"],
  ["a config for a position", { position: { head_dim: 8, pairing: "half" } }, "INVALID_ARGUMENT", "position"],
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
    "a table of another width",
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
    "learned positions below 0",
    { position: { scheme: "learned", table: new Float32Array(80) }, kvPositions: -1 },
    "INVALID_ARGUMENT",
    "position.table",
  ],
  ["slopes of the key heads", { position: { scheme: "alibi", slopes: [1, 1] } }, "INVALID_SHAPE", "position.slopes"],
  ["slopes with NaN", { position: { scheme: "alibi", slopes: [1, NaN, 1, 1] } }, "INVALID_ARGUMENT", "position"],
  [
    "biases for other heads",
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
    "a maxDistance that is none",
    { position: { scheme: "t5", table: new Float32Array(128), maxDistance: 1.5 } },
    "INVALID_ARGUMENT",
    "position.maxDistance",
  ],
  ["NaN for a position", { positions: NaN }, "INVALID_POSITION", "positions"],
  ["a position beyond 2^31", { kvPositions: 2 ** 31 }, "INVALID_POSITION", "kvPositions"],
  ["NaN among ids", { positions: [0, 1, NaN, 3] }, "INVALID_POSITION", "positions"],
  [
    "NaN among the keys' ids, with a scheme",
    { kvPositions: [0, 1, NaN, 3, 4, 5], position: { scheme: "alibi" } },
    "INVALID_POSITION",
    "kvPositions",
  ],
  ["too few ids", { positions: [0, 1] }, "INVALID_SHAPE", "positions"],
  ["ids of the queries for the keys", { kvPositions: [0, 1, 2, 3] }, "INVALID_SHAPE", "kvPositions"],
  ["positions that are strings", { positions: "0" }, "INVALID_POSITION", "positions"],
];

for (const [what, change, code, field] of bad) {
  test(what, () => {
    refuses(() => rw.attention(q, k, v, { ...good, out, ...change }), code, field);
    const { shape: _, kvShape: __, ...options } = { ...good, ...change };
    refuses(() => rw.attention(...tensors, { ...options, out: target }), code, field);
    refuses(() => rw.attention(...tensors, options), code, field);
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

test("with a rope: positions out of its range, and another head_dim", () => {
  for (const positions of [NaN, 2 ** 31, -(2 ** 31) - 1]) {
    refuses(() => rw.attention(q, k, v, { ...good, out, position: rope, positions }), "INVALID_POSITION", "positions");
    refuses(
      () => rw.attention(q, k, v, { ...good, out, position: rope, kvPositions: positions }),
      "INVALID_POSITION",
      "kvPositions",
    );
  }
  withRope(rw.rope({ head_dim: 16, pairing: "half" }), (other) => {
    refuses(() => rw.attention(q, k, v, { ...good, out, position: other }), "INVALID_SHAPE", "shape");
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
    refuses(() => rw.attention(q, k, v, { ...good, out, ...change }), code, field);
  }
  // key heads that don't divide the query heads, and another number of batch rows
  refuses(
    () => rw.attention(q, k.subarray(0, 48), v.subarray(0, 48), { ...good, out, kvShape: [2, 3, 8], causal: false }),
    "INVALID_SHAPE",
    "q",
  );
  refuses(
    () => rw.attention(q, k, v, { layout: "bthd", shape: [2, 2, 4, 8], kvShape: [3, 2, 2, 8], out }),
    "INVALID_SHAPE",
    "kvShape",
  );
  refuses(() => rw.attention(q, k, v.subarray(8), { ...good, out }), "INVALID_SHAPE", "kvShape");
  // more causal queries than keys
  refuses(
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
    refuses(() => rw.attention(none, k, v, { ...good, out }), "INVALID_DTYPE", "q");
  }
  for (const none of [null, undefined, 5, [1, 2], new Float64Array(96)]) {
    refuses(() => rw.attention(q, none, v, { ...good, out }), "INVALID_DTYPE", "k");
    refuses(() => rw.attention(q, k, none, { ...good, out }), "INVALID_DTYPE", "v");
  }
  const half = new Uint16Array(96);
  refuses(() => rw.attention(q, half, half, { ...good, out }), "INVALID_DTYPE", "kvDtype");
  refuses(() => rw.attention(q, half, half, { ...good, out, kvDtype: "f32" }), "INVALID_DTYPE", "kvDtype");
  refuses(() => rw.attention(q, half, half, { ...good, out, kvDtype: "q8_0" }), "INVALID_DTYPE", "kvDtype");
  refuses(() => rw.attention(q, k, half, { ...good, out }), "INVALID_DTYPE", "kvDtype");
  refuses(() => rw.attention(q, half, v, { ...good, out, kvDtype: "f16" }), "INVALID_DTYPE", "kvDtype");
  refuses(() => rw.attention(q, k, v, { ...good, out, kvDtype: "bf16" }), "INVALID_DTYPE", "kvDtype");
  withRope(rw.tensor(shape, "bf16"), (tensor) => {
    refuses(() => rw.attention(tensor, k, v, { ...good, out }), "INVALID_DTYPE", "q");
    refuses(() => rw.attention(q, k, v, { ...good, out: tensor }), "INVALID_DTYPE", "out");
  });
});

test("an out with a wrong size, or that overlaps an input", () => {
  for (const [given, code] of [
    [new Float32Array(127), "INVALID_SHAPE"],
    [null, "INVALID_DTYPE"],
    [new Float64Array(128), "INVALID_DTYPE"],
    [[1, 2], "INVALID_DTYPE"],
  ]) {
    refuses(() => rw.attention(q, k, v, { ...good, out: given }), code, "out");
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

test("disposed objects, and objects of another load()", async () => {
  const gone = rw.rope({ head_dim: 8, pairing: "half" });
  const lost = rw.tensor(shape);
  gone.dispose();
  lost.dispose();
  refuses(() => rw.attention(q, k, v, { ...good, out, position: gone }), "DISPOSED", "rope");
  refuses(() => rw.attention(lost, k, v, { ...good, out }), "DISPOSED", "tensor");
  refuses(() => rw.attention(q, k, v, { ...good, out: lost }), "DISPOSED", "tensor");
  const scalar = await load({ build: "scalar" });
  withRope(scalar.rope({ head_dim: 8, pairing: "half" }), (other) => {
    refuses(() => rw.attention(q, k, v, { ...good, out, position: other }), "INVALID_ARGUMENT", "position");
  });
  withRope(scalar.tensor(shape), (other) => {
    refuses(() => rw.attention(other, k, v, { ...good, out }), "INVALID_ARGUMENT", "q");
    refuses(() => rw.attention(q, k, v, { ...good, out: other }), "INVALID_ARGUMENT", "out");
  });
});
