// Random templates against Jinja2 in the environment of transformers (tests/golden/generate/random/jinja_templates.py).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { renderChat } from "../../../../build/package/runtime/text/chat_template.js";

const folder = process.env.ROPEWALK_RANDOM ?? fileURLToPath(new URL("../../../golden/random", import.meta.url));
const { context, cases, seed } = JSON.parse(readFileSync(join(folder, "jinja_templates.json"), "utf8"));
const messages = [{ role: "user", content: "Heave!" }];
const ignored = () => {}; // that the template doesn't write the message

/** What is refused by name, though Jinja renders it: at most one template in this many. */
const ONE_REFUSED_IN = 100;

test(`${cases.length} random templates render as in Jinja, or fail as there (seed ${seed})`, async () => {
  const wrong = [];
  let refused = 0;
  for (const [template, expected] of cases) {
    const rendered = await renderChat(template, messages, { variables: context, onWarning: ignored }).catch((error) => {
      assert.deepEqual([error.code, error.field], ["INVALID_FILE", "chat_template"], template);
      return error;
    });
    const isText = typeof rendered === "string";
    // null: Jinja fails; false: its text has an address in memory, which is refused
    if (typeof expected === "string" ? rendered === expected : !isText) continue;
    if (!isText && / is not supported|more than 4300 digits|must be at most/.test(rendered.message)) refused += 1;
    else wrong.push({ template, expected, rendered: isText ? rendered : rendered.message });
  }
  assert.deepEqual(wrong.slice(0, 5), [], `${wrong.length} templates differ`);
  assert.ok(refused * ONE_REFUSED_IN <= cases.length, `${refused} templates are refused`);
});
