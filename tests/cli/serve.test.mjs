// `ropewalk serve`, asked by OpenAI's own client.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test, { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import OpenAI from "openai";
import { tinyModelBytes } from "../../examples/make_tiny_model.mjs";
import { ropewalk, withFolder } from "./program.mjs";
import { post, serving } from "./server.mjs";

const messages = [{ role: "user", content: "the rope" }];
const tools = [
  {
    type: "function",
    function: {
      name: "tie",
      description: "ties a knot",
      parameters: {
        type: "object",
        properties: { knot: { enum: ["reef", "bowline"] } },
        required: ["knot"],
        additionalProperties: false,
      },
    },
  },
];

let shared, stop;
before(async () => {
  await new Promise((resolve, reject) => {
    serving(["--context", "1024"], async (server) => {
      shared = { ...server, client: new OpenAI({ baseURL: `${server.address}/v1`, apiKey: "none", maxRetries: 0 }) };
      resolve();
      await new Promise((end) => (stop = end));
    }).catch(reject);
  });
});
after(() => stop?.());

const ask = (body) =>
  shared.client.chat.completions.create({ model: "tiny", messages, seed: 3, max_tokens: 12, ...body });

test("the model is called by --name", () =>
  serving(["--name", "knots-1"], async ({ address }) => {
    assert.equal((await (await fetch(`${address}/v1/models`)).json()).data[0].id, "knots-1");
  }));

test("a chat completion has OpenAI's shape, and its stream says the same", async () => {
  const whole = await ask({});
  const [{ message, finish_reason: finish }] = whole.choices;
  assert.equal(whole.object, "chat.completion");
  assert.equal(whole.model, "tiny.gguf");
  assert.equal(message.role, "assistant");
  assert.ok(message.content.length > 0);
  assert.ok(["stop", "length"].includes(finish));
  assert.equal(whole.usage.total_tokens, whole.usage.prompt_tokens + whole.usage.completion_tokens);
  const chunks = [];
  for await (const chunk of await ask({ stream: true, stream_options: { include_usage: true } })) chunks.push(chunk);
  const last = chunks.pop();
  assert.deepEqual(last.choices, []);
  assert.equal(last.usage.completion_tokens, whole.usage.completion_tokens);
  assert.equal(new Set(chunks.map(({ id }) => id)).size, 1);
  assert.equal(chunks[0].choices[0].delta.role, "assistant");
  assert.equal(chunks.map(({ choices }) => choices[0].delta.content ?? "").join(""), message.content);
  assert.deepEqual(
    chunks.map(({ choices }) => choices[0].finish_reason).filter((reason) => reason !== null),
    [finish],
  );
});

test("the next turn reads only what is new", async () => {
  const first = await ask({});
  const next = await ask({
    messages: [...messages, first.choices[0].message, { role: "user", content: "and the sea" }],
  });
  assert.ok(next.usage.prompt_tokens_details.cached_tokens >= first.usage.prompt_tokens);
});

test("n answers come from one prompt, the first as alone", async () => {
  const [one, three] = [await ask({}), await ask({ n: 3 })];
  assert.deepEqual(
    three.choices.map(({ index }) => index),
    [0, 1, 2],
  );
  assert.equal(three.choices[0].message.content, one.choices[0].message.content);
  assert.equal(new Set(three.choices.map(({ message }) => message.content)).size, 3);
  assert.equal(three.usage.prompt_tokens, one.usage.prompt_tokens);
});

test("log probabilities: one entry for each token, the most probable first", async () => {
  const { choices, usage } = await ask({ logprobs: true, top_logprobs: 2, temperature: 0, max_tokens: 5, stop: [] });
  const { content } = choices[0].logprobs;
  assert.equal(content.length, usage.completion_tokens - (choices[0].finish_reason === "stop" ? 1 : 0));
  for (const { token, logprob, bytes, top_logprobs: top } of content) {
    assert.equal(new TextDecoder().decode(Uint8Array.from(bytes)), token);
    assert.equal(top.length, 2);
    assert.equal(top[0].logprob, logprob);
    assert.ok(top[0].logprob >= top[1].logprob && logprob <= 0);
  }
});

