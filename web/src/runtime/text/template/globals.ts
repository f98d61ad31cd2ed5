// Functions that every template has.
import { show } from "../../../core/base/show.js";
import type { Budget } from "./values/budget.js";
import { bind, signature } from "./signature.js";
import { strftime } from "./strftime.js";
import { integerOf, itemsOf, typeName } from "./values/types.js";
import {
  type Arguments,
  callable,
  Dict,
  Instance,
  type Keywords,
  Namespace,
  Range,
  stringOf,
  tuple,
  type Value,
} from "./values/values.js";

/** Raised by a template's call to raise_exception. */
export class TemplateException extends Error {}

/** The limit for range() of Jinja's sandbox. */
const MAX_RANGE = 100000;

/** Characters of a message of raise_exception. */
const MAX_QUOTED = 400;

function defined(name: string, parameters: string, run: (args: Value[]) => Value): Instance {
  const bound = signature(parameters);
  return callable((args, keywords) => run(bind(`${name}()`, bound, args, keywords)));
}

/** @param now the time for strftime_now, written in the local time zone */
export function globalsOf(now: Date, budget: Budget): Map<string, Value> {
  return new Map<string, Value>(
    Object.entries({
      raise_exception: defined("raise_exception", "message", ([message]) => {
        const text = stringOf(message);
        throw new TemplateException(text === undefined ? show(message) : text.slice(0, MAX_QUOTED));
      }),
      strftime_now: defined("strftime_now", "format", ([format]) => {
        const text = stringOf(format);
        if (text === undefined) throw new TypeError("strftime_now() needs a string");
        return strftime(now, text);
      }),
      range: callable((args, keywords) => {
        if (keywords.size > 0) throw new TypeError("range() takes no keyword arguments");
        return range(args);
      }),
      dict: new Instance("TemplateDict", {
        call: (args, keywords) => dict(args, keywords, budget),
        attribute: (name) =>
          name === "fromkeys" ? defined("dict.fromkeys", "iterable, value=None, /", fromKeys) : undefined,
      }),
      namespace: callable((args, keywords) => namespace(dict(args, keywords, budget))),
      joiner: defined("joiner", "sep=', '", ([separator]) => joiner(separator!)),
      cycler: callable((items, keywords) => {
        if (items.length === 0 || keywords.size > 0) throw new TypeError("cycler() needs at least one item");
        return cycler(items);
      }),
      lipsum: callable(() => {
        throw new TypeError("lipsum() is not supported: a prompt must not depend on chance");
      }),
    }),
  );
}

function fromKeys([keys, value]: Value[]): Dict {
  return new Dict(itemsOf(keys!).map((key) => [key, value!]));
}

function namespace(attributes: Dict): Namespace {
  for (const name of attributes.keys()) checkAttribute(name);
  return new Namespace(attributes);
}

/** @throws TypeError: transformers refuses the name of a namespace's attribute */
export function checkAttribute(name: Value): void {
  if (stringOf(name)?.startsWith("_") === true)
    throw new TypeError(`a namespace can't have an attribute that starts with an underscore: ${stringOf(name)!}`);
}

function joiner(sep: Value): Instance {
  let used = false;
  return new Instance("Joiner", {
    call: (args, keywords) => {
      bind("joiner", [], args, keywords);
      const written = used ? sep : "";
      used = true;
      return written;
    },
    attribute: (name) => (name === "sep" ? sep : name === "used" ? used : undefined),
  });
}

function cycler(items: Arguments): Instance {
  let pos = 0;
  const attributes: Readonly<Record<string, () => Value>> = {
    current: () => items[pos]!,
    items: () => tuple(items),
    pos: () => pos,
    next: () =>
      defined("next", "", () => {
        const current = items[pos]!;
        pos = (pos + 1) % items.length;
        return current;
      }),
    reset: () =>
      defined("reset", "", () => {
        pos = 0;
        return null;
      }),
  };
  return new Instance("Cycler", {
    attribute: (name) => (Object.hasOwn(attributes, name) ? attributes[name]!() : undefined),
  });
}

function dict([source, ...more]: Arguments, keywords: Keywords, budget: Budget): Dict {
  if (more.length > 0) throw new TypeError(`dict expected at most 1 argument, got ${more.length + 1}`);
  const made = new Dict(source === undefined ? [] : entriesOf(source, budget));
  for (const [name, value] of keywords) made.set(name, value);
  return made;
}

function entriesOf(source: Value, budget: Budget): (readonly [Value, Value])[] {
  budget.written(source);
  if (source instanceof Dict) return source.entries();
  return itemsOf(source).map((pair) => {
    const [key, value, ...more] = itemsOf(pair);
    if (key === undefined || value === undefined || more.length > 0)
      throw new TypeError(`an entry of a dictionary must be a pair (got ${typeName(pair)})`);
    return [key, value];
  });
}

function range(args: Arguments): Range {
  if (args.length === 0 || args.length > 3) throw new TypeError(`range() takes 1 to 3 arguments (got ${args.length})`);
  const [first, second, step = 1] = args.map((value) => {
    if (stringOf(value) !== undefined || typeof value === "object") throw new TypeError("range() needs numbers");
    return integerOf(value, "range()'s argument");
  });
  const [start, stop] = second === undefined ? [0, first!] : [first!, second];
  if (step === 0) throw new RangeError("range() arg 3 must not be zero");
  const length = Math.max(0, Math.ceil((stop - start) / step));
  if (!(length <= MAX_RANGE)) throw new RangeError(`range() must have at most ${MAX_RANGE} numbers`);
  const numbers = new Range();
  for (let i = 0; i < length; i++) numbers.push(start + i * step);
  return Object.assign(numbers, { start, stop, step });
}
