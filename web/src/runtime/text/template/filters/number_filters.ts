// Filters of numbers.
import { filter, type Filter } from "./filter_call.js";
import { floatDigits } from "../format/format_number.js";
import { floatIn, integerIn } from "../values/number_text.js";
import * as numbers from "../values/numbers.js";
import { integerOf, isTrue, numberOf, typeName, wholeOf } from "../values/types.js";
import { stringOf, Undefined, undefinedError, type Value } from "../values/values.js";

const { Float } = numbers;

/** Python's float(value); undefined if it is no number. @throws RangeError: it is too large */
function floatOf(value: Value): number | undefined {
  if (value instanceof Undefined) throw undefinedError(value);
  const text = stringOf(value);
  if (text !== undefined) return floatIn(text);
  const number = numberOf(value);
  return number === undefined ? undefined : numbers.toFloat(number);
}

function toInteger(operand: Value, base: Value): numbers.Integer | undefined {
  const whole = wholeOf(operand);
  if (whole !== undefined) return whole;
  if (operand instanceof Float && !Number.isNaN(operand.value)) return numbers.truncate(operand.value);
  const text = stringOf(operand);
  const integer =
    text === undefined || wholeOf(base) === undefined ? undefined : integerIn(text, Number(wholeOf(base)));
  if (integer !== undefined) return integer;
  const float = floatOf(operand);
  return float === undefined || !Number.isFinite(float) ? undefined : numbers.truncate(float);
}

function round(operand: Value, precision: Value, method: Value): Value {
  const name = stringOf(method);
  if (name !== "common" && name !== "ceil" && name !== "floor")
    throw new TypeError("method must be common, ceil or floor");
  const number = numberOf(operand);
  if (operand instanceof Undefined) throw undefinedError(operand);
  if (number === undefined) throw new TypeError(`type ${typeName(operand)} doesn't define __round__ method`);
  if (name === "common") {
    if (precision !== null) return numbers.round(number, integerOf(precision, "precision"));
    if (!(number instanceof Float)) return number;
    return numbers.truncate(numbers.toFloat(numbers.round(number, 0)));
  }
  const by = numberOf(precision);
  if (by === undefined) throw new TypeError("precision must be a number");
  const unit = numbers.power(10, by);
  const scaled = numbers.multiply(number, unit);
  const whole = scaled instanceof Float ? numbers.truncate(Math[name](scaled.value)) : scaled;
  return numbers.divide(whole, unit);
}

const UNITS = ["k", "M", "G", "T", "P", "E", "Z", "Y"];

function fileSize(operand: Value, isBinary: boolean): string {
  const bytes = floatOf(operand);
  if (bytes === undefined) throw new TypeError("filesizeformat needs a number");
  const base = isBinary ? 1024 : 1000;
  if (bytes === 1) return "1 Byte";
  if (bytes < base) return `${numbers.truncate(bytes)} Bytes`;
  const at = UNITS.findIndex((_, i) => bytes < base ** (i + 2));
  const chosen = at < 0 ? UNITS.length - 1 : at;
  const unit = numbers.toFloat(numbers.power(base, chosen + 2));
  const size = floatDigits((base * bytes) / unit, { type: "f", precision: 1, isAlternate: false });
  const letter = UNITS[chosen]!;
  return `${size} ${isBinary ? `${letter.toUpperCase()}iB` : `${letter}B`}`;
}

export const NUMBER_FILTERS: Readonly<Record<string, Filter>> = {
  abs: filter("", (operand) => {
    const number = numberOf(operand);
    if (number === undefined) throw new TypeError(`bad operand type for abs(): '${typeName(operand)}'`);
    if (number instanceof Float) return new Float(Math.abs(number.value));
    return number < 0 ? numbers.negate(number) : number;
  }),
  filesizeformat: filter("binary=False", (operand, { args: [binary] }) => fileSize(operand, isTrue(binary!))),
  float: filter("default=0.0", (operand, { args: [otherwise] }) => {
    const number = floatOf(operand);
    return number === undefined ? otherwise! : new Float(number);
  }),
  int: filter("default=0, base=10", (operand, { args: [otherwise, base] }) => toInteger(operand, base!) ?? otherwise!),
  round: filter("precision=0, method='common'", (operand, { args: [precision, method] }) =>
    round(operand, precision!, method!),
  ),
};
