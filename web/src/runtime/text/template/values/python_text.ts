// Writes values as Python's str() and repr() do.
import type { Budget } from "./budget.js";
import { Float } from "./numbers.js";
import { typeName } from "./types.js";
import {
  Dict,
  Generator,
  Instance,
  Markup,
  Namespace,
  Range,
  stringOf,
  Tuple,
  Undefined,
  type Value,
  View,
} from "./values.js";

/** Python's str(). @throws TypeError: the text would have an address in memory */
export function toText(value: Value): string {
  return value instanceof Undefined ? "" : (stringOf(value) ?? repr(value));
}

/** Joins the texts of values, with `+`: engines join strings without copying them, but `join()` copies. */
export function concatenate(values: readonly Value[], budget: Budget): string {
  for (const value of values) if (stringOf(value) === undefined) budget.serialized(value);
  const text = values.reduce<string>((joined, value) => joined + toText(value), "");
  budget.checkLength(text.length);
  return text;
}

/** Python's repr(). @throws TypeError: the text would have an address in memory */
export function repr(value: Value): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  if (value instanceof Float) return floatText(value.value);
  if (typeof value === "string") return quoted(value);
  if (value instanceof Markup) return `Markup(${quoted(value.text)})`;
  if (value instanceof Tuple) return value.length === 1 ? `(${repr(value[0]!)},)` : `(${listText(value)})`;
  if (value instanceof Range) return rangeText(value);
  if (Array.isArray(value)) return `[${listText(value)}]`;
  if (value instanceof Dict) return `{${dictText(value)}}`;
  if (value instanceof View) return `${value.kind}([${listText(value.items)}])`;
  if (value instanceof Namespace) return `<Namespace {${dictText(value.attributes)}}>`;
  if (value instanceof Undefined) return "Undefined";
  const text = value instanceof Instance ? value.parts.text : undefined;
  if (text !== undefined) return text();
  const hint = value instanceof Generator ? ". Add a filter such as list or join" : "";
  throw new TypeError(`the text of a ${typeName(value)}, an address in memory, is not supported${hint}`);
}

const listText = (items: readonly Value[]): string => Array.from(items, repr).join(", ");
const dictText = (dict: Dict): string =>
  dict
    .entries()
    .map(([key, value]) => `${repr(key)}: ${repr(value)}`)
    .join(", ");

function rangeText({ start, step, stop }: Range): string {
  return `range(${start}, ${stop}${step === 1 ? "" : `, ${step}`})`;
}

/** Python's text of a float: the shortest that reads as the same. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const exponent = value === 0 ? 0 : Number(value.toExponential().split("e")[1]);
  if (exponent < -4 || exponent >= 16) {
    return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  const text = Object.is(value, -0) ? "-0" : String(value);
  return text.includes(".") ? text : `${text}.0`;
}

const ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(/[\\'\n\r\t]|(?! )[\p{C}\p{Z}]/gu, (character) => {
    if (character === "'") return quote === "'" ? "\\'" : "'";
    return ESCAPES[character] ?? escapedCode(character);
  });
  return quote + escaped + quote;
}

/** A character as Python escapes it: `\xe9`, `\u20ac` or `\U0001f600`. */
export function escapedCode(character: string): string {
  const code = character.codePointAt(0)!;
  const [letter, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : (["U", 8] as const);
  return `\\${letter}${code.toString(16).padStart(digits, "0")}`;
}
