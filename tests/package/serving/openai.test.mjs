// ropewalk/openai over a model in this thread and over one in a Worker: the same answers, chunks and errors.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { errorResponse, openai } from "ropewalk/openai";
import { load as loadWorker } from "ropewalk/worker";
import { tinyModel } from "../helpers/models.mjs";
import { build, raises, rejects, rw } from "../helpers/runtime.mjs";

const chatTemplate = `{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}{% for message in messages %}<{{ message.role }}>
{{ message.content }}{% for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}
{% endfor %}{% if add_generation_prompt %}<assistant>
{% endif %}`;

const messages = [{ role: "user", content: "a b" }];
const tools = [
  {
    type: "function",
    function: {
      name: "tie",
      parameters: {
        type: "object",
        properties: { knot: { enum: ["reef", "bowline"] } },
        required: ["knot"],
        additionalProperties: false,
      },
    },
  },
];

const inWorker = await loadWorker({ build });
after(() => inWorker.dispose());

async function chunksOf(stream) {
  const chunks = [];
  for await (const chunk of await stream) chunks.push(chunk);
  return chunks;
}

/** The parts of an answer that don't differ between two that say the same. */
function lasting({ id: _, created: _when, ...answer }) {
  for (const { message } of answer.choices) for (const call of message?.tool_calls ?? []) delete call.id;
  return answer;
}

