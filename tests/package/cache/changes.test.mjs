// truncate, shift, retune and copyPrefix: afterwards the cache equals one that was filled that way from the start.
import assert from "node:assert/strict";
import test from "node:test";
import { randomFloats, sameBits } from "../helpers/arrays.mjs";
import { appendAll, expectFresh, kinds, makeTokens, pick, range } from "../helpers/caches.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

const config = { head_dim: 16, pairing: "half", rope_theta: 5e5 };
const yarn = (factor, more) => ({
  ...config,
  ...more,
  rope_scaling: { rope_type: "yarn", factor, original_max_position_embeddings: 64 },
});
const layers = new Array(2).fill({ kvHeads: 2, headDim: 16 });
const tokens = makeTokens(100, layers);
const make = (more) => rw.kvCache({ rope: config, kvHeads: 2, layers: 2, maxLength: 100, ...more });
const filled = (count, more, options) => {
  const cache = make(more);
  appendAll(cache, pick(tokens, range(0, count)), options);
  return cache;
};

for (const kind of kinds) {
  const name = `${kind.dtype}, ${kind.keys}`;

  test(`truncate, then append: ${name}`, () => {
    for (const length of [0, 1, 31, 32, 33, 69, 70]) {
      withRope(filled(70, kind), (cache) => {
        cache.truncate(length);
        expectFresh(cache, pick(tokens, range(0, length)), range(0, length), { roundings: 0, message: `${length}` });
        appendAll(cache, pick(tokens, range(80, 90)));
        expectFresh(cache, pick(tokens, [...range(0, length), ...range(80, 90)]), range(0, length + 10), {
          roundings: 0,
          message: `${length} and 10`,
        });
      });
    }
  });

  test(`shift, then append: ${name}`, () => {
    for (const [keep, discard] of [
      [0, 1],
      [4, 16],
      [0, 32],
      [5, 32],
      [31, 2],
      [4, 66],
      [0, 70],
      [69, 1],
    ]) {
      withRope(filled(70, kind), (cache) => {
        assert.deepEqual(cache.canShift({ keep, discard }), { possible: true });
        cache.shift({ keep, discard });
        const left = [...range(0, keep), ...range(keep + discard, 70)];
        expectFresh(cache, pick(tokens, left), range(0, left.length), { roundings: 1, message: `${keep}, ${discard}` });
        appendAll(cache, pick(tokens, range(90, 93)));
        expectFresh(cache, pick(tokens, [...left, 90, 91, 92]), range(0, left.length + 3), {
          roundings: 1,
          message: `${keep}, ${discard} and 3`,
        });
      });
    }
  });

  test(`retune to YaRN times 4, and back: ${name}`, () => {
    withRope(filled(70, kind), (cache) => {
      withRope(rw.rope(yarn(4)), (rope) => {
        assert.deepEqual(cache.canRetune({ rope }), { possible: true });
        cache.retune({ rope });
      });
      assert.deepEqual(cache.config(1), yarn(4));
      expectFresh(cache, pick(tokens, range(0, 70)), range(0, 70), { roundings: 1, message: "YaRN" });
      appendAll(cache, pick(tokens, range(70, 90)));
      expectFresh(cache, pick(tokens, range(0, 90)), range(0, 90), { roundings: 1, message: "YaRN, and 20" });
      cache.retune({ rope: config });
      expectFresh(cache, pick(tokens, range(0, 90)), range(0, 90), { roundings: 2, message: "and back" });
    });
  });

  test(`retune to other positions: ${name}`, () => {
    withRope(filled(40, kind), (cache) => {
      const ids = range(0, 40).map((i) => 3 * i - 17);
      for (const [roundings, positions] of [1000, ids, range(0, 40).map((i) => i / 4), -5, 0].entries()) {
        assert.deepEqual(cache.canRetune({ positions }), { possible: true });
        cache.retune({ positions });
        const expected = typeof positions === "number" ? range(positions, positions + 40) : positions;
        expectFresh(cache, pick(tokens, range(0, 40)), expected, {
          roundings: roundings + 1,
          message: String(positions),
        });
      }
      appendAll(cache, pick(tokens, [40]));
      expectFresh(cache, pick(tokens, range(0, 41)), range(0, 41), { roundings: 5 });
    });
  });

  test(`retune rope and positions at once: ${name}`, () => {
    withRope(filled(40, kind), (cache) => {
      const positions = range(0, 40).map((i) => 2 * i);
      cache.retune({ rope: yarn(2, { rope_theta: 1e4 }), positions });
      expectFresh(cache, pick(tokens, range(0, 40)), positions, { roundings: 2 });
    });
  });

  test(`sequences with a copied prefix are independent: ${name}`, () => {
    withRope(filled(50, { ...kind, sequences: 3 }, { sequence: 0 }), (cache) => {
      appendAll(cache, pick(tokens, range(90, 95)), { sequence: 1 });
      cache.copyPrefix({ from: 0, to: 1, length: 40 });
      cache.copyPrefix({ from: 0, to: 2 });
      appendAll(cache, pick(tokens, range(50, 60)), { sequence: 1 });
      cache.shift({ keep: 0, discard: 3, sequence: 2 });
      cache.truncate(0, { sequence: 0 });
      appendAll(cache, pick(tokens, range(60, 63)), { sequence: 0 });
      const message = (sequence) => ({ sequence, message: `sequence ${sequence}` });
      expectFresh(cache, pick(tokens, range(60, 63)), range(0, 3), message(0));
      expectFresh(cache, pick(tokens, [...range(0, 40), ...range(50, 60)]), range(0, 50), message(1));
      expectFresh(cache, pick(tokens, range(3, 50)), range(0, 47), message(2));
      cache.copyPrefix({ from: 1, to: 1, length: 5 });
      expectFresh(cache, pick(tokens, range(0, 5)), range(0, 5), message(1));
      cache.retune({ rope: yarn(4) });
      for (const [sequence, kept] of [range(60, 63), range(0, 5), range(3, 50)].entries()) {
        expectFresh(cache, pick(tokens, kept), range(0, kept.length), { ...message(sequence), roundings: 2 });
      }
    });
  });
}

