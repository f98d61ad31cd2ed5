// Invalid arguments of linear attention: each throws its code and field, writes nothing, and leaves states unchanged.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "ropewalk";
import { product, randomFloats, sameBits } from "../helpers/arrays.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

const config = { head_dim: 8, pairing: "half" };
const rope = rw.rope(config);
const shape = [2, 3, 4, 8];
const kvShape = [2, 3, 2, 8];
const [q, k, v] = [
  randomFloats(product(shape), 1),
  randomFloats(product(kvShape), 2),
  randomFloats(product(kvShape), 3),
];
const good = { layout: "bthd", shape, kvShape };
const expected = rw.linearAttention(q, k, v, { ...good, rope });
const tensors = [rw.tensor(shape).set(q), rw.tensor(kvShape).set(k), rw.tensor(kvShape).set(v)];
const target = rw.tensor(shape);

/** Asserts the error, that nothing was written, and that attention still works. */
function expectError(act, code, field) {
  raises(act, code, field);
  [q, k, v].forEach((x, i) => sameBits(x, randomFloats(x.length, i + 1)));
  assert.ok(target.data.every((value) => value === 0));
  sameBits(rw.linearAttention(q, k, v, { ...good, rope }), expected);
}

const dynamic = { ...config, max_position_embeddings: 16, rope_scaling: { rope_type: "dynamic", factor: 2 } };
const longrope = {
  ...config,
  max_position_embeddings: 64,
  rope_scaling: {
    rope_type: "longrope",
    short_factor: [1, 1, 1, 1],
    long_factor: [2, 2, 2, 2],
    original_max_position_embeddings: 16,
  },
};

const bad = [
  ["no layout", { layout: undefined }, "INVALID_ARGUMENT", "layout"],
  ["a layout that doesn't match the shape", { layout: "thd" }, "INVALID_SHAPE", "shape"],
  ["keys with another number of rows", { kvShape: [3, 2, 2, 8] }, "INVALID_SHAPE", "kvShape"],
  ["keys with another head_dim", { kvShape: [2, 3, 4, 4] }, "INVALID_SHAPE", "kvShape"],
  [
    "query heads that aren't a multiple of the key heads",
    { kvShape: [2, 1, 6, 8], causal: false },
    "INVALID_SHAPE",
    "q",
  ],
  ["causal, with another number of keys", { kvShape: [2, 6, 1, 8] }, "INVALID_SHAPE", "kvShape"],
  ["causal, with key positions", { kvPositions: 0 }, "INVALID_ARGUMENT", "kvPositions"],
  ["a position that is NaN", { positions: NaN }, "INVALID_POSITION", "positions"],
  ["a key position that is NaN", { causal: false, kvPositions: NaN }, "INVALID_POSITION", "kvPositions"],
  ["too few ids", { positions: [1] }, "INVALID_SHAPE", "positions"],
  ["a config as rope", { rope: config }, "INVALID_ARGUMENT", "rope"],
  ["a rope that is null", { rope: null }, "INVALID_ARGUMENT", "rope"],
];

for (const [title, change, code, field] of bad) {
  test(title, () => {
    expectError(() => rw.linearAttention(q, k, v, { ...good, out: target, ...change }), code, field);
    if ("kvShape" in change || title.startsWith("a layout")) return;
    const { shape: _, kvShape: __, ...options } = { ...good, ...change };
    expectError(() => rw.linearAttention(...tensors, { ...options, out: target }), code, field);
    expectError(() => rw.linearAttention(...tensors, options), code, field);
  });
}

test("element types, and an out with a wrong size", () => {
  for (const none of [null, undefined, [1], new Uint16Array(192), new Float64Array(192)])
    expectError(() => rw.linearAttention(none, k, v, good), "INVALID_DTYPE", "q");
  for (const none of [null, undefined, [1], new Uint16Array(96)]) {
    expectError(() => rw.linearAttention(q, none, v, good), "INVALID_DTYPE", "k");
    expectError(() => rw.linearAttention(q, k, none, good), "INVALID_DTYPE", "v");
  }
  expectError(() => rw.linearAttention(q, k, v.subarray(16), good), "INVALID_SHAPE", "kvShape");
  expectError(() => rw.linearAttention(q, k, v, { ...good, out: new Float32Array(7) }), "INVALID_SHAPE", "out");
  expectError(() => rw.linearAttention(q, k, v, { ...good, out: new Uint16Array(192) }), "INVALID_DTYPE", "out");
  const memory = new Float32Array(300);
  for (const from of [0, 50])
    raises(
      () => rw.linearAttention(q, memory.subarray(from, from + 96), v, { ...good, out: memory.subarray(50, 242) }),
      "INVALID_ARGUMENT",
      "out",
    );
});

test("ropes with length-dependent frequencies or another head_dim", () => {
  for (const given of [dynamic, longrope]) {
    withRope(rw.rope(given), (changing) =>
      expectError(
        () => rw.linearAttention(q, k, v, { ...good, out: target, rope: changing }),
        "INVALID_ARGUMENT",
        "rope",
      ),
    );
    withRope(rw.linearState({ heads: 1, rope: given }), (state) => {
      raises(() => state.append(q.subarray(0, 8), k.subarray(0, 8), v.subarray(0, 8)), "INVALID_ARGUMENT", "rope");
      assert.equal(state.tokens, 0);
    });
  }
  withRope(rw.rope({ head_dim: 16, pairing: "half" }), (other) =>
    expectError(() => rw.linearAttention(q, k, v, { ...good, rope: other }), "INVALID_SHAPE", "shape"),
  );
});

