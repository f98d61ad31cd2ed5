// Sessions of models whose layers do something of their own: keys that are values, keys of another layer, chunks, sinks.
import assert from "node:assert/strict";
import test from "node:test";
import { sameBits } from "../helpers/arrays.mjs";
import { largestDifference, readExpected, tinyModel } from "../helpers/models.mjs";
import { rw } from "../helpers/runtime.mjs";

const NAMES = ["gpt_oss", "llama4_chunks", "deepseek_v2", "deepseek_v3", "gemma4", "gemma3n"];
const LINEAR = { rope_scaling: { rope_type: "linear", factor: 2, replace: true } };

/** Two models of the same file, whose keys are stored rotated and raw, and a session of the prompt in each. */
async function withSessions(name, use) {
  const { prompt, steps } = readExpected(name, "expected.json");
  const open = (keys) => rw.model(tinyModel(name), { kv: { dtype: "f32", keys }, contextLength: 256 });
  const models = [await open("rotated"), await open("raw")];
  try {
    const sessions = models.map((model) => model.session());
    for (const session of sessions) await session.append(prompt);
    await use({ models, sessions, prompt, steps });
  } finally {
    for (const model of models) model.dispose();
  }
}

for (const name of NAMES) {
  test(`${name}: fork, rewind, save and restore give the same bits`, () =>
    withSessions(name, async ({ models: [model], sessions: [session], prompt, steps }) => {
      const forked = session.fork();
      const restored = model.session();
      restored.restore(session.save());
      for (const one of [session, forked, restored]) await one.append([steps[0]]);
      const logits = session.logits();
      sameBits(forked.logits(), logits);
      sameBits(restored.logits(), logits);
      await session.append(steps.slice(1, 20));
      session.rewind(prompt.length);
      await session.append([steps[0]]);
      sameBits(session.logits(), logits);
    }));

  test(`${name}: after shift and retune, the logits are those of keys that are rotated when they are read`, () =>
    withSessions(name, async ({ sessions: [rotated, raw], steps }) => {
      const before = rotated.fork();
      const compare = async (token) => {
        for (const session of [rotated, raw]) await session.append([token]);
        const difference = largestDifference([rotated.logits()], [raw.logits()]);
        assert.ok(difference < 1e-4, `${difference}`);
      };
      for (const session of [rotated, raw]) session.shift({ keep: 4, discard: 20 });
      await compare(steps[0]);
      for (const session of [rotated, raw]) session.retune(LINEAR);
      await compare(steps[1]);
      await before.append(steps.slice(0, 2));
      assert.ok(largestDifference([rotated.logits()], [before.logits()]) > 1e-3);
    }));
}

test("a latent is cached once: a row of latent and rotated elements for each token and layer", async () => {
  const model = await rw.model(tinyModel("deepseek_v3"), { kv: { dtype: "f32" } });
  const session = model.session();
  await session.append([3]);
  const [layers, latent, rotated] = [2, 8, 4];
  const page = 32 * (8 + 4 * layers * (latent + rotated)); // a position, and f32
  assert.equal(session.bytes, Math.ceil(page / 64) * 64);
  model.dispose();
});
