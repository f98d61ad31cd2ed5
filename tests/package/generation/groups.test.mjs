// Sessions with a cache of q4_channel.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { sameBits } from "../helpers/arrays.mjs";
import { tinyModel } from "../helpers/models.mjs";
import { rejects, rw } from "../helpers/runtime.mjs";

const tokens = (count, step = 7) => Array.from({ length: count }, (_, i) => 3 + ((i * step) % 60));
const open = (more = {}) => rw.model(tinyModel("llama"), { kv: { dtype: "q4_channel" }, contextLength: 512, ...more });
const model = await open();
after(() => model.dispose());

async function sessionOf(ids, from = model) {
  const session = from.session();
  await session.append(ids);
  return session;
}

async function textOf(session, options) {
  const found = [];
  for await (const { token } of session.generate({ maxTokens: 120, temperature: 0, ignoreEnd: true, ...options }))
    found.push(token);
  return found;
}

test("a prompt at once and token by token give the same logits", async () => {
  const whole = await sessionOf(tokens(300));
  const singly = model.session();
  for (const token of tokens(300)) await singly.append([token]);
  sameBits(whole.logits(), singly.logits());
  for (const one of [whole, singly]) one.dispose();
});

test("rejected guesses leave no trace", async () => {
  const REPEATING = {
    temperature: 0.8,
    topK: 0,
    topP: 1,
    minP: 0,
    logitBias: { 20: 3, 21: 3 },
    frequencyPenalty: -0.3,
  };
  for (const seed of [1, 2, 3]) {
    const [plain, guessing] = [await sessionOf(tokens(60)), await sessionOf(tokens(60))];
    const options = { ...REPEATING, seed };
    assert.deepEqual(await textOf(guessing, { ...options, promptLookup: 63 }), await textOf(plain, options));
    for (const one of [plain, guessing]) await one.append([5]);
    sameBits(guessing.logits(), plain.logits());
    for (const one of [plain, guessing]) one.dispose();
  }
});

test("forks, saved sessions and other RoPEs", async () => {
  const session = await sessionOf(tokens(200));
  const [fork, other] = [session.fork(), model.session()];
  other.restore(session.save());
  await fork.append(tokens(100, 11));
  for (const one of [session, other]) await one.append(tokens(100, 13));
  sameBits(other.logits(), session.logits());
  const yarn = { rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 128 } };
  const stored = session.keys(0);
  session.retune(yarn);
  session.keys(0).forEach((rows, head) => sameBits(rows, stored[head]));
  for (const one of [session, fork, other]) one.dispose();
});

test("a stream that is shifted when it is full moves whole groups", async () => {
  const small = await open({ contextLength: 224 });
  const session = await sessionOf(tokens(220), small);
  const before = session.keys(0)[0];
  await textOf(session, { maxTokens: 11, whenFull: "shift" });
  assert.equal(session.length, 220 + 11 - 96);
  const row = before.length / 220;
  const after = session.keys(0)[0];
  sameBits(after.slice(0, 32 * row), before.slice(0, 32 * row)); // the sinks
  sameBits(after.slice(32 * row, 64 * row), before.slice(128 * row, 160 * row));
  small.dispose();
});

test("a model whose keys are also its values is refused by name", async () => {
  await rejects(rw.model(tinyModel("deepseek_v2"), { kv: { dtype: "q4_channel" } }), "INVALID_DTYPE", "dtype");
  await rejects(
    rw.model(tinyModel("llama"), { kv: { dtype: "q4_channel", keys: "rotated" } }),
    "INVALID_ARGUMENT",
    "kv.keys",
  );
});
