// session.trace(): against transformers, and that it changes nothing.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { load } from "ropewalk/worker";
import { sameBits } from "../helpers/arrays.mjs";
import { largestDifference, readExpected, tinyModel } from "../helpers/models.mjs";
import { build, rejects, rw } from "../helpers/runtime.mjs";

// f32 against f64, as in parity.test.mjs: logits and hidden states up to 20 are off by some roundings of 2^-24 · 20 in each layer.
const LIMIT = 1e-4;
const ALL = ["attention", "hidden", "queries", "keys", "logits"];
const golden = JSON.parse(readFileSync(new URL("../../golden/traces.json", import.meta.url), "utf8"));

/** The rows of an array [..., rows, size] whose first index is `at`. */
function rowsOf({ data, shape }, rows, at = 0) {
  const [count, size] = shape.slice(-2);
  return rows.map((row) => data.subarray((at * count + row) * size, (at * count + row + 1) * size));
}

async function withSession(name, options, use) {
  const model = await rw.model(tinyModel(name), { kv: { dtype: "f32" }, contextLength: 1024, ...options });
  try {
    await use(model.session(), readExpected(name, "expected.json").prompt, model);
  } finally {
    model.dispose();
  }
}

const near = (found, expected, what) => {
  const difference = largestDifference(found, expected);
  assert.ok(difference < LIMIT, `${what}: ${difference}`);
};

for (const { name, rows, attention, hidden, logits } of golden) {
  for (const keys of ["rotated", "raw"]) {
    test(`${name}, ${keys} keys: attention, hidden states and logits are those of transformers`, () =>
      withSession(name, { kv: { dtype: "f32", keys } }, async (session, prompt) => {
        const trace = await session.trace(prompt);
        assert.deepEqual(trace.tokens, prompt);
        assert.equal(trace.first, 0);
        for (const [layer, heads] of attention.entries()) {
          assert.equal(trace.attention[layer] === undefined, heads === null);
          if (heads === null) continue;
          assert.deepEqual(trace.attention[layer].shape, [heads.length, prompt.length, prompt.length]);
          for (const [head, expected] of heads.entries())
            near(rowsOf(trace.attention[layer], rows, head), expected, `layer ${layer}, head ${head}`);
        }
        assert.equal(Object.keys(trace.hidden).length, hidden.length);
        for (const [layer, expected] of hidden.entries())
          near(rowsOf(trace.hidden[layer], rows), expected, `hidden ${layer}`);
        near(rowsOf(trace.logits, rows), logits, "logits");
      }));
  }
}

for (const name of ["llama", "gemma3", "gemma4", "lfm2", "rwkv7", "nemotron_h", "falcon_h1", "hunyuan"]) {
  test(`${name}: a trace leaves the same session, whose logits have the same bits`, () =>
    withSession(name, {}, async (session, prompt, model) => {
      const traced = model.session();
      await session.append(prompt);
      const trace = await traced.trace(prompt, { what: ["hidden", "logits"] });
      sameBits(traced.logits(), session.logits());
      sameBits(rowsOf(trace.logits, [prompt.length - 1])[0], session.logits());
      sameBits(rowsOf(trace.hidden[model.info.layers.length], [prompt.length - 1])[0], session.hidden());
      for (const one of [session, traced, traced.fork()]) await one.append([7]);
      sameBits(traced.logits(), session.logits());
      traced.rewind(prompt.length - 1);
      session.rewind(prompt.length - 1);
      for (const one of [session, traced]) await one.append([7]);
      sameBits(traced.logits(), session.logits());
    }));
}

test("a text in several batches and pieces, and its last rows, give the same rows as one", () =>
  withSession("gemma3", {}, async (session, prompt, model) => {
    const long = Array.from({ length: 300 }, (_, i) => prompt[(i * 7) % prompt.length]);
    const whole = await session.trace(long, { what: ALL });
    const pieces = model.session();
    await pieces.append(long.slice(0, 100));
    const rest = await pieces.trace(long.slice(100), { what: ALL, rows: 120, heads: [1], layers: [1] });
    assert.deepEqual(rest.tokens, long.slice(180));
    assert.equal(rest.first, 180);
    const rows = Array.from({ length: 120 }, (_, i) => i);
    const same = rows.map((row) => row + 180);
    near(rowsOf(rest.attention[1], rows), rowsOf(whole.attention[1], same, 1), "attention");
    near(rowsOf(rest.queries[1], rows), rowsOf(whole.queries[1], same, 1), "queries");
    near(rowsOf(rest.hidden[1], rows), rowsOf(whole.hidden[1], same), "hidden");
    near(rowsOf(rest.logits, rows), rowsOf(whole.logits, same), "logits");
    near([rest.keys[1].data], [whole.keys[1].data], "keys");
    assert.deepEqual(Object.keys(rest.hidden).map(Number), [1, model.info.layers.length]);
  }));

