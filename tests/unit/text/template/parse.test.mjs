// The grammar of templates: precedence as in Jinja2 3.1.6, linear time, one parse for each template, and clear errors.
import assert from "node:assert/strict";
import test from "node:test";
import { renderChat } from "../../../../build/package/runtime/text/chat_template.js";
import { parse } from "../../../../build/package/runtime/text/template/parse/parser.js";
import { programOf } from "../../../../build/package/runtime/text/template/template.js";

const messages = [{ role: "user", content: "Heave!" }];
const render = (template) => renderChat(template, messages, { onWarning: () => {} });
const names = { isFilter: () => true, isTest: () => true };

// texts of jinja2 3.1.6 with trim_blocks, lstrip_blocks and loop controls
const rendered = {
  "{{ 1 + 2 ~ 3 }}": undefined,
  "{{ 1 ~ 2 + 3 }}": undefined,
  "{{ 1 ~ 2 * 3 }}|{{ 2 ** 3 ** 2 }}|{{ -2 ** 2 }}|{{ -1 | abs }}": "16|64|4|1",
  "{{ 1 < 2 < 3 }}{{ 3 > 2 > 2 }}{{ not 1 == 2 }}{{ 1 not in [2] }}": "TrueFalseTrueTrue",
  "{{ 'a' if false }}|{{ 1 if false else 2 if false else 3 }}|{{ 1 if true if false else 4 }}": "|3|4",
  "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }}": "12",
  "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}": "21",
  "{{ (1,) }}{{ () }}{{ 1, 2 }}": "(1,)()(1, 2)",
  "{{ 1_000 + 0x10 + 0b11 + 0o7 }}|{{ 1e3 }}|{{ 1_0.5e-1 }}": "1026|1000.0|1.05",
  "{{ 'a' 'b' \"c\" }}|{{ '\\x41\\u00e9\\101\\q\\é' }}": "abc|AéA\\q\\xe9",
  "{% for x in [1, [2]] recursive %}{{ loop.depth }}{% if x is iterable %}{{ loop(x) }}{% endif %}{% endfor %}": "112",
  "{% for x in [1, 2, 3] if x != 2 %}{{ loop.index }}/{{ loop.length }}{{ loop.last }} {% endfor %}":
    "1/2False 2/2True ",
  "{% for x in [1] %}{% break %}{% else %}none{% endfor %}": "none",
  "{% set ns = namespace(n=0) %}{% for x in range(9) if ns.n < 2 %}{% set ns.n = ns.n + 1 %}{{ x }}{% endfor %}": "01",
  "{% macro m(a, b=a) %}{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1) }}{{ m(1, 2, 3, c=4) }}":
    "11(){}12(3,){'c': 4}",
  "{% macro m() %}<{{ caller(1) }}>{% endmacro %}{% call(x, y=2) m() %}{{ x }}{{ y }}{% endcall %}": "<12>",
  "{% set a | upper | trim %} b {% endset %}{{ a }}{% filter replace('a', 'b') | upper %}xa{% endfilter %}": "BXB",
  "{% for g in [{'k': 1}, {'k': 2}, {'k': 1}] | groupby('k') %}{{ g.grouper }}:{{ g.list | length }} {% endfor %}":
    "1:2 2:1 ",
  "{{ 2.5 | round }}{{ 3.5 | round }}|{{ 2.675 | round(2) }}|{{ 1250 | round(-2) }}|{{ 7 | round }}":
    "2.04.0|2.67|1200|7",
  "{{ \"they're bill's\" | title }}|{{ \"they're bill's\".title() }}": "They're Bill's|They'Re Bill'S",
  "{% set c = cycler(1, 2) %}{{ c.current }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.current }}": "112None1",
  "{{ 9007199254740993 + 1 }}|{{ 2 ** 100 }}|{{ 7 // -2 }}{{ -7 % 3 }}|{{ 10 ** -2 }}":
    "9007199254740994|1267650600228229401496703205376|-42|0.01",
  "{{ '%05.1f|%-4s|%x' % (2.25, 'a', 255) }}|{{ '{:>6,.1f}|{!r}'.format(1234.5, 'b') }}": "002.2|a   |ff|1,234.5|'b'",
  "{{ {1: 'a', true: 'b', (1, 2): 'c'} }}": "{1: 'b', (1, 2): 'c'}",
  "{% block a %}{{ 1 }}{% endblock %}{{ self.a() }}": "11",
  "{% raw -%} {{ a }} {%- endraw %}\n{#- c -#} b": "{{ a }}b",
  "{% macro f() %}{{ messages }}{% endmacro %}{{ f() }}{% set messages = 1 %}{{ f() }}": "1",
};
for (const [template, expected] of Object.entries(rendered)) {
  test(`grammar: ${template}`, async () => {
    if (expected === undefined) await assert.rejects(render(template), { code: "INVALID_FILE" });
    else assert.equal(await render(template), expected);
  });
}

