// Python's integers of any size and floats: exact arithmetic, rounding to even, and the powers and quotients of both.

import { powerOf } from "./power.js";

/** Python's int: a number if it is safe, or else a bigint. */
export type Integer = number | bigint;

/** A number that Python writes with a decimal point. */
export class Float {
  constructor(readonly value: number) {}
}

/** Python writes integers of up to 4,300 digits. Longer ones aren't supported, so that none takes long. */
const MAX_DIGITS = 4300;
const LARGEST = 10n ** BigInt(MAX_DIGITS);

/** An integer in its one form. @throws RangeError: it has more than 4,300 digits */
export function integer(value: Integer): Integer {
  if (typeof value === "number" && Number.isSafeInteger(value)) return value + 0;
  const big = BigInt(value);
  if (big >= -BigInt(Number.MAX_SAFE_INTEGER) && big <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(big);
  if (big >= LARGEST || -big >= LARGEST) throw new RangeError(`an integer has more than ${MAX_DIGITS} digits`);
  return big;
}

/** An integer of digits, with a prefix such as 0x. @throws RangeError */
export function integerFrom(digits: string): Integer {
  if (digits.length > MAX_DIGITS) throw new RangeError(`an integer has more than ${MAX_DIGITS} digits`);
  return integer(digits.length < 16 ? Number(digits) : BigInt(digits));
}

/** @throws RangeError: it is too large */
export function toFloat(value: Integer | Float): number {
  if (value instanceof Float) return value.value;
  const number = Number(value);
  if (!Number.isFinite(number)) throw new RangeError("int too large to convert to float");
  return number;
}

type Arithmetic = (a: Integer | Float, b: Integer | Float) => Integer | Float;

function exact(
  small: (a: number, b: number) => number,
  big: (a: bigint, b: bigint) => bigint,
  float: (a: number, b: number) => number,
): Arithmetic {
  return (a, b) => {
    if (a instanceof Float || b instanceof Float) return new Float(float(toFloat(a), toFloat(b)));
    if (typeof a === "number" && typeof b === "number") {
      const result = small(a, b);
      if (Number.isSafeInteger(result)) return result + 0;
    }
    return integer(big(BigInt(a), BigInt(b)));
  };
}

const plus = (a: number, b: number): number => a + b;
const less = (a: number, b: number): number => a - b;
const times = (a: number, b: number): number => a * b;

export const add = exact(plus, (a, b) => a + b, plus);
export const subtract = exact(less, (a, b) => a - b, less);
export const multiply = exact(times, (a, b) => a * b, times);

function zeroDivision(b: Integer | Float): void {
  if (Number(b instanceof Float ? b.value : b) === 0) throw new RangeError("division by zero");
}

/** The quotient rounded down, and the remainder with the sign of the divisor. @throws RangeError: division by zero */
function divideFloats(a: number, b: number): [number, number] {
  let rest = a % b;
  if (rest === 0) rest = b < 0 || Object.is(b, -0) ? -0 : 0;
  const down = rest !== 0 && rest < 0 !== b < 0;
  const quotient = (a - (a % b)) / b - (down ? 1 : 0);
  if (down) rest += b;
  const floor = Math.floor(quotient);
  if (quotient === 0) return [Object.is(a / b, -0) || a / b < 0 ? -0 : 0, rest];
  return [quotient - floor > 0.5 ? floor + 1 : floor, rest];
}

const floorSmall = (a: number, b: number): number => Math.floor(a / b);
const floorBig = (a: bigint, b: bigint): bigint => a / b - (a % b !== 0n && a < 0n !== b < 0n ? 1n : 0n);
const smallQuotient = (a: number, b: number): number =>
  Math.abs(a) < 2 ** 31 ? floorSmall(a, b) : Number(floorBig(BigInt(a), BigInt(b)));
const quotients = exact(smallQuotient, floorBig, (a, b) => divideFloats(a, b)[0]);
const remainders = exact(
  (a, b) => (a % b !== 0 && a < 0 !== b < 0 ? (a % b) + b : a % b),
  (a, b) => a - b * floorBig(a, b),
  (a, b) => divideFloats(a, b)[1],
);

export const floorDivide: Arithmetic = (a, b) => {
  zeroDivision(b);
  return quotients(a, b);
};

export const remainder: Arithmetic = (a, b) => {
  zeroDivision(b);
  return remainders(a, b);
};

/** The quotient of two numbers, rounded once. @throws RangeError */
export function divide(a: Integer | Float, b: Integer | Float): Float {
  zeroDivision(b);
  if (typeof a !== "bigint" && typeof b !== "bigint") return new Float(toFloat(a) / toFloat(b));
  if (a instanceof Float || b instanceof Float) return new Float(toFloat(a) / toFloat(b));
  return new Float(ratio(BigInt(a), BigInt(b)));
}

/** The float nearest to a ratio. @throws RangeError: it is too large */
function ratio(a: bigint, b: bigint): number {
  if (a === 0n) return 0;
  const isNegative = a < 0n !== b < 0n;
  const [top, bottom] = [a < 0n ? -a : a, b < 0n ? -b : b];
  // a quotient of at least 66 bits, whose last bit says whether it is exact, is rounded like the ratio
  const shift = Math.max(-1074, bits(top) - bits(bottom) - 66);
  const [scaled, divisor] = shift < 0 ? [top << BigInt(-shift), bottom] : [top, bottom << BigInt(shift)];
  const quotient = ((scaled / divisor) << 1n) | (scaled % divisor === 0n ? 0n : 1n);
  const size = Number(quotient) * 2 ** Math.max(-1000, shift - 1) * 2 ** Math.min(0, shift - 1 + 1000);
  if (!Number.isFinite(size)) throw new RangeError("integer division result too large for a float");
  return isNegative ? -size : size;
}

function bits(value: bigint): number {
  return value.toString(16).length * 4;
}

/** @throws RangeError: the result is too large, or has more than 4,300 digits; TypeError: it is a complex number */
export const power: Arithmetic = (a, b) => {
  if (!(a instanceof Float) && !(b instanceof Float)) {
    if (b >= 0) return wholePower(BigInt(a), BigInt(b));
    zeroDivision(a);
    return new Float(ratio(1n, BigInt(wholePower(BigInt(a), -BigInt(b)))));
  }
  const [base, exponent] = [toFloat(a), toFloat(b)];
  if (base === 0 && exponent < 0) throw new RangeError("0.0 cannot be raised to a negative power");
  if (base < 0 && Number.isFinite(base) && Number.isFinite(exponent) && !Number.isInteger(exponent))
    throw new TypeError("a power that is a complex number is not supported");
  const isOne = base === 1 || exponent === 0 || (base === -1 && !Number.isFinite(exponent));
  const size = isOne ? 1 : base === 0 ? base ** exponent : powerOf(Math.abs(base), exponent);
  const result = base < 0 && exponent % 2 !== 0 && !isOne ? -size : size;
  if (!Number.isFinite(result) && Number.isFinite(base) && Number.isFinite(exponent))
    throw new RangeError("a power is too large for a float");
  return new Float(result);
};

function wholePower(base: bigint, exponent: bigint): Integer {
  if (base === 0n || base === 1n) return Number(exponent === 0n ? 1n : base);
  if (base === -1n) return exponent % 2n === 0n ? 1 : -1;
  if (exponent * BigInt(bits(base)) > 4n * BigInt(MAX_DIGITS) * 4n)
    throw new RangeError(`an integer has more than ${MAX_DIGITS} digits`);
  return integer(base ** exponent);
}

export function negate(value: Integer | Float): Integer | Float {
  return value instanceof Float ? new Float(-value.value) : integer(-value);
}

/** Negative, zero or positive; NaN if one of them is. Exact for integers of any size. */
export function compareNumbers(a: Integer | Float, b: Integer | Float): number {
  const [left, right] = [a instanceof Float ? a.value : a, b instanceof Float ? b.value : b];
  return left < right ? -1 : left > right ? 1 : left == right ? 0 : NaN; // == compares a number with a bigint
}

/** A finite float as a ratio of integers. */
function fraction(value: number): [bigint, bigint] {
  let exponent = 0;
  let mantissa = value;
  while (!Number.isInteger(mantissa)) {
    mantissa *= 2;
    exponent += 1;
  }
  return [BigInt(mantissa), 1n << BigInt(exponent)];
}

/** The integer nearest to a ratio, the even one of two. */
function roundRatio(top: bigint, bottom: bigint): bigint {
  const down = floorBig(top, bottom);
  const twice = 2n * (top - down * bottom);
  const isUp = twice > bottom || (twice === bottom && down % 2n !== 0n);
  return isUp ? down + 1n : down;
}

/** A finite float times 10^digits as the nearest integer, from its exact value. */
export function scaledBy(value: number, digits: number): bigint {
  const [top, bottom] = fraction(value);
  return digits >= 0
    ? roundRatio(top * 10n ** BigInt(digits), bottom)
    : roundRatio(top, bottom * 10n ** BigInt(-digits));
}

/** Python's round(). @throws RangeError */
export function round(value: Integer | Float, digits: number): Integer | Float {
  if (!(value instanceof Float)) {
    if (digits >= 0) return value;
    if (digits < -MAX_DIGITS) return 0;
    const unit = 10n ** BigInt(-digits);
    return integer(roundRatio(BigInt(value), unit) * unit);
  }
  const { value: number } = value;
  if (!Number.isFinite(number) || number === 0 || digits > 323) return value;
  if (digits < -308) return new Float(number < 0 ? -0 : 0);
  const scaled = scaledBy(number, digits);
  const size = Number(`${scaled < 0n ? -scaled : scaled}e${-digits}`);
  if (!Number.isFinite(size)) throw new RangeError("rounded value too large to represent");
  return new Float(number < 0 ? -size : size);
}

/** The integer of a float, cut towards zero. @throws RangeError: it is infinite, or NaN */
export function truncate(value: number): Integer {
  if (!Number.isFinite(value)) throw new RangeError("cannot convert float infinity or NaN to integer");
  return integer(BigInt(Math.trunc(value)));
}
