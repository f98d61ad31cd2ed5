// The decimal texts of numbers between limits.
import { choice, type Expression, isNothing, NOTHING, repeat, sequence, set, text } from "../expression.js";

/** Numbers have at most this many digits, unless their limits need more: f64, which JavaScript reads them as, tells all of those apart. */
export const MAX_DIGITS = 15;
/** The most digits after the point of a number between limits, and where the limits are so close that there is none. */
const FRACTION_DIGITS = 6;
const MAX_FRACTION_DIGITS = 20;

export const DIGIT = digits(0, 9);
export const MINUS = text("-");

/** Limits of a number, both included. */
export interface Limits {
  readonly least: number;
  readonly most: number;
}

/** Decimals between limits, of which at least one is finite. */
export function decimalsBetween(limits: Limits): Expression {
  if (limits.least > limits.most) return NOTHING;
  const usual = choice(...Array.from({ length: FRACTION_DIGITS + 1 }, (_, i) => numbersBetween(limits, i)));
  if (!isNothing(usual)) return usual;
  for (let places = FRACTION_DIGITS + 1; places <= MAX_FRACTION_DIGITS; places++) {
    const more = numbersBetween(limits, places);
    if (!isNothing(more)) return more;
  }
  return choice(text(JSON.stringify(limits.least)), text(JSON.stringify(limits.most)));
}

export function digits(first: number, last: number): Expression {
  return set([[0x30 + first, 0x30 + last]]);
}

/** Numbers with so many digits after the point. */
export function numbersBetween({ least, most }: Limits, places: number): Expression {
  const first = least === -Infinity ? undefined : scaled(least, places);
  const last = most === Infinity ? undefined : scaled(most, places);
  const from = first && (first.isExact ? first.floor : first.floor + 1n);
  const to = last?.floor;
  const positive = naturalsBetween(from === undefined || from < 0n ? 0n : from, to, places);
  const negative = naturalsBetween(to === undefined || to > -1n ? 1n : -to, from && -from, places);
  const isNegative = from === undefined || from < 0n;
  const isPositive = to === undefined || to >= 0n;
  return choice(...(isPositive ? [positive] : []), ...(isNegative ? [sequence(MINUS, negative)] : []));
}

/** A number as an integer times 10^exponent. JavaScript's shortest digits count as its exact value, as in JSON. */
export function exactly(value: number): { number: bigint; exponent: number } {
  const [mantissa, exponent] = value.toExponential().split("e") as [string, string];
  const [whole, fraction = ""] = mantissa.split(".") as [string, string?];
  return { number: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

/** A number times 10^places, rounded down. */
export function scaled(value: number, places: number): { floor: bigint; isExact: boolean } {
  const { number, exponent } = exactly(value);
  const power = exponent + places;
  if (power >= 0) return { floor: number * 10n ** BigInt(power), isExact: true };
  const unit = 10n ** BigInt(-power);
  const isExact = number % unit === 0n;
  return { floor: number / unit - (number < 0n && !isExact ? 1n : 0n), isExact };
}

/** Integers from 0 on, written with a point before the last `places` digits. */
function naturalsBetween(from: bigint, to: bigint | undefined, places: number): Expression {
  const largest = 10n ** BigInt(MAX_DIGITS) - 1n;
  // Above numbers of 15 digits, only those are written that are needed: whole ones, of at most one digit more.
  if (from > largest && places > 0 && places <= FRACTION_DIGITS) return NOTHING;
  const last = from > largest ? from * 10n : largest;
  const end = to === undefined || to > last ? last : to;
  const options: Expression[] = [];
  for (let length = Math.max(places + 1, `${from}`.length); length <= Math.max(places + 1, `${end}`.length); length++) {
    const low = length === places + 1 ? 0n : 10n ** BigInt(length - 1); // one digit before the point may be 0
    const high = 10n ** BigInt(length) - 1n;
    const [first, final] = [from > low ? from : low, end < high ? end : high];
    if (first <= final) options.push(sameLength(written(first, length, places), written(final, length, places)));
  }
  return choice(...options);
}

/** An integer from 0 on, padded to so many digits, with a point before the last `places` of them. */
export function written(value: bigint, length: number, places: number): string {
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
