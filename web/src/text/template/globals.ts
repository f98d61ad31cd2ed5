// Functions that every template has.
import { show } from "../../base/show.js";
import type { Budget } from "./budget.js";
import { concatenate } from "./python_text.js";
import { strftime } from "./strftime.js";
import {
  Callable,
  type Dict,
  firstOf,
  itemsOf,
  keyOf,
  Namespace,
  numberOf,
  Range,
  stringOf,
  Undefined,
  type Value,
} from "./values.js";

/** Raised by a template's call to raise_exception. */
export class TemplateException extends Error {}

/** The limit for range() of Jinja's sandbox. */
const MAX_RANGE = 100000;

/** Characters of a message of raise_exception. */
const MOST_QUOTED = 400;

/** @param now the time for strftime_now, written in the local time zone */
export function globalsOf(now: Date, budget: Budget): Map<string, Value> {
  const functions: Record<string, Callable> = {
    raise_exception: new Callable(([message = null]) => {
      const text = stringOf(message);
      throw new TemplateException(text === undefined ? show(message) : text.slice(0, MOST_QUOTED));
    }),
    strftime_now: new Callable(([format]) => {
      const text = stringOf(format);
      if (text === undefined) throw new TypeError("strftime_now() needs a string");
      return strftime(now, text);
    }),
    range: new Callable(([first, stop, step = 1]) => range(first, stop, step)),
    dict: new Callable(([source], keywords) => {
      const dict: Dict = new Map(keywords);
      return source === undefined ? dict : new Map([...entriesOf(source, budget), ...dict]);
    }),
    namespace: new Callable(([source], keywords) => {
      const entries = source === undefined ? [] : entriesOf(source, budget);
      return new Namespace(new Map([...entries.map(([key, value]) => [String(key), value] as const), ...keywords]));
    }),
    joiner: new Callable(([separator = ", "]) => {
      let isFirst = true;
      return new Callable(() => {
        const text = isFirst ? "" : concatenate([separator], budget);
        isFirst = false;
        return text;
      });
    }),
    cycler: new Callable((items) => {
      let at = 0;
      const next = new Callable(() => firstOf(items[at++ % items.length], new Undefined("the cycler is empty")));
      return new Map([["next", next]]);
    }),
  };
  const constants = { true: true, false: false, none: null, True: true, False: false, None: null };
  return new Map<string, Value>([...Object.entries(constants), ...Object.entries(functions)]);
}

function entriesOf(source: Value, budget: Budget): [ReturnType<typeof keyOf>, Value][] {
  budget.written(source);
  if (source instanceof Map) return [...source];
  return itemsOf(source).map((pair) => {
    const [key, value, ...more] = itemsOf(pair);
    if (key === undefined || value === undefined || more.length > 0) throw new TypeError("an entry must be a pair");
    return [keyOf(key), value];
  });
}

function range(first: Value | undefined, stop: Value | undefined, step: Value): Range {
  const [from, by] = [numberOf(first), numberOf(step)];
  const to = stop === undefined ? from : numberOf(stop);
  if (from === undefined || by === undefined || to === undefined) throw new TypeError("range() needs numbers");
  const start = stop === undefined ? 0 : from;
  const length = Math.max(0, Math.ceil((to - start) / by));
  if (!(length <= MAX_RANGE)) throw new RangeError(`range() must have at most ${MAX_RANGE} numbers`);
  const numbers = new Range();
  for (let i = 0; i < length; i++) numbers.push(start + i * by);
  return numbers;
}
