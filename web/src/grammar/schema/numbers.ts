// The texts of numbers between limits.
import type { Dict } from "../../base/dict.js";
import { fail } from "../../base/errors.js";
import { show } from "../../base/show.js";
import { choice, type Expression, optional, repeat, sequence, set, text } from "../expression.js";

/** Numbers have at most this many digits: f64, which JavaScript reads them as, tells all of those apart. */
const MOST_DIGITS = 15;
/** The most digits after the point of a number between limits. */
const FRACTION_DIGITS = 6;
/** The most multiples that are listed one by one. */
const MOST_MULTIPLES = 2000;
/** The largest divisor whose multiples without limits are told by the remainder of the digits so far. */
const LARGEST_DIVISOR = 200;

const DIGIT = digits(0, 9);
const MINUS = text("-");

/** Adds rules that use each other, and returns the last. */
export type AddRules = (make: (rule: (i: number) => Expression) => Expression[]) => Expression;

/** Limits of a number. Those that are excluded don't belong to it. */
interface Limits {
  readonly least: number;
  readonly most: number;
  readonly excludesLeast: boolean;
  readonly excludesMost: boolean;
}

/** @throws INVALID_ARGUMENT: limits or multiples that can't be written */
export function integerExpression(schema: Dict, path: string, addRules: AddRules): Expression {
  const limits = limitsOf(schema, path);
  const divisor = divisorOf(schema, path);
  if (divisor === undefined || placesOf(divisor) !== undefined) return numbersBetween(limits, 0);
  if (!Number.isInteger(divisor))
    fail("INVALID_ARGUMENT", `${path}.multipleOf`, `must be an integer, or 0.1, 0.01 and so on (got ${divisor})`);
  return multiples(divisor, limits, path, addRules);
}

/** Decimal numbers, without limits also with an exponent. @throws INVALID_ARGUMENT */
export function numberExpression(schema: Dict, path: string, addRules: AddRules): Expression {
  const limits = limitsOf(schema, path);
  const divisor = divisorOf(schema, path);
  const places = divisor === undefined ? FRACTION_DIGITS : placesOf(divisor);
  if (places === undefined) return integerExpression(schema, path, addRules);
  const isLimited = limits.least > -Infinity || limits.most < Infinity || divisor !== undefined;
  if (isLimited) return choice(...Array.from({ length: places + 1 }, (_, i) => numbersBetween(limits, i)));
  const whole = choice(text("0"), sequence(digits(1, 9), repeat(DIGIT, 0, MOST_DIGITS - 1)));
  const fraction = optional(sequence(text("."), repeat(DIGIT, 1, MOST_DIGITS)));
  const exponent = optional(
    sequence(choice(text("e"), text("E")), optional(choice(text("+"), MINUS)), repeat(DIGIT, 1, 2)),
  );
  return sequence(optional(MINUS), whole, fraction, exponent);
}

function digits(first: number, last: number): Expression {
  return set([[0x30 + first, 0x30 + last]]);
}

function limitsOf(schema: Dict, path: string): Limits {
  const number = (keyword: string, otherwise: number): number => {
    const value = schema[keyword] ?? otherwise;
    if (typeof value === "number" && !Number.isNaN(value)) return value;
    fail("INVALID_ARGUMENT", `${path}.${keyword}`, `must be a number (got ${show(value)})`);
  };
  const [least, above] = [number("minimum", -Infinity), number("exclusiveMinimum", -Infinity)];
  const [most, below] = [number("maximum", Infinity), number("exclusiveMaximum", Infinity)];
  return {
    least: Math.max(least, above),
    most: Math.min(most, below),
    excludesLeast: above >= least,
    excludesMost: below <= most,
  };
}

function divisorOf(schema: Dict, path: string): number | undefined {
  const divisor = schema["multipleOf"];
  if (divisor === undefined || (typeof divisor === "number" && divisor > 0)) return divisor;
  fail("INVALID_ARGUMENT", `${path}.multipleOf`, `must be a number above 0 (got ${show(divisor)})`);
}

/** n of 10^-n, for n from 0 to FRACTION_DIGITS; undefined for other numbers. */
function placesOf(divisor: number): number | undefined {
  const places = Math.round(-Math.log10(divisor));
  return places >= 0 && places <= FRACTION_DIGITS && Number(`1e-${places}`) === divisor ? places : undefined;
}

/** Numbers with so many digits after the point. */
function numbersBetween({ least, most, excludesLeast, excludesMost }: Limits, places: number): Expression {
  const first = least === -Infinity ? undefined : scaled(least, places);
  const last = most === Infinity ? undefined : scaled(most, places);
  const from = first && (first.isExact && !excludesLeast ? first.floor : first.floor + 1n);
  const to = last && (last.isExact && excludesMost ? last.floor - 1n : last.floor);
  const positive = naturalsBetween(from === undefined || from < 0n ? 0n : from, to, places);
  const negative = naturalsBetween(to === undefined || to > -1n ? 1n : -to, from && -from, places);
  const isNegative = from === undefined || from < 0n;
  const isPositive = to === undefined || to >= 0n;
  return choice(...(isPositive ? [positive] : []), ...(isNegative ? [sequence(MINUS, negative)] : []));
}

