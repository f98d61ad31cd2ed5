// Rendering a chat template takes time that grows with its length: when it is parsed, and when it runs again.
import assert from "node:assert/strict";
import test from "node:test";
import { renderChat } from "../../../build/package/runtime/text/chat_template.js";
import { assertGrowth } from "./growth.mjs";

const messages = [{ role: "user", content: "Heave!" }];
const binary =
  (operator, value = "1") =>
  (n) =>
    `{{ ${`${value} ${operator} `.repeat(n)}${value} }}`;

const TEMPLATES = {
  ...Object.fromEntries(
    ["~", "+", "-", "*", "/", "//", "%", "and", "or", "<", "==", "in", "is eq"].map((operator) => [operator, binary(operator)]), // prettier-ignore
  ),
  "~ of texts": binary("~", "'a'"),
  "**": (n) => `{{ ${"1 ** ".repeat(n)}1 }}`,
  not: (n) => `{{ ${"not ".repeat(n)}true }}`,
  minus: (n) => `{{ ${"-".repeat(n)}1 }}`,
  "if else": (n) => `{{ ${"1 if false else ".repeat(n)}1 }}`,
  filters: (n) => `{{ 1${" | abs".repeat(n)} }}`,
  "filters with arguments": (n) => `{{ 'a'${" | replace('b', 'c')".repeat(n)} }}`,
  methods: (n) => `{{ 'a'${".strip()".repeat(n)} }}`,
  tests: (n) => `{{ ${"1 is odd and ".repeat(n)}true }}`,
  attributes: (n) => `{{ messages${".a".repeat(n)} }}`,
  subscripts: (n) => `{{ messages${"[0]".repeat(n)} }}`,
  slices: (n) => `{{ 'aaa'${"[0:]".repeat(n)} }}`,
  calls: (n) => `{{ range${"(1)".repeat(n)} }}`,
  "many arguments": (n) => `{{ dict(${Array.from({ length: n }, (_, i) => `a${i}=1`).join()}) | length }}`,
  parentheses: (n) => `{{ ${"(".repeat(n)}1${")".repeat(n)} }}`,
  "lists inside each other": (n) => `{{ ${"[".repeat(n)}${"]".repeat(n)} }}`,
  "dicts inside each other": (n) => `{{ ${"{1: ".repeat(n)}1${"}".repeat(n)} }}`,
  "a list": (n) => `{{ [${"1, ".repeat(n)}] | length }}`,
  "a dict": (n) => `{{ {${Array.from({ length: n }, (_, i) => `${i}: 1`).join()}} | length }}`,
  "texts beside each other": (n) => `{{ ${"'a' ".repeat(n)} }}`,
  "set tags": (n) => "{% set a = 1 %}".repeat(n),
  "set tags of other names": (n) => Array.from({ length: n }, (_, i) => `{% set a${i} = ${i} %}`).join(""),
  "namespace attributes": (n) => `{% set ns = namespace() %}${Array.from({ length: n }, (_, i) => `{% set ns.a${i} = 1 %}`).join("")}`, // prettier-ignore
  "if tags": (n) => "{% if true %}a{% endif %}".repeat(n),
  elif: (n) => `{% if false %}${"{% elif false %}b".repeat(n)}{% endif %}`,
  "if inside each other": (n) => "{% if true %}".repeat(n) + "{% endif %}".repeat(n),
  loops: (n) => "{% for a in [1] %}{{ a }}{% endfor %}".repeat(n),
  macros: (n) => Array.from({ length: n }, (_, i) => `{% macro m${i}() %}a{% endmacro %}{{ m${i}() }}`).join(""),
  "a macro called often": (n) => `{% macro m(a) %}{{ a }}{% endmacro %}${"{{ m(1) }}".repeat(n)}`,
  "filter blocks": (n) => "{% filter upper %}a{% endfilter %}".repeat(n),
  raw: (n) => "{% raw %}{{ a }}{% endraw %}".repeat(n),
  outputs: (n) => "{{ 1 }}".repeat(n),
  "a long text": (n) => "a ".repeat(n),
  "lines before tags": (n) => "\n  {% if true %}\n  a\n  {% endif %}".repeat(n),
  "white space": (n) => `a${" ".repeat(n)}{{- 1 -}}${" \n".repeat(n)}b`,
  "a long string": (n) => `{{ '${"a\\n".repeat(n)}' }}`,
  "a long number": (n) => `{{ ${"1".repeat(n)} }}`,
  "a long name": (n) => `{{ ${"a".repeat(n)} }}`,
  "a long comment": (n) => `{#${"a".repeat(n)}#}`,
  comments: (n) => "{# a #}".repeat(n),
  "comments that don't end": (n) => "{#".repeat(n),
  "tags that don't end": (n) => "{% ".repeat(n),
  "a string that doesn't end": (n) => `{{ '${"a".repeat(n)}`,
  braces: (n) => "{ ".repeat(n),
};

/** What templates do with texts and names, so that they have to be looked for in the prompt. */
const CHANGED = {
  "in upper case": "{{ m.name | upper }}{{ m.content | upper }}",
  "without their reasoning": "{{ m.name }}{{ m.content.split('</think>')[-1] }}",
  "with calls in upper case":
    "{{ m.content }}{{ m.tool_calls[0].function.name }}{{ m.tool_calls[0].function.arguments | string | upper }}",
};

let made = 0;
async function render(template) {
  await renderChat(template, messages, { onWarning: () => {} }).catch((error) => assert.equal(error.code, "INVALID_FILE", error.stack)); // prettier-ignore
}

for (const [name, make] of Object.entries(TEMPLATES)) {
  test(`the first time: ${name}`, () =>
    assertGrowth(make, (template) => render(`${template}{# ${made++} #}`), { most: 40_000 }));
  if (name.length < 9) test(`again: ${name}`, () => assertGrowth(make, render, { most: 40_000 }));
}

for (const [name, body] of Object.entries(CHANGED)) {
  const template = `{% for m in messages %}${body}{% endfor %}`;
  const chat = (n) =>
    Array.from({ length: n }, (_, i) => ({
      role: i % 2 ? "assistant" : "user",
      name: `name${i}`,
      content: `<think>a${i}</think> ${"heave ".repeat(20)}${i}`,
      ...(name.includes("calls") && {
        tool_calls: [{ type: "function", function: { name: `tie${i}`, arguments: { rope: `r${i}` } } }],
      }),
    }));
  test(`messages ${name}`, () =>
    assertGrowth(chat, (given) => renderChat(template, given, { onWarning: () => {} }), { least: 1000, most: 1000 }));
}
