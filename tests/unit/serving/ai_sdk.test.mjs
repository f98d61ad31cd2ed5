// ropewalk/ai-sdk, used by the AI SDK itself: `ai` calls the provider of a tiny model here and of one in a Worker.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  DirectChatTransport,
  embed,
  embedMany,
  generateObject,
  generateText,
  isStepCount,
  jsonSchema,
  Output,
  rerank,
  streamText,
  tool,
  ToolLoopAgent,
} from "ai";
import { load } from "ropewalk";
import { createRopewalk } from "ropewalk/ai-sdk";
import { load as loadWorker } from "ropewalk/worker";
import { chatMessages } from "../../../build/package/apps/ai_sdk/messages.js";

globalThis.AI_SDK_LOG_WARNINGS = false;

const tiny = (name) => new URL(`../../golden/tiny_models/${name}/`, import.meta.url);

const chatTemplate = `{% for tool in tools or [] %}{{ tool | tojson }}
{% endfor %}{% for message in messages %}<{{ message.role }}>{% if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>{% endif %}
{{ message.content }}{% for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}
{% endfor %}{% if add_generation_prompt %}<assistant>{% set effort = reasoning_effort %}{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}
{% endif %}`;

const prompt = "a b";
const tie = () => ({
  description: "ties a knot",
  inputSchema: jsonSchema({
    type: "object",
    properties: { knot: { enum: ["reef", "bowline"] } },
    required: ["knot"],
    additionalProperties: false,
  }),
  execute: async ({ knot }) => ({ tied: knot }),
});
/** Makes the model write a text. */
const writing = (text) => ({ ropewalk: { format: { choices: [text] } } });
const called = '<tool_call>\n{"name": "tie", "arguments": {"knot": "reef"}}\n</tool_call>';

