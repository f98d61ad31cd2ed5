// Chat templates against transformers' apply_chat_template (tests/golden/generate/chat_templates.py), and invalid input. Those of released
// models are in tests/released.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { renderChat } from "../../../build/package/runtime/text/chat_template.js";
import { expectRendered, golden, readGolden, render } from "../../text/rendering.mjs";

for (const { template, conversation, ...expected } of golden.cases) {
  test(`${template}: ${conversation}`, () => {
    const text = readFileSync(new URL(`../../text/${template}`, import.meta.url), "utf8");
    return expectRendered(render(text, golden.conversations[conversation]), expected);
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
