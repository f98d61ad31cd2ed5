// The texts of numbers.
import type { Dict } from "../../../core/base/dict.js";
import { choice, type Expression, optional, repeat, sequence, text } from "../expression.js";
import { decimalsBetween, DIGIT, digits, type Limits, MINUS, MAX_DIGITS, numbersBetween } from "./decimals.js";
import { multiplesBetween } from "./multiples.js";

/** The formats of numbers that say more than their type. */
const FORMATS: Readonly<Record<string, Limits>> = {
  int8: { least: -128, most: 127 },
  uint8: { least: 0, most: 255 },
  int16: { least: -32768, most: 32767 },
  uint16: { least: 0, most: 65535 },
  int32: { least: -2147483648, most: 2147483647 },
  uint32: { least: 0, most: 4294967295 },
  int64: { least: -Infinity, most: 9223372036854774784 },
  uint64: { least: 0, most: 18446744073709549568 },
  uint: { least: 0, most: Infinity },
};

/** @throws INVALID_ARGUMENT: multiples that can't be written */
export function integerExpression(schema: Dict, path: string): Expression {
  const limits = limitsOf(schema);
  const divisor = schema["multipleOf"] as number | undefined;
  if (divisor === undefined) return numbersBetween(limits, 0);
  return multiplesBetween(divisor, limits, true, `${path}.multipleOf`);
}

/** Decimal numbers, without limits also with an exponent. @throws INVALID_ARGUMENT */
export function numberExpression(schema: Dict, path: string): Expression {
  const limits = limitsOf(schema);
  const divisor = schema["multipleOf"] as number | undefined;
  if (divisor !== undefined) return multiplesBetween(divisor, limits, false, `${path}.multipleOf`);
  if (limits.least > -Infinity || limits.most < Infinity) return decimalsBetween(limits);
  const whole = choice(text("0"), sequence(digits(1, 9), repeat(DIGIT, 0, MAX_DIGITS - 1)));
  const fraction = optional(sequence(text("."), repeat(DIGIT, 1, MAX_DIGITS)));
  const exponent = optional(
    sequence(choice(text("e"), text("E")), optional(choice(text("+"), MINUS)), repeat(DIGIT, 1, 2)),
  );
  return sequence(optional(MINUS), whole, fraction, exponent);
}

function limitsOf(schema: Dict): Limits {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, format } = schema as Record<string, number | undefined>;
  const { least, most } = FORMATS[String(format)] ?? { least: -Infinity, most: Infinity };
  return {
    least: Math.max(least, minimum ?? -Infinity, exclusiveMinimum === undefined ? -Infinity : above(exclusiveMinimum)),
    most: Math.min(most, maximum ?? Infinity, exclusiveMaximum === undefined ? Infinity : -above(-exclusiveMaximum)),
  };
}

/** The next number in f64. Texts are read as f64, so a text that is only a little above an excluded limit could be the limit. */
function above(value: number): number {
  const number = new Float64Array([value === 0 ? 0 : value]);
  const bits = new BigInt64Array(number.buffer);
  bits[0]! += value < 0 ? -1n : 1n;
  return number[0]!;
}
