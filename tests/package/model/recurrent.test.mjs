// Sessions of models with recurrent layers: their states are rewound by checkpoints, forked, saved, restored and shifted.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { largestDifference, readExpected, tinyModel } from "../helpers/models.mjs";
import { raises, rejects, rw } from "../helpers/runtime.mjs";
import { sessionsOf } from "../helpers/sessions.mjs";

// One model of each recurrence, with attention in other layers; one with both in each layer, one with either or neither, and
// three without RoPE, two of them without any attention.
const NAMES = ["lfm2", "qwen3_5", "granitemoehybrid", "falcon_h1", "nemotron_h", "jamba", "mamba", "rwkv7"];
const ATTENDING = ["full_attention", "hybrid"];
// f32 against transformers in f64, as in parity.test.mjs
const F32_LIMIT = 1e-4;

const opened = [];
after(() => opened.forEach((model) => model.dispose()));

const same = (a, b) => assert.deepEqual(a, b);
const near = (a, b) => assert.ok(largestDifference([a], [b]) < F32_LIMIT, `${largestDifference([a], [b])}`);

for (const name of NAMES) {
  const { prompt, steps, prompt_logits, step_logits } = readExpected(name, "expected.json");
  const model = await rw.model(tinyModel(`${name}/model.gguf`), { kv: { dtype: "f32" }, contextLength: 512 });
  opened.push(model);
  const all = [...prompt, ...steps];
  /** transformers' logits after the prompt and `count` steps. */
  const expectedAfter = (count) => (count === 0 ? prompt_logits.at(-1) : step_logits[count - 1]);

  const { withSession, logitsAfter } = sessionsOf(model);

  test(`${name}: token by token, in parts and at once give the same bits`, async () => {
    const whole = await logitsAfter(all);
    await withSession(async (session) => {
      for (const token of all) await session.append([token]);
      same(session.logits(), whole);
    });
    await withSession(async (session) => {
      for (const part of [all.slice(0, 1), all.slice(1, 40), all.slice(40)]) await session.append(part);
      same(session.logits(), whole);
    });
  });

  test(`${name}: rewinds to a checkpoint, to the last call, between them and to the start`, () =>
    withSession(
      async (session) => {
        await session.append(prompt);
        for (const token of steps) await session.append([token]);
        for (const length of [79, 70, 64, 57, 50, 48]) {
          session.rewind(length);
          assert.equal(session.length, length);
          near(session.logits(), expectedAfter(length - 48));
        }
        await session.append(steps.slice(0, 5));
        near(session.logits(), expectedAfter(5));
        session.rewind(20);
        assert.deepEqual(session.tokens, prompt.slice(0, 20));
        same(session.logits(), await logitsAfter(prompt.slice(0, 20)));
        session.rewind(0);
        await session.append(prompt);
        near(session.logits(), expectedAfter(0));
      },
      { checkpoints: { spacing: 8, count: 3 } },
    ));

  test(`${name}: without checkpoints, rewinding reads the text again`, () =>
    withSession(
      async (session) => {
        await session.append(all);
        session.rewind(60);
        near(session.logits(), expectedAfter(12));
      },
      { checkpoints: { count: 0 } },
    ));

  test(`${name}: checkpoints are kept at the spacing and after several tokens, at most as many as wanted`, async () => {
    const bytesWith = (checkpoints, ...calls) =>
      withSession(
        async (session) => {
          for (const tokens of calls) await session.append(tokens);
          return session.bytes;
        },
        { checkpoints },
      );
    const none = await bytesWith({ count: 0 }, prompt, steps);
    const one = (await bytesWith({ count: 1 }, prompt, steps)) - none;
    assert.ok(one > 0);
    const count = async (...args) => ((await bytesWith(...args)) - none) / one;
    assert.equal(await count({ count: 4 }, prompt, steps), 2);
    assert.equal(await count({ count: 4 }, prompt, ...steps.map((token) => [token])), 1, "single tokens make none");
    assert.equal(await count({ count: 9, spacing: 8 }, prompt, ...steps.map((token) => [token])), 5);
    assert.equal(await count({ count: 3, spacing: 8 }, prompt, ...steps.map((token) => [token])), 3);
  });

  test(`${name}: a fork is independent, and rewinds by itself`, () =>
    withSession(async (session) => {
      await session.append(prompt);
      await session.append(steps.slice(0, 10));
      const fork = session.fork();
      await session.append(steps.toReversed());
      await fork.append(steps.slice(10));
      near(fork.logits(), expectedAfter(32));
      fork.rewind(48);
      near(fork.logits(), expectedAfter(0));
      assert.equal(session.length, 48 + 10 + 32);
      session.rewind(58);
      near(session.logits(), expectedAfter(10));
      fork.dispose();
    }));

  test(`${name}: a saved session is restored, and damage is found`, () =>
    withSession(async (session) => {
      await session.append(prompt);
      await session.append(steps.slice(0, 3));
      const bytes = session.save();
      await withSession(async (other) => {
        await other.append(steps);
        const isDamage = { code: "INVALID_BYTES", field: "bytes", message: /is damaged or cut short/ };
        const step = Math.ceil(bytes.length / 300);
        for (let at = 16; at < bytes.length; at += step) {
          const damaged = bytes.slice();
          damaged[at] ^= 0x55;
          assert.throws(() => other.restore(damaged), isDamage, `byte ${at}`);
          assert.throws(() => other.restore(bytes.subarray(0, at)), isDamage, `${at} bytes`);
        }
        raises(() => other.restore(bytes.subarray(0, bytes.length - 100)), "INVALID_BYTES", "bytes");
        assert.deepEqual(other.tokens, steps);
        other.restore(bytes);
        near(other.logits(), expectedAfter(3));
        await other.append(steps.slice(3));
        near(other.logits(), expectedAfter(32));
        other.rewind(50);
        near(other.logits(), expectedAfter(2));
      });
    }));

  test(`${name}: a shift keeps the states, which have seen the lost tokens`, () =>
    withSession(async (session) => {
      await session.append(prompt);
      await session.append(steps);
      session.shift({ keep: 4, discard: 40 });
      assert.deepEqual(session.tokens, [...all.slice(0, 4), ...all.slice(44)]);
      const logits = session.logits();
      assert.ok(logits.every(Number.isFinite));
      await session.append(steps);
      assert.equal(session.length, 72);
      session.rewind(4); // before the lost tokens
      same(session.logits(), await logitsAfter(prompt.slice(0, 4)));
    }));

  test(`${name}: after a shift, what a checkpoint before the lost tokens doesn't have is read without them`, () =>
    withSession(
      async (session) => {
        for (const end of [16, 48, 80]) await session.append(all.slice(session.length, end)); // a checkpoint after each
        session.shift({ keep: 20, discard: 20 });
        const left = [...all.slice(0, 20), ...all.slice(40)];
        session.rewind(24); // to the checkpoint of 16 tokens
        assert.deepEqual(session.tokens, left.slice(0, 24));
        near(session.logits(), await logitsAfter(left.slice(0, 24)));
      },
      { checkpoints: { spacing: 512, count: 9 } },
    ));

  test(`${name}: what attends has weights and keys, what doesn't says so`, () =>
    withSession(async (session) => {
      await session.append(prompt);
      model.info.layers.forEach(({ kind }, layer) => {
        if (ATTENDING.includes(kind)) {
          assert.equal(session.keys(layer)[0].length % prompt.length, 0);
          assert.equal(session.attention(layer).at(-1).length, prompt.length);
        } else
          for (const call of ["keys", "attention"]) raises(() => session[call](layer), "INVALID_ARGUMENT", "layer");
      });
    }));

  test(`${name}: memory counts the states`, () =>
    withSession(async (session) => {
      const empty = session.bytes;
      assert.equal(model.info.memory.states % 10, 0); // two states and eight checkpoints
      const state = model.info.memory.states / 10;
      assert.equal(empty, 2 * state);
      await session.append(prompt);
      const cache = session.bytes - 3 * state; // append() has made a checkpoint
      const hasAttention = model.info.layers.some(({ kind }) => ATTENDING.includes(kind));
      assert.equal(cache > 0, hasAttention);
    }));
}

