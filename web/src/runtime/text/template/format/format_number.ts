// Digits of numbers as Python's formats write them, from their exact values.
import { Float, type Integer, scaledBy } from "../values/numbers.js";
import { floatText } from "../values/python_text.js";

/** Digits after the point. Python has no limit here; longer texts than this would take long. */
const MAX_DIGITS = 1000;

/** How a float is written: in the formats of C's printf, or without one as Python's str() does. */
export interface FloatFormat {
  readonly type: "e" | "f" | "g" | "";
  readonly precision: number | undefined;
  /** `#`: keep the point and trailing zeros. */
  readonly isAlternate: boolean;
}

/** The digits of a float's absolute value. @throws RangeError */
export function floatDigits(value: number, { type, precision, isAlternate }: FloatFormat): string {
  const size = Math.abs(value);
  if (!Number.isFinite(size)) return Number.isNaN(size) ? "nan" : "inf";
  if (precision !== undefined && precision > MAX_DIGITS)
    throw new RangeError(`a precision must be at most ${MAX_DIGITS}`);
  if (type === "" && precision === undefined) return floatText(size);
  const digits = precision ?? 6;
  if (type === "f") return withPoint(fixed(size, digits), digits === 0 && isAlternate);
  if (type === "e") return exponential(size, digits, isAlternate);
  const significant = Math.max(1, digits);
  const exponent = exponentOf(size, significant - 1);
  const isFixed = exponent >= -4 && exponent < significant - (type === "" ? 1 : 0);
  if (isFixed) {
    const written = fixed(size, Math.max(0, significant - 1 - exponent));
    const text = isAlternate ? withPoint(written, !written.includes(".")) : withoutZeros(written);
    return type === "" && !text.includes(".") ? `${text}.0` : text;
  }
  const [mantissa, power] = exponential(size, significant - 1, isAlternate).split("e") as [string, string];
  return `${isAlternate ? mantissa : withoutZeros(mantissa)}e${power}`;
}

function withPoint(text: string, hasPoint: boolean): string {
  return hasPoint ? `${text}.` : text;
}

function withoutZeros(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function fixed(size: number, digits: number): string {
  const scaled = scaledBy(size, digits)
    .toString()
    .padStart(digits + 1, "0");
  return digits === 0 ? scaled : `${scaled.slice(0, -digits)}.${scaled.slice(-digits)}`;
}

/** The decimal exponent, after rounding to `digits` after the first one. */
function exponentOf(size: number, digits: number): number {
  if (size === 0) return 0;
  const exponent = Number(size.toExponential().split("e")[1]);
  return scaledBy(size, digits - exponent) >= 10n ** BigInt(digits + 1) ? exponent + 1 : exponent;
}

function exponential(size: number, digits: number, isAlternate: boolean): string {
  const exponent = exponentOf(size, digits);
  const all = scaledBy(size, digits - exponent)
    .toString()
    .padStart(digits + 1, "0");
  const mantissa = digits === 0 ? withPoint(all, isAlternate) : `${all.slice(0, 1)}.${all.slice(1)}`;
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** The digits of an integer's absolute value in a base, and the base's prefix. */
export function integerDigits(value: Integer, type: string): { digits: string; prefix: string } {
  const base = { b: 2, o: 8, x: 16, X: 16 }[type] ?? 10;
  const text = (value < 0 ? -value : value).toString(base);
  const prefix = base === 10 ? "" : `0${type}`;
  return { digits: type === "X" ? text.toUpperCase() : text, prefix };
}

/** Whether a number is below zero. A float may be -0. */
export function isNegative(value: Integer | Float): boolean {
  return value instanceof Float ? value.value < 0 || Object.is(value.value, -0) : value < 0;
}
