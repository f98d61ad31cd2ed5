// Random calls on sessions of a Worker have the results, errors and states that they have in this thread, and those of a fresh session here that
// reaches the same state. Calls that are aborted or disposed of at any moment, or run beside others, leave nothing behind.
// ROPEWALK_SEED and ROPEWALK_CASES draw others, and more.
//
// compare: --cases 300
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "ropewalk/worker";
import { folderOf } from "../helpers/adapters.mjs";
import { randomFrom } from "../helpers/hostile.mjs";
import { tinyModel } from "../helpers/models.mjs";
import { build, rw as rwHere } from "../helpers/runtime.mjs";

const SEED = Number(process.env.ROPEWALK_SEED ?? 1);
const CASES = Number(process.env.ROPEWALK_CASES ?? 12);
const CALLS = 30;

const outcomeOf = async (act) => {
  try {
    return { value: await act() };
  } catch ({ name, code, field, message, advice }) {
    return { error: { name, code, field, message, advice } };
  }
};

/** What a session says of itself, after a reply: what it shares with others may have changed. */
const stateOf = async (session, tokens) => ({
  tokens,
  length: session.length,
  contextLength: session.contextLength,
  bytes: session.bytes,
  rope: session.rope,
  text: await session.text,
  logits: session.length > 0 && (await session.logits()),
});

/** What is known of a new session. */
const NEW = { saved: undefined, isMoved: false, isChanged: false };

/** Draws a call: a function of `one`, a session with its model, adapters and saved bytes, here or there. */
function drawCall(random) {
  const whole = (most) => Math.floor(random() * most);
  const of = (...values) => values[whole(values.length)];
  const tokens = Array.from({ length: 1 + whole(9) }, () => whole(66)); // the vocabulary has 64
  const seed = whole(100);
  const maxTokens = 1 + whole(6);
  const generation = { seed, maxTokens, temperature: of(0, 1), ignoreEnd: of(true, false), logprobs: of(0, 2), whenFull: of("stop", "shift", "extend") }; // prettier-ignore
  const wrong = of({ topP: 3 }, { maxToken: 1 }, { draft: 5 }, { signal: 5 }, { stop: [5] });
  const leaveAt = of(Infinity, 1, 2);
  const abortAt = of(Infinity, Infinity, 1, 3);
  const length = whole(40) - 1;
  const layer = whole(4) - 1;
  const steering = of([], [{ layer: 0, vector: new Float32Array(32).fill(random()) }], [{ layer: 99, vector: [1] }]);
  const rope = of(
    { rope_theta: 2000 + seed },
    { rope_scaling: { rope_type: "linear", factor: 2 } },
    { rope_theeta: 1 },
  );

  const generate = async (pieces, controller = new AbortController()) => {
    const read = [];
    for await (const piece of pieces) {
      read.push(piece);
      if (read.length === leaveAt) break;
      if (read.length === abortAt) controller.abort(new Error("enough"));
    }
    return read;
  };
  const calls = {
    append: ({ session }) => session.append(of(tokens, "the cat", new Set(tokens), 5)),
    append_aborted: ({ session }) => session.append([5, 6], { signal: AbortSignal.abort(new Error("never")) }),
    append_progress: async ({ session }) => {
      const reported = [];
      await session.append([5, 6, 7], { onProgress: (progress) => reported.push(progress) });
      return reported;
    },
    append_thrower: ({ session }) =>
      session.append([5, 6, 7], {
        onProgress: () => {
          throw new Error("a callback's own");
        },
      }),
    generate: (one) => {
      if (generation.whenFull !== "stop") one.isMoved = true;
      const { session } = one;
      const controller = new AbortController();
      return generate(session.generate({ ...generation, signal: controller.signal }), controller);
    },
    generate_wrong: ({ session }) => generate(session.generate({ ...generation, ...wrong })),
    generate_draft: (one) => {
      if (generation.whenFull !== "stop") one.isMoved = true;
      return generate(one.session.generate({ ...generation, draft: one.model }));
    },
    generate_model: ({ model, adapter }) => generate(model.generate(tokens, of(generation, { ...generation, adapters: [adapter] }))), // prettier-ignore
    generate_many: ({ model }) => generate(model.generateMany([tokens, [5], "the"], generation)),
    rewind: ({ session }) => session.rewind(length),
    shift: (one) => {
      one.isMoved = true;
      return one.session.shift({ keep: whole(3), discard: whole(6) });
    },
    retune: (one) => {
      one.isMoved = true; // its keys are rotated again, and rounded
      return one.session.retune(rope, of(undefined, { contextLength: 64 + whole(64) }, { kind: "none" }));
    },
    extend: (one) => {
      one.isMoved = true;
      return one.session.extend(of(undefined, { contextLength: 100 + whole(60) }, { contextLength: -1 }));
    },
    save: async (one) => {
      const saved = await one.session.save();
      one.saved = { bytes: saved, isMoved: one.isMoved };
      return saved.length; // expectFresh compares what is in them; they also have a bound of all keys that were ever computed
    },
    restore: (one) => {
      one.isMoved ||= one.saved?.isMoved !== false;
      return one.session.restore(of(one.saved?.bytes, new Uint8Array(9)), of(undefined, { rope: "model" }));
    },
    fork: async (one) => {
      const fork = await one.session.fork(of(undefined, { contextLength: 30 + whole(90) }));
      await one.session.dispose();
      one.session = fork;
    },
    steer: (one) => {
      one.isChanged = true; // its keys are those of another model
      return one.session.steer(steering);
    },
    useAdapters: (one) => {
      one.isChanged = true;
      return one.session.useAdapters(of([], [one.adapter], [{ adapter: one.adapter, scale: 2 }], 5, [5].slice(1)));
    },
    trace: ({ session }) =>
      session.trace(tokens, { logits: true, hidden: of(true, false), attention: of(undefined, [0]) }),
    logprobs: ({ session }) => session.logprobs(of(undefined, 3, -1)),
    logprobOf: ({ session }) => session.logprobOf(whole(70)),
    hidden: ({ session }) => session.hidden(),
    attention: ({ session }) => session.attention(layer),
    keys: ({ session }) => session.keys(layer),
    values: ({ session }) => session.values(layer),
    perplexity: ({ model }) => model.perplexity(tokens, { window: of(undefined, 4), rope: of(undefined, rope) }),
    embed: ({ model, adapter }) =>
      model.embed(of("the cat", [tokens, "the"], 5), of(undefined, { adapters: [adapter] })),
    promptTokens: ({ model }) => model.promptTokens(of("the cat", tokens, [{ role: "user", content: "the cat" }])),
    dispose: async (one) => {
      await one.session.dispose();
      const calls = [() => one.session.append([5]), () => one.session.rewind(0), () => one.session.save()];
      const outcomes = await Promise.all(calls.map(outcomeOf));
      Object.assign(one, NEW, { session: await one.model.session({ contextLength: 48 }), saved: one.saved });
      return outcomes.map(({ error }) => [error.code, error.field]);
    },
  };
  const names = Object.keys(calls);
  const name = random() < 0.4 ? of("append", "generate", "fork", "save") : names[whole(names.length)];
  return { name, call: calls[name] };
}

