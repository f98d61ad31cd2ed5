// Grammars of JSON schemas. Their texts are checked with Ajv, and the values of the JSON Schema Test Suite with their grammars
// (tests/golden/generate/grammars/make_schemas.py).
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { Automaton } from "../../../build/package/runtime/grammar/automaton.js";
import { networkOf } from "../../../build/package/runtime/grammar/network.js";
import { schemaGrammar } from "../../../build/package/runtime/grammar/schema/convert.js";
import { randomFrom, textsOf } from "./random_text.mjs";
import { accepts, checkSchema, grammarOf, validatorOf } from "./schema_checks.mjs";

const groups = JSON.parse(await readFile(new URL("../../golden/json_schemas.json", import.meta.url), "utf8"));

test("the test suite: no value that doesn't match is a text of the grammar, and all texts match", () => {
  const count = { schemas: 0, drafts: 0, values: 0, checked: 0 };
  for (const { name, drafts, schema, values } of groups) {
    const grammar = grammarOf(schema);
    if (grammar === undefined) continue;
    count.schemas += 1;
    count.drafts += drafts.length;
    const automaton = new Automaton(networkOf(grammar, "schema"));
    for (const [value, isValid] of values) {
      const isText = accepts(automaton, JSON.stringify(value));
      assert.ok(isValid || !isText, `${name}: ${JSON.stringify(value)} doesn't match`);
      if (isText) count.values += 1;
    }
    let validate;
    try {
      validate = validatorOf(schema, drafts[0]);
    } catch {
      continue; // Ajv can't read it: some $id and $dynamicRef
    }
    if (values.some(([value, isValid]) => validate(value) !== isValid)) continue; // Ajv fails the suite here
    count.checked += 1;
    const draw = textsOf(grammar, randomFrom(7));
    for (let i = 0; i < 20; i++) {
      const text = draw();
      assert.ok(accepts(automaton, text), `${name}: ${text}`);
      assert.ok(validate(JSON.parse(text)), `${name}: ${text} doesn't match ${JSON.stringify(schema)}`);
    }
  }
  // So many schemas and values are written; the others are refused, or are of a type that nobody means (docs/apps/structured_output.md).
  const counted = JSON.stringify(count);
  assert.ok(count.schemas >= 405 && count.drafts >= 1100 && count.checked >= 370 && count.values >= 570, counted);
});

