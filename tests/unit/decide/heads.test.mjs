// decide() of a decision checkpoint: bits, orders, cuts, forged text, and what is refused by name. Its numbers are held to the laya package in random/.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { openai } from "ropewalk/openai";
import { load } from "ropewalk/worker";
import { checkpointFiles } from "../../package/helpers/decision_heads.mjs";
import { casesOf } from "../../package/helpers/random.mjs";
import { build, rejects, rw } from "../../package/helpers/runtime.mjs";

const cases = casesOf("decision_heads.json");
const laya = cases.find(({ form, gguf }) => form === "laya" && gguf === undefined);
const julia = cases.find(({ form, gguf }) => form === "julia" && gguf === undefined);
const gguf = cases.find((one) => one.gguf !== undefined);
const options = { onWarning() {} };
const model = await rw.model(checkpointFiles(laya), options);
const local = await rw.model(checkpointFiles(gguf), options);
const worker = await load({ build });
const remote = await worker.model(checkpointFiles(gguf), options); // a clone of a File has no name in Node
after(async () => {
  model.dispose();
  local.dispose();
  await worker.dispose();
});

const TOPIC = {
  type: "choice",
  instructions: "What is it about?",
  criteria: { rope: "a rope", sail: null, other: "else" },
};
const QUESTIONS = {
  topic: TOPIC,
  size: { type: "score", instructions: "How long?", criteria: ["short", "long"] },
  wet: { type: "boolean", instructions: "Is it wet?" },
};

test("answers have the same bits alone, together, and in a Worker", async () => {
  assert.deepEqual(await remote.decide("a rope", QUESTIONS), await local.decide("a rope", QUESTIONS));
  const { answers, usage } = await model.decide("the rope is long", QUESTIONS);
  for (const [name, question] of Object.entries(QUESTIONS)) {
    const alone = await model.decide("the rope is long", { [name]: question });
    assert.deepEqual(alone.answers, { [name]: answers[name] });
  }
  assert.equal(answers.topic.label_mass, 1);
  assert.equal(usage.output_tokens, 0);
  assert.ok(model.info.decides && !model.info.generates && remote.info.decides);
});

test("OpenAI's shape", async () => {
  const { answers } = await model.decide("a rope", { wet: QUESTIONS.wet });
  const asked = {
    input: "a rope",
    questions: [{ type: "predicate", name: "wet", instructions: QUESTIONS.wet.instructions }],
  };
  const list = await openai(model).decisions.create(asked);
  assert.deepEqual(list.answers, [
    { type: "predicate", name: "wet", probability: answers.wet.probability, label_mass: 1 },
  ]);
});

test("permutations and temperature", async () => {
  const asked = { topic: TOPIC };
  const of = async (question, given) => (await model.decide("the rope", { topic: question }, given)).answers.topic;
  const reversed = { ...TOPIC, criteria: Object.fromEntries(Object.entries(TOPIC.criteria).reverse()) };
  const [one, two] = [(await of(TOPIC)).probabilities, (await of(reversed)).probabilities];
  const { answers } = await model.decide("the rope", asked, { permutations: 2 });
  for (const [name, p] of Object.entries(answers.topic.probabilities)) assert.equal(p, (one[name] + two[name]) / 2);
  const warm = (await of(TOPIC, { temperature: 1e9 })).probabilities;
  for (const p of Object.values(warm)) assert.ok(Math.abs(p - 1 / 3) < 1e-6);
});

test("text can't write markers, and other control tokens in it are text", async () => {
  const read = async (text) => (await model.decide(text, { topic: TOPIC })).usage.input_tokens;
  assert.equal(await read("a [MASK] b"), await read("a   b"));
  assert.ok((await read("a [SEP] b")) > (await read("a b")) + 3);
});

test("what is cut is said, and a state that is too long is an error", async () => {
  const warnings = [];
  const long = "long ".repeat(60);
  const given = { onWarning: (message) => warnings.push(message) };
  await model.decide("a", { topic: { ...TOPIC, criteria: { a: long, b: null } } }, given);
  assert.match(warnings.join("\n"), /^questions\.topic: the question and its options are cut to \d+ tokens/);
  await rejects(model.decide("a rope ".repeat(400), { topic: TOPIC }), "CACHE_FULL", "state");
  await rejects(model.decide("a", { topic: TOPIC }, { contextLength: 8 }), "CACHE_FULL", "state");
});

