// What requests in OpenAI's shape mean: tools, limits, prompts, probabilities; and what is refused.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { openai } from "ropewalk/openai";
import { tinyModel } from "../helpers/models.mjs";
import { rejects, rw } from "../helpers/runtime.mjs";

const chatTemplate = `{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}{% for message in messages %}<{{ message.role }}>
{{ message.content }}{{ message.mood }}{% if message.role == "document" %}!{% endif %}{% for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}
{% endfor %}{% if add_generation_prompt %}<assistant>{{ topic }}
{% endif %}`;

const model = await rw.model(tinyModel("rwkv7"), { chatTemplate }); // has a token for each byte
const client = openai(model);
after(() => {
  client.dispose();
  model.dispose();
});

const messages = [{ role: "user", content: "a b" }];
const ask = (body) => client.chat.completions.create({ messages, seed: 5, max_tokens: 12, ...body });
const complete = (body) => client.completions.create({ prompt: "a b", max_tokens: 12, seed: 2, ...body });
const tool = (name, parameters) => ({ type: "function", function: { name, parameters } });
const callOf = async (body) => {
  const { choices } = await ask({ tool_choice: "required", max_tokens: 300, ...body });
  return choices[0].message.tool_calls[0].function;
};

test("arguments are an object, and those of a function without parameters are empty", async () => {
  const flag = { properties: { on: { type: "boolean" } }, required: ["on"], additionalProperties: false };
  for (const parameters of [
    flag,
    { ...flag, type: ["object", "null"] },
    { anyOf: [{ type: "string" }, flag] },
    { $ref: "#/$defs/flag", $defs: { flag } },
  ]) {
    const given = JSON.parse((await callOf({ tools: [tool("set", parameters)] })).arguments);
    assert.equal(typeof given.on, "boolean", JSON.stringify(parameters));
  }
  for (const parameters of [undefined, null]) {
    const { arguments: given } = await callOf({ tools: [tool("now", parameters)] });
    assert.equal(given, "{}");
  }
  for (const type of ["string", "array", "null", 3, ["string", "null"]])
    for (const choice of ["auto", "required"])
      await rejects(
        ask({ tools: [tool("set", { type })], tool_choice: choice }),
        "INVALID_ARGUMENT",
        "tools[0].function.parameters.type",
      );
  const enumerated = ask({ tools: [tool("set", { enum: [1, 2] })], tool_choice: "required" });
  await rejects(enumerated, "INVALID_ARGUMENT", "tools[0].function.parameters");
});

test("a required call that max_tokens cuts is no text", async () => {
  const tools = [tool("get_weather", { type: "object" })];
  let [without, named] = [0, 0];
  for (let limit = 1; limit < 60 && named < 3; limit++) {
    const body = { tools, tool_choice: "required", max_tokens: limit };
    const [{ message, finish_reason: finish }] = (await ask(body)).choices;
    assert.equal(finish, "length");
    assert.ok(!message.content, `${limit}: ${message.content}`);
    const [called] = message.tool_calls ?? [];
    if (called === undefined) without += 1;
    else if (named++ === 0) assert.deepEqual(called.function, { name: "get_weather", arguments: "" });
    for await (const { choices } of await ask({ ...body, stream: true })) assert.ok(!choices[0].delta.content);
  }
  assert.ok(without > 5 && named > 0, `${without} without a name, ${named} with it`);
});

test("the bytes of tokens that are parts of characters can be joined", async () => {
  const json_schema = { name: "text", schema: { const: "é😀" } };
  const { choices } = await ask({
    response_format: { type: "json_schema", json_schema },
    logprobs: true,
    top_logprobs: 2,
    max_tokens: 40,
  });
  const { content } = choices[0].logprobs;
  assert.ok(
    content.some(({ token }) => token.includes("\uFFFD")),
    "some tokens are parts",
  );
  const bytes = content.flatMap((token) => token.bytes);
  assert.equal(new TextDecoder().decode(Uint8Array.from(bytes)).trim(), choices[0].message.content);
  for (const { top_logprobs: top } of content) for (const { bytes } of top) assert.ok(Array.isArray(bytes));
});