async function partsOf(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

const inWorker = await loadWorker();
after(() => inWorker.dispose());

for (const [place, runtime] of [
  ["this thread", await load()],
  ["a Worker", inWorker],
])
  describe(`a model in ${place}`, () => {
    let model, provider, language;
    before(() => {
      model = runtime.model(tiny("rwkv7"), { chatTemplate }); // has a token for each byte
      provider = createRopewalk(model); // which still loads
      language = provider.languageModel("chat");
    });
    after(async () => {
      provider.dispose();
      await (await model).dispose();
    });

    test("generateText and streamText give the same text, with settings, usage and the reason", async () => {
      const settings = { model: language, prompt, seed: 3, temperature: 0.9, topK: 20, topP: 0.9, maxOutputTokens: 12 };
      const whole = await generateText({ ...settings, instructions: "be brief" });
      assert.ok(whole.text.length > 0);
      assert.equal(whole.finishReason, "length");
      assert.equal(whole.usage.outputTokens, 12);
      assert.equal(whole.usage.totalTokens, whole.usage.inputTokens + 12);
      assert.deepEqual(whole.warnings, []);
      assert.equal(whole.response.modelId, (await model).info.name);
      const streamed = streamText({ ...settings, instructions: "be brief" });
      const deltas = (await partsOf(streamed.textStream)).filter((text) => text !== "");
      assert.ok(deltas.length > 1);
      assert.equal(deltas.join(""), whole.text);
      assert.equal((await streamed.usage).outputTokens, 12);
      assert.ok((await streamed.usage).inputTokenDetails.cacheReadTokens > 0, "the prompt was known");
      const other = await generateText({ ...settings, instructions: "be brief", seed: 4 });
      assert.notEqual(other.text, whole.text);
    });

    test("reasoning, text and a call, as parts and as a stream", async () => {
      const said = `<think>Which one?</think>Let me see.${called}`;
      const settings = { model: language, prompt, tools: { tie: tool(tie()) }, providerOptions: writing(said) };
      const { content, finishReason, reasoningText, text, usage } = await generateText(settings);
      assert.deepEqual([reasoningText, text, finishReason], ["Which one?", "Let me see.", "tool-calls"]);
      assert.deepEqual(
        content.map(({ type }) => type),
        ["reasoning", "text", "tool-call", "tool-result"],
      );
      assert.ok(usage.outputTokenDetails.reasoningTokens > 0);
      const parts = await partsOf(streamText(settings).stream);
      const inputs = parts.filter(({ type }) => type.startsWith("tool-"));
      const pieces = inputs.filter(({ type }) => type === "tool-input-delta");
      assert.ok(pieces.length > 1, "the arguments come in pieces");
      assert.equal(pieces.map(({ delta }) => delta).join(""), '{"knot":"reef"}');
      assert.deepEqual(
        inputs.map(({ type }) => type).filter((type, i, all) => type !== all[i - 1]),
        ["tool-input-start", "tool-input-delta", "tool-input-end", "tool-call", "tool-result"],
      );
      assert.deepEqual(inputs.find(({ type }) => type === "tool-call").input, { knot: "reef" });
      const reasoning = parts.filter(({ type }) => type === "reasoning-delta").map((part) => part.text);
      assert.equal(reasoning.join(""), "Which one?");
    });

    test("a call that is cut before its arguments isn't executed", async () => {
      let isExecuted = false;
      const now = tool({ inputSchema: jsonSchema({ type: "object" }), execute: async () => (isExecuted = true) });
      const cut = '<tool_call>\n{"name": "now", "argu';
      const settings = { model: language, prompt, tools: { now }, providerOptions: writing(`${cut}ments": {}}`) };
      const { text, toolCalls, finishReason } = await generateText({ ...settings, stopSequences: ["ments"] });
      assert.deepEqual([text, toolCalls.length, toolCalls[0]?.invalid], ["", 1, true], finishReason);
      assert.equal(isExecuted, false);
      await generateText(settings);
      assert.equal(isExecuted, true);
    });

    test("a loop of two steps: the second reads the call and its result, and knows the first", async () => {
      const { steps, text } = await generateText({
        model: language,
        prompt,
        tools: { tie: tool(tie()) },
        stopWhen: isStepCount(3),
        prepareStep: ({ stepNumber }) => ({ providerOptions: writing(stepNumber === 0 ? called : "It is tied.") }),
      });
      assert.equal(steps.length, 2);
      assert.equal(text, "It is tied.");
      assert.deepEqual(steps[0].toolResults[0].output, { tied: "reef" });
      const [{ usage: first }, { usage: second }] = steps;
      assert.ok(second.inputTokenDetails.cacheReadTokens >= first.inputTokens, "only what is new is read");
      const agent = new ToolLoopAgent({
        model: language,
        tools: { tie: tool(tie()) },
        prepareStep: ({ stepNumber }) => ({ providerOptions: writing(stepNumber === 0 ? called : "Done.") }),
      });
      assert.equal((await agent.generate({ prompt })).text, "Done.");
    });

    test("a chat of a page without a server", async () => {
      const agent = new ToolLoopAgent({ model: language, prepareStep: () => ({ providerOptions: writing("Hello.") }) });
      const message = { id: "1", role: "user", parts: [{ type: "text", text: prompt }] };
      const chunks = await new DirectChatTransport({ agent }).sendMessages({
        trigger: "submit-message",
        chatId: "1",
        messages: [message],
      });
      const deltas = (await partsOf(chunks)).filter(({ type }) => type === "text-delta");
      assert.equal(deltas.map(({ delta }) => delta).join(""), "Hello.");
    });

    test("toolChoice: required, a name, and none", async () => {
      const tools = { tie: tool(tie()), untie: tool({ ...tie(), execute: undefined }) };
      const settings = { model: language, prompt, tools, seed: 1, maxOutputTokens: 300 };
      const required = await generateText({ ...settings, toolChoice: "required" });
      assert.ok(required.toolCalls.length > 0 && required.toolCalls.every(({ invalid }) => invalid !== true));
      const named = await generateText({ ...settings, toolChoice: { type: "tool", toolName: "untie" } });
      assert.deepEqual(
        named.toolCalls.map(({ toolName }) => toolName),
        ["untie"],
      );
      const none = await generateText({ ...settings, toolChoice: "none", maxOutputTokens: 5 });
      assert.deepEqual(none.toolCalls, []);
    });

    test("generateObject, and Output.object as a stream", async () => {
      const schema = jsonSchema({
        type: "object",
        properties: { knot: { enum: ["reef", "bowline"] }, sure: { type: "boolean" } },
        required: ["knot", "sure"],
        additionalProperties: false,
      });
      const { object } = await generateObject({ model: language, prompt, schema, seed: 2, maxOutputTokens: 200 });
      assert.ok(["reef", "bowline"].includes(object.knot) && typeof object.sure === "boolean");
      const output = Output.object({ schema });
      const streamed = streamText({ model: language, prompt, output, seed: 2, maxOutputTokens: 200 });
      const partial = await partsOf(streamed.partialOutputStream);
      assert.deepEqual(partial.at(-1), await streamed.output);
      assert.deepEqual(await streamed.output, object);
    });

    test("what can't be followed is a warning, and what is wrong is an error", async () => {
      const settings = { model: language, prompt, maxOutputTokens: 3 };
      const { type, inputSchema, ...described } = { type: "function", name: "tie", ...tie() };
      const example = { ...described, type, inputSchema: inputSchema.jsonSchema, inputExamples: [{ input: {} }] };
      const { warnings } = await language.doGenerate({
        prompt: [{ role: "user", content: [{ type: "text", text: prompt }] }],
        maxOutputTokens: 3,
        reasoning: "max",
        tools: [example, { type: "provider", id: "other.search", name: "search", args: {} }],
        responseFormat: { type: "json" },
      });
      assert.deepEqual(
        warnings.map((warning) => [warning.type, warning.feature]),
        [
          ["unsupported", "inputExamples"],
          ["unsupported", "provider tool other.search"],
          ["unsupported", "responseFormat"],
          ["compatibility", "reasoning"],
        ],
      );
      const none = { ...settings, tools: { tie: tool(tie()) }, toolChoice: "none", maxOutputTokens: 200 };
      const last = await generateText({ ...none, output: Output.choice({ options: ["yes", "no"] }) });
      assert.ok(["yes", "no"].includes(last.output), "a format is followed where no tool may be called");
      await assert.rejects(generateText({ ...settings, providerOptions: { ropewalk: { minp: 0.1 } } }), {
        code: "UNKNOWN_KEY",
        field: "providerOptions.ropewalk.minp",
      });
      await assert.rejects(generateText({ ...settings, topP: 7 }), { code: "INVALID_ARGUMENT", field: "topP" });
      const errors = [];
      const stream = streamText({ ...settings, topP: 7, onError: ({ error }) => errors.push(error) });
      await stream.consumeStream();
      assert.equal(errors[0].field, "topP");
      const picture = { type: "file", mediaType: "image/png", data: new Uint8Array([137, 80, 78, 71]) };
      await assert.rejects(
        generateText({ model: language, messages: [{ role: "user", content: [picture] }] }),
        /prompt\[0\]\.content\[0\]: must be text.*image\/png/,
      );
    });

    test("reasoning: none closes the thinking before it begins", async () => {
      const settings = { model: language, prompt, maxOutputTokens: 1 };
      const [{ usage: plain }, { usage: off, warnings }] = [
        await generateText(settings),
        await generateText({ ...settings, reasoning: "none" }),
      ];
      assert.deepEqual(warnings, []);
      assert.ok(off.inputTokens > plain.inputTokens, "the prompt has the end of the reasoning");
    });

    test("stopSequences, and an abort, after which the next call is served", async () => {
      const settings = { model: language, prompt };
      const stopped = await generateText({ ...settings, providerOptions: writing("one, two"), stopSequences: [","] });
      assert.deepEqual([stopped.text, stopped.finishReason], ["one", "stop"]);
      const controller = new AbortController();
      const streamed = streamText({
        ...settings,
        providerOptions: { ropewalk: { format: { regex: "a{100}" } } },
        abortSignal: controller.signal,
      });
      const types = [];
      for await (const { type } of streamed.stream) {
        types.push(type);
        if (type === "text-delta") controller.abort();
      }
      assert.ok(types.includes("abort") && !types.includes("finish"));
      await assert.rejects(generateText({ ...settings, abortSignal: AbortSignal.abort() }), { name: "AbortError" });
      const slow = new AbortController();
      const endless = { ropewalk: { format: { regex: "a{1000}" } } };
      const whole = generateText({ ...settings, providerOptions: endless, abortSignal: slow.signal });
      setImmediate(() => slow.abort());
      await assert.rejects(whole, { name: "AbortError" });
      assert.equal((await generateText({ ...settings, maxOutputTokens: 1 })).usage.outputTokens, 1);
    });

    test("embed, embedMany and rerank", async () => {
      const encoder = await runtime.model(tiny("bert"));
      const embeddings = createRopewalk(encoder).embeddingModel();
      const values = ["a", "a b"];
      const many = await embedMany({ model: embeddings, values });
      const direct = await encoder.embed(values);
      assert.deepEqual(
        many.embeddings,
        direct.map((vector) => Array.from(vector)),
      );
      assert.ok(many.usage.tokens > 0);
      const one = await embed({ model: embeddings, value: "a", providerOptions: { ropewalk: { normalize: false } } });
      assert.notDeepEqual(one.embedding, many.embeddings[0]);
      await encoder.dispose();

      const ranker = await runtime.model(tiny("bert_ranker"));
      const documents = ["a", "b", "a b"];
      const ranked = await rerank({
        model: createRopewalk(ranker).rerankingModel(),
        query: "a",
        documents,
        topN: 2,
      });
      const scores = await ranker.rank("a", documents);
      assert.deepEqual(
        ranked.ranking.map(({ originalIndex, score }) => ({ index: originalIndex, score })),
        scores.slice(0, 2),
      );
      await ranker.dispose();
    });
  });

test("errors have the names of the AI SDK", async () => {
  const rw = await load();
  const model = await rw.model(tiny("rwkv7"), { chatTemplate });
  const provider = createRopewalk(model);
  const unique = jsonSchema({ type: "array", uniqueItems: true });
  const own = (options) => ({ providerOptions: { ropewalk: options } });
  const sort = tool({ inputSchema: jsonSchema({ type: "object", properties: { list: unique.jsonSchema } }) });
  const cases = [
    [{ stopSequences: [""] }, "stopSequences"],
    [{ topP: 2 }, "topP"],
    [own({ minP: 3 }), "providerOptions.ropewalk.minP"],
    [own({ dry: { multiplier: -1 } }), "providerOptions.ropewalk.dry.multiplier"],
    [own({ logitBias: { 99999999: 1 } }), "providerOptions.ropewalk.logitBias"],
    [own({ format: { schema: unique.jsonSchema } }), "providerOptions.ropewalk.format.schema.uniqueItems"],
    [own({ templateVariables: 3 }), "providerOptions.ropewalk.templateVariables"],
    [own({ templateVariables: { messages: [] } }), "providerOptions.ropewalk.templateVariables.messages"],
    [{ tools: { "a b": tie() } }, "tools.a b"],
    [{ output: Output.object({ schema: unique }) }, "output.schema.uniqueItems"],
    [{ ...own({ format: "json" }), output: Output.json() }, "providerOptions.ropewalk.format"],
    [{ ...own({ format: "json" }), tools: { tie: tie() }, toolChoice: "required" }, "providerOptions.ropewalk.format"],
    [{ tools: { tie: tie(), sort }, toolChoice: "required" }, "tools.sort.inputSchema.properties.list.uniqueItems"],
    [{ prompt: "a".repeat(20000) }, "prompt", "CACHE_FULL"],
  ];
  for (const [settings, field, code = "INVALID_ARGUMENT"] of cases)
    await assert.rejects(generateText({ model: provider(), prompt, ...settings }), { code, field }, field);
  const embedding = { model: provider.embeddingModel(), values: ["a"] };
  for (const [settings, field] of [
    [own({ pooling: "none" }), "providerOptions.ropewalk.pooling"],
    [{ values: ["a", "a".repeat(20000)] }, "values[1]"],
    [own({ dimensions: 0 }), "providerOptions.ropewalk.dimensions"],
  ])
    await assert.rejects(embedMany({ ...embedding, ...settings }), { code: "INVALID_ARGUMENT", field }, field);
  const { embeddings } = await embedMany({ ...embedding, ...own({ dimensions: 4 }) });
  assert.equal(embeddings[0].length, 4);
  await assert.rejects(
    embedMany({ ...embedding, values: ["a".repeat(20000)] }),
    /pass providerOptions\.ropewalk\.truncate: true/,
  );
  const [cut] = (await embedMany({ ...embedding, values: ["a".repeat(20000)], ...own({ truncate: true }) })).embeddings;
  assert.ok(cut.length > 0);
  const untemplated = await rw.model(tiny("llama"));
  await assert.rejects(generateText({ model: createRopewalk(untemplated)(), prompt }), /the option `chatTemplate`$/);
  untemplated.dispose();
  for (const wrong of [undefined, {}, "model.gguf"])
    assert.throws(() => createRopewalk(wrong), { code: "INVALID_ARGUMENT", field: "model" });
  assert.throws(() => createRopewalk(model, { paralel: 2 }), /isn't an option of createRopewalk/);
  await assert.rejects(generateText({ model: createRopewalk(Promise.resolve({}))(), prompt }), { field: "model" });
  provider.dispose();
  model.dispose();
});

test("a model that can't load fails the calls, and its provider has a name before", async () => {
  const provider = createRopewalk((await load()).model(new URL("absent.gguf", import.meta.url)));
  assert.equal(provider().modelId, "ropewalk");
  await assert.rejects(generateText({ model: provider(), prompt }), /absent/);
  assert.throws(() => provider.imageModel(), { code: "UNSUPPORTED_MODEL" });
});

test("the messages that templates read", () => {
  const output = { type: "json", value: { tied: true } };
  const call = { type: "tool-call", toolCallId: "1", toolName: "tie", input: { knot: "reef" } };
  const result = { type: "tool-result", toolCallId: "1", toolName: "tie", output };
  const text = { type: "file", mediaType: "text/plain", data: { type: "text", text: " c" } };
  assert.deepEqual(
    chatMessages([
      { role: "system", content: "be brief" },
      { role: "user", content: [{ type: "text", text: "a b" }, text] },
      {
        role: "assistant",
        content: [{ type: "reasoning", text: "Hm." }, { type: "text", text: "Yes." }, call],
      },
      { role: "tool", content: [result, { ...result, output: { type: "execution-denied" } }] },
    ]),
    [
      { role: "system", content: "be brief" },
      {
        role: "user",
        content: [
          { type: "text", text: "a b" },
          { type: "text", text: " c" },
        ],
      },
      {
        role: "assistant",
        content: "Yes.",
        reasoning_content: "Hm.",
        tool_calls: [{ id: "1", type: "function", function: { name: "tie", arguments: { knot: "reef" } } }],
      },
      { role: "tool", name: "tie", tool_call_id: "1", content: '{"tied":true}' },
      { role: "tool", name: "tie", tool_call_id: "1", content: "The call was denied." },
    ],
  );
});