test("attention is the softmax of the queries and keys of the trace", () =>
  withSession("llama", {}, async (session, prompt) => {
    const { attention, queries, keys } = await session.trace(prompt, { what: ["attention", "queries", "keys"] });
    const [heads, rows, dim] = queries[1].shape;
    const group = heads / keys[1].shape[0];
    for (let head = 0; head < heads; head++) {
      const query = rowsOf(queries[1], [rows - 1], head)[0];
      const scores = Array.from({ length: rows }, (_, token) => {
        const key = rowsOf(keys[1], [token], Math.floor(head / group))[0];
        return query.reduce((sum, value, i) => sum + value * key[i], 0) / Math.sqrt(dim);
      });
      const total = scores.reduce((sum, score) => sum + Math.exp(score), 0);
      near(rowsOf(attention[1], [rows - 1], head), [scores.map((score) => Math.exp(score) / total)], `head ${head}`);
    }
  }));

test("keys and values are those of the session, for every type of cache", async () => {
  for (const dtype of ["f32", "f16", "q8_0", "q4_0"])
    await withSession("qwen3", { kv: { dtype } }, async (session, prompt) => {
      const { keys, values } = await session.trace(prompt, { what: ["keys", "values"], layers: [1] });
      const heads = { keys: session.keys(1), values: session.values(1) };
      for (const [name, array] of Object.entries({ keys: keys[1], values: values[1] })) {
        assert.deepEqual(array.shape, [heads[name].length, prompt.length, array.shape[2]]);
        heads[name].forEach((rows, head) =>
          sameBits(rows, array.data.subarray(head * rows.length, (head + 1) * rows.length)),
        );
      }
    });
});

// Attention is computed from the rounded keys that the cache has, and those are the keys of the trace.
for (const dtype of ["f16", "q8_0", "q4_0"])
  test(`${dtype} caches: attention is the softmax of the queries and the rounded keys of the trace`, () =>
    withSession("llama", { kv: { dtype } }, async (session, prompt) => {
      const { attention, queries, keys } = await session.trace(prompt, { what: ["attention", "queries", "keys"] });
      for (const layer of [0, 1]) {
        const [heads, rows, dim] = queries[layer].shape;
        const group = heads / keys[layer].shape[0];
        for (let head = 0; head < heads; head++) {
          const row = rows - 1;
          const query = rowsOf(queries[layer], [row], head)[0];
          const scores = Array.from({ length: rows }, (_, token) => {
            const key = rowsOf(keys[layer], [token], Math.floor(head / group))[0];
            return query.reduce((sum, value, i) => sum + value * key[i], 0) / Math.sqrt(dim);
          });
          const total = scores.reduce((sum, score) => sum + Math.exp(score), 0);
          near(rowsOf(attention[layer], [row], head), [scores.map((score) => Math.exp(score) / total)], `head ${head}`);
        }
      }
    }));

test("the Worker returns the same trace", async () => {
  const there = await load({ build });
  const far = await (await there.model(tinyModel("llama"), { kv: { dtype: "f32" } })).session();
  await withSession("llama", {}, async (session, prompt) => {
    const options = { what: [...ALL, "values"], layers: [1] };
    assert.deepEqual(await far.trace(prompt, options), await session.trace(prompt, options));
    assert.deepEqual(await far.values(1), session.values(1));
  });
  await there.dispose();
});

test("errors say what can't be traced, and leave the session as it was", async () => {
  await withSession("lfm2", {}, async (session, prompt, model) => {
    const recurrent = model.info.layers.findIndex(({ kind }) => !kind.endsWith("attention"));
    await rejects(session.trace(prompt, { layers: [recurrent] }), "INVALID_ARGUMENT", "layer");
    const { hidden } = await session.trace(prompt, { layers: [recurrent], what: ["hidden"] });
    assert.ok(recurrent in hidden);
  });
  await withSession("llama", {}, async (session, prompt, model) => {
    const cases = [
      [{ layers: [model.info.layers.length] }, "INVALID_ARGUMENT", "layers[0]"],
      [{ heads: [99] }, "INVALID_ARGUMENT", "heads[0]"],
      [{ what: ["keyz"] }, "INVALID_ARGUMENT", "what[0]"],
      [{ rows: 0 }, "INVALID_ARGUMENT", "rows"],
      [{ maxBytes: 1000 }, "INVALID_ARGUMENT", "maxBytes"],
      [{ layer: 1 }, "UNKNOWN_KEY", "layer"],
    ];
    for (const [options, code, field] of cases) await rejects(session.trace(prompt, options), code, field);
    assert.equal(session.length, 0);
  });
  await withSession("gemma3n", {}, (session, prompt) => rejects(session.trace(prompt), "UNSUPPORTED_MODEL", "layers"));
  await withSession("deepseek_v3", {}, (session, prompt) =>
    rejects(session.trace(prompt, { what: ["values"] }), "INVALID_ARGUMENT", "what"),
  );
});
