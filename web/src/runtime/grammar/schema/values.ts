// Tells whether a single value, of enum or const, matches the other keywords of its schema.
import { isDict, type Dict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { messageOf, show } from "../../../core/base/show.js";
import { compile, TooManySteps } from "../../text/pattern/matcher.js";
import { UnknownSyntax } from "../../text/pattern/parse.js";
import { spend } from "../work.js";
import { FORMATS, WHOLE_FORMATS } from "./formats.js";
import { typesOf } from "./types.js";

type Test<Value> = (value: Value) => boolean;

const NUMBER_TESTS: Readonly<Record<string, (given: number) => Test<number>>> = {
  minimum: (given) => (value) => value >= given,
  maximum: (given) => (value) => value <= given,
  exclusiveMinimum: (given) => (value) => value > given,
  exclusiveMaximum: (given) => (value) => value < given,
  multipleOf: (given) => (value) => Number.isInteger(value / given),
};

const TEXT_TESTS: Readonly<Record<string, (given: never, path: string) => Test<string>>> = {
  minLength: (given: number) => (value) => Array.from(value).length >= given,
  maxLength: (given: number) => (value) => Array.from(value).length <= given,
  pattern: (given: string, path) => patternMatcher(given, `${path}.pattern`),
  patterns: (given: string[], path) => {
    const tests = given.map((one) => patternMatcher(one, `${path}.pattern`));
    return (value) => tests.every((test) => test(value));
  },
  format: (given: string, path) => {
    const pattern = WHOLE_FORMATS.get(given) ?? FORMATS.get(given);
    return pattern === undefined ? () => true : patternMatcher(pattern, `${path}.format`);
  },
  not: (given: { enum: string[] }) => {
    const excluded = new Set(given.enum);
    return (value) => !excluded.has(value);
  },
};

/** The values of `enum` and `const` that the schema's keywords about numbers and texts allow; undefined without both. */
export function listedValues(schema: Dict, path: string): unknown[] | undefined {
  const { enum: values, const: value } = schema;
  if (values === undefined && !("const" in schema)) return undefined;
  const lists = [...(values === undefined ? [] : [values as unknown[]]), ...("const" in schema ? [[value]] : [])];
  const texts = lists.slice(1).map((list) => new Set(list.map((one) => JSON.stringify(one))));
  const matches = testOf(schema, path);
  return lists[0]!.filter((one) => {
    spend(10, path);
    return matches(one) && texts.every((list) => list.has(JSON.stringify(one)));
  });
}

/** Whether a value has the type of a schema, and what its keywords about numbers and texts say. */
function testOf(schema: Dict, path: string): Test<unknown> {
  const types = new Set<string>(typesOf(schema["type"], path));
  const numbers = Object.entries(NUMBER_TESTS).flatMap(([keyword, test]) =>
    schema[keyword] === undefined ? [] : [test(schema[keyword] as number)],
  );
  let texts: Test<string>[] | undefined; // a pattern may be one that only generated texts can follow
  return (value) => {
    if (!types.has(typeOf(value))) return false;
    if (typeof value === "number") return numbers.every((test) => test(value));
    if (typeof value !== "string") return true;
    texts ??= Object.entries(TEXT_TESTS).flatMap(([keyword, test]) =>
      schema[keyword] === undefined ? [] : [test(schema[keyword] as never, path)],
    );
    return texts.every((test) => test(value));
  };
}

/** Steps of matching a pattern of a schema with a value of it. */
const MAX_STEPS = 1_000_000;

/** Tells whether a pattern is found in a text, in a limited number of steps: the engine has no such limit. @throws INVALID_ARGUMENT */
export function patternMatcher(pattern: string, field: string): Test<string> {
  const steps = { left: MAX_STEPS, longest: Infinity };
  const guarded = <Result>(run: () => Result): Result => {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof UnknownSyntax || error instanceof TooManySteps)) throw error;
      fail("INVALID_ARGUMENT", field, `can't be used: ${messageOf(error)} (got ${show(pattern)})`);
    }
  };
  spend(10 * pattern.length, field);
  const find = guarded(() => compile(pattern, steps));
  return (value) => {
    steps.left = MAX_STEPS;
    const isFound = guarded(() => find(value, 0) !== undefined);
    spend((MAX_STEPS - steps.left) / 4, field);
    return isFound;
  };
}

/** The narrowest type of a value. */
export function typeOf(value: unknown): "null" | "boolean" | "integer" | "number" | "string" | "array" | "object" {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (isDict(value)) return "object";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value === "string" ? "string" : "boolean";
}
