// Control tokens in messages that are read as text, against transformers (tests/golden/generate/random/control_tokens.py).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { renderPrompt } from "../../../build/package/runtime/text/chat_template.js";
import { encodeChat, tokenizerFromJson } from "../../../build/package/runtime/text/tokenizer.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = process.env.ROPEWALK_RANDOM ?? join(root, "golden", "random");
const { seed, cases } = JSON.parse(readFileSync(join(folder, "control_tokens.json"), "utf8"));
const vocabularies = JSON.parse(readFileSync(join(root, "text", "encoder_vocabularies.json"), "utf8"));
const map = JSON.stringify(vocabularies.sentence_piece.charsmap);

test(`${cases.length} tokenizers of seed ${seed}: control tokens in messages have the ids of their text`, async () => {
  const wrong = [];
  for (const [i, { file, template, chats, ids }] of cases.entries()) {
    const tokenizer = await tokenizerFromJson(JSON.parse(JSON.stringify(file).replaceAll('"MAP"', map)));
    for (const [j, messages] of chats.entries()) {
      const options = { addGenerationPrompt: false, parseSpecial: false };
      const find = (written) => tokenizer.controlTokens(written);
      const found = await renderPrompt({ default: template }, messages, options, find)
        .then(({ text, pieces }) => Array.from(encodeChat(tokenizer, pieces ?? text)))
        .catch((error) => (/as text/.test(error.message) ? null : String(error)));
      if (JSON.stringify(found) !== JSON.stringify(ids[j]))
        wrong.push({ case: i, template, messages, found, ids: ids[j] });
    }
  }
  assert.deepEqual(wrong.slice(0, 3), [], `${wrong.length} of ${cases.length * 6} chats`);
});
