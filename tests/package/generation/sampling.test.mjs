// Sampling options of generation, beyond temperature, topK, topP and minP. What they keep is compared with llama.cpp and transformers in
// tests/native/sampling.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { readExpected, tinyModel } from "../helpers/models.mjs";
import { rejects, rw } from "../helpers/runtime.mjs";

const prompt = readExpected("llama", "expected.json").prompt.slice(0, 12);
const model = await rw.model(tinyModel("llama"), { kv: { dtype: "f32" }, contextLength: 128 });
after(() => model.dispose());

const ALL = { temperature: 1, topK: 0, topP: 1, minP: 0 };

async function tokensOf(options, tokens = prompt) {
  const pieces = [];
  for await (const { token } of model.generate(tokens, { ignoreEnd: true, maxTokens: 40, seed: 5, ...options }))
    pieces.push(token);
  return pieces;
}

test("a bias forces a token, and -Infinity forbids it, from an object or a Map", async () => {
  assert.deepEqual(new Set(await tokensOf({ ...ALL, logitBias: { 7: 1e6 } })), new Set([7]));
  const free = await tokensOf(ALL);
  const [common] = free;
  for (const logitBias of [{ [common]: -Infinity }, new Map([[common, -Infinity]])])
    assert.ok(!(await tokensOf({ ...ALL, logitBias })).includes(common));
  const allButTwo = Object.fromEntries(
    Array.from({ length: 64 }, (_, id) => [id, id === 3 || id === 9 ? 0 : -Infinity]),
  );
  assert.deepEqual([...new Set(await tokensOf({ ...ALL, logitBias: allButTwo }))].sort(), [3, 9]);
  const all = Object.fromEntries(Array.from({ length: 64 }, (_, id) => [id, -Infinity]));
  await rejects(tokensOf({ ...ALL, logitBias: all }), "INVALID_ARGUMENT", "logitBias");
});

test("frequency and presence penalties count the tokens of the window", async () => {
  const repeats = (tokens) => tokens.length - new Set(tokens).size;
  const free = repeats(await tokensOf({ temperature: 0 }));
  for (const options of [{ frequencyPenalty: 100 }, { presencePenalty: 100 }])
    assert.ok(repeats(await tokensOf({ temperature: 0, ...options })) < free, JSON.stringify(options));
  assert.deepEqual(
    await tokensOf({ temperature: 0, presencePenalty: 100, penaltyWindow: 0 }),
    await tokensOf({ temperature: 0 }),
  );
  // a negative one makes the last token of the prompt repeat
  assert.deepEqual(
    new Set(await tokensOf({ temperature: 0, presencePenalty: -1e5, penaltyWindow: 1 })),
    new Set([prompt.at(-1)]),
  );
});

test("dry ends repeats, except of tokens with a breaker", async () => {
  const [a, b] = [20, 21];
  const text = [a, b, 5, a, b, 5, a, b];
  const logitBias = { 5: 1e5 };
  const next = async (dry) =>
    (await tokensOf({ temperature: 0, logitBias, maxTokens: 1, ...(dry && { dry }) }, text))[0];
  assert.equal(await next(), 5);
  assert.notEqual(await next({ multiplier: 1e6 }), 5);
  assert.equal(await next({ multiplier: 1e6, allowedLength: 6 }), 5);
  assert.equal(await next({ multiplier: 1e6, window: 2 }), 5);
  const breaker = model.tokenizer.token(b);
  assert.equal(await next({ multiplier: 1e6, breakers: [breaker] }), 5);
  await rejects(next({ multiplier: 1, breakers: ["no token has this"] }), "INVALID_ARGUMENT", "dry.breakers[0]");
});

test("xtc, topNSigma, typicalP and mirostat drop tokens", async () => {
  const session = model.session();
  await session.append(prompt);
  const ranked = session.logprobs(64).map(({ token }) => token);
  session.dispose();
  const drawn = async (options) => {
    const firsts = await Promise.all(
      Array.from({ length: 60 }, async (_, seed) => (await tokensOf({ ...options, seed, maxTokens: 1 }))[0]),
    );
    return new Set(firsts);
  };
  assert.deepEqual(await drawn({ ...ALL, topNSigma: 1e-6 }), new Set([ranked[0]]));
  assert.deepEqual(await drawn({ ...ALL, temperature: 5, mirostat: undefined, topK: 2 }), new Set(ranked.slice(0, 2)));
  assert.ok(!(await drawn({ ...ALL, xtc: { probability: 1, threshold: 1e-9 } })).has(ranked[0]));
  assert.deepEqual(await drawn({ mirostat: { tau: 1e-6, eta: 0.1 } }), new Set([ranked[0]]));
  assert.equal((await drawn({ ...ALL, typicalP: 1e-9 })).size, 1);
});

