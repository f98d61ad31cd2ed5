// The custom type: lists and functions of the pair and the length, and its comparison with plain RoPE.
import assert from "node:assert/strict";
import test from "node:test";
import { overrideRopeConfig, ropeConfig } from "ropewalk";
import { rw, withRope } from "../helpers/runtime.mjs";

const plain = { head_dim: 64, pairing: "half", rope_theta: 10000, max_position_embeddings: 32768 };
const custom = (scaling, more) => ({ ...plain, ...more, rope_scaling: { rope_type: "custom", ...scaling } });
const frequency = (pair, dim = 64) => 10000 ** ((-2 * pair) / dim);

test("a function of the pair gives the same plan as its values, and is called once for each pair", () => {
  const calls = [];
  const inv_freq = (pair, model) => {
    calls.push([pair, model]);
    return frequency(pair) / 3;
  };
  withRope(rw.rope(custom({ inv_freq }, { partial_rotary_factor: 0.5 })), (rope) => {
    rope.rotate(new Float32Array(64), { layout: "thd", shape: [1, 1, 64], positions: 5 });
    rw.describe(rope.config);
    const expected = Array.from({ length: 16 }, (_, pair) => frequency(pair) / 3);
    assert.deepEqual([...rope.plan().inv_freq], expected);
    assert.deepEqual(rope.config.rope_scaling.inv_freq, expected);
    assert.deepEqual(JSON.parse(JSON.stringify(rope.config)), { ...rope.config });
  });
  const model = { head_dim: 64, rotary_dim: 32, rope_theta: 10000, length: undefined };
  assert.deepEqual(
    calls,
    Array.from({ length: 16 }, (_, pair) => [pair, model]),
  );
});

test("attention_factor multiplies cos and sin", () => {
  withRope(rw.rope(custom({ inv_freq: (pair) => frequency(pair), attention_factor: 1.25 })), (rope) => {
    assert.equal(rope.plan().attention_factor, 1.25);
    assert.equal(rope.table([0]).cos[0], 1.25);
  });
});

test("with lengths, each sequence uses the list of the first length that is long enough", () => {
  const lengths = [4096, 32768];
  const inv_freq = (pair, { length }) => (frequency(pair) * 4096) / length;
  withRope(rw.rope(custom({ inv_freq, lengths })), (rope) => {
    for (const [length, divisor, from, to] of [
      [1, 1, 1, 4096],
      [4096, 1, 1, 4096],
      [4097, 8, 4097, Infinity],
      [1000000, 8, 4097, Infinity],
    ]) {
      const plan = rope.plan(length);
      assert.deepEqual([plan.valid_from, plan.valid_to], [from, to]);
      plan.inv_freq.forEach((value, pair) => assert.ok(Math.abs((value * divisor) / frequency(pair) - 1) < 1e-15));
    }
  });
});

test("a KV cache re-rotates its keys when a sequence outgrows a list", () => {
  const config = custom({ inv_freq: (pair, { length }) => (frequency(pair) * 8) / length, lengths: [8, 64] });
  const cache = rw.kvCache({ layers: 1, kvHeads: 1, headDim: 64, maxLength: 64, rope: config, keys: "rotated" });
  const keys = Float32Array.from({ length: 9 * 64 }, (_, i) => Math.sin(i * i));
  for (const [first, count] of [
    [0, 8],
    [8, 1],
  ]) {
    const part = keys.slice(first * 64, (first + count) * 64);
    cache.append({ k: part, v: part, layout: "thd", shape: [count, 1, 64] });
  }
  withRope(rw.rope(config), (rope) => {
    const expected = keys.slice();
    rope.rotate(expected, { layout: "thd", shape: [9, 1, 64], positions: 0, seqLen: 9 });
    const { k: stored } = cache.read();
    assert.equal(stored.length, expected.length);
    expected.forEach((value, i) => assert.ok(Math.abs(stored[i] - value) < 1e-6, `element ${i}`)); // two roundings
  });
  cache.dispose();
});

test("a value that isn't a number, and lists of the wrong length, are errors", () => {
  const wrong = [
    [{ inv_freq: () => NaN }, "rope_scaling.inv_freq(0)"],
    [{ inv_freq: (pair) => (pair === 3 ? "1" : 1) }, "rope_scaling.inv_freq(3)"],
    [{ inv_freq: "plain" }, "rope_scaling.inv_freq"],
    [{ inv_freq: new Array(32).fill(1), lengths: [4096, 8192] }, "rope_scaling.inv_freq"],
    [{ inv_freq: () => 1, lengths: [8192, 4096] }, "rope_scaling.lengths"],
    [{ inv_freq: () => 1, lengths: [0.5] }, "rope_scaling.lengths[0]"],
  ];
  for (const [scaling, field] of wrong) {
    assert.throws(() => rw.rope(custom(scaling)), { code: "INVALID_CONFIG", field }, field);
  }
});

test("overrides take functions, and a kind of layer may have its own", () => {
  const llama = { model_type: "llama", hidden_size: 256, num_attention_heads: 4, max_position_embeddings: 2048 };
  const config = ropeConfig(llama, {
    overrides: { rope_scaling: { rope_type: "custom", inv_freq: (pair) => 1 / (pair + 1) } },
  });
  assert.equal(config.rope_scaling.inv_freq[3], 0.25);
  const changed = overrideRopeConfig(config, { rope_scaling: { attention_factor: 1.5 } });
  assert.deepEqual(changed.rope_scaling, { ...config.rope_scaling, attention_factor: 1.5 });
});

test("describe compares custom frequencies with plain ones, as for the built-in types", () => {
  const yarn = rw.describe({
    ...plain,
    rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 8192 },
  });
  const inv_freq = [...yarn.plan.inv_freq];
  const same = rw.describe(custom({ inv_freq }, { original_max_position_embeddings: 8192 }));
  assert.ok(Math.abs(same.factor - 4) < 1e-12);
  assert.equal(same.window, 8192);
  assert.deepEqual(same.counts, yarn.counts);
  same.pairs.forEach(({ kept_share, treatment, rotations }, i) => {
    assert.ok(Math.abs(kept_share - yarn.pairs[i].kept_share) < 1e-9, `pair ${i}`);
    assert.equal(treatment, yarn.pairs[i].treatment);
    assert.equal(rotations, yarn.pairs[i].rotations);
  });
  assert.equal(rw.describe(custom({ inv_freq: (pair) => frequency(pair) })).counts.kept, 32);
});