test("a shift closes its own gap and keeps other gaps between positions", () => {
  for (const keys of ["rotated", "raw"]) {
    withRope(filled(6, { keys }, { positions: [0, 5, 6, 20, 21, 22.5] }), (cache) => {
      cache.shift({ keep: 1, discard: 2 });
      expectFresh(cache, pick(tokens, [0, 3, 4, 5]), [0, 5, 6, 7.5]);
      cache.shift({ keep: 3, discard: 1 });
      expectFresh(cache, pick(tokens, [0, 3, 4]), [0, 5, 6], { roundings: 2 });
    });
  }
});

test("values are never rounded again", () => {
  withRope(filled(60, { dtype: "q8_0" }), (cache) => {
    const before = cache.read().v;
    cache.shift({ keep: 2, discard: 3 });
    cache.retune({ rope: yarn(4), positions: 9 });
    cache.restore(cache.save());
    sameBits(cache.read().v, Float32Array.of(...before.subarray(0, 64), ...before.subarray(5 * 32)));
  });
});

test("keys whose position and rope don't change keep their bits", () => {
  withRope(filled(60, { dtype: "bf16" }), (cache) => {
    const before = cache.read().k;
    cache.retune({ positions: 0 });
    cache.retune({ rope: { ...config } });
    sameBits(cache.read().k, before);
    cache.shift({ keep: 20, discard: 10 });
    sameBits(cache.read({ count: 20 }).k, before.slice(0, 20 * 32));
    cache.retune({ positions: range(0, 50).map((i) => (i === 49 ? 60 : i)) });
    sameBits(cache.read({ count: 20 }).k, before.slice(0, 20 * 32));
  });
});