test("samplerOrder: a high temperature comes before top-p or after it", async () => {
  const options = { topK: 0, minP: 0, topP: 0.2, temperature: 1000 };
  const kept = async (samplerOrder) => new Set(await tokensOf({ ...options, samplerOrder, maxTokens: 100 })).size;
  const [first, last] = [await kept("transformers"), await kept("llama.cpp")];
  assert.ok(first > last, `${first} and ${last}`);
  assert.deepEqual(await tokensOf({ ...options }), await tokensOf({ ...options, samplerOrder: "transformers" }));
});

test("the text of alternatives is that of the token", async () => {
  for await (const { alternatives } of model.generate(prompt, { maxTokens: 3, ignoreEnd: true, logprobs: 64 })) {
    for (const { token, text } of alternatives)
      assert.equal(text, model.tokenizer.decode([token], { skipSpecial: false, continues: true }));
  }
});

test("errors name the option at fault", async () => {
  const wrong = [
    [{ frequencyPenalty: NaN }, "frequencyPenalty"],
    [{ frequencyPenalty: 1e7 }, "frequencyPenalty"],
    [{ presencePenalty: "1" }, "presencePenalty"],
    [{ presencePenalty: -1e7 }, "presencePenalty"],
    [{ penaltyWindow: -1 }, "penaltyWindow"],
    [{ penaltyWindow: 5 }, "penaltyWindow"],
    [{ typicalP: 0 }, "typicalP"],
    [{ topNSigma: -1 }, "topNSigma"],
    [{ dry: 1 }, "dry"],
    [{ dry: {} }, "dry.multiplier"],
    [{ dry: { multiplier: -1 } }, "dry.multiplier"],
    [{ dry: { multiplier: 1, base: 0.5 } }, "dry.base"],
    [{ dry: { multiplier: 1, allowedLength: 0 } }, "dry.allowedLength"],
    [{ dry: { multiplier: 1, window: -1 } }, "dry.window"],
    [{ dry: { multiplier: 1, breakers: [""] } }, "dry.breakers[0]"],
    [{ dry: { multiplier: 1, breakers: "a" } }, "dry.breakers"],
    [{ xtc: {} }, "xtc.probability"],
    [{ xtc: { probability: 2 } }, "xtc.probability"],
    [{ xtc: { probability: 1, threshold: 0 } }, "xtc.threshold"],
    [{ mirostat: { tau: 0 } }, "mirostat.tau"],
    [{ mirostat: { tau: -1 } }, "mirostat.tau"],
    [{ mirostat: {}, temperature: 0 }, "mirostat"],
    [{ mirostat: { eta: 0 } }, "mirostat.eta"],
    [{ mirostat: {}, topK: 5 }, "topK"],
    [{ mirostat: {}, samplerOrder: "llama.cpp" }, "samplerOrder"],
    [{ samplerOrder: "vllm" }, "samplerOrder"],
    [{ logitBias: [1] }, "logitBias"],
    [{ logitBias: { 64: 1 } }, "logitBias"],
    [{ logitBias: { a: 1 } }, "logitBias"],
    [{ logitBias: { 1: NaN } }, "logitBias[1]"],
    [{ logitBias: { 1: Infinity } }, "logitBias[1]"],
    [{ logitBias: { 1: "1" } }, "logitBias[1]"],
    [{ logitBias: { 1: 1e39 } }, "logitBias[1]"],
  ];
  for (const [options, field] of wrong) await rejects(tokensOf(options), "INVALID_ARGUMENT", field);
  for (const [options, field] of [
    [{ dry: { multiplier: 1, bas: 2 } }, "dry.bas"],
    [{ mirostat: { target: 2 } }, "mirostat.target"],
  ])
    await rejects(tokensOf(options), "UNKNOWN_KEY", field);
});
