// The AI SDK's experimental_decide over a tiny model here and over one in a Worker.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { experimental_decide as decide } from "ai";
import { load } from "ropewalk";
import { createRopewalk } from "ropewalk/ai-sdk";
import { load as loadWorker } from "ropewalk/worker";

globalThis.AI_SDK_LOG_WARNINGS = false;

const source = new URL("../../golden/tiny_models/rwkv7/", import.meta.url); // has a token for each byte
const chatTemplate = `{% for message in messages %}<{{ message.role }}>{{ message.content }}
{% endfor %}{% if add_generation_prompt %}<assistant>
{% endif %}`;

const inWorker = await loadWorker();
after(() => inWorker.dispose());

for (const [place, runtime] of [
  ["this thread", await load()],
  ["a Worker", inWorker],
])
  describe(`a model in ${place}`, () => {
    let model, provider;
    before(() => {
      model = runtime.model(source, { chatTemplate });
      provider = createRopewalk(model); // which still loads
    });
    after(async () => {
      provider.dispose();
      await (await model).dispose();
    });

    test("experimental_decide has the numbers of decide()", async () => {
      const questions = {
        kind: { type: "choice", instructions: "What?", criteria: { bug: "is broken", 7: ["a", 1], other: null } },
        urgency: { type: "score", criteria: ["low", { means: "high" }] },
        wet: { type: "boolean", instructions: { ask: "wet?" }, criteria: { true: "it is" } },
      };
      const providerOptions = { ropewalk: { permutations: 2, temperature: 2 } };
      const decided = await decide({
        model: provider.decisionModel("a"),
        state: "the sea",
        questions,
        providerOptions,
      });
      const { answers, usage } = await (await model).decide("the sea", questions, { permutations: 2, temperature: 2 });
      const { kind, urgency, wet } = answers;
      assert.deepEqual(decided.answers, {
        kind: { type: "choice", choice: kind.choice, probabilities: kind.probabilities },
        urgency: { type: "score", score: urgency.score, probabilities: { ...urgency.probabilities } },
        wet: { type: "boolean", probability: wet.probability },
      });
      assert.deepEqual(decided.usage, {
        inputTokens: usage.input_tokens,
        outputTokens: 0,
        totalTokens: usage.input_tokens,
      });
      assert.deepEqual(decided.providerMetadata, {
        ropewalk: {
          confidence: { kind: kind.confidence, urgency: urgency.confidence, wet: wet.confidence },
          labelMass: { kind: kind.label_mass, urgency: urgency.label_mass, wet: wet.label_mass },
        },
      });
      const inParts = [
        { type: "text", text: "the" },
        { type: "json", value: { sea: [1] } },
      ];
      const parts = await decide({ model: provider.decisionModel(), state: inParts, questions });
      assert.deepEqual(
        parts.usage.inputTokens,
        (await (await model).decide('the\n{"sea": [1]}', questions)).usage.input_tokens,
      );
      const json = await decide({
        model: provider.decisionModel(),
        state: { sea: [1] },
        questions,
        maxOutputTokens: 9,
        reasoning: "high",
      });
      assert.deepEqual(
        json.answers.wet.probability,
        (await (await model).decide({ sea: [1] }, questions)).answers.wet.probability,
      );
      assert.deepEqual(
        json.warnings.map(({ feature }) => feature),
        ["maxOutputTokens", "reasoning"],
      );
    });

    test("what experimental_decide can't be asked", async () => {
      const ask = (more) =>
        decide({
          model: provider.decisionModel(),
          state: "a",
          questions: { a: { type: "boolean", instructions: "b" } },
          maxRetries: 0,
          ...more,
        });
      await assert.rejects(ask({ questions: { a: { type: "box", instructions: "where" } } }), {
        name: "AI_DecisionUnsupportedQuestionTypeError",
      });
      await assert.rejects(ask({ questions: { a: { type: "score", criteria: ["one"] } } }), {
        code: "INVALID_ARGUMENT",
        field: "questions.a.criteria",
      });
      await assert.rejects(ask({ providerOptions: { ropewalk: { permutations: 0 } } }), {
        field: "providerOptions.ropewalk.permutations",
      });
      await assert.rejects(ask({ providerOptions: { ropewalk: { topK: 1 } } }), { code: "UNKNOWN_KEY" });
      const data = new Uint8Array([137, 80, 78, 71]);
      await assert.rejects(ask({ state: [{ type: "file", data, mediaType: "image/png" }] }), { field: "state[0]" });
      await assert.rejects(ask({ abortSignal: AbortSignal.abort() }), { name: "AbortError" });
    });
  });
