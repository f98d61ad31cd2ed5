// Templates of hostile files: they end, with text or an error that says why, and never take the process down.
import assert from "node:assert/strict";
import test from "node:test";
import { renderChat } from "../../../build/package/runtime/text/chat_template.js";

const messages = [{ role: "user", content: "Heave!" }];
/** Of the processor. Each takes less than a second; without the budget, minutes to years. */
const SECONDS = 20;

async function timed(template, given = messages, options = undefined) {
  const start = process.cpuUsage();
  const outcome = await renderChat(template, given, options).then(
    (text) => ({ text }),
    (error) => ({ error }),
  );
  const { user, system } = process.cpuUsage(start);
  const seconds = (user + system) / 1e6;
  if (process.env.SHOW) console.log(seconds.toFixed(2), template.slice(0, 60));
  assert.ok(seconds < SECONDS, `${template.slice(0, 60)}: ${seconds} s`);
  return outcome;
}

async function expectRefused(template, message) {
  const { error, text } = await timed(template);
  assert.equal(error?.code, "INVALID_FILE", `${template.slice(0, 80)}: ${text?.length ?? error?.stack}`);
  assert.equal(error.field, "chat_template");
  assert.match(error.message, message);
  assert.ok(error.message.length < 1000);
}

const loops = (depth, body) => "{% for i in range(100000) %}".repeat(depth) + body + "{% endfor %}".repeat(depth);
const doubled = (start, step, times, end) =>
  `{% set ns = namespace(x=${start}) %}{% for i in range(${times}) %}{% set ns.x = ${step} %}{% endfor %}${end}`;
const STEPS = /takes too many steps/;
const LENGTH = /makes a text of more than \d+ characters/;

