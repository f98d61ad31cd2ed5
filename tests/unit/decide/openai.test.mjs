// Decisions in OpenAI's shape: inputs, answers, and errors with the fields of the request.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { load } from "ropewalk/worker";
import { openai } from "ropewalk/openai";
import { tinyModelBytes } from "../../../examples/make_tiny_model.mjs";
import { build, rejects, rw } from "../../package/helpers/runtime.mjs";

const options = { contextLength: 2048 };
const model = await rw.model(tinyModelBytes(), options);
const client = openai(model, { name: "tiny" });
const worker = await load({ build });
const remote = openai(await worker.model(tinyModelBytes(), options), { name: "tiny" });
after(async () => {
  model.dispose();
  await worker.dispose();
});

const QUESTIONS = [
  { type: "predicate", name: "wet", instructions: "Is it wet?" },
  {
    type: "choice",
    instructions: "What is it?",
    choices: [{ value: "9", description: "a rope" }, { value: true }, { value: "true" }, { value: "1" }],
  },
  {
    type: "score",
    name: "size",
    instructions: "How large?",
    levels: [{ label: "small" }, { label: "large", description: "as a ship" }],
  },
];

test("answers have the order of the questions, and the numbers of decide()", async () => {
  const list = await client.decisions.create({ model: "any", input: "A sail.", questions: QUESTIONS });
  const { answers, usage } = await model.decide("A sail.", [
    ["a", { type: "boolean", instructions: "Is it wet?" }],
    [
      "b",
      {
        type: "choice",
        instructions: "What is it?",
        criteria: [
          ["9", "a rope"],
          ["true", null],
          ['"true"', null],
          ["1", null],
        ],
      },
    ],
    ["c", { type: "score", instructions: "How large?", criteria: ["small", "large - as a ship"] }],
  ]);
  const { a, b, c } = answers;
  const values = ["9", true, "true", "1"];
  const names = ["9", "true", '"true"', "1"];
  assert.deepEqual(list, {
    model: "tiny",
    answers: [
      { type: "predicate", probability: a.probability, name: "wet", label_mass: a.label_mass },
      {
        type: "choice",
        choice: values[names.indexOf(b.choice)],
        confidence: b.confidence,
        probabilities: values.map((value, i) => ({ value, probability: b.probabilities[names[i]] })),
        name: null,
        label_mass: b.label_mass,
      },
      {
        type: "score",
        score: c.score,
        confidence: c.confidence,
        probabilities: ["small", "large"].map((label, value) => ({
          label,
          value,
          probability: c.probabilities[value],
        })),
        name: "size",
        label_mass: c.label_mass,
      },
    ],
    usage: {
      input_tokens: usage.input_tokens,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.input_tokens,
    },
  });
  assert.deepEqual(await remote.decisions.create({ input: "A sail.", questions: QUESTIONS }), list);
});

test("inputs of other forms are the states that the documentation says", async () => {
  const [question] = QUESTIONS;
  const tokensOf = async (input) =>
    (await client.decisions.create({ input, questions: [question] })).usage.input_tokens;
  const stateTokens = async (state) =>
    (await model.decide(state, { wet: { type: "boolean", instructions: "Is it wet?" } })).usage.input_tokens;
  const part = (text) => ({ type: "input_text", text });
  for (const [input, state] of [
    [[{ role: "user", content: "A sail." }], "A sail."],
    [[{ type: "message", role: "user", content: [part("A"), part("sail.")] }], "A\nsail."],
    [[{ role: "user", content: [{ type: "input_json", data: { a: [1] } }] }], { a: [1] }],
    [[{ role: "user", content: [part("A"), { type: "input_json", data: { a: [1] } }] }], 'A\n{"a": [1]}'],
    [
      [
        { role: "system", content: "Be kind." },
        { role: "user", content: "A sail." },
        { type: "function_call", call_id: "c1", name: "see", arguments: "{}", id: "x", status: "completed" },
        { type: "function_call_output", call_id: "c1", output: [part("wet")] },
        { role: "assistant", content: [{ type: "output_text", text: "It's wet." }] },
      ],
      [
        { role: "system", content: "Be kind." },
        { role: "user", content: "A sail." },
        { type: "function_call", call_id: "c1", name: "see", arguments: "{}" },
        { type: "function_call_output", call_id: "c1", output: "wet" },
        { role: "assistant", content: "It's wet." },
      ],
    ],
  ])
    assert.equal(await tokensOf(input), await stateTokens(state), JSON.stringify(state));
});

test("options of decide() are fields too", async () => {
  const body = { input: "A sail.", questions: QUESTIONS.slice(1, 2), permutations: 2, temperature: 3 };
  const list = await client.decisions.create(body);
  const other = await client.decisions.create({ ...body, permutations: null, temperature: undefined });
  assert.notDeepEqual(list.answers, other.answers);
  await assert.rejects(client.decisions.create(body, { signal: AbortSignal.abort() }), { name: "AbortError" });
});

test("what is wrong with which field", async () => {
  const [predicate, choice, score] = QUESTIONS;
  const image = { type: "input_image", image_url: "data:," };
  const ask = (more) => client.decisions.create({ input: "a", questions: [predicate], ...more });
  for (const [more, field, code = "INVALID_ARGUMENT"] of [
    [{ input: undefined }, "input"],
    [{ input: "" }, "input"],
    [{ input: [] }, "input"],
    [{ input: [{ role: "tool", content: "a" }] }, "input[0].role"],
    [{ input: [{ role: "user", content: [image] }] }, "input[0].content[0]"],
    [{ input: [{ role: "user", text: "a" }] }, "input[0].text", "UNKNOWN_KEY"],
    [{ input: [{ type: "reasoning" }] }, "input[0].type"],
    [{ questions: [] }, "questions"],
    [{ questions: { a: predicate } }, "questions"],
    [{ questions: [predicate, { type: "box" }] }, "questions[1].type"],
    [{ questions: [{ id: "a", type: "predicate", instructions: "a" }] }, "questions[0].id", "UNKNOWN_KEY"],
    [{ questions: [{ type: "predicate" }] }, "questions[0].instructions"],
    [{ questions: [{ ...predicate, instructions: [image] }] }, "questions[0].instructions[0]"],
    [{ questions: [{ ...predicate, instructions: " " }] }, "questions[0].instructions"],
    [{ questions: [{ ...choice, choices: [{ value: "a" }] }] }, "questions[0].choices"],
    [{ questions: [{ ...choice, choices: [{ value: 1 }, { value: 2 }] }] }, "questions[0].choices[0].value"],
    [{ questions: [{ ...choice, choices: [{ value: true }, { value: true }] }] }, "questions[0].choices"],
    [{ questions: [{ ...choice, options: [] }] }, "questions[0].options", "UNKNOWN_KEY"],
    [{ questions: [{ ...score, levels: ["a", "b"] }] }, "questions[0].levels[0]"],
    [{ questions: [{ ...score, levels: [{ label: "a" }] }] }, "questions[0].levels"],
    [{ temperature: 0 }, "temperature"],
    [{ reasoning: {} }, "reasoning", "UNKNOWN_KEY"],
    [{ input: "a ".repeat(3000) }, "input", "CACHE_FULL"],
  ])
    await rejects(ask(more), code, field);
});
