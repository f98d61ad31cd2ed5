// session.attention() and session.keys(): against transformers, after other calls, in the Worker, and errors.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { load } from "ropewalk/worker";
import { readExpected, tinyModel } from "../helpers/models.mjs";
import { build, rw } from "../helpers/runtime.mjs";

// f32 against f64: scores up to 20 are off by some roundings of 2^-24 · 20. Measured: 2e-6.
const LIMIT = 1e-5;
const F32_CACHE = { kv: { dtype: "f32" } };
const golden = JSON.parse(readFileSync(new URL("../../golden/attention_weights.json", import.meta.url), "utf8"));

const largestDifference = (rows, expected) =>
  Math.max(...rows.flatMap((row, i) => Array.from(row, (value, j) => Math.abs(value - expected[i][j]))));

for (const { name, weights } of golden) {
  for (const keys of ["rotated", "raw"]) {
    test(`${name}, ${keys} keys: the weights of every layer are those of transformers`, async () => {
      const model = await rw.model(tinyModel(name), { kv: { dtype: "f32", keys } });
      const session = model.session();
      await session.append(readExpected(name, "expected.json").prompt);
      assert.equal(model.info.layers.length, weights.length);
      for (const [layer, expected] of weights.entries()) {
        const rows = session.attention(layer);
        assert.equal(rows.length, expected.length);
        assert.ok(rows.every((row) => row.length === session.length));
        assert.ok(largestDifference(rows, expected) < LIMIT, `layer ${layer}: ${largestDifference(rows, expected)}`);
      }
      model.dispose();
    });
  }
}

test("weights are those of the session's own text, after other texts, a rewind and another scaling", async () => {
  const model = await rw.model(tinyModel("llama"), F32_CACHE);
  const [first, second] = [model.session(), model.session()];
  const { prompt } = readExpected("llama", "expected.json");
  await first.append(prompt);
  const alone = first.attention(1);
  await second.append([5, 6, 7]);
  assert.deepEqual(first.attention(1), alone);
  await first.append([9]);
  assert.equal(first.attention(0)[0].length, prompt.length + 1);
  first.rewind(prompt.length);
  assert.deepEqual(first.attention(1), alone);

  const logits = first.logits();
  first.retune({ rope_scaling: { rope_type: "linear", factor: 4 } });
  assert.ok(largestDifference(first.attention(1), alone) > 1e-3);
  first.retune({ rope_scaling: { rope_type: "default", replace: true } });
  assert.ok(largestDifference(first.attention(1), alone) < LIMIT);
  assert.ok(first.logits().every((logit, i) => Math.abs(logit - logits[i]) < 1e-4));
  model.dispose();
});

test("rotated keys, rotated back, are raw keys", async () => {
  const [rotated, raw] = await Promise.all(
    ["rotated", "raw"].map(async (keys) => {
      const model = await rw.model(tinyModel("qwen3"), { kv: { dtype: "f32", keys } });
      const session = model.session();
      await session.append(readExpected("qwen3", "expected.json").prompt);
      const result = { keys: session.keys(0), rope: session.rope, tokens: session.length };
      model.dispose();
      return result;
    }),
  );
  const { rope: config, tokens } = rotated;
  const rope = rw.rope(config);
  assert.equal(rotated.keys.length, 2);
  for (const [head, keys] of rotated.keys.entries()) {
    assert.equal(keys.length, tokens * config.head_dim);
    const shape = [tokens, 1, config.head_dim];
    rope.rotate(keys, { layout: "thd", shape, positions: 0, inverse: true, role: "key" });
    assert.ok(largestDifference([keys], [raw.keys[head]]) < 1e-5);
  }
  rope.dispose();
});

test("the Worker returns the same", async () => {
  const there = await load({ build });
  const [model, remote] = await Promise.all([rw.model(tinyModel("gemma3")), there.model(tinyModel("gemma3"))]);
  const [session, other] = [model.session(), await remote.session()];
  await Promise.all([session.append("the cat"), other.append("the cat")]);
  assert.deepEqual(await other.attention(3), session.attention(3));
  assert.deepEqual(await other.keys(3), session.keys(3));
  model.dispose();
  await there.dispose();
});

test("an empty session and a layer that doesn't exist are errors", async () => {
  const model = await rw.model(tinyModel("llama"), F32_CACHE);
  const session = model.session();
  assert.throws(() => session.attention(0), { code: "INVALID_ARGUMENT", message: /empty/ });
  assert.deepEqual(
    session.keys(0).map((keys) => keys.length),
    [0, 0],
  );
  await session.append([5]);
  assert.deepEqual(
    session.attention(0).map((row) => [...row]),
    Array(4).fill([1]),
  );
  for (const layer of [-1, 2, 0.5, "0", undefined]) {
    assert.throws(() => session.attention(layer), { code: "INVALID_ARGUMENT", field: "layer" });
    assert.throws(() => session.keys(layer), { code: "INVALID_ARGUMENT", field: "layer" });
  }
  session.dispose();
  assert.throws(() => session.attention(0), { code: "DISPOSED" });
  model.dispose();
});
