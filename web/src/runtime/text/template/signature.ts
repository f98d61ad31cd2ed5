// Binds the arguments of filters, tests, methods and functions to their parameters, as Python does.
import { Float } from "./values/numbers.js";
import type { Arguments, Keywords, Value } from "./values/values.js";

interface Parameter {
  readonly name: string;
  /** Its value if it isn't given; undefined if it must be given. */
  readonly default: Value | undefined;
  readonly hasName: boolean;
}

export type Signature = readonly Parameter[];

/** Parameters in Python's notation, such as `old, new, count=-1, /`. Defaults are numbers, texts in quotes and constants. */
export function signature(text: string): Signature {
  const parts = text === "" ? [] : text.split(/, (?=\w+=|\w+$|\w+, |\/)/);
  const positional = parts.indexOf("/");
  return parts
    .filter((part) => part !== "/")
    .map((part, i) => {
      const [, name, value] = /^(\w+)(?:=([^]*))?$/.exec(part)!;
      return { name: name!, default: value === undefined ? undefined : constant(value), hasName: i >= positional };
    });
}

function constant(text: string): Value {
  if (text === "None") return null;
  if (text === "True" || text === "False") return text === "True";
  if (text.startsWith("'")) return text.slice(1, -1);
  return text.includes(".") ? new Float(Number(text)) : Number(text);
}

/** The values of the parameters. @throws TypeError: an argument is missing, unknown or given twice */
export function bind(what: string, parameters: Signature, args: Arguments, keywords: Keywords): Value[] {
  if (args.length > parameters.length)
    throw new TypeError(`${what} takes at most ${parameters.length} arguments (${args.length} given)`);
  for (const name of keywords.keys()) {
    const at = parameters.findIndex((parameter) => parameter.hasName && parameter.name === name);
    if (at < 0) throw new TypeError(`${what} got an unexpected keyword argument '${name}'`);
    if (at < args.length) throw new TypeError(`${what} got multiple values for argument '${name}'`);
  }
  return parameters.map(({ name, hasName, default: otherwise }, i) => {
    const given = i < args.length ? args[i] : hasName ? keywords.get(name) : undefined;
    const value = given === undefined ? otherwise : given;
    if (value === undefined) throw new TypeError(`${what} is missing the argument '${name}'`);
    return value;
  });
}