test("a required tool is called with arguments of its schema, also in a stream", async () => {
  const whole = await ask({ tools, tool_choice: "required", max_tokens: 200 });
  const [{ message, finish_reason: finish }] = whole.choices;
  assert.equal(finish, "tool_calls");
  const [call] = message.tool_calls;
  assert.equal(call.function.name, "tie");
  assert.ok(["reef", "bowline"].includes(JSON.parse(call.function.arguments).knot));
  assert.equal(message.content, null);
  const stream = await ask({
    tools,
    tool_choice: { type: "function", function: { name: "tie" } },
    max_tokens: 200,
    stream: true,
  });
  const deltas = [];
  for await (const { choices } of stream) deltas.push(choices[0]);
  const [begun, ...pieces] = deltas.flatMap(({ delta }) => delta.tool_calls ?? []);
  assert.deepEqual(begun, { index: 0, id: begun.id, type: "function", function: { name: "tie", arguments: "" } });
  assert.match(begun.id, /^[a-z0-9]{9}$/);
  assert.ok(pieces.length > 1, "the arguments come in pieces");
  for (const piece of pieces) assert.deepEqual(Object.keys(piece), ["index", "function"]);
  assert.equal(pieces.map((piece) => piece.function.arguments).join(""), call.function.arguments);
  assert.ok(deltas.every(({ delta }) => !delta.content?.includes("<")));
});

test("OpenAI's client joins streamed calls to those of a whole answer", async () => {
  const body = { model: "tiny", messages, seed: 3, max_tokens: 200, tools, tool_choice: "required" };
  const [{ message }] = (await ask(body)).choices;
  const joined = await shared.client.chat.completions.stream(body).finalChatCompletion();
  const [{ message: streamed, finish_reason: finish }] = joined.choices;
  assert.equal(finish, "tool_calls");
  const functionsOf = ({ tool_calls: calls }) => calls.map(({ function: { name, arguments: given } }) => [name, given]);
  assert.deepEqual(functionsOf(streamed), functionsOf(message));
});

test("response_format: JSON of a schema", async () => {
  const schema = {
    type: "object",
    properties: { is: { type: "boolean" } },
    required: ["is"],
    additionalProperties: false,
  };
  const { choices } = await ask({
    response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } },
    max_tokens: 100,
  });
  assert.equal(typeof JSON.parse(choices[0].message.content).is, "boolean");
});

