// Random requests to `ropewalk serve`, several at a time, some of whose clients leave: each answer is that of a fresh session in this process.
// ROPEWALK_SEED and ROPEWALK_CASES draw others, and more.
//
// compare: --cases 3000
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { load } from "ropewalk";
import { openai } from "ropewalk/openai";
import { tinyModelBytes } from "../../../examples/make_tiny_model.mjs";
import { randomNumbers } from "../../files/schedule.mjs";
import { withFolder } from "../program.mjs";
import { post, serving, toolTemplate } from "../server.mjs";

const SEED = Number(process.env.ROPEWALK_SEED ?? 1);
const CASES = Number(process.env.ROPEWALK_CASES ?? 150);
const TOGETHER = 6; // more than run at a time

const WORDS = "rope tar keel the a line of hemp under sail on deck".split(" ");

/** Draws a request: its path, its body, and after how many events its client leaves. */
function drawRequest(random) {
  const whole = (most) => Math.floor(random() * most);
  const of = (...values) => values[whole(values.length)];
  const text = (most) => Array.from({ length: 1 + whole(most) }, () => of(...WORDS)).join(" ");
  const shared = {
    max_tokens: 1 + whole(30),
    temperature: of(0, 0.7, 1.3),
    seed: whole(100),
    ...(random() < 0.3 && { top_p: of(0.5, 0.9) }),
    ...(random() < 0.2 && { stop: of([" "], ["rope", "a"], "the") }),
    ...(random() < 0.2 && { logit_bias: { [whole(300)]: of(-100, 5, 100) } }),
    ...(random() < 0.15 && { frequency_penalty: of(1, -1, 3) }),
    ...(random() < 0.1 && { n: of(2, 3, 0) }),
    ...(random() < 0.3 && { ignored: of(undefined, 1) }),
    stream: random() < 0.6,
  };
  const leavesAt = random() < 0.3 ? whole(12) : Infinity;
  const system = { role: "system", content: of("the rope", text(20)) };
  const turns = Array.from({ length: 1 + 2 * whole(2) }, (_, i) => ({
    role: i % 2 === 0 ? "user" : "assistant",
    content: text(6),
  }));
  const messages = random() < 0.5 ? [system, ...turns] : turns;
  const schema = {
    type: "object",
    properties: { a: { enum: ["rope", "tar"] } },
    required: ["a"],
    additionalProperties: false,
  };
  const format = { response_format: { type: "json_schema", json_schema: { name: "a", schema } } };
  const kinds = {
    chat: [
      "/v1/chat/completions",
      { ...shared, messages, ...(random() < 0.3 && { logprobs: true, top_logprobs: whole(5) }) },
    ],
    format: ["/v1/chat/completions", { ...shared, messages, stop: undefined, logit_bias: undefined, ...format }],
    completions: [
      "/v1/completions",
      { ...shared, prompt: of(text(8), [text(3), text(5)], [whole(100), whole(100), whole(900)]) },
    ],
    embeddings: ["/v1/embeddings", { input: of(text(8), [text(3), text(12)], 5) }],
    long: ["/v1/completions", { ...shared, prompt: text(400) }],
  };
  const [path, body] = kinds[of("chat", "chat", "completions", "completions", "format", "embeddings", "long")];
  return { path, body: JSON.parse(JSON.stringify(body)), leavesAt };
}

/** What differs between two answers to the same request. */
const SPECIFIC = ["id", "created", "prompt_tokens_details"];
const comparable = (value) =>
  JSON.parse(JSON.stringify(value), (key, inner) => (SPECIFIC.includes(key) ? undefined : inner));

/** The answer of a fresh session here: events, or a whole. */
async function expectedOf(model, { path, body }) {
  const client = openai(model, { name: "tiny", parallel: 1 });
  const create = {
    "/v1/chat/completions": client.chat.completions.create,
    "/v1/completions": client.completions.create,
    "/v1/embeddings": client.embeddings.create,
  }[path];
  try {
    const answer = await create(body);
    if (!(Symbol.asyncIterator in answer)) return { whole: comparable(answer) };
    const events = [];
    for await (const event of answer) events.push(comparable(event));
    return { events };
  } catch ({ code, field }) {
    return { error: [code, field] };
  } finally {
    client.dispose();
  }
}

/** Sends a request, and compares what comes. */
async function check(address, model, request, message) {
  const { path, body, leavesAt } = request;
  const expected = await expectedOf(model, request);
  const controller = new AbortController();
  const response = await post(address, path, body, {}, controller.signal);
  if (expected.error !== undefined) {
    assert.equal(response.status, 400, message);
    const { error } = await response.json();
    if (expected.error[0] !== "CACHE_FULL") assert.deepEqual([error.code, error.param], expected.error, message);
    return "refused";
  }
  assert.equal(response.status, 200, `${message}: ${response.status}`);
  if (expected.whole !== undefined) {
    assert.deepEqual(comparable(await response.json()), expected.whole, message);
    return "whole";
  }
  const events = [];
  let text = "";
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  while (events.length <= leavesAt) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    const lines = text.split("\n\n");
    text = lines.pop();
    events.push(...lines.map((line) => line.slice("data: ".length)));
  }
  controller.abort();
  const read = events.filter((event) => event !== "[DONE]").map((event) => comparable(JSON.parse(event)));
  assert.deepEqual(read, expected.events.slice(0, read.length), message);
  if (events.length > leavesAt) return "left";
  assert.equal(read.length, expected.events.length, message);
  assert.equal(events.at(-1), "[DONE]", message);
  return "events";
}

test(`${CASES} requests, ${TOGETHER} at a time, seed ${SEED}`, () =>
  withFolder(async (folder) => {
    const path = join(folder, "tiny.gguf");
    await writeFile(path, tinyModelBytes());
    const template = join(folder, "template.jinja");
    await writeFile(template, toolTemplate);
    const rw = await load();
    const model = await rw.model(path, { chatTemplate: toolTemplate, contextLength: 256 });
    const words = ["--name", "tiny", "--context", "256", "--parallel", "3"];
    await serving(
      words,
      async ({ address }) => {
        const found = { refused: 0, whole: 0, events: 0, left: 0 };
        let at = 0;
        const client = async () => {
          while (at < CASES) {
            const i = at++;
            const request = drawRequest(randomNumbers(SEED * 1_000_003 + i));
            found[await check(address, model, request, `case ${i}: ${JSON.stringify(request)}`)] += 1;
          }
        };
        await Promise.all(Array.from({ length: TOGETHER }, client));
        assert.equal((await fetch(`${address}/health`)).status, 200);
        for (const [outcome, count] of Object.entries(found))
          assert.ok(count > CASES / 40, `${outcome}: ${JSON.stringify(found)}`);
      },
      {},
      [path, "--chat-template", template],
    );
    model.dispose();
  }));
