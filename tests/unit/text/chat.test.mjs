// Chat templates against transformers' apply_chat_template (tests/golden/generate/chat_templates.py), and invalid input.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { renderChat } from "../../../build/package/text/chat_template.js";

const readGolden = (name) => JSON.parse(readFileSync(new URL(`../../golden/${name}`, import.meta.url), "utf8"));
const golden = readGolden("chat_templates.json");
const folders = {
  own: new URL("../../text/", import.meta.url),
  shared: new URL("../../../../shared/data/templates/", import.meta.url),
};
const [year, month, ...time] = golden.now;
const now = new Date(year, month - 1, ...time);
const conversations = Object.values(golden.conversations);

function render(template, { messages, tools, add_generation_prompt: addGenerationPrompt, variables }) {
  const given = { addGenerationPrompt, tools, variables, now, beginToken: "<bos>", endToken: "<eos>" };
  const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return renderChat(template, messages, options);
}

/** Compares with a text, or with the error that the template raises, or expects another failure. */
async function expectRendered(rendered, { text, raises }) {
  if (text !== undefined) return assert.equal(await rendered, text);
  await assert.rejects(rendered, (error) => {
    if (raises === undefined) assert.deepEqual([error.code, error.field], ["INVALID_FILE", "chat_template"]);
    else assert.deepEqual([error.code, error.field], ["INVALID_ARGUMENT", "messages"]);
    assert.ok(error.message.endsWith(raises ?? ""), error.message);
    return true;
  });
}

for (const name of new Set(golden.cases.map(({ template }) => template))) {
  const cases = golden.cases.filter(({ template }) => template === name);
  const path = fileURLToPath(new URL(name, folders[cases[0].origin]));
  const skip = existsSync(path) ? false : `${name} is not available`;
  for (const { conversation, ...expected } of cases) {
    test(`${name}: ${conversation}`, { skip }, () =>
      expectRendered(render(readFileSync(path, "utf8"), golden.conversations[conversation]), expected),
    );
  }
}

const digest = (text) => createHash("sha256").update(text).digest("hex").slice(0, 16);

// ROPEWALK_TEMPLATES names a folder that has more of them: models/templates of llama.cpp has them all
for (const [name, { template: expectedHash, texts }] of Object.entries(
  readGolden("chat_template_hashes.json").templates,
)) {
  const places = [process.env.ROPEWALK_TEMPLATES, fileURLToPath(folders.shared)].filter((place) => place !== undefined);
  const path = places.map((place) => join(place, name)).find((file) => existsSync(file));
  const template = path === undefined ? "" : readFileSync(path, "utf8");
  const skip = digest(template) === expectedHash ? false : `${name} is not available`;
  test(`${name}: ${texts.length} conversations`, { skip }, async () => {
    for (const [i, expected] of texts.entries()) {
      const rendered = render(template, conversations[i]);
      if (typeof expected === "string") assert.equal(digest(await rendered), expected, `conversation ${i}`);
      else await expectRendered(rendered, expected ?? {});
    }
  });
}

const expressions = readFileSync(new URL("../../text/expressions.jinja", import.meta.url), "utf8")
  .trimEnd()
  .split("\n");
for (const [i, expected] of readGolden("chat_template_expressions.json").texts.entries()) {
  test(`Jinja: ${expressions[i].slice(0, 80)}`, () =>
    expectRendered(render(expressions[i], { messages: [{ role: "user", content: "Heave!" }] }), expected));
}

const messages = [{ role: "user", content: "Heave!" }];

test("defaults for tokens and time", async () => {
  const template = "{{ bos_token }}|{{ eos_token }}|{{ tools is none }}|{{ add_generation_prompt }}";
  assert.equal(await renderChat(template, messages), "||True|True");
  assert.equal(await renderChat("{{ strftime_now('%Y') }}", messages), String(new Date().getFullYear()));
});

test("variables may have any name, and messages are not changed", async () => {
  assert.equal(
    await renderChat("{{ namespace }} {{ range }}", messages, { variables: { namespace: 1, range: 2 } }),
    "1 2",
  );
  const frozen = Object.freeze([Object.freeze({ role: "user", content: "a", thinking: "b" })]);
  assert.equal(await renderChat("{{ messages[0].reasoning_content }}{{ messages[0].content }}", frozen), "ba");
});

test("dates are in English, in the local time zone", async () => {
  const format = "%A %a %B %b %d %-d %m %y %Y %H %I %-I %p %M %S %j %% %Q";
  const text = await renderChat(`{{ strftime_now("${format}") }}`, messages, { now: new Date(2023, 11, 31, 0, 7, 9) });
  assert.equal(text, "Sunday Sun December Dec 31 31 12 23 2023 00 12 12 AM 07 09 365 % %Q");
});

test("templates that cannot be parsed or fail", async () => {
  const unreadable = [undefined, 7, "{% if %}", "{{ 'a", "{% for m in messages %}", "{{ messages | no_such_filter }}"];
  for (const template of [
    ...unreadable,
    "{{ nothing() }}",
    "{% break %}",
    "{{ range(1000000) | length }}",
    "{{ range(0, 9, 0) }}",
  ]) {
    await assert.rejects(
      renderChat(template, messages),
      { code: "INVALID_FILE", field: "chat_template" },
      String(template),
    );
  }
});

test("invalid messages", async () => {
  for (const none of [undefined, null, [], "text", {}]) {
    await assert.rejects(renderChat("{{ messages }}", none), { code: "INVALID_ARGUMENT", field: "messages" });
  }
  for (const message of [null, "text", {}, { role: 3 }]) {
    await assert.rejects(renderChat("", [messages[0], message]), { code: "INVALID_ARGUMENT", field: "messages[1]" });
  }
});