test("a body that isn't UTF-8, and more texts than a request for embeddings may have", async () => {
  const send = (path, body) =>
    fetch(`${shared.address}${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  const broken = Buffer.concat([Buffer.from('{"prompt": "a'), Buffer.of(0xff, 0xfe), Buffer.from('"}')]);
  const response = await send("/v1/completions", broken);
  assert.equal(response.status, 400);
  assert.match((await response.json()).error.message, /^the body isn't valid JSON: /);
  const many = await send("/v1/embeddings", JSON.stringify({ input: Array(2049).fill("a") }));
  assert.equal(many.status, 400);
  const { error } = await many.json();
  assert.equal(error.param, "input");
  assert.match(error.message, /must have at most 2048 texts \(got 2049\); send them in several requests/);
});

test("completions and embeddings, the latter also as base64 and shorter", async () => {
  const { choices, object } = await shared.client.completions.create({
    model: "tiny",
    prompt: "the rope",
    max_tokens: 5,
  });
  assert.equal(object, "text_completion");
  assert.ok(choices[0].text.length > 0);
  const body = { model: "tiny", input: ["the rope", "the sea"] };
  const floats = await shared.client.embeddings.create({ ...body, encoding_format: "float" });
  const decoded = await shared.client.embeddings.create(body); // this client asks for base64
  assert.deepEqual(decoded.data, floats.data);
  const { data } = await shared.client.embeddings.create({ ...body, dimensions: 8 });
  assert.deepEqual(
    data.map(({ embedding }) => embedding.length),
    [8, 8],
  );
});

test("wrong requests are refused by name, in OpenAI's shape", async () => {
  const cases = [
    [{ temprature: 1 }, /temprature.*did you mean temperature/],
    [{ store: true }, /store/],
    [{ top_logprobs: 2 }, /top_logprobs/],
    [{ n: 0 }, /n: must be/],
    [{ logit_bias: { a: 1 } }, /logit_bias\.a/],
    [{ messages: [{ role: "user", content: [{ type: "image_url" }] }] }, /messages\[0\]\.content\[0\]/],
    [{ tool_choice: "required" }, /tool_choice: needs tools/],
    [{ response_format: { type: "xml" } }, /response_format\.type/],
    [{ messages: [{ role: "user", content: "rope ".repeat(3000) }] }, /context length is 1024; .* a larger --context$/],
  ];
  for (const [body, message] of cases) {
    const error = await ask(body).then(
      () => assert.fail(JSON.stringify(body)),
      (reason) => reason,
    );
    assert.equal(error.status, 400, JSON.stringify(body));
    assert.match(error.message, message);
    assert.equal(error.type, "invalid_request_error");
  }
});

test("paths, types and bodies that aren't right get a status", async () => {
  const { address } = shared;
  assert.deepEqual(await (await fetch(`${address}/health`)).json(), { status: "ok" });
  assert.equal((await shared.client.models.list()).data[0].id, "tiny.gguf");
  assert.equal((await fetch(`${address}/v1/nothing`)).status, 404);
  const unknown = await (await fetch(`${address}/v1/models/tiny`)).json();
  assert.equal(unknown.error.message, 'there is no model "tiny" here; this server has "tiny.gguf"');
  assert.equal((await post(address, "/v1/chat/completions", "{")).status, 400);
  assert.equal((await post(address, "/v1/chat/completions", "{}", { "Content-Type": "text/plain" })).status, 415);
  const chat = { messages, max_tokens: 1 };
  assert.equal((await post(address, "/v1/chat/completions/", chat)).status, 200);
  assert.equal((await post(address, "/v1/chat/completions", chat, { "Content-Encoding": "gzip" })).status, 415);
  for (const [method, path, allowed] of [
    ["GET", "/v1/chat/completions", "POST"],
    ["DELETE", "/v1/models/tiny.gguf", "GET"],
    ["POST", "/health", "GET"],
  ]) {
    const refused = await fetch(`${address}${path}`, { method });
    assert.deepEqual([refused.status, refused.headers.get("allow")], [405, allowed], path);
  }
  const list = await post(address, "/v1/chat/completions", [1]);
  assert.match((await list.json()).error.message, /^body: must be an object/);
  const response = await fetch(`${address}/health`, { headers: { Origin: "http://elsewhere.example" } });
  assert.equal(response.headers.get("access-control-allow-origin"), null);
});

test("errors of embeddings and of a model without a template are in the words of the server", async () => {
  const body = { model: "tiny", input: "rope ".repeat(3000) };
  await assert.rejects(
    shared.client.embeddings.create(body),
    /truncate: true, or start the server with a larger --context/,
  );
  assert.equal((await shared.client.embeddings.create({ ...body, truncate: true })).data.length, 1);
  const untemplated = fileURLToPath(new URL("../golden/tiny_models/llama/", import.meta.url));
  await serving(
    [],
    async ({ address, printed }) => {
      assert.match(printed(), /no chat template, so \/v1\/chat\/completions fails; pass one with --chat-template/);
      const { error } = await (await post(address, "/v1/chat/completions", { messages })).json();
      assert.match(error.message, /start the server with --chat-template, or use \/v1\/completions/);
      assert.equal(error.param, null);
    },
    {},
    [untemplated],
  );
});

test("a context longer than the RoPE supports is a warning", async () => {
  assert.match(
    shared.printed(),
    /warning: a context of 1024 tokens is longer than the 256 this RoPE supports; extend it with --rope-type yarn --factor 4/,
  );
  await serving(["--context", "512", "--rope-type", "yarn", "--factor", "4"], async ({ printed }) =>
    assert.ok(!printed().includes("longer than"), printed()),
  );
});

test("--lora: requests use the adapter", async () => {
  const golden = (path) => fileURLToPath(new URL(`../golden/${path}/`, import.meta.url));
  const [llama, adapter] = [golden("tiny_models/llama"), golden("adapters/llama_all")];
  const flags = ["--temperature", "0", "-n", "9", "--json", "--lora", `${adapter}:-2`];
  const wanted = JSON.parse((await ropewalk(["generate", llama, "the cat", ...flags])).stdout);
  await serving(
    ["--lora", `${adapter}:-2`],
    async ({ address }) => {
      const body = { prompt: "the cat", temperature: 0, max_tokens: 9 };
      const { choices } = await (await post(address, "/v1/completions", body)).json();
      assert.equal(choices[0].text, wanted.text);
    },
    {},
    [llama],
  );
});

test("a client that leaves ends its generation, and the next one is served", async () => {
  const controller = new AbortController();
  const stream = await shared.client.chat.completions.create(
    { model: "tiny", messages, stream: true, logit_bias: {}, seed: 1 },
    { signal: controller.signal },
  );
  for await (const _ of stream) break;
  controller.abort();
  assert.ok((await ask({ max_tokens: 1 })).choices.length === 1);
});

test("a token, sizes, origins and Ctrl-C", () =>
  serving(
    ["--max-body", "1", "--cors", "http://app.example", "--context", "8192"],
    async ({ address, child, closed }) => {
      const body = { messages, max_tokens: 1 };
      assert.equal((await post(address, "/v1/chat/completions", body)).status, 401);
      assert.equal((await post(address, "/v1/models", {}, { Authorization: "secret" })).status, 401);
      const headers = { Authorization: "bearer secret", Origin: "http://app.example" };
      const right = await post(address, "/v1/chat/completions", body, headers);
      assert.equal(right.status, 200);
      assert.equal(right.headers.get("access-control-allow-origin"), "http://app.example");
      const large = { messages: [{ role: "user", content: "a".repeat(3000) }] };
      assert.equal((await post(address, "/v1/chat/completions", large, headers)).status, 413);
      const endless = { messages, stream: true, seed: 1, logit_bias: { 0: -100, 2: -100 } }; // no end token
      const long = await post(address, "/v1/chat/completions", endless, headers);
      child.kill("SIGINT");
      assert.match(await long.text(), /"message":"the server is closing","type":"server_error"/);
      assert.deepEqual(await closed, [0, null]);
    },
    { ROPEWALK_TOKEN: "secret" },
  ));

test("requests beyond the queue get 429 with Retry-After", () =>
  serving(["--parallel", "1", "--max-queue", "0"], async ({ address }) => {
    const body = { messages, max_tokens: 200, n: 64 };
    const statuses = await Promise.all([1, 2, 3].map(() => post(address, "/v1/chat/completions", body)));
    const refused = statuses.filter(({ status }) => status === 429);
    assert.equal(refused.length, 2);
    assert.ok(Number(refused[0].headers.get("retry-after")) > 0);
  }));

test("a port in use and an address that isn't this machine's are sentences", () =>
  withFolder(async (folder) => {
    const path = join(folder, "tiny.gguf");
    await writeFile(path, tinyModelBytes());
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address();
    const { status, stderr } = await ropewalk(["serve", path, "--port", String(port)]);
    other.close();
    assert.equal(status, 2);
    assert.match(stderr, new RegExp(`--port: ${port} is in use`));
    assert.ok(!stderr.includes("    at "));
  }));