for (const [name, layer] of [
  ["qwen3_5", 2],
  ["falcon_h1", 0],
]) {
  test(`${name}: a RoPE is retuned in the layers with attention`, async () => {
    const { prompt } = readExpected(name, "expected.json");
    const rope = { rope_scaling: { rope_type: "linear", factor: 4 } };
    const model = opened[NAMES.indexOf(name)];
    const other = await rw.model(tinyModel(`${name}/model.gguf`), { kv: { dtype: "f32" }, rope });
    opened.push(other);
    assert.equal(other.rope.rope_scaling.factor, 4);
    const [session, fresh] = [model.session(), other.session()];
    await session.append(prompt);
    await fresh.append(prompt);
    const before = session.logits();
    session.retune(rope);
    assert.ok(largestDifference([before], [session.logits()]) > 0.01);
    near(session.keys(layer)[0], fresh.keys(layer)[0]); // the first with attention: its keys don't depend on other layers' RoPE
    assert.deepEqual(session.rope.rope_scaling, other.rope.rope_scaling);
    session.dispose();
    fresh.dispose();
  });
}

test("a checkpoint after the lost tokens of a shift has seen them, and one among them is dropped", async () => {
  const mamba = opened[NAMES.indexOf("mamba")];
  const { prompt, steps } = readExpected("mamba", "expected.json");
  const all = [...prompt, ...steps];
  const { withSession, logitsAfter } = sessionsOf(mamba);
  await withSession(
    async (session) => {
      for (const end of [16, 32, 48, 80]) await session.append(all.slice(session.length, end));
      const bytes = session.bytes;
      session.shift({ keep: 20, discard: 20 });
      assert.equal(4 * session.bytes, 4 * bytes - (mamba.info.memory.states / 10) * 4, "that of 32 tokens");
      session.rewind(28); // 48 before the shift
      await session.append(steps.slice(0, 1));
      const seen = [...all.slice(0, 20), ...all.slice(40, 48), steps[0]];
      assert.deepEqual(session.tokens, seen);
      assert.ok(largestDifference([session.logits()], [await logitsAfter(seen)]) > 1e-3);
      near(session.logits(), await logitsAfter([...all.slice(0, 48), steps[0]])); // Mamba has no positions
    },
    { checkpoints: { spacing: 512, count: 9 } },
  );
});

