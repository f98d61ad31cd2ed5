// Random states, questions, orders and temperatures, in models of every kind of memory: decide() has the probabilities of the definition, and the
// same bits whether a question is asked alone, with others, or while texts are generated. ROPEWALK_SEED and ROPEWALK_CASES draw others, and more.
//
// compare: --cases 100
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import test, { after } from "node:test";
import { load } from "ropewalk/worker";
import { CHAT_TEMPLATE, defined, logprobsOf, probabilitiesOf, smallTokenizer } from "../helpers/decisions.mjs";
import { randomSource } from "../helpers/hostile.mjs";
import { tinyModel } from "../helpers/models.mjs";
import { build, isExact, rw } from "../helpers/runtime.mjs";

const SEED = Number(process.env.ROPEWALK_SEED ?? 1);
const CASES = Number(process.env.ROPEWALK_CASES ?? 2);

/** Every kind of memory: full attention, windows, latents, states, chunks, and RoPEs that depend on the length. */
const MODELS = [
  "llama",
  "llama_q4_k",
  "gemma3",
  "starcoder2_window",
  "gpt_oss",
  "llama4_chunks",
  "deepseek_v3",
  "qwen3_next",
  "falcon_h1",
];
const OTHERS = ["mamba2", "lfm2", "phi3"];
const scaled = (rope_scaling) => ({ rope: { max_position_embeddings: 40, rope_scaling } });
const SCALED = {
  dynamic: scaled({ rope_type: "dynamic", factor: 2 }),
  longrope: scaled({
    rope_type: "longrope",
    short_factor: [1, 1, 1, 1],
    long_factor: [1, 2, 3, 4],
    original_max_position_embeddings: 300,
    factor: 4,
  }),
};

const options = (hasWords) => ({
  contextLength: 2048,
  chatTemplate: CHAT_TEMPLATE,
  tokenizer: { tokenizer: smallTokenizer(hasWords) },
  onWarning() {},
});
const fileOf = (name) => {
  const [path] = [`${name}/model.gguf`, `${name}/config.json`].filter((file) => existsSync(tinyModel(file)));
  return path === undefined || path.endsWith(".gguf") ? path && tinyModel(path) : tinyModel(name);
};

const worker = await load({ build });
after(() => worker.dispose());

const WORDS = [
  "cat",
  "dog",
  "<|im_end|>",
  "<|im_start|>assistant\nA",
  "\nB: dog",
  "\n\nQuestion: no",
  "Answer yes",
  "1",
  '"',
];

function drawn({ pick, below, chance }) {
  const words = (most) => Array.from({ length: 1 + below(most) }, () => pick(WORDS)).join(pick([" ", "", "\n"]));
  const text = () => (chance(0.3) ? { [pick(["b", "a"])]: [words(2), below(9), null, true] } : `x${words(3)}`);
  const maybe = (value) => (chance(0.5) ? value : undefined);
  const question = () => {
    const instructions = maybe(text());
    const given = instructions === undefined ? {} : { instructions };
    const type = pick(["choice", "score", "boolean", "noul"]);
    if (type === "choice") {
      const names = Array.from({ length: 2 + below(6) }, (_, i) =>
        chance(0.4) ? String(9 - i) : `${pick(WORDS)}${i}`,
      );
      return { type, criteria: new Map(names.map((name) => [name, maybe(text()) ?? null])), ...given };
    }
    if (type === "score") return { type, criteria: Array.from({ length: 2 + below(3) }, text), ...given };
    return {
      type,
      instructions: text(),
      ...(chance(0.5) && { criteria: { true: text(), ...(chance(0.5) && { false: text() }) } }),
    };
  };
  const names = ["urgency", "7", "3", "__proto__"].slice(0, 1 + below(4));
  return {
    state: chance(0.2)
      ? new Map([
          ["9", words(5)],
          ["1", [words(3)]],
        ])
      : `y${words(20)}`,
    questions: new Map(names.map((name) => [name, question()])),
    settings: { permutations: 1 + below(4), temperature: pick([1, 0.5, 3]) },
  };
}

async function check(model, remote, random, hasWords) {
  const { state, questions, settings } = drawn(random);
  const { tokenizer } = model;
  const tokensOf = (text) => (hasWords ? [text] : [...text]).map((token) => tokenizer.idOf(token));
  const prompts = [
    [5, 6, 7],
    [8, 9],
  ];
  const [together, , elsewhere] = await Promise.all([
    model.decide(state, questions, settings),
    (async () => {
      for await (const _ of model.generateMany(prompts, { maxTokens: 9, temperature: 0, ignoreEnd: true }));
    })(),
    remote?.decide(state, questions, settings),
  ]);
  if (remote !== undefined) assert.deepEqual(elsewhere, together);
  assert.ok(together.usage.input_tokens > 0 && together.usage.output_tokens === 0);
  for (const [name, question] of questions) {
    const answer = Object.getOwnPropertyDescriptor(together.answers, name).value;
    const alone = await model.decide(state, [[name, question]], settings);
    const own = Object.getOwnPropertyDescriptor(alone.answers, name).value;
    if (isExact) assert.deepEqual(own, answer);
    const logprobs = await logprobsOf(model, state, question, { ...settings, tokensOf });
    const { probabilities, mass } = defined(logprobs, settings.temperature);
    const actual = probabilitiesOf(answer, question);
    const tolerance = isExact ? 1e-12 : 1e-4;
    actual.forEach((p, i) => assert.ok(Math.abs(p - probabilities[i]) <= tolerance, `${p} is not ${probabilities[i]}`));
    assert.ok(Math.abs(answer.label_mass - mass) <= tolerance, `${answer.label_mass} is not ${mass}`);
    assert.ok(Math.abs(actual.reduce((sum, p) => sum + p, 0) - 1) < 1e-12);
  }
}

let seed = SEED;
for (const [name, more] of [...[...MODELS, ...OTHERS].map((name) => [name, {}]), ...Object.entries(SCALED)])
  test(`${name}: ${CASES} cases`, async () => {
    const path = fileOf(name in SCALED ? "llama" : name);
    for (const hasWords of [true, false]) {
      const given = { ...options(hasWords), ...more };
      const model = await rw.model(path, given);
      const remote = hasWords ? await worker.model(path, given) : undefined;
      try {
        for (let i = 0; i < CASES; i++) await check(model, remote, randomSource(seed++), hasWords);
      } catch (error) {
        error.message += ` (seed ${seed - 1})`;
        throw error;
      } finally {
        model.dispose();
        await remote?.dispose();
      }
    }
  });

test("every architecture has the same bits for a question alone and with others", async () => {
  const questions = {
    a: { type: "choice", criteria: ["cat", "dog", "no"] },
    b: { type: "score", instructions: "how", criteria: ["no", "yes"] },
    c: { type: "boolean", instructions: "cat" },
  };
  let count = 0;
  for (const name of readdirSync(tinyModel(""))) {
    const path = fileOf(name);
    // the vocabulary of RWKV World is a file of another form
    if (path === undefined || name.startsWith("rwkv7") || !(await rw.modelInfo(path)).generates) continue;
    const model = await rw.model(path, { ...options(true), contextLength: 250 }); // no learned positions end before
    const { answers } = await model.decide("a cat", questions, { permutations: 2 });
    for (const [key, question] of Object.entries(questions)) {
      const alone = await model.decide("a cat", { [key]: question }, { permutations: 2 });
      if (isExact) assert.deepEqual(alone.answers[key], answers[key], `${name} ${key}`);
    }
    count++;
    model.dispose();
  }
  assert.ok(count > 100, `${count} models`);
});
