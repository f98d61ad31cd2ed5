// The JSON types that a schema allows.
import { isDict } from "../../../core/base/dict.js";

export type JsonType = "string" | "number" | "boolean" | "null" | "object" | "array";

const ALL: ReadonlySet<JsonType> = new Set(["string", "number", "boolean", "null", "object", "array"]);

/** References inside of references that are followed. */
const MAX_REFERENCES = 20;

/** What a schema and its parts say about a property. All of them hold. */
export function propertySchemas(schema: unknown, key: string, root = schema, depth = 0): unknown[] {
  if (!isDict(schema) || depth > MAX_REFERENCES) return [];
  const { properties, additionalProperties, patternProperties, $ref: reference, allOf } = schema;
  const found: unknown[] = [];
  if (isDict(properties) && Object.hasOwn(properties, key)) found.push(properties[key]);
  if (isDict(patternProperties))
    for (const [pattern, value] of Object.entries(patternProperties)) if (matches(pattern, key)) found.push(value);
  if (found.length === 0 && isDict(additionalProperties)) found.push(additionalProperties);
  const parts = [...(Array.isArray(allOf) ? (allOf as unknown[]) : []), resolved(reference, root)];
  return [...found, ...parts.flatMap((part) => propertySchemas(part, key, root, depth + 1))];
}

function matches(pattern: string, key: string): boolean {
  try {
    return new RegExp(pattern, "u").test(key);
  } catch {
    return false;
  }
}

/** The types of the values that all schemas allow. Without schemas, all. */
export function valueTypes(schemas: readonly unknown[], root: unknown): ReadonlySet<JsonType> {
  return schemas.map((schema) => typesOf(schema, root, 0)).reduce(common, ALL);
}

function typesOf(schema: unknown, root: unknown, depth: number): ReadonlySet<JsonType> {
  if (!isDict(schema) || depth > MAX_REFERENCES) return ALL;
  const { type, enum: values, anyOf, oneOf, allOf, $ref: reference, nullable } = schema;
  const inside = (part: unknown): ReadonlySet<JsonType> => typesOf(part, root, depth + 1);
  let types = ALL;
  if (typeof type === "string" || Array.isArray(type)) types = namedTypes([type].flat());
  if ("const" in schema) types = common(types, new Set([typeOf(schema["const"])]));
  if (Array.isArray(values)) types = common(types, new Set((values as unknown[]).map(typeOf)));
  for (const choices of [anyOf, oneOf])
    if (Array.isArray(choices)) types = common(types, new Set(choices.flatMap((choice) => [...inside(choice)])));
  if (Array.isArray(allOf)) types = (allOf as unknown[]).map(inside).reduce(common, types);
  if (reference !== undefined) types = common(types, inside(resolved(reference, root)));
  return nullable === true ? new Set([...types, "null"]) : types;
}

function namedTypes(names: readonly unknown[]): ReadonlySet<JsonType> {
  const types = names.map((name) => (name === "integer" ? "number" : name) as JsonType);
  return types.every((type) => ALL.has(type)) ? new Set(types) : ALL;
}

function common(a: ReadonlySet<JsonType>, b: ReadonlySet<JsonType>): ReadonlySet<JsonType> {
  return new Set([...a].filter((type) => b.has(type)));
}

/** The type of a value from JSON. */
export function typeOf(value: unknown): JsonType {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : (typeof value as JsonType);
}

/** The part of the schema that a reference such as `#/$defs/city` leads to. */
function resolved(reference: unknown, root: unknown): unknown {
  if (typeof reference !== "string" || !reference.startsWith("#")) return undefined;
  const steps = reference.slice(1).split("/").slice(1);
  return steps.reduce<unknown>((part, step) => {
    const key = unescaped(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(part)) return part[Number(key)] as unknown;
    return isDict(part) && Object.hasOwn(part, key) ? part[key] : undefined;
  }, root);
}

function unescaped(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
