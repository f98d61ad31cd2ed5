// `ropewalk serve` answers typed questions: OpenAI's form, driven by its client, and TypeSafe's.
import assert from "node:assert/strict";
import test from "node:test";
import OpenAI from "openai";
import { load } from "ropewalk";
import { tinyModelBytes } from "../../../examples/make_tiny_model.mjs";
import { post, serving } from "../server.mjs";

const QUESTIONS = {
  urgency: { type: "score", instructions: "How urgent?", criteria: ["low", { meaning: "high" }] },
  8: { type: "choice", criteria: { 10: "ten", 9: null, other: "any", __proto__: null } },
  wet: { type: "noul", instructions: "Is it wet?", criteria: { true: "wet" } },
};
// written by hand, because an object would list these names in another order
const BODY = `{"model": "any", "state": {"b": 1, "10": "x", "9": [null]}, "questions": {
  "urgency": ${JSON.stringify(QUESTIONS.urgency)},
  "8": {"type": "choice", "criteria": {"10": "ten", "9": null, "other": "any", "__proto__": "y"}},
  "wet": ${JSON.stringify(QUESTIONS.wet)}
}}`;

test("both forms", async () => {
  const rw = await load({ threads: 1 });
  const model = await rw.model(tinyModelBytes());
  const state = new Map([
    ["b", 1],
    ["10", "x"],
    ["9", [null]],
  ]);
  const criteria = [
    ["10", "ten"],
    ["9", null],
    ["other", "any"],
    ["__proto__", "y"],
  ];
  const expected = await model.decide(state, [
    ["urgency", QUESTIONS.urgency],
    ["8", { type: "choice", criteria }],
    ["wet", QUESTIONS.wet],
  ]);
  await serving(["--name", "tiny", "--context", "1024"], async ({ address }) => {
    const answer = await post(address, "/v1/systemone", BODY);
    assert.equal(answer.status, 200);
    const text = await answer.text();
    const { urgency, 8: choice, wet } = expected.answers;
    const shown = JSON.parse(text);
    assert.deepEqual(shown.usage, expected.usage);
    assert.equal(shown.model, "tiny");
    assert.deepEqual(shown.answers.urgency, {
      type: "score",
      score: urgency.score,
      confidence: urgency.confidence,
      legend: { 0: "low", 1: { meaning: "high" } },
      probabilities: { ...urgency.probabilities },
      x_label_mass: urgency.label_mass,
    });
    assert.deepEqual(shown.answers.wet, { type: "noul", noul: wet.probability, x_label_mass: wet.label_mass });
    assert.equal(shown.answers["8"].choice, choice.choice);
    for (const [name] of criteria)
      assert.equal(
        Object.getOwnPropertyDescriptor(shown.answers["8"].probabilities, name).value,
        Object.getOwnPropertyDescriptor(choice.probabilities, name).value,
      );
    const places = ['"urgency":', '"8":', '"10":', '"9":', '"other":', '"__proto__":', '"wet":'].map((key) =>
      text.indexOf(key),
    );
    assert.deepEqual(
      places,
      places.slice().sort((a, b) => a - b),
      text,
    );

    const client = new OpenAI({ baseURL: `${address}/v1`, apiKey: "none", maxRetries: 0 });
    const decision = await client.decisions.create({
      model: "gpt-6-luna",
      input: [{ role: "user", content: [{ type: "input_text", text: "The deck." }] }],
      questions: [
        { type: "predicate", name: "wet", instructions: "Is it wet?" },
        { type: "choice", instructions: "What?", choices: [{ value: "9" }, { value: "1" }, { value: false }] },
        { type: "score", instructions: "How?", levels: [{ label: "a" }, { label: "b" }] },
      ],
    });
    assert.deepEqual(
      decision.answers.map(({ type, name }) => [type, name]),
      [
        ["predicate", "wet"],
        ["choice", null],
        ["score", null],
      ],
    );
    assert.deepEqual(
      decision.answers[1].probabilities.map(({ value }) => value),
      ["9", "1", false],
    );
    const sum = decision.answers[1].probabilities.reduce((total, { probability }) => total + probability, 0);
    assert.ok(Math.abs(sum - 1) < 1e-12);
    assert.equal(decision.usage.output_tokens, 0);
    await assert.rejects(
      client.decisions.create({ model: "any", input: "a", questions: [{ type: "box", instructions: "a" }] }),
      { status: 400, param: "questions[0].type" },
    );

    const refused = async (body) => {
      const response = await post(address, "/v1/systemone", body);
      const { detail } = await response.json();
      return [response.status, ...(typeof detail === "string" ? [detail] : [detail[0].loc.join(), detail[0].input])];
    };
    const ask = (questions, more) => ({ model: "a", state: "b", questions, ...more });
    const score = { type: "score", criteria: ["a"] };
    for (const [body, ...place] of [
      ["[]", "body", []],
      [{ state: "a", questions: {} }, "body,model", null],
      [ask({}), "body,questions", {}],
      [ask({ a: QUESTIONS.wet }, { state: null }), "body,state", null],
      [ask({ "a.b": score }), "body,questions,a.b,criteria", ["a"]],
      [ask({ a: { type: "box" } }), "body,questions,a,type", "box"],
      [ask({ a: { type: "score", criteria: ["a", null] } }), "body,questions,a,criteria,1", null],
      [ask({ a: QUESTIONS.wet }, { assets: {} }), "body,assets", {}],
      [ask({ a: QUESTIONS.wet }, { stream: true }), "body,stream", true],
    ])
      assert.deepEqual(await refused(body), [422, ...place], JSON.stringify(body));
    assert.equal((await post(address, "/v1/systemone", "{")).status, 400);
  });
  model.dispose();
});

