// Converts the inputs of a template, which are JSON.
import { Float, integer } from "./numbers.js";
import { Dict, Undefined, type Value } from "./values.js";

/** Nested arrays and objects of the inputs. */
const MAX_NESTED = 500;

/** From here on, JSON writes a number with an exponent, which Python reads as a float. */
const LARGEST_INTEGER = 1e21;

/** A value that is ready for a template, among inputs that are converted. */
export class Ready {
  constructor(readonly value: Value) {}
}

/** Converts JSON. @throws TypeError for anything else, or if it is nested too deeply */
export function valueOf(input: unknown, depth = 0): Value {
  if (depth > MAX_NESTED) throw new TypeError("it is nested too deeply");
  if (typeof input === "string" || typeof input === "boolean" || input === null) return input;
  if (input instanceof Ready) return input.value;
  if (typeof input === "number")
    return Number.isInteger(input) && Math.abs(input) < LARGEST_INTEGER ? integer(input) : new Float(input);
  if (input === undefined) return new Undefined("a variable is undefined");
  if (Array.isArray(input)) return Array.from(input, (item) => valueOf(item, depth + 1));
  if (typeof input !== "object") throw new TypeError(`a ${typeof input} is not JSON`);
  return new Dict(Object.entries(input).map(([key, item]) => [key, valueOf(item, depth + 1)]));
}
