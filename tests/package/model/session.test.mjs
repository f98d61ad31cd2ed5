// Sessions: appending, rewinding, forking, saving, retuning and shifting.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { largestDifference, readExpected, tinyModel } from "../helpers/models.mjs";
import { raises, rejects, rw } from "../helpers/runtime.mjs";
import { sessionsOf } from "../helpers/sessions.mjs";

const { prompt, steps } = readExpected("llama", "expected.json");
const model = await rw.model(tinyModel("llama/model.gguf"), { kv: { dtype: "f32" }, contextLength: 256 });
after(() => model.dispose());

const { withSession, logitsAfter } = sessionsOf(model);

const same = (a, b, limit = 1e-4) => assert.ok(largestDifference([a], [b]) < limit, `${largestDifference([a], [b])}`);

test("appending in parts equals appending at once", async () => {
  const whole = await logitsAfter([...prompt, ...steps]);
  await withSession(async (session) => {
    for (const tokens of [prompt.slice(0, 1), prompt.slice(1, 7), prompt.slice(7), steps]) await session.append(tokens);
    same(session.logits(), whole);
    assert.deepEqual(session.tokens, [...prompt, ...steps]);
    assert.equal(session.length, 80);
  });
});

test("a prompt longer than a batch", async () => {
  const long = Array.from({ length: 200 }, (_, i) => prompt[(i * 7) % prompt.length]);
  const calls = [];
  const whole = await withSession(async (session) => {
    await session.append(long, { onProgress: (progress) => calls.push(progress) });
    return session.logits();
  });
  assert.deepEqual(
    calls.map(({ done }) => done),
    [128, 200],
  );
  const byStep = await withSession(async (session) => {
    for (const token of long) await session.append([token]);
    return session.logits();
  });
  same(byStep, whole);
});

test("rewind removes tokens and changes the logits", () =>
  withSession(async (session) => {
    await session.append(prompt);
    const before = session.logits();
    await session.append(steps);
    session.rewind(prompt.length);
    assert.deepEqual(session.tokens, prompt);
    same(session.logits(), before);
    await session.append(steps.slice(0, 3));
    same(session.logits(), await logitsAfter([...prompt, ...steps.slice(0, 3)]));
    session.rewind(0);
    raises(() => session.logits(), "INVALID_ARGUMENT", "session");
    raises(() => session.rewind(1), "INVALID_ARGUMENT", "length");
  }));

test("a fork is independent", () =>
  withSession(async (session) => {
    await session.append(prompt);
    const fork = session.fork();
    await fork.append(steps);
    assert.equal(session.length, prompt.length);
    await session.append(steps.toReversed());
    same(fork.logits(), await logitsAfter([...prompt, ...steps]));
    same(session.logits(), await logitsAfter([...prompt, ...steps.toReversed()]));
    fork.dispose();
    raises(() => fork.logits(), "DISPOSED", "session");
  }));

test("saved and restored in another session", () =>
  withSession(async (session) => {
    await session.append(prompt);
    session.retune(
      { rope_scaling: { rope_type: "yarn", factor: 2, original_max_position_embeddings: 128 } },
      { contextLength: 300 },
    );
    const bytes = session.save();
    await withSession(async (other) => {
      await other.append(steps);
      other.restore(bytes);
      assert.deepEqual(other.tokens, prompt);
      assert.equal(other.contextLength, 256);
      assert.equal(other.rope.rope_scaling.rope_type, "yarn");
      same(other.logits(), session.logits(), 1e-6);
      const before = other.save();
      for (const damaged of [
        bytes.slice(0, -1),
        bytes.slice(0, 5),
        bytes.with(bytes.length - 9, bytes.at(-9) ^ 1),
        bytes.with(20, bytes[20] ^ 1),
        bytes.with(0, 0),
        bytes.with(4, 9),
      ]) {
        raises(() => other.restore(damaged), "INVALID_BYTES", "bytes");
      }
      assert.deepEqual(other.save(), before);
    });
  }));

test("retune to a context shorter than the text is refused and changes nothing", () =>
  withSession(async (session) => {
    await session.append(prompt.slice(0, 12));
    const before = session.save();
    raises(() => session.retune({ rope_theta: 5000 }, { contextLength: 11 }), "INVALID_ARGUMENT", "contextLength");
    assert.equal(session.contextLength, 256);
    assert.deepEqual(session.save(), before);
    session.retune({}, { contextLength: 12 });
    assert.equal(session.contextLength, 12);
  }));

test("a model whose RoPE is that of layers with a window is extended without a scaling", async () => {
  const windowed = await rw.model(tinyModel("cohere2"));
  const session = windowed.session({ contextLength: 16 });
  const { rope } = session;
  await session.append([5, 6]);
  let count = 0;
  for await (const { finish } of session.generate({
    maxTokens: 40,
    temperature: 0,
    whenFull: "extend",
    ignoreEnd: true,
  }))
    count += finish === "full" ? 0 : 1;
  assert.equal(count, 40);
  session.extend({ contextLength: 2000 });
  assert.deepEqual([session.contextLength, session.rope], [2000, rope]);
  for (const one of [session, windowed]) one.dispose();
});