test("with several ropes, retune needs layers, and all layers of a rope", () => {
  const [local, global] = [
    { ...config, rope_theta: 1e4 },
    { ...config, rope_theta: 1e6 },
  ];
  const uneven = [{ rope: local }, { rope: global }, { rope: null, headDim: 8 }, { rope: local }];
  for (const keys of ["rotated", "raw"]) {
    withRope(rw.kvCache({ layers: uneven, kvHeads: 2, maxLength: 50, keys }), (cache) => {
      const layerTokens = makeTokens(
        40,
        [16, 16, 8, 16].map((headDim) => ({ kvHeads: 2, headDim })),
      );
      appendAll(cache, layerTokens);
      const scaled = { ...global, rope_scaling: { rope_type: "linear", factor: 8 } };
      cache.retune({ rope: scaled, layers: 1 });
      assert.deepEqual(
        [0, 1, 2, 3].map((layer) => cache.config(layer)),
        [local, scaled, null, local],
      );
      expectFresh(cache, layerTokens, range(0, 40));
      cache.retune({ rope: yarn(4), layers: [3, 0] });
      expectFresh(cache, layerTokens, range(0, 40), { roundings: 2 });
      cache.retune({ rope: config, layers: [0, 1, 3], positions: 4 });
      expectFresh(cache, layerTokens, range(4, 44), { roundings: 4 });
      for (const [given, field] of [
        [undefined, "layers"],
        [0, "layers"],
        [[0], "layers"],
        [[0, 1], "layers"],
        [2, "layers"],
        [[], "layers"],
        [[0, 3, 4], "layers"],
        ["0", "layers"],
      ]) {
        raises(
          () => cache.retune({ rope: local, ...(given !== undefined && { layers: given }) }),
          "INVALID_ARGUMENT",
          field,
        );
        assert.equal(cache.canRetune({ rope: local, ...(given !== undefined && { layers: given }) }).possible, false);
      }
      expectFresh(cache, layerTokens, range(4, 44), { roundings: 4 });
    });
  }
});

test("with raw keys, the new rope may have another span, pairing or number of axes", () => {
  const others = [
    { ...config, pairing: "interleaved" },
    { ...config, rotary_dim: 8, rotary_offset: 4 },
    { ...config, rope_scaling: { rope_type: "default", mrope_section: [3, 3, 2] } },
  ];
  for (const rope of others) {
    withRope(filled(40, { keys: "raw" }), (cache) => {
      cache.retune({ rope });
      expectFresh(cache, pick(tokens, range(0, 40)), range(0, 40));
    });
    withRope(filled(40), (cache) => {
      const { possible, code, field } = cache.canRetune({ rope });
      assert.deepEqual({ possible, code, field }, { possible: false, code: "INVALID_ARGUMENT", field: "rope" });
      raises(() => cache.retune({ rope }), "INVALID_ARGUMENT", "rope");
      expectFresh(cache, pick(tokens, range(0, 40)), range(0, 40));
    });
  }
});

test("if one of several groups rejects the rope, none changes", () => {
  const other = { ...config, pairing: "interleaved" };
  withRope(rw.kvCache({ layers: [{ rope: config }, { rope: other }], kvHeads: 2, maxLength: 50 }), (cache) => {
    const layerTokens = pick(tokens, range(0, 40));
    appendAll(cache, layerTokens);
    const before = cache.save();
    raises(() => cache.retune({ rope: yarn(4), layers: [0, 1], positions: 3 }), "INVALID_ARGUMENT", "rope");
    sameBits(cache.save(), before);
    assert.deepEqual([cache.config(0), cache.config(1)], [config, other]);
  });
});

test("an attention factor that would scale keys beyond the range of their type", () => {
  const loud = (attention_factor) => ({ ...yarn(4), rope_scaling: { ...yarn(4).rope_scaling, attention_factor } });
  for (const dtype of ["f16", "q8_0"]) {
    withRope(rw.kvCache({ rope: config, kvHeads: 1, maxLength: 10, dtype }), (cache) => {
      const most = dtype === "f16" ? 40000 : 5e6;
      cache.append({ k: new Float32Array(16).fill(most), v: new Float32Array(16), layout: "thd", shape: [1, 1, 16] });
      const before = cache.save();
      const { possible, code, field } = cache.canRetune({ rope: loud(3) });
      assert.deepEqual({ possible, code, field }, { possible: false, code: "INVALID_ARGUMENT", field: "k" });
      raises(() => cache.retune({ rope: loud(3) }), "INVALID_ARGUMENT", "k");
      sameBits(cache.save(), before);
      cache.retune({ rope: loud(1.05) });
      assert.ok(cache.read().k.every(Number.isFinite));
    });
  }
});

