// Empty tensors: no queries means nothing to do, and no keys means zeros, as numpy's sums over nothing are.
import assert from "node:assert/strict";
import test from "node:test";
import { product, randomFloats } from "../helpers/arrays.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

const none = new Float32Array(0);
const rope = rw.rope({ head_dim: 8, pairing: "half" });
const shapes = [
  ["thd", [0, 2, 8]],
  ["thd", [3, 0, 8]],
  ["bthd", [0, 3, 2, 8]],
  ["bhtd", [2, 2, 0, 8]],
  ["bthd", [2 ** 33, 0, 2, 8]],
];
const positions = [{}, { rope }, { position: { scheme: "alibi" } }, { position: { scheme: "sinusoidal" } }];

test("no queries: nothing is computed", () => {
  for (const [layout, shape] of shapes) {
    for (const position of positions) {
      const out = rw.attention(none, none, none, { layout, shape, ...position });
      assert.ok(out instanceof Float32Array && out.length === 0, `${layout} ${shape}`);
    }
    for (const causal of [true, false]) {
      assert.equal(rw.linearAttention(none, none, none, { layout, shape, causal }).length, 0);
    }
  }
  withRope(rw.tensor([0, 2, 8]), (tensor) =>
    withRope(rw.attention(tensor, tensor, tensor, { layout: "thd", rope }), (out) => {
      assert.deepEqual(out.shape, [0, 2, 8]);
    }),
  );
  const k = randomFloats(5 * 16);
  assert.equal(rw.attention(none, k, k, { layout: "thd", shape: [0, 2, 8], kvShape: [5, 2, 8] }).length, 0);
});

test("no keys: zeros", () => {
  for (const [layout, shape, kvShape] of [
    ["thd", [3, 2, 8], [0, 2, 8]],
    ["bhtd", [2, 4, 3, 8], [2, 2, 0, 8]],
  ]) {
    const q = randomFloats(product(shape));
    for (const causal of [true, false]) {
      for (const position of positions) {
        const out = rw.attention(q, none, none, { layout, shape, kvShape, causal, ...position });
        assert.deepEqual(out, new Float32Array(q.length));
      }
    }
    assert.deepEqual(
      rw.linearAttention(q, none, none, { layout, shape, kvShape, causal: false }),
      new Float32Array(q.length),
    );
    raises(() => rw.linearAttention(q, none, none, { layout, shape, kvShape }), "INVALID_SHAPE", "kvShape");
    withRope(rw.tensor(shape).set(q), (tensor) => {
      rw.attention(tensor, none, none, { layout, kvShape, out: tensor });
      assert.ok(tensor.data.every((value) => value === 0));
    });
  }
});

test("options are still checked", () => {
  const options = { layout: "thd", shape: [0, 2, 8] };
  raises(() => rw.attention(none, none, none, { ...options, window: 0 }), "INVALID_ARGUMENT", "window");
  raises(() => rw.attention(none, none, none, { ...options, positions: [1] }), "INVALID_SHAPE", "positions");
  raises(() => rw.attention(none, none, none, { ...options, kvShape: [1, 2, 8] }), "INVALID_SHAPE", "kvShape");
  raises(() => rw.attention(randomFloats(8), none, none, options), "INVALID_SHAPE", "shape");
});

test("a state without new tokens stays as it is", () => {
  withRope(rw.linearState({ heads: 2, headDim: 8, rope: { head_dim: 8, pairing: "half" } }), (state) => {
    const [q, k, v] = [1, 2, 3].map((seed) => randomFloats(16, seed));
    state.append(q, k, v);
    const before = state.save();
    assert.equal(state.append(none, none, none).length, 0);
    assert.deepEqual(state.save(), before);
    raises(() => state.append(none, k, v), "INVALID_SHAPE", "q");
    raises(() => state.append(q, none, v), "INVALID_SHAPE", "k");
    raises(() => state.append(randomFloats(3), k, v), "INVALID_SHAPE", "q");
    assert.equal(state.tokens, 1);
  });
});

test("a cache without new tokens stays as it is", () => {
  const config = { head_dim: 8, pairing: "half" };
  for (const sequences of [1, 2]) {
    withRope(rw.kvCache({ rope: config, kvHeads: 2, maxLength: 8, sequences }), (cache) => {
      const k = randomFloats(sequences * 3 * 16);
      const batch = (tokens) => ({ layout: "bthd", shape: [sequences, tokens, 2, 8] });
      cache.append({ k, v: k, ...batch(3) });
      cache.append({ k: none, v: none, ...batch(0) });
      cache.append({ k: none, v: none, q: none, ...batch(0), positions: [] });
      cache.append({ k: none, v: none, layout: "thd", shape: [0, 2, 8], sequence: 0 });
      withRope(rw.tensor([0, 2, 8]), (tensor) => cache.append({ k: tensor, v: tensor, layout: "thd", sequence: 0 }));
      assert.equal(cache.length, 3);
      assert.equal(cache.attend(none, batch(0)).length, 0);
      raises(() => cache.append({ k: none, v: none, q: k, ...batch(0) }), "INVALID_SHAPE", "q");
      raises(() => cache.append({ k: none, v: k, ...batch(0) }), "INVALID_SHAPE", "shape");
      cache.append({ k, v: k, ...batch(3) });
      assert.equal(cache.length, 6);
    });
  }
});
