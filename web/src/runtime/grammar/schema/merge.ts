// Two schemas at once: what both allow.
import * as advise from "../../../core/base/advice.js";
import { isDict, type Dict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { typesOf } from "./types.js";

/** Strings that aren't allowed (negate.ts). */
type Excluded = { enum: string[] };
type Merge = (one: unknown, other: unknown) => unknown;

const smaller: Merge = (one, other) => Math.min(one as number, other as number);
const larger: Merge = (one, other) => Math.max(one as number, other as number);
const both: Merge = (one, other) => ({ allOf: [one, other] });
const union: Merge = (one, other) => [...new Set([...(one as unknown[]), ...(other as unknown[])])];

const MERGED: Readonly<Record<string, Merge>> = {
  minimum: larger,
  exclusiveMinimum: larger,
  minLength: larger,
  minItems: larger,
  minProperties: larger,
  maximum: smaller,
  exclusiveMaximum: smaller,
  maxLength: smaller,
  maxItems: smaller,
  maxProperties: smaller,
  required: union,
  propertyNames: both,
  not: (one, other) => ({ enum: union((one as Excluded).enum, (other as Excluded).enum) }),
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
 * A schema that allows what both allow; none if they share no type.
 * @param one - without keywords that combine schemas
 * @throws INVALID_ARGUMENT: two values of a keyword that can't be combined
 */
export function mergeSchemas(one: Dict, other: Dict, path: string): Dict[] {
  if (Object.keys(one).length === 0) return [other];
  if (Object.keys(other).length === 0) return [one];
  const merged: Record<string, unknown> = {};
  for (const keyword of new Set([...Object.keys(one), ...Object.keys(other)])) {
    if (TOGETHER.has(keyword)) continue;
    const [a, b] = [one[keyword], other[keyword]];
    if (a === undefined || b === undefined || JSON.stringify(a) === JSON.stringify(b)) merged[keyword] = a ?? b;
    else if (MERGED[keyword] !== undefined) merged[keyword] = MERGED[keyword](a, b);
    else
      fail(
        "INVALID_ARGUMENT",
        `${path}.${keyword}`,
        "has two values that can't be combined",
        advise.other("write one of them"),
      );
  }
  Object.assign(merged, mergedValues(one, other), mergedPatterns(one, other));
  Object.assign(merged, mergedProperties(one, other, path), mergedItems(one, other));
  if (one["type"] !== undefined || other["type"] !== undefined) {
    const types = typesOf(one["type"], path).filter((type) => typesOf(other["type"], path).includes(type));
    if (types.length === 0) return [];
    merged["type"] = types;
  }
  return [merged];
}

/** The values of `enum` and `const` that both list. */
function mergedValues(one: Dict, other: Dict): Dict {
  const lists = [one, other].flatMap(({ enum: values, const: value }) => [
    ...(values === undefined ? [] : [values as unknown[]]),
    ...(value === undefined ? [] : [[value]]),
  ]);
  if (lists.length === 0) return {};
  const texts = lists.map((list) => new Set(list.map((value) => JSON.stringify(value))));
  return { enum: lists[0]!.filter((value) => texts.every((list) => list.has(JSON.stringify(value)))) };
}

/** All patterns hold: the first as `pattern`, the others as `patterns`, which is no keyword of JSON Schema. */
function mergedPatterns(one: Dict, other: Dict): Dict {
  const all = [one, other].flatMap(({ pattern, patterns = [] }) => [
    ...(pattern === undefined ? [] : [pattern]),
    ...(patterns as unknown[]),
  ]);
  const [pattern, ...patterns] = new Set(all);
  return { ...(pattern !== undefined && { pattern }), ...(patterns.length > 0 && { patterns }) };
}

/** What a schema says about a property. */
function propertyOf({ properties, additionalProperties }: Dict, name: string): unknown {
  if (isDict(properties) && Object.hasOwn(properties, name)) return properties[name];
  return additionalProperties ?? true;
}

function mergedProperties(one: Dict, other: Dict, path: string): Dict {
  const merged: Record<string, unknown> = {};
  const patterns = [one["patternProperties"], other["patternProperties"]].filter((given) => given !== undefined);
  const named = [one, other].some(({ properties, additionalProperties }) => properties ?? additionalProperties);
  if (patterns.length === 2 || (patterns.length === 1 && named))
    fail("INVALID_ARGUMENT", `${path}.patternProperties`, "can't be combined with another schema of the properties");
  if (patterns.length === 1) merged["patternProperties"] = patterns[0];
  const names = new Set([one, other].flatMap(({ properties }) => (isDict(properties) ? Object.keys(properties) : [])));
  if (names.size > 0)
    merged["properties"] = Object.fromEntries(
      Array.from(names, (name) => [name, allOf(propertyOf(one, name), propertyOf(other, name))]),
    );
  const rests = [one["additionalProperties"], other["additionalProperties"]].filter((given) => given !== undefined);
  if (rests.length > 0) merged["additionalProperties"] = rests.reduce<unknown>(allOf, true);
  return merged;
}

function mergedItems(one: Dict, other: Dict): Dict {
  const merged: Record<string, unknown> = {};
  const prefixes = [one, other].map(({ prefixItems }) =>
    Array.isArray(prefixItems) ? (prefixItems as unknown[]) : [],
  );
  const length = Math.max(...prefixes.map((prefix) => prefix.length));
  const item = (schema: Dict, prefix: readonly unknown[], i: number): unknown => prefix[i] ?? schema["items"] ?? true;
  if (length > 0)
    merged["prefixItems"] = Array.from({ length }, (_, i) =>
      allOf(item(one, prefixes[0]!, i), item(other, prefixes[1]!, i)),
    );
  const rests = [one["items"], other["items"]].filter((given) => given !== undefined);
  if (rests.length > 0) merged["items"] = rests.reduce<unknown>(allOf, true);
  return merged;
}

/** What both schemas allow, as a schema. */
function allOf(one: unknown, other: unknown): unknown {
  if (one === true) return other;
  if (other === true) return one;
  return one === false || other === false ? false : { allOf: [one, other] };
}
