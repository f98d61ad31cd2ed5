// `ropewalk serve` answers while its model works: the number of answers meanwhile, which is 1 if the work blocks the event loop.
import assert from "node:assert/strict";
import test from "node:test";
import { post, serving } from "./server.mjs";

const messages = [{ role: "user", content: "the rope" }];

/** How often the server says that it is well while it answers a request. */
async function healthyWhile(address, request) {
  let answers = 0;
  let hasEnded = false;
  const answer = request.finally(() => (hasEnded = true));
  while (!hasEnded) {
    const response = await fetch(`${address}/health`);
    assert.equal((await response.json()).status, "ok");
    if (!hasEnded) answers += 1;
  }
  return { answers, response: await answer };
}

test("the server answers others while it tokenizes a long prompt, converts a schema, embeds and generates", () =>
  serving(["--context", "1024"], async ({ address }) => {
    const prompt = Array.from({ length: 200_000 }, (_, i) => `rope${i}`).join(" ");
    const tokenizing = await healthyWhile(address, post(address, "/v1/completions", { prompt, max_tokens: 1 }));
    assert.match(
      (await tokenizing.response.json()).error.message,
      /the prompt has \d+ or more tokens, but the context length is/,
    );
    assert.ok(tokenizing.answers >= 25, `${tokenizing.answers} answers`);
    const names = Array.from({ length: 1500 }, (_, i) => `key${i}`);
    const schema = { type: "object", properties: Object.fromEntries(names.map((name) => [name, { enum: names.slice(0, 150) }])) }; // prettier-ignore
    const format = { type: "json_schema", json_schema: { name: "keys", schema } };
    const body = { messages, max_tokens: 2, response_format: format };
    const converting = await healthyWhile(address, post(address, "/v1/chat/completions", body));
    assert.ok(converting.answers >= 25, `${converting.answers} answers, ${converting.response.status}`);
    const input = Array.from({ length: 64 }, (_, i) => `${i} rope`.repeat(40));
    const embedding = await healthyWhile(address, post(address, "/v1/embeddings", { input }));
    assert.equal(embedding.response.status, 200);
    assert.ok(embedding.answers >= 10, `${embedding.answers} answers`);
    const endless = { messages, max_tokens: 900, logit_bias: { 0: -100, 2: -100 } };
    const generating = await healthyWhile(address, post(address, "/v1/chat/completions", endless));
    assert.equal((await generating.response.json()).usage.completion_tokens, 900);
    assert.ok(generating.answers >= 10, `${generating.answers} answers`);
  }));