const bombs = {
  "nested ranges": [loops(3, "x"), STEPS],
  "nested ranges without a body": [loops(3, ""), STEPS],
  "nested ranges with a condition": ["{% for i in range(100000) if range(100000) | length < i %}{% endfor %}", STEPS],
  "a macro that calls itself twice": [
    "{% macro f(n) %}{{ f(n) }}{{ f(n) }}{% endmacro %}{{ f(1) }}",
    /nests too deeply/,
  ],
  "a macro that calls itself twice, 30 deep": [
    "{% macro f(n) %}{% if n > 0 %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(30) }}",
    STEPS,
  ],
  "macros defined in a loop": [`${loops(2, `{% macro f() %}${"{{ 1 }}".repeat(2000)}{% endmacro %}`)}`, STEPS],
  "a call block that calls itself": [
    "{% macro f() %}{% call f() %}{{ caller() }}{% endcall %}{% endmacro %}{{ f() }}",
    /nests too deeply/,
  ],
  "replace, as a method": [doubled("'aaaa'", "ns.x.replace('a', ns.x)", 40, "{{ ns.x }}"), LENGTH],
  "replace, as a filter": [doubled("'aaaa'", "ns.x | replace('a', ns.x)", 40, "{{ ns.x }}"), LENGTH],
  "replace, found by its name": [doubled("'aaaa'", "ns.x['replace']('a', ns.x)", 40, "{{ ns.x }}"), LENGTH],
  "replace of nothing": [doubled("'aaaa'", "ns.x.replace('', ns.x)", 40, "{{ ns.x }}"), LENGTH],
  concatenation: [doubled("'aaaa'", "ns.x ~ ns.x", 64, "{{ ns.x }}"), LENGTH],
  addition: [doubled("'aaaa'", "ns.x + ns.x", 64, "{{ ns.x }}"), LENGTH],
  "text in a loop": [loops(2, "a".repeat(10000)), STEPS],
  "join with a long separator": [doubled("'aaaa'", "range(1000) | join(ns.x)", 40, "{{ ns.x }}"), LENGTH],
  "join of characters": [doubled("'aaaa'", "ns.x | join(ns.x)", 40, "{{ ns.x }}"), LENGTH],
  "join with an unpacked separator": [doubled("'aaaa'", "ns.x | join(*[ns.x])", 40, "{{ ns.x }}"), LENGTH],
  "indent by much": ["{{ 'a\\nb' | indent(500000000) }}", /indentation must be at most/],
  "indent many lines": [
    doubled("'a\\n'", "(ns.x ~ ns.x) | indent(100)", 40, "{{ ns.x | length }}"),
    /too many steps|more than \d+ characters/,
  ],
  "tojson indented by much": ["{{ messages | tojson(indent=500000000) }}", /indentation must be at most/],
  "tojson with a long separator": [
    "{{ range(100000) | tojson(separators=('" + "x".repeat(10000) + "', 'b')) }}",
    /separator must have/,
  ],
  "an array of itself twice, as JSON": [doubled("[1]", "[ns.x, ns.x]", 40, "{{ ns.x | tojson }}"), STEPS],
  "an array of itself twice, as text": [doubled("[1]", "[ns.x, ns.x]", 40, "{{ ns.x }}"), STEPS],
  "an array of itself twice, joined": [doubled("[1]", "[ns.x, ns.x]", 40, "{{ ns.x | join }}"), STEPS],
  "an array of itself twice, concatenated": [doubled("[1]", "[ns.x, ns.x]", 40, "{{ ns.x ~ 'a' }}"), STEPS],
  "an array of itself twice, compared with text": [doubled("[1]", "[ns.x, ns.x]", 40, "{{ ns.x == 'a' }}"), STEPS],
  "an array of itself twice, as a string": [doubled("[1]", "[ns.x, ns.x]", 40, "{{ ns.x | string }}"), STEPS],
  "an object of itself twice": [doubled("{'a': 1}", "{'a': ns.x, 'b': ns.x}", 40, "{{ ns.x }}"), STEPS],
  "a namespace that holds itself": [
    "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}",
    /too deeply|too many steps/,
  ],
  "arrays added": [doubled("[1]", "ns.x + ns.x", 64, "{{ ns.x | length }}"), STEPS],
  "long text split, again and again": [
    doubled("'a b '", "(ns.x ~ ns.x)", 19, loops(2, "{% set y = ns.x.split(' ') %}")),
    STEPS,
  ],
  "long text changed, again and again": [
    doubled("'a b '", "(ns.x ~ ns.x)", 19, loops(2, "{{ ns.x.upper() | length }}")),
    STEPS,
  ],
  "long text searched, again and again": [doubled("'ab'", "(ns.x ~ ns.x)", 20, loops(2, "{{ 'abb' in ns.x }}")), STEPS],
  "long text cut, again and again": [doubled("'ab'", "(ns.x ~ ns.x)", 20, loops(2, "{{ ns.x[1:2] }}")), STEPS],
  "long text tested, again and again": [doubled("'ab'", "(ns.x ~ ns.x)", 20, loops(2, "{{ ns.x is lower }}")), STEPS],
  "undefined variables": [loops(2, "{{ nothing }}"), STEPS],
  "many arguments": [
    "{% macro f() %}{{ varargs | length }}{% endmacro %}" + loops(2, "{{ f(*range(100000)) }}"),
    STEPS,
  ],
  "sorted, again and again": [loops(2, "{{ range(100000) | sort | length }}"), STEPS],
  "deep parentheses": [`{{ ${"(".repeat(200000)}1${")".repeat(200000)} }}`, /nests too deeply|cannot be parsed/],
  "a long sum": [`{{ ${"1+".repeat(200000)}1 }}`, /nests too deeply/],
  "deep blocks": ["{% if true %}".repeat(20000) + "{% endif %}".repeat(20000), /nests too deeply/],
  "a long template": ["a".repeat(2 << 20), /has 2097152 characters, and the limit is 1048576/],
};
for (const [name, [template, message]] of Object.entries(bombs)) {
  test(`${name} ends with an error`, () => expectRefused(template, message));
}

test("an exception with an array of itself twice", async () => {
  const template = doubled("[1]", "[ns.x, ns.x]", 40, "{{ raise_exception(ns.x) }}{{ range(ns.x) }}");
  const { error } = await timed(template);
  assert.deepEqual([error.code, error.field], ["INVALID_ARGUMENT", "messages"]);
  await expectRefused(doubled("[1]", "[ns.x, ns.x]", 40, "{{ strftime_now(ns.x) }}"), /needs a string/);
  await expectRefused(doubled("[1]", "[ns.x, ns.x]", 40, "{{ range(ns.x) }}"), /needs numbers/);
});

