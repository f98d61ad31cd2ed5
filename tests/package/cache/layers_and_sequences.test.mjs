// rw.kvCache: layers of different sizes and ropes, positions of tokens, several sequences.
import assert from "node:assert/strict";
import test from "node:test";
import { randomFloats, sameBits } from "../helpers/arrays.mjs";
import { inLayout } from "../helpers/attention.mjs";
import { appendAll, expectFresh, keysAndValues, kinds, makeTokens, pick, range } from "../helpers/caches.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

const config = { head_dim: 16, pairing: "half", rope_theta: 5e5 };
const layers = [{ kvHeads: 2, headDim: 16 }];

test("layers with different heads, dimensions and ropes, and without RoPE", () => {
  const wide = { head_dim: 32, pairing: "interleaved", rotary_dim: 8 };
  const yarn = { ...config, rope_scaling: { rope_type: "yarn", factor: 8, original_max_position_embeddings: 64 } };
  for (const keys of ["rotated", "raw"]) {
    withRope(rw.rope(config), (rope) => {
      const uneven = [
        {},
        { kvHeads: 3 },
        { rope: wide, kvHeads: 1 },
        { rope: null, headDim: 20 },
        { rope: yarn },
        { rope },
        { rope: { ...config } },
      ];
      withRope(rw.kvCache({ rope, kvHeads: 2, layers: uneven, maxLength: 80, keys }), (cache) => {
        assert.equal(cache.layers, 7);
        assert.deepEqual(
          range(0, 7).map((layer) => cache.config(layer)),
          [config, config, wide, null, yarn, config, config],
        );
        const sizes = [
          [2, 16],
          [3, 16],
          [1, 32],
          [2, 20],
          [2, 16],
          [2, 16],
          [2, 16],
        ];
        const tokens = makeTokens(
          50,
          sizes.map(([kvHeads, headDim]) => ({ kvHeads, headDim })),
        );
        appendAll(cache, pick(tokens, range(0, 20)));
        appendAll(cache, pick(tokens, range(20, 50)));
        expectFresh(cache, tokens, range(0, 50), { roundings: 0 });
      });
    });
  }
});

test("a number of equal layers", () => {
  withRope(rw.kvCache({ rope: config, kvHeads: 2, layers: 5, maxLength: 40 }), (cache) => {
    const tokens = makeTokens(10, new Array(5).fill(layers[0]));
    appendAll(cache, tokens);
    expectFresh(cache, tokens, range(0, 10), { roundings: 0 });
    assert.deepEqual(cache.config(4), config);
  });
});

test("layers with fewer tokens than others see their own tokens only", () => {
  withRope(rw.kvCache({ rope: config, kvHeads: 2, layers: 2, maxLength: 40 }), (cache) => {
    const [first, second] = makeTokens(20, [layers[0], layers[0]]);
    cache.append({ ...keysAndValues(first), layout: "thd", shape: [20, 2, 16], positions: 7 });
    assert.equal(cache.length, 20);
    assert.deepEqual([cache.read({ layer: 0 }).k.length, cache.read({ layer: 1 }).k.length], [640, 0]);
    const part = pick([second], range(0, 12))[0];
    cache.append({ ...keysAndValues(part), layer: 1, layout: "thd", shape: [12, 2, 16] });
    assert.equal(cache.length, 20);
    assert.deepEqual([...cache.positions()], range(7, 27));
    assert.equal(cache.read({ layer: 1 }).k.length, 12 * 32);
    cache.append({
      ...keysAndValues(pick([second], range(12, 20))[0]),
      layer: 1,
      layout: "thd",
      shape: [8, 2, 16],
      positions: 19,
    });
    expectFresh(cache, [first, second], range(7, 27), { roundings: 0 });
  });
});

test("positions: an offset, ids, fractions, gaps, and the default after them", () => {
  withRope(rw.kvCache({ rope: config, kvHeads: 2, maxLength: 40 }), (cache) => {
    const tokens = makeTokens(12, layers);
    const give = (first, end, positions) =>
      appendAll(cache, pick(tokens, range(first, end)), positions === undefined ? {} : { positions });
    give(0, 2);
    give(2, 4, 10);
    give(4, 6);
    give(6, 8, [3, 0.5]);
    give(8, 10, Float64Array.of(-7, 100));
    give(10, 12);
    expectFresh(cache, tokens, [0, 1, 10, 11, 12, 13, 3, 0.5, -7, 100, 101, 102], { roundings: 0 });
  });
});