test("moving tokens of several axes", () => {
  const sections = { ...config, rope_scaling: { rope_type: "default", mrope_section: [3, 3, 2] } };
  for (const keys of ["rotated", "raw"]) {
    withRope(filled(6, { rope: sections, keys }, { positions: range(0, 18).map((i) => (i * 5) % 7) }), (cache) => {
      const { possible, field } = cache.canShift({ keep: 1, discard: 2 });
      assert.deepEqual({ possible, field }, { possible: false, field: "discard" });
      const positions = range(0, 18).map((i) => (i * 3) % 11);
      cache.retune({ positions });
      expectFresh(cache, pick(tokens, range(0, 6)), positions);
      cache.retune({ positions: 4 });
      expectFresh(cache, pick(tokens, range(0, 6)), [...range(4, 10), ...range(4, 10), ...range(4, 10)], {
        roundings: 2,
      });
      cache.shift({ keep: 1, discard: 2 });
      expectFresh(cache, pick(tokens, [0, 3, 4, 5]), [...range(4, 8), ...range(4, 8), ...range(4, 8)], {
        roundings: 3,
      });
    });
  }
});

test("operations on an empty cache", () => {
  withRope(make(), (cache) => {
    cache.truncate(0);
    cache.retune({ rope: yarn(4), positions: 7 });
    cache.clear();
    cache.restore(cache.save());
    assert.deepEqual([...cache.positions()], []);
    assert.equal(cache.canShift({ discard: 1 }).possible, false);
    assert.deepEqual(cache.read(), { k: new Float32Array(0), v: new Float32Array(0) });
    appendAll(cache, pick(tokens, [0, 1]));
    expectFresh(cache, pick(tokens, [0, 1]), [0, 1], { roundings: 0 });
  });
});

test("queries after a shift see the remaining tokens", () => {
  withRope(filled(60), (cache) => {
    cache.shift({ keep: 4, discard: 16 });
    const left = pick(tokens, [...range(0, 4), ...range(20, 60)]);
    const q = randomFloats(64, 9);
    appendAll(cache, pick(tokens, [60]).slice(0, 1), {});
    withRope(rw.rope(config), (rope) => {
      const all = pick(tokens, [...range(0, 4), ...range(20, 61)])[0];
      const rotated = rope.rotate(q.slice(), { layout: "thd", shape: [1, 4, 16], positions: 44 });
      const actual = cache.attend(rotated, { layout: "thd", shape: [1, 4, 16] });
      const expected = rw.attention(q, all.k, all.v, {
        layout: "thd",
        shape: [1, 4, 16],
        kvShape: [45, 2, 16],
        rope,
      });
      assert.ok(actual.every((value, i) => Math.abs(value - expected[i]) < 2e-5));
      assert.equal(left[0].count, 44);
    });
  });
});

test("retune takes the rope first, as sessions do, or as an option", () => {
  const bytesAfter = (change) =>
    withRope(filled(40, kinds[0]), (cache) => {
      change(cache);
      return { image: cache.save(), rope: cache.config() };
    });
  const expected = bytesAfter((cache) => cache.retune({ rope: yarn(4), positions: 3 }));
  const rope = rw.rope(yarn(4));
  for (const first of [yarn(4), rope]) {
    assert.deepEqual(
      bytesAfter((cache) => cache.retune(first, { positions: 3 })),
      expected,
    );
    withRope(filled(4, kinds[0]), (cache) => {
      assert.deepEqual(cache.canRetune(first), { possible: true });
      raises(() => cache.retune(first, { position: 3 }), "UNKNOWN_KEY", "position");
      raises(() => cache.retune({ positions: 3 }, { positions: 3 }), "INVALID_ARGUMENT", "rope");
      raises(() => cache.retune(), "INVALID_ARGUMENT", "rope");
    });
  }
  rope.dispose();
});