test("NaN and infinity are rejected before anything is written, in the last row too", () => {
  for (const causal of [true, false]) {
    for (const value of [NaN, Infinity, -Infinity, 3e38]) {
      const damaged = k.slice();
      damaged[k.length - 1] = value;
      expectError(() => rw.linearAttention(q, damaged, v, { ...good, causal, out: target }), "INVALID_ARGUMENT", "k");
      expectError(() => rw.linearAttention(q, k, damaged, { ...good, causal, out: target }), "INVALID_ARGUMENT", "v");
      const own = rw.tensor(shape).set(q);
      raises(() => rw.linearAttention(own, damaged, v, { ...good, causal, out: own }), "INVALID_ARGUMENT", "k");
      sameBits(own.data.slice(), q, "q, in place");
      own.dispose();
    }
  }
});

const states = [
  ["no heads", {}, "INVALID_ARGUMENT", "heads"],
  ["0 heads", { heads: 0 }, "INVALID_ARGUMENT", "heads"],
  ["a fractional number of heads", { heads: 1.5 }, "INVALID_ARGUMENT", "heads"],
  ["no headDim", { rope: undefined }, "INVALID_ARGUMENT", "headDim"],
  ["a headDim that differs from the rope's", { headDim: 16 }, "INVALID_ARGUMENT", "headDim"],
  ["0 key heads", { kvHeads: 0 }, "INVALID_ARGUMENT", "kvHeads"],
  ["heads that aren't a multiple of the key heads", { kvHeads: 3 }, "INVALID_SHAPE", "heads"],
  ["a rope that is a string", { rope: "yarn" }, "INVALID_ARGUMENT", "rope"],
  ["a rope without a pairing", { rope: { head_dim: 8 } }, "INVALID_CONFIG", "pairing"],
];

for (const [title, change, code, field] of states) {
  test(`linearState: ${title}`, () => {
    const given = { heads: 4, kvHeads: 2, rope: config, ...change };
    if (title === "no heads") delete given.heads;
    raises(() => rw.linearState(given), code, field);
  });
}

test("append: an error leaves the state unchanged", () => {
  withRope(rw.linearState({ heads: 4, kvHeads: 2, rope: config }), (state) => {
    const [a, b, c] = [q.slice(0, 96), k.slice(0, 48), v.slice(0, 48)];
    state.append(a, b, c);
    const before = state.save();
    const fails = (act, code, field) => {
      raises(act, code, field);
      sameBits(state.save(), before);
    };
    const infinite = b.slice();
    infinite[47] = Infinity;
    fails(() => state.append(a, infinite, c), "INVALID_ARGUMENT", "k");
    fails(() => state.append(a, b, infinite), "INVALID_ARGUMENT", "v");
    fails(() => state.append(a, b.subarray(16), c), "INVALID_SHAPE", "k");
    fails(() => state.append(a, b, c.subarray(16)), "INVALID_SHAPE", "v");
    fails(() => state.append(a.subarray(1), b, c), "INVALID_SHAPE", "q");
    fails(() => state.append(new Float32Array(0), b, c), "INVALID_SHAPE", "q");
    fails(() => state.append(null, b, c), "INVALID_DTYPE", "q");
    fails(() => state.append(a, new Uint16Array(48), c), "INVALID_DTYPE", "k");
    fails(() => state.append(a, b, undefined), "INVALID_DTYPE", "v");
    fails(() => state.append(a, b, c, { layout: "bh" }), "INVALID_ARGUMENT", "layout");
    fails(() => state.append(a, b, c, { positions: NaN }), "INVALID_POSITION", "positions");
    fails(() => state.append(a, b, c, { positions: [0] }), "INVALID_SHAPE", "positions");
    fails(() => state.append(a, b, c, { out: new Float32Array(3) }), "INVALID_SHAPE", "out");
    withRope(rw.tensor([3, 2, 16]), (tensor) => fails(() => state.append(tensor, b, c), "INVALID_SHAPE", "q"));
  });
});

test("use after dispose, and objects of another load()", async () => {
  const [disposed, state] = [rw.rope(config), rw.linearState({ heads: 4, kvHeads: 2, rope: config })];
  const bytes = state.save();
  disposed.dispose();
  state.dispose();
  state.dispose();
  expectError(() => rw.linearAttention(q, k, v, { ...good, rope: disposed }), "DISPOSED", "rope");
  raises(() => rw.linearState({ heads: 4, rope: disposed }), "DISPOSED", "rope");
  for (const act of [
    () => state.append(q, k, v),
    () => state.tokens,
    () => state.reset(),
    () => state.save(),
    () => state.restore(bytes),
  ]) {
    expectError(act, "DISPOSED", "linearState");
  }
  assert.deepEqual([state.heads, state.kvHeads, state.headDim], [4, 2, 8]);
  const scalar = await load({ build: "scalar" });
  withRope(scalar.rope(config), (other) => {
    expectError(() => rw.linearAttention(q, k, v, { ...good, rope: other }), "INVALID_ARGUMENT", "rope");
    raises(() => rw.linearState({ heads: 4, rope: other }), "INVALID_ARGUMENT", "rope");
  });
});