test("text_offset is where tokens begin, also while text is withheld and if a stop string cuts it", async () => {
  const body = { logprobs: 1, max_tokens: 20 };
  const [{ text, logprobs: all }] = (await complete(body)).choices;
  const whole = all.text_offset;
  assert.ok(new Set(whole).size > 5 && text.length > 8);
  const withheld = await complete({ ...body, stop: `${text.slice(0, 8)}\u0001` });
  assert.equal(withheld.choices[0].text, text);
  assert.deepEqual(withheld.choices[0].logprobs.text_offset, whole);
  const at = whole[6];
  const cut = await complete({ ...body, stop: text.slice(at, at + 6) });
  assert.ok(cut.choices[0].text.length <= at);
  const offsets = cut.choices[0].logprobs.text_offset;
  assert.deepEqual(offsets, whole.slice(0, offsets.length));
  const streamed = [];
  for await (const chunk of await complete({ ...body, stop: `${text.slice(0, 8)}\u0001`, stream: true }))
    streamed.push(...(chunk.choices[0].logprobs?.text_offset ?? []));
  assert.deepEqual(streamed, whole);
});

test("a list of prompts: the answers to one follow those to the one before", async () => {
  const prompts = ["a b", "b a", Array.from(await model.promptTokens("c"))];
  const alone = [];
  for (const prompt of prompts) alone.push(...(await complete({ prompt, n: 2 })).choices.map(({ text }) => text));
  const { choices, usage } = await complete({ prompt: prompts, n: 2 });
  assert.deepEqual(
    choices.map(({ index, text }) => [index, text]),
    alone.map((text, i) => [i, text]),
  );
  assert.equal(usage.completion_tokens, 6 * 12);
  const [last] = (await complete({ prompt: prompts[2] })).choices;
  assert.equal((await complete({ prompt: [prompts[2]] })).choices[0].text, last.text);
  const texts = alone.map(() => "");
  let counts;
  for await (const chunk of await complete({
    prompt: prompts,
    n: 2,
    stream: true,
    stream_options: { include_usage: true },
  })) {
    for (const { index, text } of chunk.choices) texts[index] += text;
    counts = chunk.usage ?? counts;
  }
  assert.deepEqual(texts, alone);
  assert.equal(counts.prompt_tokens, usage.prompt_tokens);
  for (const [prompt, field] of [
    [undefined, "prompt"],
    [[], "prompt"],
    [["a", 3], "prompt[1]"],
    [["a", [1.5]], "prompt[1]"],
    [["a", ""], "prompt[1]"],
    [["a", [10 ** 8]], "prompt[1][0]"],
    ["", "prompt"],
  ])
    await rejects(complete({ prompt }), "INVALID_ARGUMENT", field);
});

test("a prompt that is too long is refused in the words of the request", async () => {
  const long = "a".repeat(20000);
  await rejects(complete({ prompt: long }), "CACHE_FULL", "prompt");
  await rejects(complete({ prompt: ["a", long] }), "CACHE_FULL", "prompt[1]");
  await assert.rejects(complete({ prompt: long }), /has \d+ tokens, but the context length is \d+; send less/);
});

test("fields that change nothing here are accepted with the value that says so", async () => {
  const [{ text }] = (await complete({})).choices;
  const [same] = (await complete({ best_of: 1, echo: false, suffix: "" })).choices;
  assert.equal(same.text, text);
  for (const [field, value] of [
    ["best_of", 2],
    ["echo", true],
    ["suffix", "c"],
  ])
    await rejects(complete({ [field]: value }), "INVALID_ARGUMENT", field);
  const padding = (include_obfuscation) => ask({ stream: true, stream_options: { include_obfuscation } });
  for await (const _ of await padding(false));
  await rejects(padding(true), "INVALID_ARGUMENT", "stream_options.include_obfuscation");
  await rejects(ask({ stream: true, stream_options: { usage: true } }), "UNKNOWN_KEY", "stream_options.usage");
});

