// Strings of JSON schemas with several keywords at once: all of them hold. Schemas are those that zod and pydantic write.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod/v4";
import { Automaton } from "../../../build/package/runtime/grammar/automaton.js";
import { networkOf } from "../../../build/package/runtime/grammar/network.js";
import { schemaGrammar } from "../../../build/package/runtime/grammar/schema/convert.js";
import { randomFrom, textsOf } from "./random_text.mjs";
import { accepts, checkSchema, grammarOf } from "./schema_checks.mjs";

/** Schemas with texts that their grammars must have, and must not. */
const OWN = {
  "a format with a pattern": [{ format: "date", pattern: "^2026-" }, ["2026-01-31"], ["2025-01-31", "2026-", "2026-1"]],
  "an email of a company": [{ format: "email", pattern: "@company\\.com$" }, ["a.b@company.com"], ["a@b.com", "@company.com"]], // prettier-ignore
  "a short email": [{ format: "email", maxLength: 8 }, ["a@b.io", "ab@c.com"], ["abc@d.com"]],
  "HttpUrl of pydantic": [{ format: "uri", minLength: 1, maxLength: 2083 }, ["https://a.b/c?d=e#f"], ["https://", ""]],
  "a pattern with lengths": [{ pattern: "^[a-z]+$", minLength: 2, maxLength: 4 }, ["ab", "abcd"], ["a", "abcde", "AB"]],
  "a pattern that isn't anchored": [{ pattern: "ab", maxLength: 3 }, ["ab", "abc", "cab", 'ab"'], ["abcd", "ac", "a"]],
  "characters that JSON escapes": [
    { pattern: '^["\\\\\\n😀]+$', maxLength: 2 },
    ['"\\', "\n", "😀😀"],
    ["", "aa", '"""'],
  ],
  "two patterns": [
    { type: "string", allOf: [{ pattern: "^ab" }, { pattern: "c$" }] },
    ["abc", "ab-c"],
    ["ab", "c", "abcd"],
  ],
  "three patterns and a length": [
    { allOf: [{ pattern: "^a" }, { pattern: "b" }, { pattern: "c$" }], maxLength: 4 },
    ["abc", "abcc", "axbc"],
    ["ac", "axxbc"],
  ],
  "a pattern without a text": [{ type: "string", pattern: "^[ab]+$", not: { const: "ab" }, maxLength: 2 }, ["a", "ba"], ["ab", "aba"]], // prettier-ignore
  "a length without a text": [
    { type: "string", not: { enum: ["a", "é"] }, maxLength: 1 },
    ["", "b", "\n"],
    ["a", "é", "bb"],
  ],
  "a pattern that isn't allowed at the start": [{ pattern: "^(?!x|yy)[xyz]{1,3}$" }, ["z", "yx"], ["x", "yy", "yyz"]],
  "a pattern that must come": [
    { pattern: "^(?=.*\\d)(?=.*[A-Z])[A-Z0-9]{2,4}$" },
    ["A1", "1A", "AAA7"],
    ["AA", "11", "A1B2C"],
  ],
  "Decimal of pydantic": [{ pattern: "^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$" }, ["1.5", "-0", ".5"], ["", ".", "-"]],
  "a format that says what a text is for": [{ format: "password", minLength: 2 }, ["ab"], ["a"]],
  "a format that names its pattern": [{ format: "nanoid", pattern: "^[a-z]{3}$" }, ["abc"], ["ab"]],
};

for (const [name, [schema, good, bad]] of Object.entries(OWN)) test(name, () => checkSchema(schema, good, bad));

test("random patterns and limits together, compared with RegExp", () => {
  const patterns = [
    "^[ab]*c",
    "b{2}",
    "a.c",
    "^(?!ab)",
    "[^a]$",
    "^(a|bc){1,4}$",
    "c|^$",
    '["é]',
    "^(?=.*b)[a-c]+$",
    "\\W?a",
  ];
  const random = randomFrom(4);
  const below = (count) => Math.floor(random() * count);
  const letters = Array.from('aaabbbccé"');
  for (let i = 0; i < 150; i++) {
    const chosen = Array.from({ length: 1 + below(3) }, () => patterns[below(patterns.length)]);
    const minLength = below(3);
    const maxLength = minLength + below(5);
    const excluded = Array.from({ length: below(3) }, () => ["a", "bc", "abc", "bb"][below(4)]);
    const schema = {
      type: "string",
      minLength,
      maxLength,
      allOf: chosen.map((pattern) => ({ pattern })),
      ...(excluded.length > 0 && { not: { enum: excluded } }),
    };
    const grammar = grammarOf(schema);
    const automaton = grammar && new Automaton(networkOf(grammar, "schema"));
    for (let j = 0; j < 100; j++) {
      const value = Array.from({ length: below(7) }, () => letters[below(letters.length)]).join("");
      const matches =
        chosen.every((pattern) => new RegExp(pattern, "u").test(value)) &&
        value.length >= minLength &&
        value.length <= maxLength &&
        !excluded.includes(value);
      const isText = automaton !== undefined && accepts(automaton, JSON.stringify(value));
      assert.equal(isText, matches, `${JSON.stringify(value)} in ${JSON.stringify(schema)}`);
    }
  }
});

/** Checks that texts of a grammar match what wrote the schema. */
function checkTexts(schema, matches) {
  const grammar = schemaGrammar(schema, "schema");
  const automaton = new Automaton(networkOf(grammar, "schema"));
  const draw = textsOf(grammar, randomFrom(6));
  const drawn = new Set();
  for (let i = 0; i < 100; i++) {
    const text = draw();
    drawn.add(text);
    assert.ok(matches(JSON.parse(text)), text);
    assert.ok(accepts(automaton, text), text);
  }
  assert.ok(drawn.size > 20, `only ${drawn.size} texts`);
}

const ZOD = {
  email: z.email(),
  "short email": z.email().max(20),
  uuid: z.uuid(),
  url: z.url().max(40),
  nanoid: z.nanoid(),
  cuid2: z.cuid2().max(10),
  ulid: z.ulid(),
  base64: z.base64().max(12),
  e164: z.e164(),
  emoji: z.emoji(),
  ipv4: z.ipv4(),
  ipv6: z.ipv6(),
  cidrv4: z.cidrv4(),
  date: z.iso.date(),
  time: z.iso.time(),
  datetime: z.iso.datetime(),
  "local datetime": z.iso.datetime({ local: true, offset: true }),
  duration: z.iso.duration(),
  "start and length": z.string().startsWith("ab").max(10),
  "start, end and part": z.string().startsWith("ab").endsWith("c").includes("-").max(12),
  "pattern and length": z
    .string()
    .regex(/^[a-zé"]+$/)
    .min(3)
    .max(5),
};

for (const [name, type] of Object.entries(ZOD))
  test(`zod: ${name}`, () => checkTexts(z.toJSONSchema(type), (value) => type.safeParse(value).success));

test("a newer zod's hostname", () => {
  const pattern = String.raw`^(?=.{1,253}\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\.?$`;
  checkTexts({ type: "string", format: "hostname", pattern }, (value) => new RegExp(pattern, "u").test(value));
});
