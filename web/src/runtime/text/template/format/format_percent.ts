// "%s" % value.
import type { Budget } from "../values/budget.js";
import { escapeText } from "../escape.js";
import { asciiRepr } from "./format_fields.js";
import { floatDigits, integerDigits, isNegative } from "./format_number.js";
import { Float, toFloat, truncate } from "../values/numbers.js";
import { concatenate, repr, toText } from "../values/python_text.js";
import { lengthOf, numberOf, typeName, wholeOf } from "../values/types.js";
import { Dict, Markup, stringOf, Tuple, Undefined, type Value } from "../values/values.js";

const CONVERSION = /%(?:\(((?:[^()]|\([^()]*\))*)\))?([-#0 +]*)(\*|\d*)(?:\.(\*|\d*))?[hlL]?([^])/gu;

/** `text % values`. @throws TypeError, RangeError */
export function format(template: Value, values: Value, budget: Budget): Value {
  const text = stringOf(template)!;
  const given = new Given(values);
  const isSafe = template instanceof Markup;
  const parts: string[] = [];
  let end = 0;
  for (const match of text.matchAll(CONVERSION)) {
    const [all, key, flags, width, precision, conversion] = match as unknown as [
      string,
      string | undefined,
      string,
      string,
      string | undefined,
      string,
    ];
    parts.push(text.slice(end, match.index));
    checkPlain(parts.at(-1)!);
    end = match.index + all.length;
    if (conversion === "%") {
      parts.push("%");
      continue;
    }
    if (key !== undefined) given.choose(key);
    const least = width === "*" ? given.integer() : Number(width);
    const digits = precision === "*" ? given.integer() : precision === undefined ? undefined : Number(precision);
    budget.checkLength(Math.abs(least));
    const value = given.next();
    if (typeof value === "object" && value !== null) budget.serialized(value);
    const style = { flags: least < 0 ? `${flags}-` : flags, width: Math.abs(least), precision: digits, isSafe };
    parts.push(padded(value, conversion, style));
  }
  parts.push(text.slice(end));
  checkPlain(parts.at(-1)!);
  given.end();
  const result = concatenate(parts, budget);
  return isSafe ? new Markup(result) : result;
}

function checkPlain(text: string): void {
  if (text.includes("%")) throw new TypeError("incomplete format");
}

/** The values of a format: those of a tuple, or one, whose entries may be chosen by their keys. */
class Given {
  readonly #values: readonly Value[];
  #at = 0;
  #chosen: Value | undefined;

  constructor(private readonly given: Value) {
    this.#values = given instanceof Tuple ? given : [given];
  }

  choose(key: string): void {
    if (!(this.given instanceof Dict)) throw new TypeError("format requires a mapping");
    const value = this.given.get(key);
    if (value === undefined) throw new RangeError(`the format's key '${key}' has no value`);
    this.#chosen = value;
  }

  next(): Value {
    const chosen = this.#chosen;
    if (chosen !== undefined) {
      this.#chosen = undefined;
      return chosen;
    }
    if (this.#at === this.#values.length) throw new TypeError("not enough arguments for format string");
    return this.#values[this.#at++]!;
  }

  integer(): number {
    const number = wholeOf(this.next());
    if (typeof number !== "number") throw new TypeError("* wants int");
    return number;
  }

  end(): void {
    const { given } = this;
    const isMapping =
      given instanceof Dict || given instanceof Undefined || (Array.isArray(given) && !(given instanceof Tuple));
    if (this.#at < this.#values.length && !isMapping)
      throw new TypeError("not all arguments converted during string formatting");
  }
}

interface Style {
  readonly flags: string;
  readonly width: number;
  readonly precision: number | undefined;
  readonly isSafe: boolean;
}

function padded(value: Value, conversion: string, style: Style): string {
  const { flags, width, precision } = style;
  const isLeft = flags.includes("-");
  const isText = "sra".includes(conversion);
  const { sign, digits } =
    isText || conversion === "c"
      ? { sign: "", digits: textOf(value, conversion, style) }
      : numberText(value, conversion, style);
  const cut = isText && precision !== undefined ? Array.from(digits).slice(0, precision).join("") : digits;
  const missing = Math.max(0, width - lengthOf(sign + cut));
  if (isLeft) return sign + cut + " ".repeat(missing);
  const isZero = flags.includes("0") && !isText && conversion !== "c";
  return isZero ? sign + "0".repeat(missing) + cut : " ".repeat(missing) + sign + cut;
}

function textOf(value: Value, conversion: string, { isSafe }: Style): string {
  if (conversion === "c") {
    const number = wholeOf(value);
    const text = stringOf(value);
    if (text !== undefined && lengthOf(text) === 1 && !isSafe) return text;
    if (number === undefined || isSafe) throw new TypeError("%c requires int or char");
    if (number < 0 || number > 0x10ffff) throw new RangeError("%c arg not in range(0x110000)");
    return String.fromCodePoint(Number(number));
  }
  if (conversion === "s") return isSafe ? escapeText(value) : toText(value);
  const text = conversion === "r" ? repr(value) : asciiRepr(value);
  return isSafe ? escapeText(text) : text;
}

function numberText(value: Value, conversion: string, style: Style): { sign: string; digits: string } {
  const { flags, precision } = style;
  let number = numberOf(value);
  const lower = conversion.toLowerCase();
  if (!"diuoxXeEfFgG".includes(conversion)) throw new TypeError(`unsupported format character '${conversion}'`);
  if (value instanceof Undefined || number === undefined)
    throw new TypeError(`%${conversion} format: a number is required, not ${typeName(value)}`);
  const isAlternate = flags.includes("#");
  let digits: string;
  let prefix = "";
  if ("efg".includes(lower)) {
    digits = floatDigits(toFloat(number), { type: lower as "e" | "f" | "g", precision, isAlternate });
    if (lower !== conversion) digits = digits.toUpperCase();
  } else {
    if (number instanceof Float) {
      if ("ox".includes(lower)) throw new TypeError(`%${conversion} format: an integer is required, not float`);
      number = truncate(number.value);
    } else if (style.isSafe && "ox".includes(lower))
      throw new TypeError(`%${conversion} format: an integer is required`);
    const written = integerDigits(number, conversion === "o" || lower === "x" ? conversion : "d");
    digits = written.digits.padStart(precision ?? 0, "0");
    if (isAlternate) ({ prefix } = written);
  }
  const sign = isNegative(number) ? "-" : flags.includes("+") ? "+" : flags.includes(" ") ? " " : "";
  return { sign: sign + prefix, digits };
}