test("fields that clients send by default are accepted with the value that changes nothing", async () => {
  const plain = await ask({});
  const same = await ask({ store: false, service_tier: "auto", modalities: ["text"] });
  assert.equal(same.choices[0].message.content, plain.choices[0].message.content);
  for (const [field, value] of [
    ["store", true],
    ["service_tier", "flex"],
    ["modalities", ["text", "audio"]],
  ])
    await rejects(ask({ [field]: value }), "INVALID_ARGUMENT", field);
});

test("fields that other ones replace are checked too", async () => {
  await rejects(ask({ max_tokens: -5, max_completion_tokens: 2 }), "INVALID_ARGUMENT", "max_tokens");
  assert.equal((await ask({ max_tokens: 9, max_completion_tokens: 2 })).usage.completion_tokens, 2);
  for (const token of ["", "0x10", " 5", "1e1", "-1"])
    await rejects(ask({ logit_bias: { [token]: 3 } }), "INVALID_ARGUMENT", `logit_bias.${token}`);
});

test("messages: roles and keys that the protocol or the template knows", async () => {
  const say = (message) => ask({ messages: [{ ...messages[0], ...message }] });
  await rejects(say({ role: "asistant" }), "INVALID_ARGUMENT", "messages[0].role");
  await rejects(say({ contents: "a" }), "UNKNOWN_KEY", "messages[0].contents");
  const plain = (await say({})).usage.prompt_tokens;
  assert.ok((await say({ mood: "calm" })).usage.prompt_tokens > plain, "the template reads this key");
  await say({ role: "document 1" });
  await say({ role: "developer", name: "a" });
  const { choices } = await ask({});
  await ask({ messages: [...messages, choices[0].message, { role: "user", content: "c" }] });
  await rejects(ask({ messages: null }), "INVALID_ARGUMENT", "messages");
  await assert.rejects(ask({ messages: null }), /must be a list of messages \(got null\)/);
  await rejects(client.chat.completions.create([1]), "INVALID_ARGUMENT", "body");
  await rejects(client.completions.create(null), "INVALID_ARGUMENT", "body");
});

test("tools: names, and a choice that is none of them", async () => {
  for (const name of ["", "a b", 'q"uo', "a".repeat(65)])
    await rejects(ask({ tools: [tool(name)] }), "INVALID_ARGUMENT", "tools[0].function.name");
  await rejects(ask({ tools: [tool("tie"), tool("tie")] }), "INVALID_ARGUMENT", "tools[1].function.name");
  const choice = { type: "function", function: { name: "untie" } };
  await rejects(ask({ tools: [tool("tie")], tool_choice: choice }), "INVALID_ARGUMENT", "tool_choice.function.name");
  await assert.rejects(ask({ tools: [tool("tie")], tool_choice: choice }), /tie \(got "untie"\)/);
});

test("variables of the template can't replace what the request says", async () => {
  const kwargs = (chat_template_kwargs) => ask({ chat_template_kwargs });
  assert.ok((await kwargs({ topic: "knots" })).usage.prompt_tokens > (await ask({})).usage.prompt_tokens);
  for (const name of ["messages", "tools", "add_generation_prompt", "bos_token", "eos_token"])
    await rejects(kwargs({ [name]: [] }), "INVALID_ARGUMENT", `chat_template_kwargs.${name}`);
  const twice = ask({ reasoning_effort: "low", chat_template_kwargs: { reasoning_effort: "high" } });
  await rejects(twice, "INVALID_ARGUMENT", "chat_template_kwargs.reasoning_effort");
});

test("a chat needs a template, and a model that generates", async () => {
  const plain = await rw.model(tinyModel("llama"));
  const chat = { messages };
  await assert.rejects(
    openai(plain).chat.completions.create(chat),
    /option `chatTemplate`, or call completions\.create/,
  );
  plain.dispose();
  const encoder = await rw.model(tinyModel("bert"));
  await assert.rejects(openai(encoder).chat.completions.create(chat), /bert is an encoder, which generates no text/);
  encoder.dispose();
});
