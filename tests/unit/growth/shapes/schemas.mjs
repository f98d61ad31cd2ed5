// JSON schemas of any size: n of something, in each way that a schema can have n of it.

const list = (n, make) => Array.from({ length: n }, (_, i) => make(i));
const named = (n, make, name = (i) => `p${i}`) => Object.fromEntries(list(n, (i) => [name(i), make(i)]));
const defs = (n, make) => named(n, make, (i) => `d${i}`);
/** Schemas inside each other. */
const nested = (n, outer) => list(n, () => 0).reduce((inner, _, i) => outer(inner, i), { type: "null" });

/** Schemas of one value, the i-th of many. */
export const LEAVES = {
  true: () => true,
  null: () => ({ type: "null" }),
  integer: () => ({ type: "integer" }),
  number: () => ({ type: "number" }),
  string: () => ({ type: "string" }),
  types: () => ({ type: ["string", "integer", "null"] }),
  const: (i) => ({ const: `value ${i}` }),
  "const number": (i) => ({ const: i }),
  enum: (i) => ({ enum: [i, `v${i}`, null] }),
  range: (i) => ({ type: "integer", minimum: i, maximum: i + 1000 }),
  decimals: (i) => ({ type: "number", exclusiveMinimum: i, maximum: i + 0.5 }),
  multiple: (i) => ({ type: "integer", multipleOf: 2 + (i % 8) }),
  "min length": (i) => ({ type: "string", minLength: i % 50, maxLength: 60 }),
  pattern: (i) => ({ type: "string", pattern: `^[a-z]{3}${i}$` }),
  "pattern, not whole": (i) => ({ type: "string", pattern: `a${i}` }),
  "pattern, limited": (i) => ({ type: "string", pattern: `^[a-z]+${i}$`, maxLength: 12 }),
  date: () => ({ type: "string", format: "date" }),
  uri: () => ({ type: "string", format: "uri" }),
  email: () => ({ type: "string", format: "email" }),
  "email, limited": () => ({ type: "string", format: "email", maxLength: 30 }),
  "date beside a pattern": (i) => ({ type: "string", format: "date", pattern: `^${1000 + (i % 9000)}` }),
  annotated: (i) => ({ type: "string", title: `Title ${i}`, description: "What it is. ".repeat(4), default: [1, 2] }),
  array: () => ({ type: "array", items: { type: "string" }, minItems: 1, maxItems: 3 }),
  object: (i) => ({ type: "object", properties: { [`a${i}`]: { type: "integer" } }, required: [`a${i}`] }),
  tagged: (i) => ({ type: "object", properties: { kind: { const: i }, [`a${i}`]: {} }, required: ["kind"] }),
  open: (i) => ({ type: "object", properties: { [`a${i}`]: {} }, additionalProperties: true }),
  not: (i) => ({ type: "string", not: { enum: [`v${i}`] } }),
  if: () => ({ type: "object", if: { required: ["a"] }, then: { required: ["b"] }, properties: { a: {}, b: {} } }),
  any: (i) => ({ anyOf: [{ type: "integer" }, { const: `v${i}` }] }),
  both: (i) => ({ allOf: [{ type: "integer" }, { minimum: i }] }),
};

