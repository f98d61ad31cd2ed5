// Writes values as Python's json.dumps() does.
import { compare } from "./comparisons.js";
import { Float } from "./numbers.js";
import { floatText } from "./python_text.js";
import { typeName } from "./types.js";
import { Dict, Range, stringOf, Undefined, undefinedError, type Value } from "./values.js";

/** How {@link toJson} writes. */
export interface JsonStyle {
  ensureAscii: boolean;
  /** Written once for each level on lines of their own; undefined for one line. */
  indent: string | undefined;
  separators: readonly [string, string];
  sortKeys: boolean;
}

/** @throws TypeError: a value has no JSON */
export function toJson(value: Value, style: JsonStyle, level = 0): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  if (value instanceof Float) return jsonNumber(value.value);
  const text = stringOf(value);
  if (text !== undefined) return jsonString(text, style);
  const inside = (item: Value): string => toJson(item, style, level + 1);
  if (Array.isArray(value) && !(value instanceof Range))
    return bracketed("[", Array.from(value, inside), "]", style, level);
  if (value instanceof Undefined) throw undefinedError(value);
  if (!(value instanceof Dict)) throw new TypeError(`Object of type ${typeName(value)} is not JSON serializable`);
  const entries = value.entries();
  if (style.sortKeys) entries.sort(([a], [b]) => compare(a, b));
  const written = entries.map(([key, item]) => jsonString(keyText(key), style) + style.separators[1] + inside(item));
  return bracketed("{", written, "}", style, level);
}

function keyText(key: Value): string {
  const text = stringOf(key);
  if (text !== undefined) return text;
  if (key === null || typeof key === "boolean" || typeof key === "number" || typeof key === "bigint")
    return String(key);
  if (key instanceof Float) return jsonNumber(key.value);
  throw new TypeError(`keys must be str, int, float, bool or None, not ${typeName(key)}`);
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
