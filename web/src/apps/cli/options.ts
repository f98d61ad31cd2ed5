// Parsers of option values.
import { InvalidArgumentError } from "commander";
import { parseTokenCount, TOKEN_COUNT_FORMS } from "../../core/base/token_count.js";
import { nearest } from "../../core/base/options.js";

/** Parses an integer from `min` to `max`. `must` begins the sentence of its errors. */
export function parseInteger(min: number, max = Number.MAX_SAFE_INTEGER, must = "Must"): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(
      `${must} be an integer ${max === Number.MAX_SAFE_INTEGER && !(value > max) ? `from ${min} up` : `from ${min} to ${max}`}.`,
    );
  };
}

/** Parses a number of tokens as people write it: 100000, 100,000, 100k or 128K. */
export function parseTokens(min: number, max = Number.MAX_SAFE_INTEGER, must = "Must"): (text: string) => number {
  return (text) => {
    const value = parseTokenCount(text);
    if (value !== undefined || /^-\d+$/.test(text.trim())) return parseInteger(min, max, must)(String(value ?? text));
    const range = max === Number.MAX_SAFE_INTEGER ? `from ${min} up` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`${must} be an integer ${range}. Also written as ${TOKEN_COUNT_FORMS}.`);
  };
}

/** Parses a number from `min` to `max`. */
export function parseNumber(min = -Infinity, max = Infinity, must = "Must"): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isFinite(value) && value >= min && value <= max) return value;
    const range = [
      min > -Infinity ? ` from ${min}` : "",
      max < Infinity ? ` to ${max}` : min > -Infinity ? " up" : "",
    ].join("");
    throw new InvalidArgumentError(`${must} be a number${range}.`);
  };
}

/** Parses a duration such as 90s, 25m or 2h. Returns seconds. */
export function parseDuration(text: string): number {
  const [, number = "", unit = "s"] = /^(\d+(?:\.\d+)?)([smh])?$/.exec(text.trim()) ?? [];
  const seconds = Number(number) * { s: 1, m: 60, h: 3600 }[unit as "s" | "m" | "h"];
  if (seconds > 0) return seconds;
  throw new InvalidArgumentError("Must be a number above 0 with s, m or h, for example 25m.");
}

/** Parses a number above `min`. */
export function parseNumberAbove(min: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isFinite(value) && value > min) return value;
    throw new InvalidArgumentError(`Must be a number above ${min}.`);
  };
}

/** Parses one of some lowercase names, in either case. */
export function parseName<Name extends string>(names: readonly Name[]): (text: string) => Name {
  return (text) => {
    const found = names.find((name) => name === text.toLowerCase());
    if (found !== undefined) return found;
    const near = nearest(text, names, 2);
    const hint = near === undefined ? "" : ` Did you mean ${near}?`;
    throw new InvalidArgumentError(`Must be one of ${names.join(", ")}.${hint}`);
  };
}

/** Collects the values of an option that can be repeated. */
export function repeatable<Value>(parse: (text: string) => Value): (text: string, previous?: Value[]) => Value[] {
  return (text, previous = []) => [...previous, parse(text)];
}
