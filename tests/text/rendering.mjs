// Renders the conversations of tests/golden/chat_templates.json, and compares with what transformers renders.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { renderChat } from "../../build/package/runtime/text/chat_template.js";

export const readGolden = (name) => JSON.parse(readFileSync(new URL(`../golden/${name}`, import.meta.url), "utf8"));
export const golden = readGolden("chat_templates.json");

const [year, month, ...time] = golden.now;
const now = new Date(year, month - 1, ...time);

/** The text of one of the golden file's conversations, or the promise's error. */
export function render(template, { messages, tools, add_generation_prompt: addGenerationPrompt, variables }) {
  const given = { addGenerationPrompt, tools, variables, now, beginToken: "<bos>", endToken: "<eos>" };
  const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return renderChat(template, messages, options);
}

/** Compares with a text, or with the error that the template raises, or expects another failure. */
export async function expectRendered(rendered, { text, raises }) {
  if (text !== undefined) return assert.equal(await rendered, text);
  await assert.rejects(rendered, (error) => {
    if (raises === undefined) assert.deepEqual([error.code, error.field], ["INVALID_FILE", "chat_template"]);
    else assert.deepEqual([error.code, error.field], ["INVALID_ARGUMENT", "messages"]);
    assert.ok(error.message.endsWith(raises ?? ""), error.message);
    return true;
  });
}

/** The first 16 digits of the SHA-256 of a text, as in chat_template_hashes.json. */
export const digest = (text) => createHash("sha256").update(text).digest("hex").slice(0, 16);