test("under a position map that keeps its distances, extend raises only the length", async () => {
  const position_map = { type: "rerope", window: 64 };
  const mapped = model.session({ contextLength: 16 });
  raises(() => mapped.retune({ position_map }), "INVALID_ARGUMENT", "rope.position_map");
  assert.throws(() => mapped.retune({ position_map }), { advice: { do: "load", option: "kv.keys", value: '"raw"' } });
  mapped.dispose();
  const opened = await rw.model(tinyModel("llama/model.gguf"), { rope: { position_map } });
  const session = opened.session();
  session.extend({ contextLength: 4096 });
  assert.deepEqual([session.contextLength, session.rope.rope_scaling?.factor], [4096, undefined]);
  // distances up to 300 of a model that was trained on 256 tokens
  session.retune({ position_map: { type: "rerope", window: 300 } });
  session.extend({ contextLength: 8192 });
  assert.equal(session.rope.rope_scaling.factor, 301 / opened.info.trainedLength);
  for (const one of [session, opened]) one.dispose();
  const rotated = rw.model(tinyModel("llama/model.gguf"), { rope: { position_map }, kv: { keys: "rotated" } });
  await assert.rejects(rotated, { code: "INVALID_ARGUMENT", field: "kv.keys" });
});

test("fork and extend take a context length, and refuse other arguments", () =>
  withSession(async (session) => {
    await session.append(prompt.slice(0, 12));
    const fork = session.fork({ contextLength: 20 });
    assert.deepEqual([fork.contextLength, session.contextLength], [20, 256]);
    fork.extend({ contextLength: 512 });
    assert.equal(fork.contextLength, 512);
    assert.equal(fork.rope.rope_scaling.factor, 512 / model.info.trainedLength);
    for (const call of ["fork", "extend"]) {
      raises(() => fork[call]({ context: 3 }), "UNKNOWN_KEY", "context");
      raises(() => fork[call](9999), "INVALID_ARGUMENT", "options");
      raises(() => fork[call]({ contextLength: 0 }), "INVALID_ARGUMENT", "contextLength");
    }
    raises(() => fork.extend({ contextLength: 511 }), "INVALID_ARGUMENT", "contextLength");
    raises(() => fork.fork({ contextLength: 11 }), "INVALID_ARGUMENT", "contextLength");
    assert.equal(fork.contextLength, 512);
    fork.dispose();
  }));

test("retune takes the RoPE as an option too, as caches do", async () => {
  const after = (change) =>
    withSession(async (session) => {
      await session.append(prompt);
      change(session);
      return { logits: session.keys(0), rope: session.rope, contextLength: session.contextLength };
    });
  const rope = { rope_scaling: { rope_type: "linear", factor: 4 } };
  const expected = await after((session) => session.retune(rope, { contextLength: 512 }));
  assert.deepEqual(await after((session) => session.retune({ rope, contextLength: 512 })), expected);
  assert.deepEqual(await after((session) => session.retune({ rope }, { contextLength: 512 })), expected);
  await withSession((session) => {
    raises(() => session.retune({ rope, context: 512 }), "UNKNOWN_KEY", "context");
    raises(() => session.retune({ rope: undefined }), "INVALID_ARGUMENT", "rope");
  });
});

test("retune changes the keys of the lowest layer to the new scaling, and back", () =>
  withSession(async (session) => {
    await session.append(prompt);
    const before = session.logits();
    session.retune({ rope_scaling: { rope_type: "linear", factor: 4 } });
    assert.equal(session.rope.rope_scaling.factor, 4);
    assert.ok(largestDifference([session.logits()], [before]) > 1e-2);
    session.retune({ rope_scaling: { rope_type: "default", replace: true } });
    same(session.logits(), before);
    raises(() => session.retune({}, { kind: "sliding_attention" }), "INVALID_ARGUMENT", "kind");
  }));

/** Keys and values of a session's layer 0. They depend on no other token, only on their own and its position. */
function lowestLayer(session) {
  const bytes = session.save();
  const image = bytes.subarray(16 + new DataView(bytes.buffer).getUint32(8, true));
  const cache = rw.kvCache({ rope: model.rope, layers: 2, kvHeads: 2, maxLength: 256 });
  cache.restore(image);
  const { k, v } = cache.read({ layer: 0 });
  cache.dispose();
  return [k, v];
}

test("shift moves keys to the positions of tokens that were never shifted", () =>
  withSession(async (session) => {
    await session.append(prompt);
    const unshifted = lowestLayer(session);
    session.shift({ keep: 4, discard: 20 });
    const left = [...prompt.slice(0, 4), ...prompt.slice(24)];
    assert.deepEqual(session.tokens, left);
    const [keys, values] = lowestLayer(session);
    await withSession(async (fresh) => {
      await fresh.append(left);
      const [freshKeys, freshValues] = lowestLayer(fresh);
      same(keys, freshKeys, 1e-5);
      same(values, freshValues, 1e-5);
    });
    const row = keys.length / left.length;
    const moved = unshifted[0].subarray(24 * row); // the same tokens at their old positions
    assert.ok(largestDifference([keys.subarray(4 * row)], [moved]) > 1e-2);
  }));

