// Calls as the chat templates of released models write them are read as what was written.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { answerReader } from "../../build/package/apps/serving/calls/answer_reader.js";
import { answerFormat } from "../../build/package/apps/serving/calls/call_formats.js";
import { renderChat } from "../../build/package/runtime/text/chat_template.js";
import { released } from "./files.mjs";

const folder = join(released.llama_cpp, "templates");

const tools = [
  {
    type: "function",
    function: {
      name: "book",
      description: "books a trip",
      parameters: {
        type: "object",
        properties: {
          city: { type: "string", description: "where" },
          days: { type: "integer", description: "how long" },
          price: { type: "number", description: "at most" },
          sure: { type: "boolean", description: "whether" },
          tags: { type: "array", description: "what", items: { type: "string" } },
        },
        required: ["city"],
      },
    },
  },
];

/** Texts that templates have trouble with, and arguments of one call each. */
const given = [
  { city: "Bergen" },
  { city: "12345678901234567890", days: 3, price: 1.5, sure: true },
  { city: "1.50", sure: false, tags: ["a", "b c"] },
  { city: 'say "hi" & <b>\nnext', tags: [] },
  { city: "see </function> and [TOOL_CALLS] and <think>", days: -1 },
  { city: "  C:\\temp 😀 \u2028" },
];
/** LFM2.5's template writes texts without escapes, so Python reads another text. */
const unescaped = (name, values) => name.startsWith("LFM2.5") && /[\\\n]/.test(values.city);
/** Command R+'s template indents the JSON, and what follows U+2028 in a text with it. */
const indented = (name, values) => name.includes("command-r-plus") && values.city.includes("\u2028");

const user = { role: "user", content: "Book it." };

/** What a template writes for a call after the prompt; undefined if it writes none, or raises an error. */
async function written(template, values, isText) {
  const call = {
    id: "abcdefghi",
    type: "function",
    function: { name: "book", arguments: isText ? JSON.stringify(values) : values },
  };
  const options = { tools, beginToken: "<bos>", endToken: "<eos>" };
  const asked = await renderChat(template, [user], { ...options, addGenerationPrompt: false });
  const answered = await renderChat(template, [user, { role: "assistant", content: "", tool_calls: [call] }], {
    ...options,
    addGenerationPrompt: false,
  });
  let at = 0;
  while (at < asked.length && asked[at] === answered[at]) at += 1;
  return answered.slice(at);
}

let count = 0;
for (const name of readdirSync(folder).filter((file) => file.endsWith(".jinja"))) {
  const template = readFileSync(join(folder, name), "utf8");
  const format = answerFormat(template);
  if (format.calls === undefined && !format.isHarmony) continue;
  test(`${name}: what it writes is read`, async (t) => {
    for (const values of given.filter((one) => !unescaped(name, one) && !indented(name, one))) {
      const texts = [];
      for (const isText of [false, true]) texts.push(await written(template, values, isText).catch(() => ""));
      const read = texts.map((text) => {
        // the head of the assistant's message is part of the prompt
        const begin = text.search(/<\|channel\|>commentary|to=functions/);
        const reader = answerReader(format, tools, false);
        const answer =
          format.isHarmony && begin > 0
            ? text.slice(begin)
            : format.frame?.begun !== undefined
              ? text.slice(text.indexOf(format.frame.begun) + format.frame.begun.length)
              : text.replace(/^.*?(?=\{"name")/s, format.calls?.isBare ? "" : "$&");
        const parts = [...reader.push(answer), ...reader.end(false)];
        return {
          name: parts.find((part) => "call" in part)?.call,
          text: parts.map((part) => part.arguments ?? "").join(""),
        };
      });
      const found = read.filter((one) => one.name === "book");
      if (texts.every((text) => !text.includes("book"))) return t.skip("the template writes no calls");
      assert.ok(found.length > 0, `${JSON.stringify(values)}: ${texts[0]}`);
      assert.deepEqual(JSON.parse(found[0].text), values, texts[0]);
      count += 1;
    }
  });
}

test("calls were read", () => assert.ok(count > 200, `${count} calls`));
