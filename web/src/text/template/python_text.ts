// Writes values as Python's str(), repr() and json.dumps() do.
import type { Budget } from "./budget.js";
import {
  type Dict,
  Float,
  Generator,
  Markup,
  Namespace,
  Range,
  stringOf,
  Tuple,
  typeName,
  Undefined,
  type Value,
  valueOfKey,
  View,
  compare,
} from "./values.js";

/** Python's whitespace. JavaScript's has U+FEFF, and lacks U+001C to U+001F and U+0085. */
export const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const isSpace = new RegExp(`^[${SPACE}]$`);

/** Removes characters at the start and the end: whitespace, or those of `characters`. */
export function strip(text: string, side: "both" | "left" | "right" = "both", characters?: string): string {
  const set = characters === undefined ? undefined : new Set(characters);
  const isStripped = (character: string): boolean => (set === undefined ? isSpace.test(character) : set.has(character));
  const all = set !== undefined && /[\ud800-\udfff]/.test(text + (characters ?? "")) ? Array.from(text) : text;
  let start = 0;
  let end = all.length;
  if (side !== "right") while (start < end && isStripped(all[start]!)) start += 1;
  if (side !== "left") while (end > start && isStripped(all[end - 1]!)) end -= 1;
  const rest = all.slice(start, end);
  return typeof rest === "string" ? rest : rest.join("");
}

/** Python's str(). */
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

/** Python's repr(). */
export function repr(value: Value): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return integerText(value);
  if (value instanceof Float) return floatText(value.value);
  if (typeof value === "string") return quoted(value);
  if (value instanceof Markup) return `Markup(${quoted(value.text)})`;
  if (value instanceof Tuple) return value.length === 1 ? `(${repr(value[0]!)},)` : `(${listText(value)})`;
  if (value instanceof Range) return `range(0, ${value.length})`;
  if (Array.isArray(value)) return `[${listText(value)}]`;
  if (value instanceof Map) return `{${dictText(value)}}`;
  if (value instanceof View) return `${value.kind}([${listText(value.items)}])`;
  if (value instanceof Namespace) return `<Namespace {${dictText(value.attributes)}}>`;
  if (value instanceof Generator) return "<generator object>";
  return value instanceof Undefined ? "Undefined" : "<function>";
}

const listText = (items: readonly Value[]): string => Array.from(items, repr).join(", ");
const dictText = (entries: Dict): string =>
  Array.from(entries, ([key, value]) => `${repr(valueOfKey(key))}: ${repr(value)}`).join(", ");

function integerText(value: number): string {
  return Number.isSafeInteger(value) ? String(value) : BigInt(value).toString();
}

function floatText(value: number): string {
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
    const code = character.codePointAt(0)!;
    const [letter, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return ESCAPES[character] ?? `\\${letter}${code.toString(16).padStart(digits, "0")}`;
  });
  return quote + escaped + quote;
}

/** How {@link toJson} writes. */
export interface JsonStyle {
  ensureAscii: boolean;
  /** Written once for each level on lines of their own; undefined for one line. */
  indent: string | undefined;
  separators: readonly [string, string];
  sortKeys: boolean;
}

/** Python's json.dumps(). @throws TypeError: a value has no JSON */
export function toJson(value: Value, style: JsonStyle, level = 0): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number") return integerText(value);
  if (value instanceof Float) return jsonNumber(value.value);
  const text = stringOf(value);
  if (text !== undefined) return jsonString(text, style);
  const inside = (item: Value): string => toJson(item, style, level + 1);
  if (Array.isArray(value) && !(value instanceof Range)) {
    return bracketed("[", Array.from(value, inside), "]", style, level);
  }
  if (!(value instanceof Map)) throw new TypeError(`Object of type ${typeName(value)} is not JSON serializable`);
  const entries = Array.from(value);
  if (style.sortKeys) entries.sort(([a], [b]) => compare(valueOfKey(a), valueOfKey(b)));
  const written = entries.map(([key, item]) => {
    const name = typeof key === "string" ? key : toJson(valueOfKey(key), style);
    return jsonString(name, style) + style.separators[1] + inside(item);
  });
  return bracketed("{", written, "}", style, level);
}

function bracketed(open: string, items: string[], close: string, style: JsonStyle, level: number): string {
  const { indent, separators } = style;
  if (items.length === 0 || indent === undefined) return open + items.join(separators[0]) + close;
  const line = `\n${indent.repeat(level + 1)}`;
  return `${open}${line}${items.join(separators[0] + line)}\n${indent.repeat(level)}${close}`;
}

function jsonNumber(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return Number.isFinite(value) ? floatText(value) : value > 0 ? "Infinity" : "-Infinity";
}

function jsonString(text: string, { ensureAscii }: JsonStyle): string {
  const written = JSON.stringify(text);
  if (!ensureAscii) return written;
  return written.replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
