// Tells whether a single value, of enum or const, matches the other keywords of its schema.
import { isDict, type Dict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { messageOf, show } from "../../../core/base/show.js";
import { compile, TooManySteps } from "../../text/pattern/matcher.js";
import { UnknownSyntax } from "../../text/pattern/parse.js";
import { FORMATS, WHOLE_FORMATS } from "./formats.js";
import { typesOf } from "./types.js";

const KEYWORDS: Readonly<Record<string, (value: never, given: never, path: string) => boolean>> = {
  minimum: (value: number, given: number) => value >= given,
  maximum: (value: number, given: number) => value <= given,
  exclusiveMinimum: (value: number, given: number) => value > given,
  exclusiveMaximum: (value: number, given: number) => value < given,
  multipleOf: (value: number, given: number) => Number.isInteger(value / given),
};

const TEXT_KEYWORDS: Readonly<Record<string, (value: never, given: never, path: string) => boolean>> = {
  minLength: (value: string, given: number) => Array.from(value).length >= given,
  maxLength: (value: string, given: number) => Array.from(value).length <= given,
  pattern: (value: string, given: string, path) => matchesPattern(given, value, `${path}.pattern`),
  patterns: (value: string, given: string[], path) =>
    given.every((one) => matchesPattern(one, value, `${path}.pattern`)),
  format: (value: string, given: string, path) => {
    const pattern = WHOLE_FORMATS.get(given) ?? FORMATS.get(given);
    return pattern === undefined || matchesPattern(pattern, value, `${path}.format`);
  },
  not: (value: string, given: { enum: string[] }) => !given.enum.includes(value),
};

/** The values of `enum` and `const` that the schema's keywords about numbers and texts allow; undefined without both. */
export function listedValues(schema: Dict, path: string): unknown[] | undefined {
  const { enum: values, const: value } = schema;
  if (values === undefined && !("const" in schema)) return undefined;
  const lists = [...(values === undefined ? [] : [values as unknown[]]), ...("const" in schema ? [[value]] : [])];
  const texts = lists.map((list) => new Set(list.map((one) => JSON.stringify(one))));
  return lists[0]!.filter((one) => texts.every((list) => list.has(JSON.stringify(one))) && matches(one, schema, path));
}

function matches(value: unknown, schema: Dict, path: string): boolean {
  const types = typesOf(schema["type"], path);
  const type = typeOf(value);
  if (!types.includes(type) && !(type === "integer" && types.includes("number"))) return false;
  const keywords = typeof value === "number" ? KEYWORDS : typeof value === "string" ? TEXT_KEYWORDS : {};
  return Object.entries(keywords).every(
    ([keyword, test]) => schema[keyword] === undefined || test(value as never, schema[keyword] as never, path),
  );
}

/** Steps of matching a pattern of a schema with a value of it. */
const MAX_STEPS = 1_000_000;

/** Whether a pattern is found in a text, in a limited number of steps: the engine has no such limit. @throws INVALID_ARGUMENT */
export function matchesPattern(pattern: string, value: string, field: string): boolean {
  try {
    return compile(pattern, { left: MAX_STEPS, longest: Infinity })(value, 0) !== undefined;
  } catch (error) {
    if (!(error instanceof UnknownSyntax || error instanceof TooManySteps)) throw error;
    fail("INVALID_ARGUMENT", field, `can't be used: ${messageOf(error)} (got ${show(pattern)})`);
  }
}

/** The narrowest type of a value. */
export function typeOf(value: unknown): "null" | "boolean" | "integer" | "number" | "string" | "array" | "object" {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (isDict(value)) return "object";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value === "string" ? "string" : "boolean";
}
