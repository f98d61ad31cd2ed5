// The texts of multiples between limits.
import { fail } from "../../../core/base/errors.js";
import { choice, choiceOf, type Expression, type MachineState, set, text } from "../expression.js";
import { intersection } from "../machine/intersect.js";
import { TooLarge } from "../machine/limits.js";
import { digits, exactly, type Limits, MINUS, MAX_DIGITS, numbersBetween, scaled, written } from "./decimals.js";

/** The most multiples that are listed one by one. */
const MAX_LISTED = 2000;
/** The most digits after the point, and remainders at each of them. */
const MAX_PLACES = 15;
const MAX_REMAINDERS = 2000n;

/**
 * Few multiples are listed. Of others, the remainder of the digits so far tells whether a text may end.
 * @param isWhole - whether the multiples are integers too
 * @throws INVALID_ARGUMENT
 */
export function multiplesBetween(divisor: number, limits: Limits, isWhole: boolean, field: string): Expression {
  const { numerator, places } = fractionOf(divisor);
  const shared = isWhole ? commonDivisor(numerator, 10n ** BigInt(places)) : 1n;
  const [step, after] = isWhole ? [numerator / shared, 0] : [numerator, places];
  const { least, most } = limits;
  if ((most - least) / divisor <= MAX_LISTED) return listed(divisor, step, after, limits);
  const advice = `must be smaller, or have both limits with at most ${MAX_LISTED} multiples in between (got ${divisor})`;
  if (after > MAX_PLACES || step * BigInt(after + 1) > MAX_REMAINDERS) fail("INVALID_ARGUMENT", field, advice);
  const decimals = choice(...Array.from({ length: after + 1 }, (_, i) => numbersBetween(limits, i)));
  if (step === 1n) return decimals;
  try {
    return intersection({ must: [decimals, multiplesOf(Number(step), after)] }, set);
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
    fail("INVALID_ARGUMENT", field, advice);
  }
}

/** Multiples that are so in f64 too, where 2.4 / 0.1 isn't an integer. */
function listed(divisor: number, step: bigint, places: number, { least, most }: Limits): Expression {
  const first = scaled(least, places);
  const { floor: last } = scaled(most, places);
  const rounded = first.isExact ? first.floor : first.floor + 1n;
  const options: Expression[] = [];
  for (let value = ceiling(rounded, step) * step; value <= last; value += step) {
    const shown = decimal(value, places);
    const number = Number(shown);
    const isRead = shown.replace(/\D/g, "").length <= MAX_DIGITS || String(number) === shown;
    if (isRead && Number.isInteger(number / divisor)) options.push(text(shown));
  }
  return choiceOf(options);
}

/** The texts of digits, with at most so many after the point, that are multiples of `step` times 10^-places. */
function multiplesOf(step: number, places: number): Expression {
  const point = text(".");
  const each = Array.from({ length: 10 }, (_, digit) => digits(digit, digit));
  /** The state after so many digits behind the point; -1 before it. */
  const at = (behind: number, remainder: number): number => 1 + (behind + 1) * step + remainder;
  const states: MachineState[] = [{ edges: [[MINUS, at(-1, 0)], ...each.map((on, digit) => [on, at(-1, digit % step)] as const)], canEnd: false }]; // prettier-ignore
  for (let behind = -1; behind <= (places > 0 ? places : -1); behind++)
    for (let remainder = 0; remainder < step; remainder++) {
      const next = behind < 0 ? -1 : behind + 1;
      const edges = next > places ? [] : each.map((on, digit) => [on, at(next, (remainder * 10 + digit) % step)] as const); // prettier-ignore
      const isMultiple = (BigInt(remainder) * 10n ** BigInt(places - Math.max(behind, 0))) % BigInt(step) === 0n;
      states.push({ edges: behind < 0 && places > 0 ? [...edges, [point, at(0, remainder)]] : edges, canEnd: isMultiple }); // prettier-ignore
    }
  return { kind: "machine", states };
}

/** A number as an integer times 10^-places. */
function fractionOf(value: number): { numerator: bigint; places: number } {
  const { number, exponent } = exactly(value);
  return exponent < 0
    ? { numerator: number, places: -exponent }
    : { numerator: number * 10n ** BigInt(exponent), places: 0 };
}

function decimal(value: bigint, places: number): string {
  if (places === 0) return `${value}`;
  const size = written(value < 0n ? -value : value, places + 1, places).replace(/\.?0+$/, "");
  return value < 0n ? `-${size}` : size;
}

function ceiling(value: bigint, step: bigint): bigint {
  return value > 0n ? (value + step - 1n) / step : value / step;
}

function commonDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : commonDivisor(b, a % b);
}