test("whitespace of any length takes linear time, and is trimmed as by Jinja", async () => {
  const space = " ".repeat(250_000);
  const cases = [
    [`a${space}{{ 1 }}`, `a${space}1`],
    [`a${space}{{- 1 -}}${space}b`, "a1b"],
    [`a\n${space}{% if true %}b{% endif %}`, "a\nb"],
    [`a${space}{%- if true -%}${space}b${space}{%- endif %}`, "ab"],
    [`{%${space}if true${space}%}b{%${space}endif${space}%}`, "b"],
    [`{{ '${space}' | length }}`, "250000"],
    [`{{ 'a${space}b' | trim | length }}`, "250002"],
    [`{#${space}#}b`, "b"],
    ["\n".repeat(400_000), "\n".repeat(399_999)],
    [`${"{%".repeat(1)}-${space}set x = 1 ${space}-%}${space}{{ x }}`, "1"],
  ];
  for (const [template, expected] of cases) {
    const { text, error } = await timed(template);
    assert.ok(text === expected, `${template.replaceAll(/\s{10,}/g, " … ")}: ${error ?? text.length}`);
  }
  for (const unclosed of [`{${"%".repeat(1)}${space}`, `{{ '${space}`, `{#${space}`, "{%".repeat(100_000)])
    await expectRefused(unclosed, /cannot be parsed/);
});

// text of jinja2 3.1 with trim_blocks and lstrip_blocks
const trimming = [
  ["a\n  {% if true %}\n b\n  {% endif %}\n c\n", "a\n b\n c"],
  ["a  {% if true %}  b{% endif %}", "a    b"],
  ["a\n  {%+ if true %}b{% endif %}", "a\n  b"],
  ["{% if true +%}\nb{% endif %}", "\nb"],
  ["a\n  {# c #}\nb", "a\nb"],
  ["a \n {#- c -#} \n b", "ab"],
  ["a\n  {{ 1 }}\nb", "a\n  1\nb"],
  ["{{ '%}' }}{{ \"}}\" }}{{ {'a': {'b': 1}}['a']['b'] }}", "%}}}1"],
  ["{{ 'it\\'s' }}{{ '\\\\' }}{{ \"a\\tb\" }}", "it's\\a\tb"],
  ["{% generation %}\na{% endgeneration %}\n", "a"],
  ["{ {a} %} }} #}", "{ {a} %} }} #}"],
  ["{{- 1 }}{{ -1 }}{{ 2 -1 }}", "1-11"],
];
for (const [template, expected] of trimming) {
  test(`trimming: ${JSON.stringify(template)}`, async () =>
    assert.equal(await renderChat(template, messages), expected));
}

test("a long conversation has the steps that it needs", async () => {
  const long = Array.from({ length: 4000 }, (_, i) => ({
    role: i % 2 ? "assistant" : "user",
    content: `message ${i} <think>x</think> ${"rope ".repeat(40)}`,
  }));
  const template = `{% set ns = namespace(all='') %}{% for m in messages %}
{%- if loop.index0 < messages | length - 1 and m.role != 'system' and 'think' in m.content %}
{%- set parts = m.content.split('</think>') %}{%- set ns.all = ns.all ~ parts[-1].strip() %}
{{- '<|' ~ m.role ~ '|>' ~ parts | last | trim ~ m['content'].replace('a', 'b') }}{% endif %}{% endfor %}{{ ns.all | length }}`;
  const { text, error } = await timed(template, long);
  assert.ok(text?.length > 1_000_000, error?.message);
});

test("options and messages of any kind", async () => {
  const wrong = [
    [null, "INVALID_ARGUMENT", "options"],
    ["text", "INVALID_ARGUMENT", "options"],
    [{ add_generation_prompt: true }, "UNKNOWN_KEY", "add_generation_prompt"],
    [{ addGenerationPrompt: 1 }, "INVALID_ARGUMENT", "addGenerationPrompt"],
    [{ tools: {} }, "INVALID_ARGUMENT", "tools"],
    [{ beginToken: 1 }, "INVALID_ARGUMENT", "beginToken"],
    [{ endToken: Symbol("a") }, "INVALID_ARGUMENT", "endToken"],
    [{ now: "today" }, "INVALID_ARGUMENT", "now"],
    [{ now: new Date(NaN) }, "INVALID_ARGUMENT", "now"],
    [{ variables: [1] }, "INVALID_ARGUMENT", "variables"],
    [{ variables: { a: 1n } }, "INVALID_ARGUMENT", "messages"],
    [{ variables: { a: Symbol("a") } }, "INVALID_ARGUMENT", "messages"],
  ];
  for (const [options, code, field] of wrong)
    await assert.rejects(renderChat("{{ 1 }}", messages, options), { code, field, name: "RopewalkError" });
  const cyclic = { role: "user", content: "a" };
  cyclic.self = cyclic;
  await assert.rejects(renderChat("{{ 1 }}", [cyclic]), { code: "INVALID_ARGUMENT", field: "messages" });
});