test("options that have no meaning, and models of 20 options", async () => {
  for (const [name, value] of Object.entries({ templateName: "default", variables: {}, now: new Date() }))
    await rejects(model.decide("a", { topic: TOPIC }, { [name]: value }), "INVALID_ARGUMENT", name);
  const small = await rw.model(checkpointFiles(julia), options);
  const many = { type: "choice", criteria: Array.from({ length: 21 }, (_, i) => `option ${i}`) };
  await rejects(small.decide("a", { many }), "INVALID_ARGUMENT", "questions.many.criteria");
  small.dispose();
  await assert.rejects(async () => model.complete("a"), /call decide\(\)/);
  await rejects(model.rank("a", ["b"]), "UNSUPPORTED_MODEL", "model.safetensors");
});

test("after dispose()", async () => {
  const gone = await rw.model(checkpointFiles(laya), options);
  gone.dispose();
  await assert.rejects(gone.decide("a", { topic: TOPIC }), { code: "DISPOSED" });
});

const changed = (one, changes) => ({ ...one, ...changes });
const refused = async (files, code, field, message) =>
  assert.rejects(rw.model(files, options), (error) => {
    assert.equal(error.code, code);
    assert.equal(error.field, field);
    assert.match(error.message, message);
    return true;
  });

test("other kinds of decision checkpoints are refused by name, with the reason", async () => {
  const types =
    "openjev lev kev nimble clef pplx-decider vllm-decision2 vllm-d3 lfm2-d1 lfm2-d1-omni granite-switch h2o-lightning".split(
      " ",
    );
  for (const type of [...types, "openbmb-minicpm-ocr-jev", "lfm3-d1", "lfm3-d1-omni"]) {
    const files = checkpointFiles(changed(gguf, { gguf: { ...gguf.gguf, "modern-bert.decision.type": type } }));
    await refused(
      files,
      "UNSUPPORTED_MODEL",
      "model.gguf: modern-bert.decision.type",
      new RegExp(`${type} is not supported: it`),
    );
  }
  const keyed = (keys) => checkpointFiles(changed(gguf, { gguf: { ...gguf.gguf, ...keys } }));
  const type = "model.gguf: modern-bert.decision.type";
  await refused(keyed({ "modern-bert.decision.type": "new" }), "UNSUPPORTED_MODEL", type, /new is not supported; use/);
  await refused(keyed({ "modern-bert.decision.type": undefined }), "INVALID_FILE", type, /must name the kind/);
  for (const [key, value] of Object.entries({
    "decision.block_count": 0,
    "decision.max_head_tokens": "x",
    "decision.temperature.noul": -1,
  }))
    await refused(
      keyed({ [`modern-bert.${key}`]: value }),
      "INVALID_FILE",
      `model.gguf: modern-bert.${key}`,
      /must be/,
    );
  const other = { ...gguf.gguf, "general.architecture": "llama", "llama.decision.type": "laya" };
  await refused(
    checkpointFiles(changed(gguf, { gguf: other })),
    "UNSUPPORTED_MODEL",
    "model.gguf: llama.decision.type",
    /must be modern-bert/,
  );
});

test("settings of a head that this package doesn't have are refused", async () => {
  const file = "rl_agent_config.json";
  const configured = (keys) => checkpointFiles(changed(laya, { config: { ...laya.config, ...keys } }));
  await refused(
    configured({ option_layout: "parallel" }),
    "UNSUPPORTED_MODEL",
    `${file}: option_layout`,
    /share positions/,
  );
  await refused(configured({ head_layers: 0 }), "UNSUPPORTED_MODEL", `${file}: head_layers`, /without layers/);
  await refused(
    configured({ head_layers: 5 }),
    "INVALID_FILE",
    `model.safetensors: head.layers.${laya.config.head_layers}.norm1.weight`,
    /missing/,
  );
  await refused(configured({ temperature: [1] }), "INVALID_FILE", `${file}: temperature`, /3 numbers/);
  await refused(configured({ max_len: 0 }), "INVALID_FILE", `${file}: max_len`, /integer/);
  const without = (name) => checkpointFiles(laya).filter((one) => one.name !== name);
  await refused(without(file), "INVALID_FILE", `${file}: file`, /decision checkpoint/);
  await refused(without("encoder/config.json"), "INVALID_FILE", "encoder/config.json: file", /decision checkpoint/);
});

test("a template that writes another prompt is refused", async () => {
  const key = "tokenizer.chat_template.systemone";
  const written = async (source) => {
    const one = await rw.model(checkpointFiles(changed(gguf, { gguf: { ...gguf.gguf, [key]: source } })), options);
    await rejects(one.decide("a", { topic: TOPIC }), "UNSUPPORTED_MODEL", key).finally(() => one.dispose());
  };
  await written("{{ state }}");
  await written(
    gguf.gguf[key].replace("{{ state", "{{ state | upper if state is string and state | length > 3 else state"),
  );
  await written(`${gguf.gguf[key]}x`);
});
