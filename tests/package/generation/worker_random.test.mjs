// Random calls on sessions of a Worker have the results, errors and states that they have in this thread.
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

  const generate = async (pieces, controller) => {
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
    generate: ({ session }) => {
      const controller = new AbortController();
      return generate(session.generate({ ...generation, signal: controller.signal }), controller);
    },
    generate_wrong: ({ session }) => generate(session.generate({ ...generation, ...wrong })),
    generate_draft: ({ session, model }) => generate(session.generate({ ...generation, draft: model })),
    generate_model: ({ model, adapter }) => generate(model.generate(tokens, of(generation, { ...generation, adapters: [adapter] }))), // prettier-ignore
    generate_many: ({ model }) => generate(model.generateMany([tokens, [5], "the"], generation)),
    rewind: ({ session }) => session.rewind(length),
    shift: ({ session }) => session.shift({ keep: whole(3), discard: whole(6) }),
    retune: ({ session }) => session.retune(rope, of(undefined, { contextLength: 64 + whole(64) }, { kind: "none" })),
    extend: ({ session }) => session.extend(of(undefined, { contextLength: 100 + whole(60) }, { contextLength: -1 })),
    save: async (one) => (one.saved = await one.session.save()),
    restore: ({ session, saved }) => session.restore(of(saved, new Uint8Array(9)), of(undefined, { rope: "model" })),
    fork: async (one) => {
      const fork = await one.session.fork(of(undefined, { contextLength: 30 + whole(90) }));
      await one.session.dispose();
      one.session = fork;
    },
    steer: ({ session }) => session.steer(steering),
    useAdapters: ({ session, adapter }) =>
      session.useAdapters(of([], [adapter], [{ adapter, scale: 2 }], 5, [5].slice(1))),
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
      one.session = await one.model.session({ contextLength: 48 });
      return outcomes.map(({ error }) => [error.code, error.field]);
    },
  };
  const names = Object.keys(calls);
  const name = random() < 0.4 ? of("append", "generate", "fork", "save") : names[whole(names.length)];
  return { name, call: calls[name] };
}

test(`${CASES} texts of ${CALLS} calls, seed ${SEED}`, async () => {
  const there = { rw: await load({ build }) };
  const here = { rw: rwHere };
  for (const one of [here, there]) {
    one.model = await one.rw.model(tinyModel("llama/"));
    one.adapter = await one.model.loadAdapter(`${folderOf("llama_all")}/`);
  }
  for (let i = 0; i < CASES; i++) {
    for (const one of [here, there]) {
      one.session = await one.model.session({ contextLength: 48 });
      one.saved = undefined;
    }
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
      assert.deepEqual(await run(there), expected, `text ${i}, ${done.join(", ")}`);
    }
    for (const one of [here, there]) await one.session.dispose();
  }
  await there.rw.dispose();
  here.model.dispose();
});
