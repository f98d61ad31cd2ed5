// JSON schemas with conditions, negations and references: their texts match by Ajv.
import assert from "node:assert/strict";
import { test } from "node:test";
import { randomFrom, textsOf } from "./random_text.mjs";
import { checkSchema, grammarOf, validatorOf } from "./schema_checks.mjs";

/** Schemas with values that their grammars must have, and must not. */
const OWN = {
  "if and then": [
    {
      properties: { kind: { enum: ["round", "square"] }, radius: { type: "integer" }, side: { type: "integer" } },
      required: ["kind"],
      if: { properties: { kind: { const: "round" } } },
      then: { required: ["radius"] },
      else: { required: ["side"] },
    },
    [
      { kind: "round", radius: 3 },
      { kind: "square", radius: 3, side: 4 },
      { kind: "square", side: 4 },
    ],
    [{ kind: "round" }, { kind: "square" }, { kind: "square", radius: 3 }, { kind: "round", side: 3 }],
  ],
  "not a type, a value or a limit": [
    {
      properties: {
        a: { not: { type: "string" } },
        b: { type: "string", not: { enum: ["x", "yz"] } },
        c: { type: "integer", not: { minimum: 5 } },
      },
    },
    [{ a: 1 }, { a: null, b: "xy" }, { b: "y" }, { b: "" }, { c: 4 }, { c: -100 }],
    [{ a: "s" }, { b: "x" }, { b: "yz" }, { c: 5 }],
  ],
  "an enum without a value": [{ enum: ["a", "b", 3], not: { const: "b" } }, ["a"], ["b", "c"]],
  "names that need others": [
    {
      properties: { card: { type: "integer" }, address: { type: "string" } },
      dependentRequired: { card: ["address"] },
    },
    [{}, { address: "x" }, { card: 1, address: "x" }],
    [{ card: 1 }],
  ],
  "names that need a schema": [
    { properties: { a: {}, b: {} }, dependencies: { a: { properties: { b: { type: "null" } } }, b: ["a"] } },
    [{}, { a: 1 }, { a: 1, b: null }],
    [{ b: null }, { a: 1, b: 2 }],
  ],
  "an element that matches": [
    { type: "array", items: { type: "integer" }, contains: { minimum: 5 }, maxItems: 4 },
    [[5], [9, 1, 2], [7, 8]],
    [[], [1, 2], ["x", 9]],
  ],
  "so many elements that match": [
    { type: "array", items: { enum: [1, 2, "a"] }, contains: { const: "a" }, minContains: 2, maxContains: 2 },
    [["a", "a"]],
    [["a"], ["a", "a", "a"], ["a", 1]],
  ],
  "each listed element once": [
    { type: "array", items: { enum: ["red", "green", "blue"] }, uniqueItems: true, minItems: 1, maxItems: 2 },
    [["red"], ["red", "blue"], ["green"], ["green", "blue"]],
    [[], ["red", "red"], ["red", "green", "blue"]],
  ],
  "names by a schema": [
    { propertyNames: { pattern: "^[a-z]{1,3}$" }, additionalProperties: { type: "integer" } },
    [{}, { a: 1, abc: 2 }],
    [{ A: 1 }, { abcd: 1 }, { a: "x" }],
  ],
  anchors: [{ items: { $ref: "#item" }, $defs: { one: { $anchor: "item", type: "integer" } } }, [[1, 2]], [["a"]]],
  "parts with an address": [
    {
      $id: "https://example.org/order",
      properties: { to: { $ref: "address" }, from: { $ref: "/address#/$defs/street" } },
      $defs: {
        any: {
          $id: "address",
          properties: { street: { $ref: "#/$defs/street" } },
          $defs: { street: { type: "string" } },
        },
      },
    },
    [{ to: { street: "a" }, from: "b" }],
    [{ to: { street: 1 } }, { from: 3 }],
  ],
  "a dynamic anchor that is the only one": [
    { $dynamicAnchor: "node", type: "object", properties: { next: { $dynamicRef: "#node" } } },
    [{}, { next: { next: {} } }],
    [{ next: 1 }, 3],
  ],
};

for (const [name, [schema, good, bad]] of Object.entries(OWN))
  test(`schemas: ${name}`, () => checkSchema(schema, good, bad));

test("random schemas of conditions: every text matches by Ajv", () => {
  const random = randomFrom(11);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const names = ["a", "b", "c"];
  const simple = () =>
    pick([
      () => ({ type: pick(["integer", "string", "boolean", "array", "object", "null", ["string", "null"]]) }),
      () => ({ const: pick([1, "x", true, null]) }),
      () => ({ enum: pick([[1, 2], ["x", "y"], ["x", 2, null], [true]]) }),
      () => ({ [pick(["minimum", "maximum", "exclusiveMinimum"])]: pick([-1, 0, 3]) }),
      () => ({ [pick(["minLength", "maxLength"])]: pick([0, 1, 2]) }),
      () => ({ [pick(["minItems", "maxItems"])]: pick([0, 1, 2]) }),
      () => ({ required: [pick(names)] }),
    ])();
  const made = (depth) => {
    if (depth === 0) return simple();
    const inner = () => made(depth - 1);
    return pick([
      simple,
      () => ({ properties: { [pick(names)]: inner(), [pick(names)]: inner() }, ...simple() }),
      () => ({
        type: "object",
        properties: Object.fromEntries(names.map((name) => [name, inner()])),
        if: inner(),
        then: inner(),
        else: inner(),
      }),
      () => ({ ...simple(), not: inner() }),
      () => ({ not: { anyOf: [inner(), simple()] } }),
      () => ({ not: { not: inner() } }),
      () => ({
        properties: { a: inner() },
        [pick(["dependentRequired", "dependencies"])]: { [pick(names)]: [pick(names)] },
      }),
      () => ({ properties: { a: inner(), b: inner() }, dependentSchemas: { [pick(names)]: inner() } }),
      () => ({
        type: "array",
        items: inner(),
        contains: simple(),
        ...pick([{}, { minContains: 2 }, { maxContains: 1 }, { minContains: 0, maxContains: 1 }]),
        maxItems: 3,
      }),
      () => ({ type: "array", prefixItems: [inner(), simple()], contains: simple() }),
      () => ({ type: "array", items: { enum: ["x", "y", 2, "x"] }, uniqueItems: true, ...simple() }),
      () => ({ allOf: [inner(), inner()] }),
    ])();
  };
  let written = 0;
  for (let i = 0; i < 1500; i++) {
    const schema = made(2);
    const grammar = grammarOf(schema);
    if (grammar === undefined) continue;
    written += 1;
    const validate = validatorOf(schema, "draft2020-12");
    const draw = textsOf(grammar, randomFrom(i));
    for (let j = 0; j < 6; j++) {
      const text = draw();
      assert.ok(validate(JSON.parse(text)), `${text} doesn't match ${JSON.stringify(schema)}`);
    }
  }
  assert.ok(written > 900, `${written} schemas`);
});
