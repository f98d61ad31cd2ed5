// Small formats that would take minutes or fill the memory: they are refused, or followed, in little time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Formats } from "../../../build/package/runtime/grammar/formats.js";

const texts = ["", ...Array.from({ length: 128 }, (_, i) => String.fromCharCode(i)), "aaaa", '{"', '":'];
const bytes = texts.map((text) => Uint8Array.from(Buffer.from(text)));
const tokenizer = { bytes: (id) => bytes[id], endTokens: [0], vocabularySize: bytes.length };

/** Compiles a format, and finds the tokens of its first places. */
function use(format) {
  const matcher = new Formats(tokenizer, bytes.length).matcher(format);
  for (let i = 0; i < 10; i++) {
    const { allowed } = matcher;
    const token = texts.findIndex((_, id) => id > 0 && (allowed[id >> 5] >> (id & 31)) & 1);
    if (token < 0) return;
    matcher.accept(token);
  }
}

const refs = (count, make) => ({
  $ref: "#/$defs/d0",
  $defs: Object.fromEntries(Array.from({ length: count }, (_, i) => [`d${i}`, i === count - 1 ? {} : make(`#/$defs/d${i + 1}`)])), // prettier-ignore
});
const list = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const named = (count, value) => Object.fromEntries(list(count, (i) => [`p${i}`, value]));

const SCHEMAS = {
  "minContains of a million": [
    { type: "array", contains: { const: 2 }, minContains: 1e6 },
    /minContains: is too large/,
  ],
  "minContains of a billion": [
    { type: "array", contains: { const: 2 }, minContains: 1e9 },
    /minContains: is too large/,
  ],
  "contains beside a long prefix": [{ contains: {}, prefixItems: list(5000, () => ({})) }, /prefixItems: is too large/],
  "not a long prefix": [{ type: "array", not: { prefixItems: list(5000, () => ({ type: "null" })) } }, /is too large/],
  "minItems of a billion": [{ type: "array", minItems: 1e9 }, /is too large/],
  "maxItems of a billion": [{ type: "array", maxItems: 1e9 }, /is too large/],
  "minLength of 2^53 - 1": [{ type: "string", minLength: 2 ** 53 - 1 }, /is too large/],
  "maxLength inside of maxItems": [{ type: "array", maxItems: 1000, items: { type: "array", maxItems: 1000, items: { type: "string", maxLength: 100_000 } } }], // prettier-ignore
  "a pattern with a long length": [{ pattern: "^[a-z]+$", maxLength: 1e9 }, /too many states/],
  "a pattern of many states": [{ pattern: "^(a|b)*a(a|b){40}$", minLength: 3 }, /too many states/],
  "a pattern of many repeats": [{ pattern: "((a?){1000}){1000}", maxLength: 5 }, /too many states/],
  "minProperties of a billion": [{ type: "object", minProperties: 1e9 }, /minProperties/],
  "maxProperties of a billion": [{ type: "object", maxProperties: 1e9 }, /is too large/],
  "many properties that are counted": [{ properties: named(5000, {}), maxProperties: 2500 }, /is too large/],
  "many properties": [{ properties: named(5000, { type: "null" }) }],
  "many unique values": [{ items: { enum: list(5000, (i) => i) }, uniqueItems: true, maxItems: 2500 }, /is too large/],
  "many unique values that aren't counted": [{ items: { enum: list(5000, (i) => i) }, uniqueItems: true }],
  "many values": [{ enum: list(130_000, (i) => `${i}`) }],
  "many values in two options": [{ oneOf: [{ enum: list(20_000, (i) => i) }, { enum: list(20_000, (i) => -1 - i) }] }],
  "many values with a pattern that backtracks": [
    { enum: ["a".repeat(40) + "!"], pattern: "^(a+)+$" },
    /too many steps/,
  ],
  "a name with a pattern that backtracks": [{ properties: { [`${"a".repeat(40)}!`]: {} }, patternProperties: { "^(a+)+$": {} } }, /too many steps/], // prettier-ignore
  "many options": [{ oneOf: list(3000, (i) => ({ type: "object", properties: { k: { const: i } }, required: ["k"] })) }, /is too large/], // prettier-ignore
  "references that double": [
    { ...refs(40, ($ref) => ({ anyOf: [{ $ref }, { $ref }] })), minLength: 1 },
    /is too large/,
  ],
  "allOf that doubles": [refs(40, ($ref) => ({ allOf: [{ $ref }, { $ref }] })), /is too large/],
  "properties that double": [
    {
      $ref: "#/$defs/n",
      $defs: {
        n: {
          type: "object",
          properties: {
            l: { allOf: [{ $ref: "#/$defs/n" }, { maxProperties: 9 }] },
            r: { allOf: [{ $ref: "#/$defs/n" }, { maxProperties: 9 }] },
          },
        },
      },
    },
    /is (too large|nested)/,
  ],
  "many enums together": [{ allOf: [{ enum: list(50_000, (i) => i) }, { anyOf: list(500, (i) => ({ minimum: i })) }] }, /is too large/], // prettier-ignore
  "a long prefix": [{ prefixItems: list(5000, () => ({})), items: { type: "null" } }],
  "a long name": [{ properties: { ["x".repeat(20_000)]: {} }, additionalProperties: true }],
  "deep data": [{ const: list(5000, () => "[").join("") + list(5000, () => "]").join("") }],
  "deep schemas": [list(3000, () => 0).reduce((items) => ({ items }), {}), /nested/],
  "a multiple of a large number": [{ type: "integer", multipleOf: 12_345_677 }, /must be smaller/],
  "a multiple of a small number": [{ type: "number", multipleOf: 1.7e-300 }, /must be smaller/],
};

const FORMATS = {
  "a regex of many repeats": [{ regex: "((((a?){1000}){1000}){1000}){1000}" }, /is too large/],
  "a regex that repeats nothing": [{ regex: "(?:(?:)|){1000000000}b" }, /is too large/],
  "a regex of many sets": [{ regex: list(2000, (i) => `[^${String.fromCodePoint(0x4e00 + i)}]`).join("") }],
  "a long regex": [{ regex: `^${"ab?".repeat(20_000)}$` }],
  "a regex of many edges": [{ regex: "(|$)".repeat(60) }, /too many alternatives/],
  "many choices": [{ choices: list(130_000, (i) => `${i}`) }],
  "a grammar of many rules": [{ grammar: list(30_000, (i) => `${i === 0 ? "root" : `r${i}`} ::= ${i === 29_999 ? '"a"' : `"a" r${i + 1}`}`).join("\n") }], // prettier-ignore
  "a grammar that repeats nothing": [{ grammar: 'root ::= (""{999999}){999999}' }],
  "a grammar of many repeats": [{ grammar: 'root ::= (("a"?){999999}){999999}' }, /is too large/],
};

const seconds = 15;

for (const [name, [format, message]] of [
  ...Object.entries(SCHEMAS).map(([name, [schema, message]]) => [`schema: ${name}`, [{ schema }, message]]),
  ...Object.entries(FORMATS),
])
  test(name, () => {
    const start = performance.now();
    if (message === undefined) use(format);
    else assert.throws(() => use(format), { code: "INVALID_ARGUMENT", message });
    const took = (performance.now() - start) / 1000;
    assert.ok(took < seconds, `${took} s`);
  });