test("questions and options as lists, and types of other forms", async () => {
  const rw = await load({ threads: 1 });
  const model = await rw.model(tinyModelBytes());
  await serving(["--name", "tiny"], async ({ address }) => {
    const lists = [
      ["b", { type: "choice", criteria: ["x", "y"] }],
      [
        "a",
        {
          type: "choice",
          criteria: [
            ["9", "nine"],
            ["1", null],
          ],
        },
      ],
      ["c", { type: "score", criteria: ["low", "high"] }],
      ["d", { type: "yes_no", instructions: "Wet?" }],
    ];
    const { answers } = await model.decide("s", lists);
    for (const questions of [lists, Object.fromEntries(lists)]) {
      const answer = await post(address, "/v1/systemone", JSON.stringify({ model: "any", state: "s", questions }));
      assert.equal(answer.status, 200);
      const text = await answer.text();
      const shown = JSON.parse(text).answers;
      assert.deepEqual(shown.b.probabilities, answers.b.probabilities);
      assert.deepEqual(shown.a.probabilities, answers.a.probabilities);
      assert.ok(text.indexOf('"9":') < text.indexOf('"1":'), text);
      assert.deepEqual(Object.values(shown.c.probabilities), answers.c.probabilities);
      assert.equal(shown.d.noul, answers.d.probability);
    }
    const refused = async (type) => {
      const body = { input: "a", questions: [{ type, instructions: "Wet?" }] };
      return (await (await post(address, "/v1/decisions", JSON.stringify(body))).json()).error.message;
    };
    assert.match(await refused("boolean"), /did you mean predicate\?$/);
    assert.match(await refused("box"), /box asks for a place in an image/);
  });
  model.dispose();
});

test("a model that can't be asked", async () => {
  const source = [new URL("../../../examples/small_model/model.q8_0.gguf", import.meta.url).pathname];
  await serving(
    [],
    async ({ address }) => {
      const answer = await post(address, "/v1/systemone", { model: "a", state: "b", questions: { a: QUESTIONS.wet } });
      assert.equal(answer.status, 501);
      assert.match(
        (await answer.json()).detail,
        /the model has no chat template; start the server with --chat-template/,
      );
    },
    {},
    source,
  );
});
