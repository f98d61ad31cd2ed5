// Reading the body of a request takes time that grows with its size, whichever field is large.
import assert from "node:assert/strict";
import test from "node:test";
import { readChatRequest } from "../../../build/package/apps/openai/chat_request.js";
import { readGeneration } from "../../../build/package/apps/openai/generation_request.js";
import { assertGrowth } from "./growth.mjs";

const list = (n, make) => Array.from({ length: n }, (_, i) => make(i));
const named = (n, make) => Object.fromEntries(list(n, (i) => [`p${i}`, make(i)]));
const messages = [{ role: "user", content: "Heave!" }];
const tool = (i, parameters = { type: "object", properties: { a: { type: "integer" } } }) => ({ type: "function", function: { name: `tool_${i}`, description: "What it does.", parameters } }); // prettier-ignore
const call = (i) => ({ id: `call_${i}`, type: "function", function: { name: "tool_0", arguments: `{"a": ${i}}` } });

const GENERATION = {
  "stop, a list": (n) => ({ stop: list(n, (i) => `stop ${i}`) }),
  "stop, one long text": (n) => ({ stop: "a".repeat(n) }),
  logit_bias: (n) => ({ logit_bias: Object.fromEntries(list(n, (i) => [i, 1])) }),
  "unknown fields": (n) => named(n, () => 1),
  "fields of null": (n) => named(n, () => null),
};
const CHAT = {
  ...GENERATION,
  messages: (n) => ({
    messages: list(n, (i) => ({ role: i % 2 === 0 ? "user" : "assistant", content: `Heave ${i}!` })),
  }),
  "one long message": (n) => ({ messages: [{ role: "user", content: "a ".repeat(n) }] }),
  "a message of parts": (n) => ({
    messages: [{ role: "user", content: list(n, () => ({ type: "text", text: "a" })) }],
  }),
  "a message with fields": (n) => ({ messages: [{ role: "user", content: "a", ...named(n, (i) => i) }] }),
  "calls and their results": (n) => ({
    messages: list(n, (i) => [{ role: "assistant", content: null, tool_calls: [call(i)] }, { role: "tool", tool_call_id: `call_${i}`, content: "1" }]).flat(), // prettier-ignore
    tools: [tool(0)],
  }),
  "many calls at once": (n) => ({
    messages: [{ role: "assistant", content: null, tool_calls: list(n, call) }, ...list(n, (i) => ({ role: "tool", tool_call_id: `call_${i}`, content: "1" }))], // prettier-ignore
    tools: [tool(0)],
  }),
  "long arguments": (n) => ({
    messages: [{ role: "assistant", content: null, tool_calls: [{ ...call(0), function: { name: "tool_0", arguments: `{"a": [${"1,".repeat(n)}1]}` } }] }], // prettier-ignore
    tools: [tool(0)],
  }),
  tools: (n) => ({ tools: list(n, (i) => tool(i)) }),
  "tools of one name": (n) => ({ tools: list(n, () => tool(0)) }),
  "tools, one of which is required": (n) => ({ tools: list(n, (i) => tool(i)), tool_choice: "required" }),
  "tools, the last of which is named": (n) => ({ tools: list(n, (i) => tool(i)), tool_choice: { type: "function", function: { name: `tool_${n - 1}` } } }), // prettier-ignore
  "a tool with many parameters": (n) => ({ tools: [tool(0, { type: "object", properties: named(n, () => ({ type: "integer" })) })] }), // prettier-ignore
  "a schema": (n) => ({ response_format: { type: "json_schema", json_schema: { name: "a", schema: { type: "object", properties: named(n, () => true) } } } }), // prettier-ignore
  "variables of the template": (n) => ({ chat_template_kwargs: named(n, (i) => i) }),
};

const reading = (read) => (text) => {
  try {
    read(JSON.parse(text));
  } catch (error) {
    assert.equal(error.name, "RopewalkError", error.stack);
  }
};
const TEMPLATES = { "no tool calls": "", "calls as JSON": "<tool_call>{{ tools }}</tool_call>" };
for (const [kind, template] of Object.entries(TEMPLATES))
  for (const [name, make] of Object.entries(CHAT))
    test(`/v1/chat/completions, ${kind}: ${name}`, () =>
      assertGrowth((n) => JSON.stringify({ messages, ...make(n) }), reading((body) => readChatRequest(body, template)))); // prettier-ignore
for (const [name, make] of Object.entries(GENERATION))
  test(`/v1/completions: ${name}`, () => assertGrowth((n) => JSON.stringify(make(n)), reading(readGeneration)));