test("checkpoints stay when the RoPE is retuned or the context extended, and are not saved", async () => {
  const model = opened[NAMES.indexOf("qwen3_5")];
  const { prompt, steps } = readExpected("qwen3_5", "expected.json");
  const state = model.info.memory.states / 10;
  const { withSession } = sessionsOf(model);
  await withSession(async (session) => {
    await session.append(prompt);
    await session.append(steps);
    const { bytes } = session;
    session.retune({ rope_theta: 5000 });
    assert.equal(session.bytes, bytes);
    session.extend();
    assert.equal(session.bytes, bytes);
    session.restore(session.save());
    assert.equal(session.bytes, bytes - 2 * state);
  });
});

test("a RoPE for a model without one is refused", async () => {
  const mamba = opened[NAMES.indexOf("mamba")];
  const rope = { rope_scaling: { rope_type: "linear", factor: 4 } };
  await rejects(rw.model(tinyModel("mamba/model.gguf"), { rope }), "INVALID_ARGUMENT", "rope");
  await rejects(mamba.perplexity([3, 4, 5], { rope }), "INVALID_ARGUMENT", "rope");
  const session = mamba.session();
  await session.append([3]);
  raises(() => session.retune(rope), "INVALID_ARGUMENT", "rope");
  session.dispose();
});

test("options of checkpoints are checked", () => {
  const [model] = opened;
  raises(() => model.session({ checkpoints: { spacing: 0 } }), "INVALID_ARGUMENT", "checkpoints.spacing");
  raises(() => model.session({ checkpoints: { count: -1 } }), "INVALID_ARGUMENT", "checkpoints.count");
  raises(() => model.session({ checkpoints: { every: 3 } }), "UNKNOWN_KEY", "checkpoints.every");
});