/** A number times 10^places, rounded down. JavaScript's shortest digits count as its exact value, as in JSON. */
function scaled(value: number, places: number): { floor: bigint; isExact: boolean } {
  const [mantissa, exponent] = value.toExponential().split("e") as [string, string];
  const [whole, fraction = ""] = mantissa.split(".") as [string, string?];
  const power = Number(exponent) - fraction.length + places;
  const number = BigInt(whole + fraction);
  if (power >= 0) return { floor: number * 10n ** BigInt(power), isExact: true };
  const unit = 10n ** BigInt(-power);
  const isExact = number % unit === 0n;
  return { floor: number / unit - (number < 0n && !isExact ? 1n : 0n), isExact };
}

/** Integers from 0 on, written with a point before the last `places` digits. */
function naturalsBetween(from: bigint, to: bigint | undefined, places: number): Expression {
  const largest = 10n ** BigInt(MOST_DIGITS) - 1n;
  const end = to ?? (from > largest ? from * 10n : largest);
  const options: Expression[] = [];
  for (let length = Math.max(places + 1, `${from}`.length); length <= Math.max(places + 1, `${end}`.length); length++) {
    const low = length === places + 1 ? 0n : 10n ** BigInt(length - 1); // one digit before the point may be 0
    const high = 10n ** BigInt(length) - 1n;
    const [first, last] = [from > low ? from : low, end < high ? end : high];
    if (first <= last) options.push(sameLength(written(first, length, places), written(last, length, places)));
  }
  return choice(...options);
}

function written(value: bigint, length: number, places: number): string {
  const all = `${value}`.padStart(length, "0");
  return places === 0 ? all : `${all.slice(0, -places)}.${all.slice(-places)}`;
}

/** The numbers between two whose digits and point stand at the same places. */
function sameLength(first: string, last: string): Expression {
  if (first === last) return text(first);
  const [low, high] = [Number(first[0]), Number(last[0])];
  const [lowRest, highRest] = [first.slice(1), last.slice(1)];
  if (first[0] === last[0]) return sequence(text(first[0]!), sameLength(lowRest, highRest));
  const [zeros, nines] = [lowRest.replace(/\d/g, "0"), lowRest.replace(/\d/g, "9")];
  const rest = sequence(
    ...lowRest.split(".").flatMap((run, i) => [...(i > 0 ? [text(".")] : []), repeat(DIGIT, run.length, run.length)]),
  );
  if (lowRest === zeros && highRest === nines) return sequence(digits(low, high), rest);
  return choice(
    sequence(text(first[0]!), sameLength(lowRest, nines)),
    ...(low + 1 < high ? [sequence(digits(low + 1, high - 1), rest)] : []),
    sequence(text(last[0]!), sameLength(zeros, highRest)),
  );
}

function multiples(divisor: number, limits: Limits, path: string, addRules: AddRules): Expression {
  const { least, most, excludesLeast, excludesMost } = limits;
  if ((most - least) / divisor <= MOST_MULTIPLES) {
    const options: Expression[] = [];
    for (let value = Math.ceil(least / divisor) * divisor; value <= most; value += divisor) {
      const isExcluded = (value === least && excludesLeast) || (value === most && excludesMost);
      if (!isExcluded) options.push(text(`${value === 0 ? 0 : value}`));
    }
    return choice(...options);
  }
  const hasMinus = least === -Infinity;
  if (divisor > LARGEST_DIVISOR || most < Infinity || (!hasMinus && least !== 0)) {
    const message = `must be at most ${LARGEST_DIVISOR}, with no limits but a minimum of 0; or give both limits, with at most ${MOST_MULTIPLES} values in between`;
    fail("INVALID_ARGUMENT", `${path}.multipleOf`, message);
  }
  // Rule i continues digits whose remainder is i. The last rule is the first digit.
  const rest = addRules((rule) => {
    const next = (remainder: number, from: number): Expression[] =>
      Array.from({ length: 10 - from }, (_, i) =>
        sequence(digits(from + i, from + i), rule((remainder * 10 + from + i) % divisor)),
      );
    const continued = Array.from({ length: divisor }, (_, i) => choice(...(i === 0 ? [text("")] : []), ...next(i, 0)));
    return [...continued, choice(...next(0, 1))];
  });
  return choice(
    ...(excludesLeast && least === 0 ? [] : [text("0")]),
    hasMinus ? sequence(optional(MINUS), rest) : rest,
  );
}