/** Schemas with n schemas in them. */
export const HOLDERS = {
  properties: (n, leaf) => ({ type: "object", properties: named(n, leaf) }),
  "required properties": (n, leaf) => ({ properties: named(n, leaf), required: list(n, (i) => `p${i}`) }),
  "properties, closed": (n, leaf) => ({ properties: named(n, leaf), additionalProperties: false }),
  "properties, open": (n, leaf) => ({ properties: named(n, leaf), additionalProperties: { type: "integer" } }),
  "properties, none of these": (n, leaf) => ({ not: { type: "object", properties: named(n, leaf) } }),
  anyOf: (n, leaf) => ({ anyOf: list(n, leaf) }),
  oneOf: (n, leaf) => ({ oneOf: list(n, leaf) }),
  allOf: (n, leaf) => ({ allOf: list(n, leaf) }),
  "anyOf, beside a type": (n, leaf) => ({ title: "t", type: ["object", "string", "integer"], anyOf: list(n, leaf) }),
  "not anyOf": (n, leaf) => ({ not: { anyOf: list(n, leaf) } }),
  prefixItems: (n, leaf) => ({ type: "array", prefixItems: list(n, leaf), items: false }),
  "prefixItems, all of them": (n, leaf) => ({ type: "array", prefixItems: list(n, leaf), minItems: n }),
  "items, a list": (n, leaf) => ({ type: "array", items: list(n, leaf) }),
  "$defs, used once": (n, leaf) => ({
    anyOf: list(n, (i) => ({ $ref: `#/$defs/d${i}` })),
    $defs: defs(n, leaf),
  }),
  "$defs, as properties": (n, leaf) => ({
    properties: named(n, (i) => ({ $ref: `#/$defs/d${i}` })),
    $defs: defs(n, leaf),
  }),
  "$defs, one of many": (n, leaf) => ({ $ref: "#/$defs/d0", $defs: defs(n, leaf) }),
  "$defs, used twice": (n, leaf) => ({
    properties: named(2 * n, (i) => ({ $ref: `#/$defs/d${i % n}` })),
    $defs: defs(n, leaf),
  }),
  "a chain of $ref": (n, leaf) => ({
    $ref: "#/$defs/d0",
    $defs: defs(n, (i) => ({ properties: { own: leaf(i), next: { $ref: `#/$defs/d${(i + 1) % n}` } } })),
  }),
  "$anchor and $id": (n, leaf) => ({
    anyOf: list(n, (i) => ({ $ref: i % 2 === 0 ? `#a${i}` : `https://example.com/s${i}` })),
    $defs: defs(n, (i) => ({
      ...(i % 2 === 0 ? { $anchor: `a${i}` } : { $id: `https://example.com/s${i}` }),
      anyOf: [leaf(i)],
    })),
  }),
  dependentSchemas: (n, leaf) => ({ properties: named(n, () => true), dependentSchemas: named(n, leaf) }),
  "if, then and else": (n, leaf) => ({ if: { anyOf: list(n, leaf) }, then: { anyOf: list(n, leaf) } }),
  "if inside else": (n, leaf) => nested(n, (inner, i) => ({ if: leaf(i), then: leaf(i), else: inner })),
  contains: (n, leaf) => ({ type: "array", contains: { anyOf: list(n, leaf) } }),
  "annotations only": (n, leaf) => ({ type: "string", default: list(n, leaf), examples: list(n, leaf) }),
  "unused $defs": (n, leaf) => ({ type: "string", $defs: defs(n, leaf) }),
  "objects inside each other": (n, leaf) => nested(n, (next, i) => ({ properties: { own: leaf(i), next } })),
  "arrays inside each other": (n) => nested(n, (items) => ({ type: "array", items })),
  "anyOf inside each other": (n, leaf) => nested(n, (inner, i) => ({ anyOf: [inner, leaf(i)] })),
  "allOf inside each other": (n, leaf) => nested(n, (inner, i) => ({ allOf: [inner, leaf(i)] })),
  "objects of objects": (n, leaf) => {
    const side = Math.ceil(Math.sqrt(n));
    return { properties: named(side, (i) => ({ properties: named(side, (j) => leaf(i * side + j)) })) };
  },
};

