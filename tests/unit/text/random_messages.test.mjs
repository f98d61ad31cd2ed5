// Conversations drawn at random, in templates of each form, against transformers (tests/golden/generate/random/messages.py).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { renderChat } from "../../../build/package/runtime/text/chat_template.js";

const folder = process.env.ROPEWALK_RANDOM ?? fileURLToPath(new URL("../../golden/random", import.meta.url));
const { seed, cases } = JSON.parse(readFileSync(join(folder, "messages.json"), "utf8"));

test(`${cases.length} conversations of seed ${seed}: the same text as in transformers, and none is left out`, async () => {
  const wrong = [];
  for (const [i, { forms, template, messages, tools, prompt, text, lost = [] }] of cases.entries()) {
    const warnings = [];
    const options = { addGenerationPrompt: prompt, onWarning: (message) => warnings.push(message) };
    const rendered = await renderChat(template, messages, { ...options, ...(tools.length > 0 && { tools }) }).catch(
      String,
    );
    const named = warnings.flatMap((warning) => warning.match(/messages\[\d+\]\.\w+/g));
    const isSame = lost.length === 0 ? named.length === 0 : named[0] === lost[0] && named.at(-1) === lost.at(-1);
    if (rendered !== text || !isSame)
      wrong.push({ case: i, forms: Object.values(forms).join(" "), rendered, text, warnings });
  }
  assert.deepEqual(wrong.slice(0, 3), [], `${wrong.length} of ${cases.length}`);
});