test("positions of several axes, shared with a rope of one", () => {
  const sections = { ...config, rope_scaling: { rope_type: "default", mrope_section: [3, 3, 2] } };
  for (const keys of ["rotated", "raw"]) {
    withRope(
      rw.kvCache({ layers: [{ rope: sections }, { rope: config }], kvHeads: 2, maxLength: 40, keys }),
      (cache) => {
        assert.equal(cache.axes, 3);
        const tokens = makeTokens(6, [layers[0], layers[0]]);
        appendAll(cache, pick(tokens, range(0, 2)));
        appendAll(cache, pick(tokens, range(2, 5)), { positions: [2, 2, 2, 5, 6, 7, 9, 8, 9] });
        appendAll(cache, pick(tokens, [5]));
        expectFresh(cache, tokens, [0, 1, 2, 2, 2, 10, 0, 1, 5, 6, 7, 10, 0, 1, 9, 8, 9, 10], { roundings: 0 });
      },
    );
  }
});

test("several sequences: a batch row for each, or a single one by index", () => {
  for (const { dtype, keys } of kinds) {
    withRope(rw.kvCache({ rope: config, kvHeads: 2, maxLength: 60, sequences: 3, dtype, keys }), (cache) => {
      const rows = [1, 2, 3].map((seed) => makeTokens(40, layers, seed));
      const batch = (name, first, end) =>
        Float32Array.from(rows.flatMap((row) => [...pick(row, range(first, end))[0][name]]));
      cache.append({ k: batch("k", 0, 10), v: batch("v", 0, 10), layout: "bthd", shape: [3, 10, 2, 16] });
      appendAll(cache, pick(rows[1], range(10, 40)), { sequence: 1 });
      appendAll(cache, pick(rows[2], range(10, 15)), { sequence: 2, positions: 100 });
      assert.deepEqual(
        [0, 1, 2].map((sequence) => cache.lengthOf(sequence)),
        [10, 40, 15],
      );
      assert.equal(cache.length, 10);
      const options = (sequence) => ({ sequence, roundings: 0, message: `${dtype}, ${keys}, sequence ${sequence}` });
      expectFresh(cache, pick(rows[0], range(0, 10)), range(0, 10), options(0));
      expectFresh(cache, rows[1], range(0, 40), options(1));
      expectFresh(cache, pick(rows[2], range(0, 15)), [...range(0, 10), ...range(100, 105)], options(2));
      // attention of all sequences at once equals attention of each
      const q = randomFloats(3 * 2 * 4 * 16, 5);
      const together = cache.attend(q, { layout: "bthd", shape: [3, 2, 4, 16] });
      for (let sequence = 0; sequence < 3; sequence++) {
        const alone = cache.attend(q.slice(sequence * 128, (sequence + 1) * 128), {
          layout: "thd",
          shape: [2, 4, 16],
          sequence,
        });
        sameBits(alone, together.slice(sequence * 128, (sequence + 1) * 128));
      }
      // each row has its own positions
      const ids = [
        [50, 51],
        [60, 61],
        [200, 300],
      ];
      const two = rows.map((row) => pick(row, [0, 1]));
      const pairs = (name) => Float32Array.from(two.flatMap(([{ [name]: x }]) => [...x]));
      cache.append({ k: pairs("k"), v: pairs("v"), layout: "bthd", shape: [3, 2, 2, 16], positions: ids.flat() });
      ids.forEach((expected, sequence) => assert.deepEqual([...cache.positions(sequence).subarray(-2)], expected));
    });
  }
});

test("positions shared by all sequences, and thousands of sequences", () => {
  withRope(rw.kvCache({ rope: config, kvHeads: 2, maxLength: 60, sequences: 3 }), (cache) => {
    const rows = [1, 2, 3].map((seed) => makeTokens(4, layers, seed));
    const all = (name) => Float32Array.from(rows.flatMap(([{ [name]: x }]) => [...x]));
    cache.append({ k: all("k"), v: all("v"), layout: "bthd", shape: [3, 4, 2, 16], positions: [9, 7, 20, 21] });
    rows.forEach((row, sequence) => expectFresh(cache, row, [9, 7, 20, 21], { sequence, roundings: 0 }));
    // in the other layout, rows start at other offsets
    const moved = (name) =>
      Float32Array.from(rows.flatMap(([{ [name]: x }]) => [...inLayout(x, "bhtd", { t: 4, h: 2, d: 16 })]));
    cache.append({ k: moved("k"), v: moved("v"), layout: "bhtd", shape: [3, 2, 4, 16], positions: 50 });
    rows.forEach((row, sequence) =>
      expectFresh(cache, pick(row, [0, 1, 2, 3, 0, 1, 2, 3]), [9, 7, 20, 21, 50, 51, 52, 53], {
        sequence,
        roundings: 0,
      }),
    );
  });
  withRope(rw.kvCache({ rope: config, kvHeads: 2, maxLength: 60, sequences: 65536 }), (cache) => {
    appendAll(cache, makeTokens(3, layers), { sequence: 65535 });
    expectFresh(cache, makeTokens(3, layers), [0, 1, 2], { sequence: 65535, roundings: 0 });
    assert.equal(cache.lengthOf(65534), 0);
  });
});