test("after shift, the logits are those of keys that are rotated when they are read", async () => {
  const raw = await rw.model(tinyModel("llama/model.gguf"), { kv: { dtype: "f32", keys: "raw" }, contextLength: 256 });
  await withSession(async (session) => {
    const rotatedLater = raw.session();
    for (const one of [session, rotatedLater]) await one.append(prompt);
    const before = session.logits();
    for (const one of [session, rotatedLater]) one.shift({ keep: 4, discard: 20 });
    for (const one of [session, rotatedLater]) await one.append(steps);
    same(session.logits(), rotatedLater.logits());
    assert.equal(session.length, 28 + 32);
    assert.ok(largestDifference([session.logits()], [before]) > 1e-2);
    const unshifted = await logitsAfter([...prompt, ...steps]);
    assert.ok(largestDifference([session.logits()], [unshifted]) > 1e-2);
    rotatedLater.dispose();
  });
  raw.dispose();
});

// A server's negative n_discard moved tokens to negative positions (CVE-2026-21869 of llama.cpp).
test("CVE-2026-21869: a negative discard, and counts beyond the text, are refused and change nothing", () =>
  withSession(async (session) => {
    await session.append(prompt);
    const before = session.save();
    for (const discard of [-1, -48, -(2 ** 31), 2 ** 31, 2 ** 32, 2 ** 53, 0, 0.5, NaN, Infinity, 49, "1", null, 1n])
      raises(() => session.shift({ discard }), "INVALID_ARGUMENT", "discard");
    for (const keep of [-1, -(2 ** 31), 2 ** 32, 2 ** 53, 0.5, NaN, "1"])
      raises(() => session.shift({ keep, discard: 1 }), "INVALID_ARGUMENT", "keep");
    raises(() => session.shift({ keep: 48, discard: 1 }), "INVALID_ARGUMENT", "discard");
    raises(() => session.shift({ keep: 40, discard: 9 }), "INVALID_ARGUMENT", "discard");
    raises(() => session.shift(), "INVALID_ARGUMENT", "discard");
    raises(() => session.shift(-1), "INVALID_ARGUMENT", "options");
    assert.deepEqual(session.save(), before);
    assert.deepEqual(session.tokens, prompt);
  }));

test("a full context rejects more tokens and is unchanged", () =>
  withSession(
    async (session) => {
      await session.append(prompt.slice(0, 10));
      await rejects(session.append(prompt), "CACHE_FULL", "tokens");
      assert.equal(session.length, 10);
      await session.append(prompt.slice(10, 20));
      assert.equal(session.length, 20);
    },
    { contextLength: 20 },
  ));

test("errors name tokens outside the vocabulary", () =>
  withSession(async (session) => {
    await rejects(session.append([1, 2, 64]), "INVALID_ARGUMENT", "tokens[2]");
    await rejects(session.append([-1]), "INVALID_ARGUMENT", "tokens[0]");
    await rejects(session.append([1.5]), "INVALID_ARGUMENT", "tokens[0]");
    assert.equal(session.length, 0);
  }));

test("a session stays usable after an abort during a prompt", () =>
  withSession(async (session) => {
    const long = Array.from({ length: 250 }, (_, i) => prompt[i % prompt.length]);
    const controller = new AbortController();
    const reading = session.append(long, {
      signal: controller.signal,
      onProgress: () => controller.abort(new Error("enough")),
    });
    await assert.rejects(reading, /enough/);
    assert.equal(session.length, 128);
    await session.append(long.slice(128));
    same(session.logits(), await logitsAfter(long));
  }));

test("after an abort during the last batch, the session has the whole prompt", () =>
  withSession(async (session) => {
    const controller = new AbortController();
    const onProgress = ({ done, total }) => done === total && controller.abort(new Error("enough"));
    await assert.rejects(session.append(prompt, { signal: controller.signal, onProgress }), /enough/);
    assert.equal(session.length, prompt.length);
    same(session.logits(), await logitsAfter(prompt));
  }));

test("log-probabilities match the logits", () =>
  withSession(async (session) => {
    await session.append(prompt);
    const logits = Array.from(session.logits());
    const normalizer = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));
    const top = session.logprobs(5);
    const order = logits.map((logit, token) => ({ token, logit })).sort((a, b) => b.logit - a.logit);
    assert.deepEqual(
      top.map(({ token }) => token),
      order.slice(0, 5).map(({ token }) => token),
    );
    for (const { token, logprob } of top) {
      assert.ok(Math.abs(logprob - (logits[token] - normalizer)) < 1e-5);
      assert.equal(session.logprobOf(token), logprob);
    }
  }));
