// Chat templates of released models, from llama.cpp's models/templates, against transformers' apply_chat_template
// (tests/golden/generate/chat_templates.py).
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { answerFormat } from "../../build/package/apps/serving/calls/call_formats.js";
import { digest, expectRendered, golden, readGolden, render } from "../text/rendering.mjs";
import { released } from "./files.mjs";

const folder = join(released.llama_cpp, "templates");
const read = (name) => readFileSync(join(folder, name), "utf8");
const { templates } = readGolden("chat_template_hashes.json");
const conversations = Object.values(golden.conversations);

/** Templates that refuse a system message. */
const NO_SYSTEM = ["google-gemma-2-2b-it.jinja"];

function withSystemInFront([first, next, ...rest]) {
  if (first.role !== "system") return undefined;
  return [{ ...next, content: `${first.content}\n${next.content}` }, ...rest];
}

test("each of the 70 templates has golden values", () => {
  const names = readdirSync(folder).filter((name) => name.endsWith(".jinja"));
  assert.equal(names.length, 70);
  assert.deepEqual(names.sort(), Object.keys(templates).sort());
});

for (const [name, { template: expectedHash, texts }] of Object.entries(templates)) {
  test(`${name}: ${texts.length} conversations`, async () => {
    const template = read(name);
    assert.equal(digest(template), expectedHash, "the file that the golden values are of");
    assert.equal(texts.length, conversations.length);
    for (const [i, expected] of texts.entries()) {
      const rendered = render(template, conversations[i]);
      const merged = withSystemInFront(conversations[i].messages);
      if (NO_SYSTEM.includes(name) && merged !== undefined)
        // refused by the template, and so by transformers: as llama.cpp's server does, the text goes before the next message
        assert.deepEqual(
          ...(await Promise.all(
            [rendered, render(template, { ...conversations[i], messages: merged })].map((text) => text.catch(String)),
          )),
        );
      else if (typeof expected !== "string") await expectRendered(rendered, expected ?? {});
      else assert.equal(digest(await rendered), expected, `conversation ${i}: ${await rendered}`);
    }
  });
}

test("formats of tool calls", () => {
  const formatOf = (name) => answerFormat(read(name)).calls;
  assert.equal(formatOf("Qwen-Qwen2.5-7B-Instruct.jinja").open, "<tool_call>");
  assert.equal(formatOf("meta-llama-Llama-3.1-8B-Instruct.jinja").isBare, true);
  assert.equal(formatOf("google-gemma-2-2b-it.jinja"), undefined);
});