/** Schemas as apps have them, with values that their grammars must have, and must not. */
const OWN = {
  "limits of integers": [
    { type: "integer", minimum: -15, maximum: 120 },
    [-15, -9, 0, 7, 99, 120],
    [-16, 121, 129, 1.5, "1"],
  ],
  "open limits": [{ type: "integer", exclusiveMinimum: 9, exclusiveMaximum: 100 }, [10, 99], [9, 100]],
  "a large minimum": [{ type: "integer", minimum: 1e12 }, [1e12, 987654321012345], [999999999999]],
  decimals: [{ type: "number", minimum: -0.25, maximum: 3.5 }, [-0.25, -0.1, 0, 3.5, 3.499999, 1.05], [-0.26, 3.51, 4]],
  "decimals without their limits": [
    { exclusiveMinimum: 0, exclusiveMaximum: 1 },
    [0.5, 0.000001, 0.999999],
    [0, 1, 1.5],
  ],
  cents: [{ type: "number", multipleOf: 0.01, minimum: 0 }, [0, 12.5, 99.99], [0.001, -1]],
  "multiples of 7": [{ type: "integer", multipleOf: 7 }, [0, 7, -21, 123456789 * 7], [1, 13, 70000001]],
  "multiples within limits": [
    { type: "integer", multipleOf: 25, minimum: -30, maximum: 100 },
    [-25, 0, 75, 100],
    [10, 125],
  ],
  lengths: [
    { type: "string", minLength: 2, maxLength: 4 },
    ["ab", "日本語", "😀😀😀😀", '"\\', "\n\t\u0001"],
    ["a", "abcde", ""],
  ],
  patterns: [{ pattern: '^(a|é)+[^\\s"]$' }, ["aéx", "a\\", "a😀"], ["a", 'a"', "b"]],
  "a pattern inside": [{ pattern: "\\d{2}" }, ["x12y", "99"], ["1", "x1y2"]],
  formats: [
    { format: "date-time" },
    ["2024-02-28T23:59:59Z", "1999-12-31T00:00:00.5+02:00"],
    ["2024-02-30T00:00:00Z", "now"],
  ],
  "other formats": [{ format: "uuid" }, ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567"]],
  objects: [
    { type: "object", properties: { a: { type: "integer" }, b: {} }, required: ["b"] },
    [{ b: null }, { a: 1, b: [{}] }],
    [{}, { a: 1 }, { a: "x", b: 1 }, { b: 1, c: 1 }],
  ],
  "open objects": [
    { properties: { a: { type: "integer" } }, additionalProperties: { type: "string" } },
    [{ a: 1, b: "x", "": "y", aa: "z" }],
    [{ a: 1, b: 2 }, { a: "x" }],
  ],
  records: [
    { type: "object", additionalProperties: { type: "boolean" } },
    [{}, { any: true, other: false }],
    [{ a: 1 }],
  ],
  "names by pattern": [
    { patternProperties: { "^x-": { type: "integer" } } },
    [{ "x-a": 1 }],
    [{ a: 1 }, { "x-a": "b" }],
  ],
  "names of a list": [
    { type: "object", propertyNames: { enum: ["a", "b"] }, additionalProperties: { type: "integer" } },
    [{ a: 1 }, { a: 1, b: 2 }],
    [{ c: 1 }, { a: "x" }],
  ],
  "names of a list with lengths": [
    { type: "object", propertyNames: { enum: ["a", "bb"], maxLength: 1 } },
    [{ a: 1 }, {}],
    [{ bb: 1 }],
  ],
  "one name": [{ type: "object", propertyNames: { const: "a" } }, [{ a: 1 }, {}], [{ b: 1 }]],
  "names that aren't listed": [
    { type: "object", propertyNames: { enum: ["a"] }, properties: { b: {}, a: { type: "integer" } } },
    [{ a: 1 }, {}],
    [{ b: 1 }, { a: "x" }],
  ],
  "values with a format": [{ enum: ["abc", "2026-01-01"], format: "date" }, ["2026-01-01"], ["abc"]],
  "annotations of OpenAPI and pydantic": [
    {
      discriminator: { mapping: { a: "#/$defs/A" }, propertyName: "kind" },
      oneOf: [{ $ref: "#/$defs/A" }],
      $defs: {
        A: {
          type: "object",
          xml: { name: "A" },
          externalDocs: { url: "https://example.com" },
          properties: { kind: { const: "a", title: "Kind" } },
          required: ["kind"],
          "x-own": 1,
        },
      },
    },
    [{ kind: "a" }],
    [{ kind: "b" }, {}],
  ],
  "numbers of properties": [
    { properties: { a: {}, b: {}, c: {} }, minProperties: 1, maxProperties: 2, additionalProperties: false },
    [{ a: 1 }, { a: 1, c: 1 }, { b: 1 }],
    [{}, { a: 1, b: 1, c: 1 }],
  ],
  tuples: [
    { prefixItems: [{ type: "string" }, { type: "integer" }], items: false, minItems: 1 },
    [["a"], ["a", 1]],
    [[], ["a", 1, 2], [1]],
  ],
  lists: [
    { items: { enum: ["a", 2, null] }, minItems: 2, maxItems: 3 },
    [
      ["a", 2],
      [null, null, "a"],
    ],
    [["a"], ["a", "a", "a", "a"], ["b", "a"]],
  ],
  recursion: [
    {
      $ref: "#/$defs/tree",
      $defs: {
        tree: {
          type: "object",
          properties: { value: { type: "integer" }, next: { items: { $ref: "#/$defs/tree" } } },
          required: ["value"],
        },
      },
    },
    [{ value: 1, next: [{ value: 2, next: [{ value: 3 }] }] }],
    [{ value: 1, next: [{}] }],
  ],
  "several parts": [
    {
      allOf: [
        { type: "object", properties: { a: { type: "number", minimum: 0 } } },
        { properties: { a: { maximum: 5 }, b: {} }, required: ["a"] },
      ],
    },
    [{ a: 5 }, { a: 0, b: 1 }],
    [{ a: 6 }, { b: 1 }],
  ],
  "options by a property": [
    {
      oneOf: [
        {
          type: "object",
          properties: { kind: { const: "circle" }, radius: { type: "number" } },
          required: ["kind", "radius"],
        },
        {
          type: "object",
          properties: { kind: { const: "square" }, side: { type: "number" } },
          required: ["kind", "side"],
        },
      ],
    },
    [
      { kind: "circle", radius: 1 },
      { kind: "square", side: 2 },
    ],
    [{ kind: "circle", side: 2 }, { kind: "other" }],
  ],
  "nullable types": [{ type: ["integer", "null"] }, [1, null], ["x", 1.5]],
  "values with limits": [{ enum: [1, 5, 10, "x"], type: "integer", maximum: 5 }, [1, 5], [10, "x"]],
  "names of objects": [
    { properties: { constructor: { type: "integer" }, toString: { type: "integer" } } },
    [{ constructor: 1 }],
    [{ constructor: "x" }],
  ],
};

for (const [name, [schema, good, bad]] of Object.entries(OWN))
  test(`schemas: ${name}`, () => checkSchema(schema, good, bad));

test("numbers between random limits", () => {
  const random = randomFrom(11);
  const limit = () => Number(((random() - 0.5) * 10 ** Math.floor(random() * 8)).toFixed(Math.floor(random() * 5)));
  for (let i = 0; i < 300; i++) {
    const [minimum, maximum] = [limit(), limit()].sort((a, b) => a - b);
    const schema = { type: random() < 0.5 ? "number" : "integer", minimum, maximum };
    const grammar = grammarOf(schema);
    if (grammar === undefined) {
      assert.ok(schema.type === "integer" && Math.ceil(minimum) > maximum, JSON.stringify(schema));
      continue;
    }
    const automaton = new Automaton(networkOf(grammar, "schema"));
    const draw = textsOf(grammar, random);
    for (let j = 0; j < 30; j++) {
      const value = Number(draw());
      assert.ok(value >= minimum && value <= maximum, `${value} in ${JSON.stringify(schema)}`);
    }
    for (let j = 0; j < 30; j++) {
      const value = Number((minimum + random() * (maximum - minimum)).toFixed(schema.type === "integer" ? 0 : 3));
      const isInside = value >= minimum && value <= maximum && !Object.is(value, -0);
      const text = `${value}`;
      if (!/e/.test(text))
        assert.equal(
          accepts(automaton, text),
          isInside || (value === 0 && minimum <= 0 && maximum >= 0),
          `${text} in ${JSON.stringify(schema)}`,
        );
    }
  }
});

/** Schemas that are refused, with the field and a part of the message. */
const REFUSED = [
  [{ type: "string", not: { pattern: "a" } }, "schema.not", /can't be followed for pattern; write what is allowed/],
  [{ not: { if: {}, then: {} } }, "schema.not.if", /can't be used inside of not/],
  [{ properties: { a: { not: { contains: {} } } } }, "schema.properties.a.not.contains", /can't be used inside of not/],
  [
    { if: { required: ["a"] }, then: {}, else: false, unevaluatedProperties: false },
    "schema.if",
    /unevaluatedProperties/,
  ],
  [{ dependentRequired: 3 }, "schema.dependentRequired", /must be an object/],
  [{ contains: {}, minContains: -1 }, "schema.minContains", /integer from 0/],
  [{ contains: {}, minContains: 2, maxContains: 1 }, "schema", /no value/],
  [{ $ref: "#nowhere" }, "schema.$ref", /leads to nothing/],
  [
    { $dynamicRef: "#a", $defs: { b: { $dynamicAnchor: "a" }, c: { $dynamicAnchor: "a" } } },
    "schema.$dynamicRef",
    /use \$ref/,
  ],
  [{ minLenght: 3 }, "schema.minLenght", /isn't supported/],
  [{ type: "text" }, "schema.type", /must be one or more of object/],
  [{ type: "array", uniqueItems: true }, "schema.uniqueItems", /check the result/],
  [{ pattern: "(?=a)" }, "schema.pattern", /lookahead/],
  [{ pattern: "(" }, "schema.pattern", /can't be generated/],
  [{ pattern: "^a", format: "date" }, "schema.pattern", /leaves no text of the common form .* "date"/],
  [{ pattern: "^[a-z]$", maxLength: "3" }, "schema.maxLength", /integer from 0/],
  [{ format: "color" }, "schema.format", /must be one of date, .*, or stand beside a pattern/],
  [{ format: 5 }, "schema.format", /must be a text/],
  [{ type: "string", pattern: "a(?=b)" }, "schema.pattern", /a lookahead after its start/],
  [{ type: "string", pattern: "^(?<=a)b" }, "schema.pattern", /a lookbehind/],
  [{ $ref: "#/$defs/none" }, "schema.$ref", /leads to nothing/],
  [{ $ref: "other.json" }, "schema.$ref", /path in the same schema/],
  [{ oneOf: [{ type: "integer" }, { type: "number" }] }, "schema.oneOf", /could match both/],
  [{ $ref: "#" }, "schema", /no value of finite length/],
  [{ type: "integer", minimum: 5, maximum: 4 }, "schema", /allows no value$/],
  [{ type: "integer", multipleOf: 70001, minimum: 3 }, "schema.multipleOf", /must be smaller, or have both limits/],
  [{ multipleOf: 0 }, "schema.multipleOf", /must be a number above 0/],
  [{ type: "array", items: { type: "integer" }, uniqueItems: true }, "schema.uniqueItems", /check the result/],
  [{ uniqueItems: "yes" }, "schema.uniqueItems", /true or false/],
  [
    { type: "integer", not: { const: 4 }, minimum: 4, maximum: 4 },
    "schema",
    /no value that can be generated beside not/,
  ],
  [{ type: "object", not: { const: {} } }, "schema", /no value that can be generated beside not/],
  [{ type: "number", not: { multipleOf: 2 } }, "schema.not", /can't be followed for multipleOf/],
  [{ const: "abc", maxLength: 2 }, "schema", /allows no value$/],
  [{ not: { required: "a" } }, "schema.not.required", /must be a list of names/],
  [{ not: { prefixItems: 3 } }, "schema.not.prefixItems", /must be a list of schemas/],
  [{ not: { maxLength: "3" } }, "schema.not.maxLength", /integer from 0/],
  [{ not: { enum: 3 } }, "schema.not.enum", /must be a list of values/],
  [{ enum: 3 }, "schema.enum", /must be a list of values/],
  [{ allOf: 3 }, "schema.allOf", /must be a list of schemas/],
  [{ properties: [] }, "schema.properties", /must be an object/],
  [{ required: [3] }, "schema.required", /must be a list of names/],
  [{ minimum: "3" }, "schema.minimum", /must be a number/],
  [{ enum: ["a"], pattern: "(" }, "schema.pattern", /can't be generated/],
  [{ pattern: 3 }, "schema.pattern", /must be a text/],
  [{ patternProperties: { "(": {} } }, "schema.patternProperties", /can't be generated/],
  [{ patterns: ["a"] }, "schema.patterns", /isn't supported/],
  [{ nullable: true, type: "string" }, "schema.nullable", /use "type"/],
  [{ type: "object", propertyNames: { enum: ["a"] }, required: ["b"] }, "schema", /allows no value$/],
  [
    { propertyNames: { enum: ["a"] }, patternProperties: { a: {} } },
    "schema.propertyNames",
    /beside patternProperties/,
  ],
  [{ propertyNames: { enum: ["a"], not: { const: "a" } } }, "schema.propertyNames.not", /beside enum/],
  [{ ui: "x" }, "schema.ui", /begin its name with x-/],
  [{ minLength: -1 }, "schema.minLength", /integer from 0/],
  [{ enum: [{ a: 1 }], required: ["b"] }, "schema.required", /enum or const of objects/],
  ["text", "schema", /must be a JSON schema/],
  [false, "schema", /allows no value$/],
  [{ allOf: [{ format: "date" }, { format: "time" }] }, "schema.format", /two values/],
];

for (const [schema, field, message] of REFUSED)
  test(`refused: ${JSON.stringify(schema)}`, () => {
    assert.throws(() => schemaGrammar(schema, "schema"), { code: "INVALID_ARGUMENT", field, message });
  });
