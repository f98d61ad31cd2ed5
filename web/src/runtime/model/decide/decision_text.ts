// How states, questions and options are written: text as it is, and JSON on one line.
import { isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { show } from "../../../core/base/show.js";

/** A value of JSON. A Map is an object whose keys keep their order. */
export type DecisionJson =
  | string
  | number
  | boolean
  | null
  | readonly DecisionJson[]
  | { readonly [key: string]: DecisionJson }
  | ReadonlyMap<string, DecisionJson>;

/** Text, or JSON, which is written on one line as Python's `json.dumps()` writes it: `{"a": [1, 2]}`. */
export type DecisionText =
  string | readonly DecisionJson[] | { readonly [key: string]: DecisionJson } | ReadonlyMap<string, DecisionJson>;

/** Nested arrays and objects. */
const DEEPEST = 200;

/** The text of a string, an object or a list. @throws INVALID_ARGUMENT @internal */
export function textOf(given: unknown, field: string): string {
  if (typeof given === "string") return given;
  if (typeof given !== "object" || given === null)
    return fail("INVALID_ARGUMENT", field, `must be text, an object or a list (got ${show(given)})`);
  return jsonText(given, field, 0);
}

/** Parts on lines of their own. JSON alone stays JSON. @throws INVALID_ARGUMENT: one of several parts isn't JSON @internal */
export function linesOf(parts: readonly DecisionText[], fieldOf: (index: number) => string): DecisionText {
  return parts.length === 1 ? parts[0]! : parts.map((part, i) => textOf(part, fieldOf(i))).join("\n");
}

function jsonText(value: unknown, field: string, depth: number): string {
  if (value === null || typeof value === "boolean" || typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number" && Number.isFinite(value)) return JSON.stringify(value);
  if (depth > DEEPEST) return fail("INVALID_ARGUMENT", field, `is nested more than ${DEEPEST} times, or in itself`);
  if (Array.isArray(value))
    return `[${Array.from(value as unknown[], (item, i) => jsonText(item, `${field}[${i}]`, depth + 1)).join(", ")}]`;
  const isPlain = isDict(value) && (value instanceof Map || (!("toJSON" in value) && !(Symbol.iterator in value)));
  if (!isPlain) return fail("INVALID_ARGUMENT", field, `must be JSON (got ${show(value)})`);
  const entries = value instanceof Map ? [...(value as Map<unknown, unknown>)] : Object.entries(value);
  const written = entries.map(([key, item]) => {
    if (typeof key !== "string") fail("INVALID_ARGUMENT", field, `has a key that isn't text (${show(key)})`);
    return `${JSON.stringify(key)}: ${jsonText(item, `${field}.${key}`, depth + 1)}`;
  });
  return `{${written.join(", ")}}`;
}

/** Two spaces after each line break: then only the prompt's own lines begin at the margin, and no text can pass for one of them. @internal */
export function indented(text: string): string {
  return text.replace(/\r\n|[\n\r\v\f\x85\u2028\u2029]/g, "$&  ");
}