/** The next logits of a session, which stays as it is. */
async function nextLogits(session) {
  const fork = await session.fork({ contextLength: session.length + 1 });
  await fork.append([5]);
  const logits = await fork.logits();
  await fork.dispose();
  return logits;
}

/** A fresh session of this thread that is restored, and one that reads the text, go on as the Worker's does. */
async function expectFresh(there, here, message) {
  const { session, isMoved, isChanged } = there;
  if (isChanged) return; // what steering and adapters do isn't in the bytes
  const logits = await nextLogits(session);
  const restored = here.model.session({ contextLength: session.contextLength });
  restored.restore(await session.save());
  assert.deepEqual(await nextLogits(restored), logits, `${message}: a session that is restored`);
  restored.dispose();
  if (isMoved) return;
  const fresh = here.model.session({ contextLength: session.contextLength + 1 });
  await fresh.append([...(await session.tokens), 5]);
  assert.deepEqual(fresh.logits(), logits, `${message}: a session that reads the text`);
  fresh.dispose();
}

const ticks = async (count) => {
  for (let tick = 0; tick < count; tick++) await new Promise(setImmediate);
};

/** Runs calls on a fork in the Worker at the same time, and ends it at any moment. They have results, or the errors of one that has ended. */
async function endAtAnyMoment({ session, model, adapter, rw }, random, message) {
  const one = { ...NEW, model, adapter, rw, session: await session.fork() };
  const calls = Array.from({ length: 1 + Math.floor(random() * 4) }, () => drawCall(random));
  const running = calls.map(({ call }) => outcomeOf(() => call(one)));
  await ticks(Math.floor(random() * 12));
  const ended = one.session.dispose();
  const outcomes = await Promise.all(running);
  await ended;
  await one.session.dispose(); // another one, if a call has replaced it
  for (const [i, { error }] of outcomes.entries())
    if (error !== undefined && !/enough|never|a callback's own/.test(error.message))
      assert.equal(error.name, "RopewalkError", `${message}: ${calls[i].name}: ${error.message}`);
}

test(`${CASES} texts of ${CALLS} calls, seed ${SEED}`, async () => {
  const there = { rw: await load({ build }) };
  const here = { rw: rwHere };
  for (const one of [here, there]) {
    one.model = await one.rw.model(tinyModel("llama/"));
    one.adapter = await one.model.loadAdapter(`${folderOf("llama_all")}/`);
  }
  const memory = [];
  for (let i = 0; i < CASES; i++) {
    for (const one of [here, there])
      Object.assign(one, NEW, { session: await one.model.session({ contextLength: 48 }) });
    const done = [];
    for (let at = 0; at < CALLS; at++) {
      const seed = SEED * 1_000_003 + i * 1009 + at;
      const run = async (one) => {
        const { name, call } = drawCall(randomFrom(seed));
        const outcome = await outcomeOf(() => call(one));
        return { name, outcome, state: await outcomeOf(async () => stateOf(one.session, await one.session.tokens)) };
      };
      const expected = await run(here);
      done.push(expected.name);
      const message = `text ${i}, ${done.join(", ")}`;
      assert.deepEqual(await run(there), expected, message);
      const random = randomFrom(seed + 7);
      if (random() < 0.2) await endAtAnyMoment(there, random, message);
      if (random() < 0.2) await expectFresh(there, here, message);
    }
    for (const one of [here, there]) await one.session.dispose();
    memory.push(await there.rw.memoryBytes);
  }
  const half = memory[Math.floor(CASES / 2)];
  assert.ok(memory.at(-1) <= half * 1.25, `memory grows: ${memory}`);
  await there.rw.dispose();
  here.model.dispose();
});