/** Schemas with n values, names or characters in them. */
export const VALUES = {
  "enum of texts": (n) => ({ enum: list(n, (i) => `value ${i}`) }),
  "enum of numbers": (n) => ({ enum: list(n, (i) => i * 1.5) }),
  "enum of objects": (n) => ({ enum: list(n, (i) => ({ a: [i] })) }),
  "enum, one value": (n) => ({ enum: list(n, () => "same") }),
  "enum beside a type": (n) => ({ type: "string", enum: list(n, (i) => `value ${i}`) }),
  "enum beside a pattern": (n) => ({ enum: list(n, (i) => `value ${i}`), pattern: "^value \\d+$" }),
  "enum beside a format": (n) => ({ enum: list(n, (i) => `${i}@example.com`), format: "email" }),
  "enum beside limits": (n) => ({ enum: list(n, (i) => i), minimum: 5, multipleOf: 2 }),
  "enum and const": (n) => ({ enum: list(n, (i) => i), const: 7 }),
  "enum, all of two": (n) => ({ allOf: [{ enum: list(n, (i) => i) }, { enum: list(n, (i) => i + 5) }] }),
  "enum, any of many": (n) => ({ anyOf: list(n, (i) => ({ enum: [i, `${i}`] })), title: "t", type: "string" }),
  "enum, one of two": (n) => ({ oneOf: [{ enum: list(n, (i) => i) }, { enum: list(n, (i) => -1 - i) }] }),
  "enum in each property": (n) => {
    const side = Math.ceil(Math.sqrt(n));
    return { properties: named(side, () => ({ enum: list(side, (i) => `value ${i}`) })) };
  },
  "not an enum of texts": (n) => ({ type: "string", not: { enum: list(n, (i) => `value ${i}`) } }),
  "not an enum of texts, limited": (n) => ({ type: "string", maxLength: 9, not: { enum: list(n, (i) => `v${i}`) } }),
  "not an enum of numbers": (n) => ({ type: "number", not: { enum: list(n, (i) => i) } }),
  "not an enum of both": (n) => ({ not: { enum: list(n, (i) => (i % 2 === 0 ? i : `v${i}`)) } }),
  "not an enum, beside one": (n) => ({
    enum: list(n, (i) => `value ${i}`),
    not: { enum: list(n, (i) => `value ${2 * i}`) },
  }),
  "not, of several enums": (n) => ({ allOf: list(n, (i) => ({ type: "string", not: { enum: [`v${i}`] } })) }),
  "not const, in allOf": (n) => ({ type: "string", allOf: list(n, (i) => ({ not: { const: `v${i}` } })) }),
  "not required": (n) => ({ type: "object", not: { required: list(n, (i) => `p${i}`) } }),
  "unique elements": (n) => ({ type: "array", items: { enum: list(n, (i) => i) }, uniqueItems: true }),
  "unique elements, counted": (n) => ({
    type: "array",
    items: { enum: list(n, (i) => i) },
    uniqueItems: true,
    maxItems: 3,
  }),
  "required, not named": (n) => ({ type: "object", required: list(n, (i) => `p${i}`) }),
  "required, one name": (n) => ({ type: "object", required: list(n, () => "p") }),
  "required, all of many": (n) => ({ type: "object", allOf: list(n, (i) => ({ required: [`p${i}`] })) }),
  "properties, all of many": (n) => ({ allOf: list(n, (i) => ({ properties: { [`p${i}`]: { type: "null" } } })) }),
  "properties, all of two": (n) => ({
    allOf: [{ properties: named(n, () => ({ type: "null" })) }, { required: list(n, (i) => `p${i}`) }],
  }),
  "properties, any of two": (n) => ({
    properties: named(n, () => ({ type: "null" })),
    anyOf: [{ required: ["p1"] }, { required: ["p2"] }],
  }),
  "properties, one of two": (n) => ({
    oneOf: [
      { properties: named(n, () => ({ type: "null" })), required: ["p1"] },
      { properties: named(n, () => ({ type: "integer" })), required: ["p1"] },
    ],
  }),
  "properties, counted": (n) => ({ properties: named(n, () => ({ type: "null" })), minProperties: 2 }),
  propertyNames: (n) => ({ type: "object", propertyNames: { enum: list(n, (i) => `p${i}`) } }),
  "propertyNames beside properties": (n) => ({
    properties: named(n, () => ({ type: "null" })),
    propertyNames: { enum: list(n, (i) => `p${i}`) },
  }),
  patternProperties: (n) => ({
    properties: named(n, () => ({ type: "null" })),
    patternProperties: { "^x\\d+$": { type: "integer" } },
  }),
  dependentRequired: (n) => ({ properties: named(n, () => true), dependentRequired: { p0: list(n, (i) => `p${i}`) } }),
  "dependentRequired, of many": (n) => ({
    properties: named(n, () => true),
    dependentRequired: named(n, (i) => [`p${(i + 1) % n}`]),
  }),
  "long names": (n) => ({ properties: { ["x".repeat(n)]: { type: "null" } } }),
  "a long name beside others": (n) => ({ properties: { ["x".repeat(n)]: {} }, additionalProperties: true }),
  "a long const": (n) => ({ const: "x".repeat(n) }),
  "not a long const": (n) => ({ type: "string", not: { const: "x".repeat(n) } }),
  "a large const": (n) => ({ const: list(n, (i) => ({ a: i })) }),
  "a deep const": (n) => ({ const: list(Math.min(n, 2000), () => 0).reduce((inside) => [inside], 0) }),
  "a long title": (n) => ({ type: "string", title: "x".repeat(n) }),
  "a long format": (n) => ({ type: "string", format: "x".repeat(n) }),
  "a long pattern": (n) => ({ type: "string", pattern: `^${"a".repeat(n)}$` }),
  "a long type": (n) => ({ type: list(n, () => "string") }),
  "unknown keywords": (n) => ({ type: "string", ...named(n, () => 1, (i) => `x-${i}`) }), // prettier-ignore
  "an unknown keyword": (n) => ({ ["x".repeat(n)]: 1 }),
  "a long $ref": (n) => ({ $ref: `#/${"$defs/".repeat(n)}` }),
  "a long $ref that leads somewhere": (n) => {
    const depth = Math.min(n, 3000);
    return { $ref: `#${"/$defs/a".repeat(depth)}`, ...list(depth, () => 0).reduce((a) => ({ $defs: { a } }), {}) };
  },
  $dynamicAnchor: (n) => ({
    anyOf: [{ $dynamicRef: "#a" }],
    $defs: defs(n, () => ({ $dynamicAnchor: "a", type: "null" })),
  }),
  minLength: (n) => ({ type: "string", minLength: n }),
  maxLength: (n) => ({ type: "string", maxLength: n }),
  maxItems: (n) => ({ type: "array", items: { type: "integer" }, maxItems: n }),
  minContains: (n) => ({ type: "array", contains: { const: 1 }, minContains: n }),
  "a pattern and a length": (n) => ({ type: "string", pattern: "^[a-z]+$", maxLength: n }),
  "patterns, all of many": (n) => ({ type: "string", allOf: list(n, (i) => ({ pattern: `a${i}` })) }),
  "limits, all of many": (n) => ({ type: "integer", allOf: list(n, (i) => ({ minimum: i })) }),
  "a large limit": (n) => ({ type: "integer", maximum: 10 ** Math.min(n, 300) }),
};