const answers = {};
for (const [place, runtime] of [
  ["this thread", rw],
  ["a Worker", inWorker],
])
  describe(`a model in ${place}`, () => {
    let model, client;
    before(async () => {
      model = await runtime.model(tinyModel("rwkv7"), { chatTemplate }); // has a token for each byte
      client = openai(model);
    });
    after(async () => {
      client.dispose();
      await model.dispose();
    });
    const ask = (body, options) =>
      client.chat.completions.create({ messages, seed: 5, max_tokens: 12, ...body }, options);
    const answer = async (name, promise) => ((answers[name] ??= {})[place] = lasting(await promise));

    test("a chat, whole and as a stream", async () => {
      const whole = await answer("chat", ask({ logprobs: true, top_logprobs: 2, n: 2 }));
      assert.equal(whole.choices.length, 2);
      assert.ok(whole.choices[0].message.content.length > 0);
      const chunks = await chunksOf(ask({ stream: true, stream_options: { include_usage: true } }));
      const texts = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? ""));
      assert.equal(texts.join(""), whole.choices[0].message.content);
      assert.ok(chunks.at(-1).usage.prompt_tokens_details.cached_tokens > 0, "the prompt was known");
    });

    test("a required call, whole and as a stream", async () => {
      const whole = await answer("call", ask({ tools, tool_choice: "required", max_tokens: 200 }));
      const [{ message, finish_reason: finish }] = whole.choices;
      assert.equal(finish, "tool_calls");
      const chunks = await chunksOf(ask({ tools, tool_choice: "required", max_tokens: 200, stream: true }));
      const [begun, ...pieces] = chunks.flatMap(({ choices }) => choices[0].delta.tool_calls ?? []);
      assert.equal(begun.function.name, "tie");
      const joined = pieces.map((piece) => piece.function.arguments).join("");
      assert.equal(joined, message.tool_calls[0].function.arguments);
      assert.ok(["reef", "bowline"].includes(JSON.parse(joined).knot));
    });

    test("references in the schema of a required call lead to the tool's own parts", async () => {
      const knot = { enum: ["reef", "bowline"] };
      const parameters = {
        $id: "https://knots.example/tie",
        type: "object",
        properties: {
          knot: { $ref: "#/$defs/knot" },
          next: { type: "array", items: { $ref: "#/properties/knot" }, minItems: 1, maxItems: 2 },
        },
        required: ["knot", "next"],
        additionalProperties: false,
        $defs: { knot },
      };
      const { $id: _, ...unnamed } = parameters;
      for (const schema of [parameters, unnamed]) {
        const referring = ["tie", "bind"].map((name) => ({ type: "function", function: { name, parameters: schema } }));
        const { choices } = await ask({ tools: referring, tool_choice: "required", max_tokens: 400 });
        const given = JSON.parse(choices[0].message.tool_calls[0].function.arguments);
        for (const name of [given.knot, ...given.next]) assert.ok(knot.enum.includes(name), name);
      }
    });

    test("JSON of a schema, and stop strings", async () => {
      const schema = { type: "object", properties: { is: { type: "boolean" } }, required: ["is"] };
      const format = { type: "json_schema", json_schema: { name: "answer", schema } };
      const { choices } = await answer("json", ask({ response_format: format, max_tokens: 100 }));
      assert.equal(typeof JSON.parse(choices[0].message.content).is, "boolean");
      const { choices: stopped } = await answer("stop", ask({ response_format: format, max_tokens: 100, stop: ":" }));
      assert.equal(stopped[0].message.content, choices[0].message.content.split(":")[0]);
    });

    test("completions and embeddings", async () => {
      const body = { prompt: "a b", max_tokens: 5, seed: 1 };
      const { choices } = await answer("completion", client.completions.create(body));
      const chunks = await chunksOf(client.completions.create({ ...body, stream: true }));
      assert.equal(chunks.map((chunk) => chunk.choices[0].text).join(""), choices[0].text);
      const embedder = await runtime.model(tinyModel("bert"));
      const { data, usage } = await openai(embedder).embeddings.create({ input: ["a", "a b"], dimensions: 4 });
      const own = openai(embedder).embeddings;
      const [{ embedding }] = (await own.create({ input: "a b", pooling: "mean", prompt: null })).data;
      assert.deepEqual(embedding, Array.from(await embedder.embed("a b", { pooling: "mean" })));
      assert.equal((await own.create({ input: "a ".repeat(20000), truncate: true })).data.length, 1);
      await rejects(own.create({ input: "a", prompt: "absent" }), "INVALID_ARGUMENT", "prompt");
      await rejects(own.create({ input: "a", pooling: "median" }), "INVALID_ARGUMENT", "pooling");
      await embedder.dispose();
      (answers.embeddings ??= {})[place] = { data, usage };
      assert.equal(data[1].embedding.length, 4);
      assert.ok(usage.prompt_tokens > 0);
    });

    test("logprobs of completions, one list for each kind of number", async () => {
      const body = { prompt: "a b", max_tokens: 6, seed: 2, logprobs: 3 };
      const { choices } = await answer("logprobs", client.completions.create(body));
      const [{ text, logprobs }] = choices;
      const pieces = [];
      for await (const piece of model.generate("a b", { maxTokens: 6, seed: 2, logprobs: 3 })) pieces.push(piece);
      assert.deepEqual(
        logprobs.token_logprobs,
        pieces.map(({ logprob }) => logprob),
      );
      const byText = ({ alternatives }) =>
        Object.fromEntries(alternatives.map(({ text, logprob }) => [text, logprob]).reverse());
      assert.deepEqual(logprobs.top_logprobs, pieces.map(byText));
      assert.equal(logprobs.tokens.length, 6);
      assert.equal(logprobs.text_offset[0], 0);
      assert.ok(logprobs.text_offset.every((offset, i) => i === 0 || offset >= logprobs.text_offset[i - 1]));
      assert.ok(logprobs.text_offset.at(-1) <= text.length);
      const chunks = await chunksOf(client.completions.create({ ...body, stream: true }));
      const streamed = chunks.flatMap((chunk) => chunk.choices[0].logprobs?.token_logprobs ?? []);
      assert.deepEqual(streamed, logprobs.token_logprobs);
      await rejects(client.completions.create({ ...body, logprobs: 21 }), "INVALID_ARGUMENT", "logprobs");
      assert.equal((await client.completions.create({ ...body, logprobs: null })).choices[0].logprobs, null);
    });

    test("the answers to one prompt are generated at the same time, as they are alone", async () => {
      const body = { prompt: "a b", max_tokens: 8, seed: 20, n: 10 };
      const { choices, usage } = await client.completions.create(body);
      const alone = [];
      for (let i = 0; i < 10; i++)
        alone.push((await client.completions.create({ ...body, n: 1, seed: 20 + i })).choices[0].text);
      assert.deepEqual(
        choices.map(({ text }) => text),
        alone,
      );
      assert.equal(usage.completion_tokens, 80);
      const chunks = await chunksOf(client.completions.create({ ...body, n: 3, stream: true }));
      const order = chunks.map((chunk) => chunk.choices[0].index);
      assert.ok(order.indexOf(2) < order.lastIndexOf(0), `${order}`);
      for await (const _ of await client.completions.create({ ...body, stream: true })) break;
      assert.equal((await client.completions.create({ ...body, n: 1 })).choices[0].text, alone[0]);
      const controller = new AbortController();
      const stream = await client.completions.create({ ...body, stream: true }, { signal: controller.signal });
      await assert.rejects(async () => {
        for await (const _ of stream) controller.abort(new Error("enough"));
      }, /enough/);
      assert.equal((await client.completions.create({ ...body, n: 1 })).choices[0].text, alone[0]);
    });

    test("the name of the model", async () => {
      const named = openai(model, { name: "knots-1" });
      assert.equal((await named.completions.create({ prompt: "a", max_tokens: 1 })).model, "knots-1");
      assert.deepEqual(
        (await named.models.list()).data.map(({ id }) => id),
        ["knots-1"],
      );
      assert.equal(client.models.list().data[0].id, model.info.name);
      raises(() => openai(model, { name: "" }), "INVALID_ARGUMENT", "name");
      raises(() => openai(model, { nam: "a" }), "UNKNOWN_KEY", "nam");
      named.dispose();
    });

    test("an abort between two chunks ends the turn, and the next one is served", async () => {
      const controller = new AbortController();
      const reason = new Error("enough");
      const stream = await ask({ max_tokens: 400, stream: true }, { signal: controller.signal });
      let chunks = 0;
      await assert.rejects(async () => {
        for await (const _ of stream) if (++chunks === 3) controller.abort(reason);
      }, reason);
      await assert.rejects(ask({}, { signal: controller.signal }), reason);
      assert.equal((await ask({ max_tokens: 1 })).usage.completion_tokens, 1);
    });

    test("a stream that nobody reads on doesn't keep the next call waiting", async () => {
      const stream = await ask({ max_tokens: 400, stream: true });
      for (let i = 0; i < 3; i++) await stream.next();
      assert.equal((await ask({ max_tokens: 1 })).usage.completion_tokens, 1);
      await rejects(stream.next(), "INVALID_ARGUMENT", "stream");
    });

    test("dispose() during a call ends it, and says so; the next one has a new session", async () => {
      const own = openai(model);
      const stream = await own.chat.completions.create({ messages, stream: true, max_tokens: 400 });
      await stream.next();
      own.dispose();
      await rejects(chunksOf(stream), "DISPOSED", "dispose");
      const { usage } = await own.chat.completions.create({ messages, max_tokens: 1 });
      assert.equal(usage.prompt_tokens_details.cached_tokens, 0);
      const unread = await own.completions.create({ prompt: "a", stream: true });
      const calls = [
        own.chat.completions.create({ messages, max_tokens: 1 }),
        own.completions.create({ prompt: "a b", max_tokens: 1 }),
      ];
      own.dispose();
      for (const { reason } of await Promise.allSettled([...calls, unread.next()]))
        assert.equal(reason?.code, "DISPOSED");
    });

    test("the seeds of n answers begin at 0 after the largest one", async () => {
      const body = { prompt: "a b", max_tokens: 8 };
      const textsOf = async (more) =>
        (await client.completions.create({ ...body, ...more })).choices.map((c) => c.text);
      const last = Number.MAX_SAFE_INTEGER;
      const alone = [last - 1, last, 0, 1].map((seed) => textsOf({ seed }));
      assert.deepEqual(await textsOf({ n: 4, seed: last - 1 }), (await Promise.all(alone)).flat());
    });

    test("errors name the field", async () => {
      await rejects(ask({ temprature: 1 }), "UNKNOWN_KEY", "temprature");
      await rejects(ask({ stop: [""] }), "INVALID_ARGUMENT", "stop");
      await rejects(ask({ logit_bias: { 99999999: 1 } }), "INVALID_ARGUMENT", "logit_bias");
      await rejects(ask({ top_p: 0 }), "INVALID_ARGUMENT", "top_p");
      const schema = { type: "array", uniqueItems: true };
      const format = { type: "json_schema", json_schema: { name: "list", schema } };
      const field = "response_format.json_schema.schema.uniqueItems";
      await rejects(ask({ response_format: format }), "INVALID_ARGUMENT", field);
      const parameters = { type: "object", properties: { list: schema } };
      const bad = { type: "function", function: { name: "sort", parameters } };
      for (const choice of ["required", { type: "function", function: { name: "sort" } }])
        await rejects(
          ask({ tools: [...tools, bad], tool_choice: choice }),
          "INVALID_ARGUMENT",
          "tools[1].function.parameters.properties.list.uniqueItems",
        );
      const long = "a".repeat(20000);
      await rejects(client.embeddings.create({ input: long }), "INVALID_ARGUMENT", "input");
      await rejects(client.embeddings.create({ input: ["a", long] }), "INVALID_ARGUMENT", "input[1]");
      const tooLong = await ask({ messages: [{ role: "user", content: "a".repeat(20000) }] }).catch((error) => error);
      assert.equal(errorResponse(tooLong).body.error.code, "context_length_exceeded");
    });
  });

test("what isn't a model is refused", async () => {
  for (const wrong of [undefined, null, {}, "model.gguf"])
    await rejects(async () => openai(wrong), "INVALID_ARGUMENT", "model");
  const loading = rw.model(tinyModel("llama"));
  assert.throws(() => openai(loading), /await the promise/);
  (await loading).dispose();
});

test("both places gave the same answers", () => {
  assert.deepEqual(Object.keys(answers).sort(), [
    "call",
    "chat",
    "completion",
    "embeddings",
    "json",
    "logprobs",
    "stop",
  ]);
  for (const [name, { "this thread": here, "a Worker": there }] of Object.entries(answers))
    assert.deepEqual(there, here, name);
});