const refused = {
  "{% include 'a' %}": /the tag 'include' is not supported/,
  "{% import 'a' as b %}": /the tag 'import' is not supported/,
  "{% extends 'a' %}": /the tag 'extends' is not supported/,
  "{% autoescape true %}{% endautoescape %}": /the tag 'autoescape' is not supported/,
  "{% do 1 %}": /unknown tag 'do' \(line 1\)/,
  "\n{% trans %}{% endtrans %}": /unknown tag 'trans' \(line 2\)/,
  "{{ [1] | random }}": /the filter 'random' is not supported/,
  "{{ 'a' | urlize }}": /the filter 'urlize' is not supported/,
  "{{ lipsum() }}": /lipsum\(\) is not supported/,
  "{{ [1] | map('abs') }}": /the text of a generator, an address in memory, is not supported/,
  "{{ '\\N{BULLET}' }}": /character by its name .* not supported/,
  "{{ 10 ** 5000 }}": /more than 4300 digits/,
  "{{ 'a'.encode() }}": /the attribute 'encode' of a str is not supported/,
  "{% if 1 %}": /unexpected end of the template: looking for elif or else or endif/,
  "{{ 1 | nothing }}": /No filter named 'nothing'/,
  "{% for x in [] %}{{ 1 is nothing }}{% endfor %}": /No test named 'nothing'/,
  "{% break %}": /'break' outside loop/,
  "{{ (1] }}": /unexpected '\]', expected '\)'/,
};
for (const [template, message] of Object.entries(refused)) {
  test(`refused: ${template}`, () =>
    assert.rejects(render(template), (error) => error.code === "INVALID_FILE" && message.test(error.message)));
}

test("an unknown filter fails only where it runs, if it may be skipped", async () => {
  assert.equal(await render("{% if false %}{{ 1 | nothing }}{% endif %}{{ 1 | nothing if false else 2 }}"), "2");
});

test("a template is parsed once", () => {
  const template = "{{ messages }} parsed once";
  assert.equal(programOf(template), programOf(` ${template}`.slice(1)));
});

const long = {
  "~": (n) => `{{ ${"'a' ~ ".repeat(n)}'a' }}`,
  and: (n) => `{{ ${"true and ".repeat(n)}true }}`,
  or: (n) => `{{ ${"false or ".repeat(n)}true }}`,
  not: (n) => `{{ ${"not ".repeat(n)}true }}`,
  "+": (n) => `{{ ${"1 + ".repeat(n)}1 }}`,
  "<": (n) => `{{ ${"1 < ".repeat(n)}1 }}`,
  "if else": (n) => `{{ ${"1 if false else ".repeat(n)}1 }}`,
  "a list": (n) => `{{ [${"1, ".repeat(n)}1] }}`,
  filters: (n) => `{{ 1${" | abs".repeat(n)} }}`,
  attributes: (n) => `{{ a${".b".repeat(n)} }}`,
  "a string": (n) => `{{ '${"a\\n".repeat(n)}' }}`,
  tags: (n) => "{% set a = 1 %}".repeat(n),
  elif: (n) => `{% if a %}${"{% elif b %}".repeat(n)}{% endif %}`,
};

function secondsToParse(template) {
  const times = Array.from({ length: 3 }, () => {
    const start = process.cpuUsage();
    parse(template, names);
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1e6;
  });
  return Math.min(...times);
}

for (const [name, make] of Object.entries(long)) {
  test(`a long tag takes linear time: ${name}`, () => {
    // quadratic time would take 64 times as long for a tag 8 times as long
    const size = Math.floor((20_000 / (make(11).length - make(1).length)) * 10);
    const [short, longer] = [secondsToParse(make(size)), secondsToParse(make(size * 8))];
    assert.ok(longer < 32 * Math.max(short, 0.002), `${short} s, and ${longer} s for 8 times the length`);
  });
}

test("half a megabyte of one operator renders, or is refused at once", async () => {
  const count = 480_000 / 6;
  assert.equal(await render(long["~"](count)), "a".repeat(count + 1));
  assert.equal(await render(long.and(480_000 / 9)), "True");
  assert.equal(await render(long.not(100_001)), "False");
  await assert.rejects(render(long["+"](count)), /nests too deeply/);
});

test("nesting is limited", async () => {
  const deep = [
    `{{ ${"(".repeat(5000)}1${")".repeat(5000)} }}`,
    `{{ ${"[".repeat(5000)}${"]".repeat(5000)} }}`,
    "{% if 1 %}".repeat(5000),
    `{{ ${"a[".repeat(5000)}`,
    `{{ 1${" is eq (1".repeat(5000)}`,
    `{% set ${"(".repeat(5000)}`,
  ];
  for (const template of deep) await assert.rejects(render(template), /nests too deeply/, template.slice(0, 30));
  assert.equal(await render(`{{ ${"(".repeat(150)}1${")".repeat(150)} }}`), "1");
});
