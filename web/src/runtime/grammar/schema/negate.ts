// What a schema doesn't allow, as schemas: for `not` and `if`. They may leave out values that could be allowed too.
import { isDict, type Dict } from "../../../core/base/dict.js";
import { type JsonType, TYPES } from "./nodes.js";
import { typesOf } from "./types.js";
import { typeOf } from "./values.js";
import { failTooLarge, sizeOf, spend } from "../work.js";

/** The most elements of a negated prefix: each is an alternative with all before it. */
const MAX_ELEMENTS = 100;

/** The complement of each limit. */
const BEYOND: Readonly<Record<string, (limit: number) => Dict | undefined>> = {
  minimum: (limit) => ({ type: "number", exclusiveMaximum: limit }),
  maximum: (limit) => ({ type: "number", exclusiveMinimum: limit }),
  exclusiveMinimum: (limit) => ({ type: "number", maximum: limit }),
  exclusiveMaximum: (limit) => ({ type: "number", minimum: limit }),
  minLength: (limit) => (limit > 0 ? { type: "string", maxLength: limit - 1 } : undefined),
  maxLength: (limit) => ({ type: "string", minLength: limit + 1 }),
  minItems: (limit) => (limit > 0 ? { type: "array", maxItems: limit - 1 } : undefined),
  maxItems: (limit) => ({ type: "array", minItems: limit + 1 }),
  minProperties: (limit) => (limit > 0 ? { type: "object", maxProperties: limit - 1 } : undefined),
  maxProperties: (limit) => ({ type: "object", minProperties: limit + 1 }),
};

const NO_STRING = String(TYPES.filter((type) => type !== "string"));

/**
 * Schemas of values that don't match.
 * @param schema - without keywords that combine schemas
 * @internal
 */
export function negated(schema: Dict, path: string): Dict[] {
  const { type, enum: values, const: value, required = [], properties = {}, items, prefixItems = [] } = schema;
  const listed = [...((values ?? []) as unknown[]), ...("const" in schema ? [value] : [])];
  const prefix = prefixItems as unknown[];
  const elements = items === undefined ? prefix : [...prefix, items];
  spend(sizeOf(schema), path);
  if (elements.length > MAX_ELEMENTS) failTooLarge(`${path}.prefixItems`, "write what is allowed instead");
  return [
    ...(type === undefined ? [] : ofTypes(typesOf(type, path))),
    ...(listed.length === 0 ? [] : otherValues(listed)),
    ...(required as string[]).map((name) => ({ type: "object", properties: { [name]: false } })),
    ...Object.entries(isDict(properties) ? properties : {}).map(([name, property]) => ({
      type: "object",
      required: [name],
      properties: { [name]: { not: property } },
    })),
    ...elements.map((element, i) => ({
      type: "array",
      minItems: i + 1,
      prefixItems: [...Array<boolean>(i).fill(true), { not: element }],
    })),
    ...Object.entries(BEYOND).flatMap(([keyword, beyond]): Dict[] => {
      const limit = schema[keyword];
      const others = typeof limit === "number" ? beyond(limit) : undefined;
      return others === undefined ? [] : [others];
    }),
  ];
}

/** All other types. A number may have an integer's value. */
function ofTypes(types: readonly JsonType[]): Dict[] {
  const others = TYPES.filter((type) => !types.includes(type) && !(type === "number" && types.includes("integer")));
  return others.length === 0 ? [] : [{ type: others }];
}

/** Values that aren't in a list: those of other types, other strings, other numbers, and the other boolean. */
function otherValues(values: readonly unknown[]): Dict[] {
  const strings = values.filter((value) => typeof value === "string");
  const booleans = new Set(values.filter((value) => typeof value === "boolean"));
  return [
    ...ofTypes(values.map(typeOf)),
    ...(strings.length > 0 ? [{ type: "string", not: { enum: strings } }] : []),
    ...otherNumbers(values.filter((value) => typeof value === "number")),
    ...(booleans.size === 1 ? [{ enum: [!booleans.has(true)] }] : []),
  ];
}

/** The numbers between those of a list. */
function otherNumbers(values: readonly number[]): Dict[] {
  if (values.length === 0) return [];
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  return Array.from({ length: sorted.length + 1 }, (_, i) => ({
    type: "number",
    ...(i > 0 && { exclusiveMinimum: sorted[i - 1]! }),
    ...(i < sorted.length && { exclusiveMaximum: sorted[i]! }),
  }));
}

/** The strings that `not` leaves out, if that is all it says. */
export function excludedStrings(not: unknown): string[] | undefined {
  const values = isDict(not) && Object.keys(not).length === 1 ? not["enum"] : undefined;
  return Array.isArray(values) && values.every((value) => typeof value === "string") ? values : undefined;
}

/** Parts of which those that only exclude strings are one, however many they are. */
export function withJoinedExclusions(parts: readonly (readonly Dict[])[]): readonly (readonly Dict[])[] {
  const isExclusion = ([others, strings, ...more]: readonly Dict[]): boolean =>
    others !== undefined &&
    strings !== undefined &&
    more.length === 0 &&
    Object.keys(others).join() === "type" &&
    Object.keys(strings).sort().join() === "not,type" &&
    String(strings["type"]) === "string" &&
    String(others["type"]) === NO_STRING;
  const excluding = parts.filter(isExclusion);
  if (excluding.length < 2) return parts;
  const strings = excluding.flatMap(([, given]) => (given!["not"] as { enum: string[] }).enum);
  return [...parts.filter((part) => !isExclusion(part)), negated({ enum: strings }, "")];
}
