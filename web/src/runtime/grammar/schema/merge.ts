// Schemas that hold together: what all of them allow.
import * as advise from "../../../core/base/advice.js";
import { isDict, type Dict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { sizeOf, spend } from "../work.js";
import { typesOf } from "./types.js";

/** Strings that aren't allowed (negate.ts). */
type Excluded = { enum: string[] };
type Merge = (values: readonly unknown[]) => unknown;

const smallest: Merge = (values) => values.reduce((one, other) => Math.min(one as number, other as number));
const largest: Merge = (values) => values.reduce((one, other) => Math.max(one as number, other as number));
const union: Merge = (lists) => [...new Set((lists as unknown[][]).flat())];

const MERGED: Readonly<Record<string, Merge>> = {
  minimum: largest,
  exclusiveMinimum: largest,
  minLength: largest,
  minItems: largest,
  minProperties: largest,
  maximum: smallest,
  exclusiveMaximum: smallest,
  maxLength: smallest,
  maxItems: smallest,
  maxProperties: smallest,
  required: union,
  propertyNames: (schemas) => ({ allOf: schemas }),
  not: (all) => ({ enum: union((all as Excluded[]).map((one) => one.enum)) }),
};

/** Keywords that are merged together, because one gives the default of the other. */
const TOGETHER = new Set([
  "type",
  "enum",
  "const",
  "properties",
  "additionalProperties",
  "patternProperties",
  "items",
  "prefixItems",
  "pattern",
  "patterns",
]);

/**
 * A schema that allows what all allow; none if they share no type. The time grows with the size of all together.
 * @param given - without keywords that combine schemas
 * @throws INVALID_ARGUMENT: values of a keyword that can't be combined
 */
export function mergeSchemas(given: readonly Dict[], path: string): Dict[] {
  const schemas = given.filter((schema) => Object.keys(schema).length > 0);
  for (const schema of schemas) spend(sizeOf(schema), path);
  if (schemas.length <= 1) return [schemas[0] ?? {}];
  const merged: Record<string, unknown> = {};
  for (const [keyword, values] of valuesByKeyword(schemas)) {
    if (values.length === 1) merged[keyword] = values[0];
    else if (MERGED[keyword] !== undefined) merged[keyword] = MERGED[keyword](values);
    else
      fail(
        "INVALID_ARGUMENT",
        `${path}.${keyword}`,
        "has two values that can't be combined",
        advise.other("write one of them"),
      );
  }
  Object.assign(merged, mergedValues(schemas), mergedPatterns(schemas));
  Object.assign(merged, mergedProperties(schemas, path), mergedItems(schemas));
  const typed = schemas.filter(({ type }) => type !== undefined);
  if (typed.length > 0) {
    const lists = typed.map(({ type }) => new Set(typesOf(type, path)));
    const types = [...lists[0]!].filter((type) => lists.every((list) => list.has(type)));
    if (types.length === 0) return [];
    merged["type"] = types;
  }
  return [merged];
}

/** The different values of each keyword, but of those that are merged together. */
function valuesByKeyword(schemas: readonly Dict[]): Map<string, unknown[]> {
  const found = new Map<string, Map<string, unknown>>();
  for (const schema of schemas)
    for (const [keyword, value] of Object.entries(schema)) {
      if (TOGETHER.has(keyword) || value === undefined) continue;
      const values = found.get(keyword) ?? new Map<string, unknown>();
      found.set(keyword, values);
      values.set(JSON.stringify(value), value);
    }
  return new Map(Array.from(found, ([keyword, values]) => [keyword, [...values.values()]]));
}

/** The values of `enum` and `const` that all list. */
function mergedValues(schemas: readonly Dict[]): Dict {
  const lists = schemas.flatMap(({ enum: values, const: value }) => [
    ...(values === undefined ? [] : [values as unknown[]]),
    ...(value === undefined ? [] : [[value]]),
  ]);
  const [first, ...others] = lists;
  if (first === undefined) return {};
  if (others.length === 0) return { enum: first };
  const texts = others.map((list) => new Set(list.map((value) => JSON.stringify(value))));
  return {
    enum: first.filter((value) => {
      const text = JSON.stringify(value);
      return texts.every((list) => list.has(text));
    }),
  };
}

/** All patterns hold: the first as `pattern`, the others as `patterns`, which is no keyword of JSON Schema. */
function mergedPatterns(schemas: readonly Dict[]): Dict {
  const all = schemas.flatMap(({ pattern, patterns = [] }) => [
    ...(pattern === undefined ? [] : [pattern]),
    ...(patterns as unknown[]),
  ]);
  const [pattern, ...patterns] = new Set(all);
  return { ...(pattern !== undefined && { pattern }), ...(patterns.length > 0 && { patterns }) };
}

function mergedProperties(schemas: readonly Dict[], path: string): Dict {
  const merged: Record<string, unknown> = {};
  const patterns = schemas.map(({ patternProperties }) => patternProperties).filter((given) => given !== undefined);
  const named = schemas.some(({ properties, additionalProperties }) => properties ?? additionalProperties);
  if (patterns.length > 1 || (patterns.length === 1 && named))
    fail("INVALID_ARGUMENT", `${path}.patternProperties`, "can't be combined with another schema of the properties");
  if (patterns.length === 1) merged["patternProperties"] = patterns[0];
  // Of each name, what the schemas say about it. Those that don't name it say it with additionalProperties.
  const closed = schemas.flatMap(({ additionalProperties: rest }, i) => (rest === undefined ? [] : [{ rest, i }]));
  const properties = new Map<string, Map<number, unknown>>();
  schemas.forEach(({ properties: own }, i) => {
    for (const [name, property] of Object.entries(isDict(own) ? own : {})) {
      const all = properties.get(name) ?? new Map<number, unknown>();
      properties.set(name, all);
      all.set(i, property);
    }
  });
  if (properties.size > 0)
    merged["properties"] = Object.fromEntries(
      Array.from(properties, ([name, all]) => {
        spend(10 + 3 * closed.length, path);
        for (const { rest, i } of closed) if (!all.has(i)) all.set(i, rest);
        const inOrder = closed.length === 0 ? all : [...all].sort(([a], [b]) => a - b);
        return [name, allOf(Array.from(inOrder, ([, schema]) => schema))];
      }),
    );
  if (closed.length > 0) merged["additionalProperties"] = allOf(closed.map(({ rest }) => rest));
  return merged;
}

function mergedItems(schemas: readonly Dict[]): Dict {
  const merged: Record<string, unknown> = {};
  const prefixes = schemas.map(({ prefixItems }) => (Array.isArray(prefixItems) ? (prefixItems as unknown[]) : []));
  const length = prefixes.reduce((longest, prefix) => Math.max(longest, prefix.length), 0);
  if (length > 0) {
    spend(length * schemas.length);
    merged["prefixItems"] = Array.from({ length }, (_, i) =>
      allOf(schemas.map((schema, one) => prefixes[one]![i] ?? schema["items"] ?? true)),
    );
  }
  const rests = schemas.map(({ items }) => items).filter((given) => given !== undefined);
  if (rests.length > 0) merged["items"] = allOf(rests);
  return merged;
}

/** What all schemas allow, as a schema. */
function allOf(schemas: readonly unknown[]): unknown {
  const telling = schemas.filter((schema) => schema !== true);
  if (telling.includes(false)) return false;
  return telling.length === 0 ? true : telling.length === 1 ? telling[0] : { allOf: telling };
}
