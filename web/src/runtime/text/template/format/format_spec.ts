// Python's format specifications, as in "{:>10}" and "{:,.2f}".
import type { Budget } from "../values/budget.js";
import { floatDigits, integerDigits, isNegative } from "./format_number.js";
import { Float, toFloat } from "../values/numbers.js";
import { toText } from "../values/python_text.js";
import { lengthOf, numberOf, typeName } from "../values/types.js";
import { stringOf, type Value } from "../values/values.js";

interface Spec {
  readonly fill: string;
  readonly align: string | undefined;
  readonly sign: string;
  readonly noMinusZero: boolean;
  readonly isAlternate: boolean;
  readonly width: number;
  readonly grouping: string;
  readonly precision: number | undefined;
  readonly type: string;
}

function parse(spec: string): Spec {
  const pattern = /^(?:([^])?([<>=^]))?([-+ ]?)(z?)(#?)(0?)(\d*)([,_]?)(?:\.(\d+))?([a-zA-Z%]?)$/u;
  const match = pattern.exec(spec);
  if (match === null) throw new TypeError(`Invalid format specifier '${spec.slice(0, 50)}'`);
  const [, fill, align, sign, z, alternate, zero, width, grouping, precision, type] = match;
  return {
    fill: fill ?? (zero === "" ? " " : "0"),
    align: align ?? (zero === "" ? undefined : "0"),
    sign: sign!,
    noMinusZero: z !== "",
    isAlternate: alternate !== "",
    width: Number(width),
    grouping: grouping!,
    precision: precision === undefined ? undefined : Number(precision),
    type: type!,
  };
}

/** Python's format(value, spec). @throws TypeError */
export function formatValue(value: Value, text: string, budget: Budget): string {
  if (text === "") return toText(value);
  const spec = parse(text);
  budget.checkLength(spec.width);
  const number = numberOf(value);
  if (number !== undefined) return padded(number, spec);
  const string = stringOf(value);
  if (string === undefined) throw new TypeError(`unsupported format string passed to ${typeName(value)}.__format__`);
  const isNumeric = spec.sign !== "" || spec.isAlternate || spec.grouping !== "" || spec.noMinusZero;
  if (isNumeric || spec.align === "=" || (spec.type !== "s" && spec.type !== ""))
    throw new TypeError(`a string can't have the format '${text.slice(0, 50)}'`);
  const cut = spec.precision === undefined ? string : Array.from(string).slice(0, spec.precision).join("");
  return aligned(cut, spec.align === "0" || spec.align === undefined ? "<" : spec.align, spec);
}

function aligned(text: string, align: string, { fill, width }: Spec): string {
  const missing = Math.max(0, width - lengthOf(text));
  const left = align === "<" ? 0 : align === "^" ? Math.floor(missing / 2) : missing;
  return fill.repeat(left) + text + fill.repeat(missing - left);
}

function padded(number: NonNullable<ReturnType<typeof numberOf>>, spec: Spec): string {
  const { digits, prefix, suffix } = digitsOf(number, spec);
  const isMinus = isNegative(number) && !(spec.noMinusZero && /^[0.]*$/.test(digits));
  const sign = isMinus ? "-" : spec.sign === "+" || spec.sign === " " ? spec.sign : "";
  const start = sign + prefix;
  const isFilled = spec.fill === "0" && (spec.align === "=" || spec.align === "0");
  const grouped = withGroups(digits, spec, isFilled ? spec.width - start.length - suffix.length : 0) + suffix;
  if (spec.align === "=" || spec.align === "0")
    return start + spec.fill.repeat(Math.max(0, spec.width - start.length - grouped.length)) + grouped;
  return aligned(start + grouped, spec.align ?? ">", spec);
}

function digitsOf(
  number: NonNullable<ReturnType<typeof numberOf>>,
  spec: Spec,
): { digits: string; prefix: string; suffix: string } {
  const { type, precision, isAlternate } = spec;
  const lower = type.toLowerCase();
  if (!(number instanceof Float) && (type === "" || "bcdoxXn".includes(type))) {
    if (precision !== undefined) throw new TypeError("Precision not allowed in integer format specifier");
    if (spec.noMinusZero) throw new TypeError("Negative zero coercion (z) not allowed in integer format specifier");
    if (spec.grouping === "," && "bcoxX".includes(type || "d"))
      throw new TypeError(`Cannot specify ',' with '${type}'`);
    if (type === "c") {
      if (spec.sign !== "" || isAlternate || spec.grouping !== "" || number < 0 || number > 0x10ffff)
        throw new TypeError("this integer can't have the format 'c'");
      return { digits: String.fromCodePoint(Number(number)), prefix: "", suffix: "" };
    }
    const { digits, prefix } = integerDigits(number, type);
    return { digits, prefix: isAlternate ? prefix : "", suffix: "" };
  }
  if (type !== "" && !"efgn%".includes(lower)) throw new TypeError(`Unknown format code '${type}' for a number`);
  if (type === "N") throw new TypeError("Unknown format code 'N'");
  if (type === "n" && spec.grouping !== "") throw new TypeError(`Cannot specify '${spec.grouping}' with 'n'.`);
  const kind = lower === "%" ? "f" : lower === "n" ? "g" : (lower as "e" | "f" | "g" | "");
  const value = toFloat(number) * (lower === "%" ? 100 : 1);
  const digits = floatDigits(value, { type: kind, precision, isAlternate });
  return { digits: type === lower ? digits : digits.toUpperCase(), prefix: "", suffix: lower === "%" ? "%" : "" };
}

/** Adds separators, and zeros up to a width. */
function withGroups(digits: string, { grouping, type }: Spec, width: number): string {
  if (grouping === "" || !/^[\da-f]+/i.test(digits)) return digits;
  const size = "boxX".includes(type || "d") ? 4 : 3;
  const whole = /^[\da-f]+/i.exec(size === 4 ? digits : digits.replace(/[^\d].*$/s, ""))![0];
  const rest = digits.slice(whole.length);
  let grouped = whole.replace(new RegExp(`\\B(?=(?:[\\da-fA-F]{${size}})+$)`, "g"), grouping);
  const isGroupFull = (): boolean => /^[^,_]*/.exec(grouped)![0].length === size;
  while (grouped.length + rest.length < width) grouped = isGroupFull() ? `0${grouping}${grouped}` : `0${grouped}`;
  return grouped + rest;
}
