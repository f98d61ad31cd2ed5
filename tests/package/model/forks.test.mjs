// Forks share the memory of keys and values with their session: a change of one leaves the other as it was, and has the bits of a
// session that shares nothing.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { tinyModel } from "../helpers/models.mjs";
import { rw } from "../helpers/runtime.mjs";

const TOKENS = Array.from({ length: 75 }, (_, i) => 5 + ((7 * i) % 40)); // two pages and a part
const MORE = [9, 8, 7];
const RETUNED = { rope_theta: 5000 };
const DYNAMIC = { rope_scaling: { rope_type: "dynamic", factor: 2 }, max_position_embeddings: 60 };

const models = {
  llama: await rw.model(tinyModel("llama/model.gguf"), { kv: { dtype: "f32" }, contextLength: 256 }),
  "llama, f16 keys not rotated": await rw.model(tinyModel("llama/model.gguf"), {
    kv: { dtype: "f16", keys: "raw" },
    contextLength: 256,
  }),
  "llama, q8_0 and dynamic": await rw.model(tinyModel("llama/model.gguf"), {
    kv: { dtype: "q8_0" },
    rope: DYNAMIC,
    contextLength: 256,
  }),
  gemma3: await rw.model(tinyModel("gemma3"), { contextLength: 256 }),
  qwen3_next: await rw.model(tinyModel("qwen3_next"), { contextLength: 256 }),
  mamba2: await rw.model(tinyModel("mamba2"), { contextLength: 256 }),
  gpt2: await rw.model(tinyModel("gpt2"), { contextLength: 200 }),
};
after(() => Object.values(models).forEach((model) => model.dispose()));

const hasRope = (session) => session.rope !== null;
const changes = {
  append: (session) => session.append(MORE),
  "rewind and append": async (session) => {
    session.rewind(40);
    await session.append(MORE);
  },
  "shift all": (session) => session.shift({ keep: 0, discard: 10 }),
  "shift the end": (session) => session.shift({ keep: 40, discard: 20 }),
  retune: (session) => hasRope(session) && session.retune(RETUNED),
  extend: (session) => hasRope(session) && session.extend(),
  generate: async (session) => {
    for await (const _ of session.generate({ temperature: 0, maxTokens: 40, promptLookup: 3, ignoreEnd: true }));
  },
  steer: (session) => session.steer?.([]),
};

/** What the models can't do. */
const REFUSED = {
  gemma3: ["extend"], // a linear scaling
  qwen3_next: ["generate"], // a lookup with recurrent layers
  mamba2: ["generate"],
  gpt2: ["shift all", "shift the end"], // learned positions
};

const restored = (model, session) => {
  const alone = model.session();
  alone.restore(session.save());
  return alone;
};

for (const [name, model] of Object.entries(models)) {
  const read = async () => {
    const session = model.session();
    await session.append(TOKENS);
    session.restore(session.save()); // so that all have their RoPE from saved bytes, whose keys are in another order
    return session;
  };

  test(`${name}: each change of one leaves the other as it was`, async () => {
    for (const [change, act] of Object.entries(changes)) {
      for (const ofSource of [false, true]) {
        const source = await read();
        const alone = restored(model, source);
        const fork = source.fork();
        assert.deepEqual(fork.logits(), source.logits());
        assert.deepEqual(fork.hidden(), source.hidden());
        const [changed, other] = ofSource ? [source, fork] : [fork, source];
        const before = other.save();
        if (REFUSED[name]?.includes(change)) {
          for (const session of [alone, changed])
            await assert.rejects(async () => act(session), { name: "RopewalkError", code: "UNSUPPORTED_MODEL" });
          assert.deepEqual(other.save(), before);
          continue;
        }
        await act(alone);
        await act(changed);
        assert.deepEqual(other.save(), before, change);
        assert.ok(Buffer.compare(changed.save(), alone.save()) === 0, change);
        changed.dispose();
        assert.deepEqual(other.save(), before, change);
        await other.append(MORE);
        const next = await read();
        await next.append(MORE);
        assert.deepEqual(other.logits(), next.logits(), change);
        for (const session of [alone, other, next]) session.dispose();
      }
    }
  });
}

test("forks take the memory of what they change", async () => {
  const model = models.llama;
  const source = model.session();
  await source.append(TOKENS);
  const { bytes } = source;
  const page = bytes / 3;
  const forks = Array.from({ length: 9 }, () => source.fork());
  const total = () => [source, ...forks].reduce((sum, session) => sum + session.bytes, 0);
  const near = (a, b) => assert.ok(Math.abs(a - b) < 20, `${a}, ${b}`); // bytes are whole numbers
  near(source.bytes, bytes / 10);
  near(total(), bytes);
  await forks[0].append(MORE);
  near(forks[0].bytes, (2 * page) / 10 + page);
  near(total(), bytes + page);
  forks[1].shift({ keep: 0, discard: 10 });
  near(total(), bytes + 4 * page);
  const left = forks[2].save();
  for (const session of [source, ...forks.slice(3), forks[0], forks[1]]) session.dispose();
  assert.equal(forks[2].bytes, bytes);
  assert.deepEqual(forks[2].save(), left);
  forks[2].dispose();
});

test("forks of forks, under any RoPE", async () => {
  const model = models.llama;
  const source = model.session();
  await source.append(TOKENS);
  source.retune(RETUNED);
  const fork = source.fork();
  const second = fork.fork();
  assert.deepEqual(second.rope, source.rope);
  source.retune({ rope_theta: 700 });
  fork.retune({ rope_theta: 500 });
  const alone = restored(model, second);
  for (const session of [second, alone]) await session.append(MORE);
  assert.deepEqual(second.logits(), alone.logits());
  assert.notDeepEqual(second.rope, source.rope);
  for (const session of [source, fork, second, alone]) session.dispose();
});
