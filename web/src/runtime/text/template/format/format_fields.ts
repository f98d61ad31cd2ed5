// "{}".format(value), with fields such as {}, {0}, {name.part[0]!r} and {:>8,.2f}.
import type { Budget } from "../values/budget.js";
import { escapeText } from "../escape.js";
import { formatValue } from "./format_spec.js";
import { escapedCode, repr, toText } from "../values/python_text.js";
import { type Arguments, Markup, type Value } from "../values/values.js";

/** Fields inside the specification of a field. */
const MAX_NESTED = 2;

/** What a format is given. */
export interface Given {
  readonly values: Arguments;
  /** The value of a name. */
  readonly named: (name: string) => Value | undefined;
  readonly isSafe: boolean;
  readonly budget: Budget;
  /** Reads an attribute or item of a value. */
  attribute(value: Value, name: string): Value;
  item(value: Value, key: Value): Value;
}

/** @throws TypeError, RangeError */
export function formatFields(text: string, given: Given): string {
  return new Fields(given).format(text, MAX_NESTED);
}

class Fields {
  #next: number | undefined;
  #isManual = false;

  constructor(private readonly given: Given) {}

  format(text: string, depth: number): string {
    if (depth === 0) throw new RangeError("Max string recursion exceeded");
    let written = "";
    for (let at = 0; at < text.length;) {
      const start = /[{}]/.exec(text.slice(at));
      if (start === null) return written + text.slice(at);
      const brace = at + start.index;
      written += text.slice(at, brace);
      if (text[brace] === text[brace + 1]) {
        written += text[brace]!;
        at = brace + 2;
        continue;
      }
      if (text[brace] === "}") throw new TypeError("Single '}' encountered in format string");
      const end = endOfField(text, brace);
      written += this.#field(text.slice(brace + 1, end), depth);
      this.given.budget.checkLength(written.length);
      at = end + 1;
    }
    return written;
  }

  #field(source: string, depth: number): string {
    const { budget, isSafe } = this.given;
    const match = /^([^!:[\]]*(?:\[[^\]]*\][^!:[\]]*)*)(?:!([^:]*))?(?::([^]*))?$/.exec(source);
    if (match === null) throw new TypeError("a field of the format can't be read");
    const [, name, conversion, spec = ""] = match;
    budget.spend(1);
    const value = converted(this.#value(name!), conversion);
    const inner = spec.includes("{") || spec.includes("}") ? this.format(spec, depth - 1) : spec;
    if (stringOfSafe(value) !== undefined && isSafe) {
      if (inner !== "") throw new TypeError("Unsupported format specification for Markup.");
      return stringOfSafe(value)!;
    }
    if (typeof value === "object" && value !== null) budget.serialized(value);
    const text = formatValue(value, inner, budget);
    return isSafe ? escapeText(text) : text;
  }

  #value(path: string): Value {
    const [, first, rest] = /^([^.[]*)([^]*)$/.exec(path) as unknown as [string, string, string];
    let value = this.#first(first);
    for (const [, attribute, key] of rest.matchAll(/\.([^.[]*)|\[([^\]]*)\]/g)) {
      if (attribute === "" || key === "") throw new TypeError("Empty attribute in format string");
      const { given } = this;
      value =
        attribute !== undefined
          ? given.attribute(value, attribute)
          : given.item(value, /^\d+$/.test(key!) ? Number(key) : key!);
    }
    return value;
  }

  #first(name: string): Value {
    const isNumber = /^\d+$/.test(name);
    if (name !== "" && !isNumber) {
      const value = this.given.named(name);
      if (value === undefined) throw new RangeError(`the format's field '${name}' has no value`);
      return value;
    }
    if ((name === "" && this.#isManual) || (isNumber && this.#next !== undefined))
      throw new TypeError("cannot switch between automatic and manual field numbering");
    if (isNumber) this.#isManual = true;
    const index = isNumber ? Number(name) : (this.#next ?? 0);
    if (!isNumber) this.#next = index + 1;
    const value = this.given.values[index];
    if (value === undefined) throw new RangeError("Replacement index out of range for positional args tuple");
    return value;
  }
}

function stringOfSafe(value: Value): string | undefined {
  return value instanceof Markup ? value.text : undefined;
}

/** Where a field's closing brace is. */
function endOfField(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    if (text[at] === "{") depth += 1;
    if (text[at] === "}") depth -= 1;
    if (depth === 0) return at;
  }
  throw new TypeError("expected '}' before end of string");
}

function converted(value: Value, conversion: string | undefined): Value {
  if (conversion === undefined) return value;
  if (conversion === "s") return toText(value);
  if (conversion === "r") return repr(value);
  if (conversion === "a") return asciiRepr(value);
  throw new TypeError(`Unknown conversion specifier ${conversion.slice(0, 20)}`);
}

/** Python's ascii(). */
export function asciiRepr(value: Value): string {
  return repr(value).replace(/[\u0080-\u{10ffff}]/gu, escapedCode);
}
