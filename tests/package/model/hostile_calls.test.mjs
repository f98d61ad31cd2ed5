// Random calls with hostile values on models and sessions: each ends in success, a RopewalkError or the caller's own error, and what follows
// is the same as before. ROPEWALK_HOSTILE_CALLS and ROPEWALK_SEED run more and others.
import assert from "node:assert/strict";
import test from "node:test";
import { load as loadWorker } from "ropewalk/worker";
import { hostileValues, isAllowed, optionsWith, randomFrom } from "../helpers/hostile.mjs";
import { tinyModel } from "../helpers/models.mjs";
import { build, rw } from "../helpers/runtime.mjs";

const CALLS = Number(process.env.ROPEWALK_HOSTILE_CALLS ?? 4000);
const SEED = Number(process.env.ROPEWALK_SEED ?? 1);
const path = tinyModel("llama/model.gguf");
const options = { contextLength: 32 };

const SAMPLING = [
  "logitBias",
  "repetitionPenalty",
  "frequencyPenalty",
  "presencePenalty",
  "penaltyWindow",
  "dry",
  "temperature",
  "topNSigma",
  "topK",
  "topP",
  "minP",
  "typicalP",
  "xtc",
  "mirostat",
  "samplerOrder",
  "promptLookup",
  "seed",
];
const GENERATE = [
  ...SAMPLING,
  "maxTokens",
  "stop",
  "stopTokens",
  "ignoreEnd",
  "whenFull",
  "keep",
  "logprobs",
  "signal",
];
const CHAT = ["addGenerationPrompt", "tools", "beginToken", "endToken", "now", "variables"];
const OPEN = ["signal", "onProgress", "cache", "retries", "timeout", "onWarning", "rope", "contextLength", "kv", "tokenizer", "chatTemplate"]; // prettier-ignore
const valid = { maxTokens: 3, temperature: 0, whenFull: "shift", keep: 1, discard: 1, contextLength: 40, window: 8, kind: "full_attention" }; // prettier-ignore

/** Asks for at most three pieces, and leaves the rest in one of the ways that a loop has. */
async function someOf(pieces, random) {
  const way = random();
  if (way < 0.1) return;
  let count = 0;
  if (way < 0.2) await pieces.next();
  else for await (const _ of pieces) if (++count === 3) break;
}

/** Calls by name, with hostile arguments. */
function callsOf(random) {
  const value = hostileValues(random);
  const some = (names) => (random() < 0.15 ? value() : optionsWith(random, names, { valid }));
  const list = () => (random() < 0.5 ? value() : random() < 0.5 ? [5, 6, 7] : [5, value()]);
  const session = {
    append: (one) => one.append(list(), some(["signal", "onProgress"])),
    generate: (one) => someOf(one.generate(some(GENERATE)), random),
    rewind: (one) => one.rewind(value()),
    shift: (one) => one.shift(some(["keep", "discard"])),
    retune: (one) => one.retune(some(["rope_theta", "rope_scaling", "head_dim", "pairing"]), some(["kind", "contextLength"])), // prettier-ignore
    logprobs: (one) => one.logprobs(value()),
    logprobOf: (one) => one.logprobOf(value()),
    restore: (one) => one.restore(value()),
    read: (one) => one[["logits", "hidden", "save"][Math.floor(random() * 3)]](),
    attention: (one) => one.attention(random() < 0.5 ? 0 : value()),
    keys: (one) => one.keys(random() < 0.5 ? 0 : value()),
    fork: async (one) => (await one.fork()).dispose(),
    extend: (one) => one.extend(),
  };
  const model = {
    session: async (one) => (await one.session(some(["contextLength"]))).dispose(),
    generate: (one) => someOf(one.generate(list(), some([...GENERATE, "contextLength"])), random),
    promptTokens: (one) => one.promptTokens(list(), some(CHAT)),
    renderChat: (one) => one.renderChat(list(), some(CHAT)),
    perplexity: (one) => one.perplexity(list(), some(["window", "stride", "rope", "signal", "onProgress"])),
    embed: (one) => one.embed(list(), some(["signal"])),
  };
  const runtime = {
    model: async (one) => (await one.model(random() < 0.5 ? path : value(), some(OPEN))).dispose(),
    modelInfo: (one) => one.modelInfo(random() < 0.5 ? path : value(), some(OPEN)),
  };
  return { session, model, runtime };
}

async function textOf(model) {
  const tokens = [];
  const good = { seed: 5, temperature: 1.2, maxTokens: 20, ignoreEnd: true };
  for await (const { token } of model.generate([5, 6, 7], good)) tokens.push(token);
  return tokens;
}

/** Runs `count` calls, some of which overlap, and returns how often each outcome came. */
async function run(runtime, count, seed) {
  const random = randomFrom(seed);
  let [model, session] = [];
  const renew = async () => {
    model ??= await runtime.model(path, options);
    session ??= await model.session();
  };
  await renew();
  const expected = await textOf(model);
  const good = await runtime.model(path, options);
  const tally = {};
  const dispose = () => {
    if (random() < 0.3) {
      void Promise.resolve(model?.dispose()).catch(() => undefined);
      model = undefined;
    }
    void Promise.resolve(session?.dispose()).catch(() => undefined);
    session = undefined;
  };
  for (let i = 0; i < count; i++) {
    await renew();
    if (session.length > 40) await Promise.resolve(session.dispose()).then(() => (session = undefined));
    await renew();
    const overlapping = Array.from({ length: random() < 0.2 ? 3 : 1 }, async () => {
      const calls = callsOf(random);
      const kind = random() < 0.75 ? "session" : random() < 0.9 ? "model" : "runtime";
      const object = { session, model, runtime }[kind];
      const names = Object.keys(calls[kind]);
      const name = names[Math.floor(random() * names.length)];
      let outcome = "success";
      try {
        if (object !== undefined) await calls[kind][name](object);
      } catch (error) {
        // A Worker sends it as a plain Error, and a class as a callback throws when it is called.
        const isCallers = /^(a caller's own error|Class constructors? .*without 'new')$/.test(error?.message);
        if (!isAllowed(error) && !isCallers)
          assert.fail(`call ${i}, ${kind}.${name}: ${error?.stack ?? String(error)}`);
        outcome = error.code ?? "the caller's own";
      }
      tally[outcome] = (tally[outcome] ?? 0) + 1;
    });
    if (random() < 0.1) dispose(); // while they run
    await Promise.all(overlapping);
    if (i % 500 === 499) assert.deepEqual(await textOf(good), expected, `call ${i}`);
  }
  assert.deepEqual(await textOf(good), expected);
  await good.dispose();
  await session?.dispose();
  await model?.dispose();
  return tally;
}

test(`${CALLS} calls`, async (t) => {
  const tally = await run(rw, CALLS, SEED);
  t.diagnostic(JSON.stringify(tally));
  for (const outcome of ["success", "INVALID_ARGUMENT", "UNKNOWN_KEY", "DISPOSED", "the caller's own"])
    assert.ok(tally[outcome] > 0, outcome);
});

test(`${CALLS / 4} calls in a Worker`, async (t) => {
  const worker = await loadWorker({ build });
  const tally = await run(worker, CALLS / 4, SEED + 1);
  t.diagnostic(JSON.stringify(tally));
  for (const outcome of ["success", "INVALID_ARGUMENT", "UNKNOWN_KEY"]) assert.ok(tally[outcome] > 0, outcome);
  await worker.dispose();
});
