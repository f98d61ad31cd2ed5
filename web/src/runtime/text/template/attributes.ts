// Attributes and items of values: `value.name`, `value["name"]` and `value[1:2]`.
import type { Budget } from "./values/budget.js";
import { formatFields } from "./format/format_fields.js";
import { areEqual } from "./values/comparisons.js";
import { Float } from "./values/numbers.js";
import { bind, signature } from "./signature.js";
import { methodOfText } from "./string_methods.js";
import { integerOf, itemsOf, numberOf, typeName, wholeOf } from "./values/types.js";
import {
  type Arguments,
  callable,
  Dict,
  firstOf,
  Instance,
  type Keywords,
  Markup,
  Namespace,
  Range,
  stringOf,
  tuple,
  Tuple,
  Undefined,
  undefinedError,
  type Value,
  View,
} from "./values/values.js";

/** Methods that change their object, which the sandbox of transformers forbids. */
const FORBIDDEN: Readonly<Record<string, readonly string[]>> = {
  list: ["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"],
  dict: ["clear", "pop", "popitem", "setdefault", "update"],
};

/** Attributes that Python has and this package doesn't. */
const UNSUPPORTED: Readonly<Record<string, readonly string[]>> = {
  str: ["encode", "maketrans", "translate"],
  Markup: ["encode", "escape", "maketrans", "striptags", "translate", "unescape"],
  int: ["as_integer_ratio", "bit_count", "conjugate", "from_bytes", "to_bytes"],
  float: ["as_integer_ratio", "conjugate", "fromhex", "hex"],
  dict: ["fromkeys"],
  dict_keys: ["isdisjoint", "mapping"],
  dict_items: ["isdisjoint", "mapping"],
  dict_values: ["mapping"],
  generator: ["close", "send", "throw", "gi_running", "gi_suspended", "gi_yieldfrom"],
};

/** `value.name`: a method, or else an item of that name. @throws Error: the value is undefined */
export function attributeOf(value: Value, name: string, budget: Budget): Value {
  const found = firstOf(methodOf(value, name, budget), itemAt(value, name));
  return found === undefined ? missing(value, name) : found;
}

/** `value[key]`: an item, or else the method of that name. @throws Error: the value is undefined */
export function itemOf(value: Value, key: Value, budget: Budget): Value {
  const name = stringOf(key);
  const found = firstOf(itemAt(value, key), name === undefined ? undefined : methodOf(value, name, budget));
  return found === undefined ? missing(value, key) : found;
}

function missing(value: Value, key: Value): Undefined {
  if (value instanceof Undefined) throw undefinedError(value);
  const name = stringOf(key) ?? (typeof key === "object" ? typeName(key) : String(key));
  const shown = name.length > 100 ? `${name.slice(0, 100)}…` : name;
  return new Undefined(`'${typeName(value)} object' has no attribute '${shown}'`);
}

function itemAt(value: Value, key: Value): Value | undefined {
  if (value instanceof Dict) {
    const isHashable = !(Array.isArray(key) && !(key instanceof Tuple)) && !(key instanceof Dict);
    return isHashable ? value.get(key) : undefined;
  }
  const index = wholeOf(key);
  if (typeof index !== "number") return undefined;
  if (Array.isArray(value)) return value.at(index);
  const text = stringOf(value);
  const character = text === undefined ? undefined : Array.from(text).at(index);
  return character !== undefined && value instanceof Markup ? new Markup(character) : character;
}

/** A method, but no item. @throws Error: the value is undefined */
export function methodNamed(value: Value, name: string, budget: Budget): Value {
  return methodOf(value, name, budget) ?? missing(value, name);
}

function methodOf(value: Value, name: string, budget: Budget): Value | undefined {
  const type = typeName(value);
  if (FORBIDDEN[type]?.includes(name) === true)
    return new Undefined(`access to attribute '${name}' of '${type}' object is unsafe.`);
  if (UNSUPPORTED[type === "bool" ? "int" : type]?.includes(name) === true)
    throw new TypeError(`the attribute '${name}' of a ${type} is not supported`);
  if (value instanceof Namespace) return value.attributes.get(name);
  if (value instanceof Instance) return value.parts.attribute?.(name);
  if (typeof value === "string" || value instanceof Markup)
    return name === "format" || name === "format_map"
      ? formatMethod(value, name, budget)
      : methodOfText(value, name, budget);
  if (value instanceof Dict) return dictMethod(value, name, budget);
  if (Array.isArray(value)) return listAttribute(value, name, budget);
  return numberAttribute(value, name);
}

/** `text.format()` and `text.format_map()`. */
function formatMethod(value: string | Markup, name: string, budget: Budget): Instance {
  const isSafe = value instanceof Markup;
  const reader = {
    attribute: (object: Value, key: string) => attributeOf(object, key, budget),
    item: (object: Value, key: Value) => itemOf(object, key, budget),
  };
  return callable((args, keywords) => {
    const given = { ...givenTo(name, args, keywords), ...reader, isSafe, budget };
    const written = formatFields(isSafe ? value.text : value, given);
    budget.written(written);
    return isSafe ? new Markup(written) : written;
  });
}

function givenTo(
  name: string,
  args: Arguments,
  keywords: Keywords,
): { values: Arguments; named: (name: string) => Value | undefined } {
  if (name === "format") return { values: args, named: (key) => keywords.get(key) };
  const [mapping, ...more] = args;
  if (!(mapping instanceof Dict) || more.length > 0 || keywords.size > 0)
    throw new TypeError("format_map() takes one dictionary");
  return { values: [], named: (key) => mapping.get(key) };
}

function numberAttribute(value: Value, name: string): Value | undefined {
  const number = numberOf(value);
  if (number === undefined) return undefined;
  if (name === "real") return number;
  if (number instanceof Float) {
    if (name === "imag") return new Float(0);
    return name === "is_integer" ? callable(() => Number.isInteger(number.value)) : undefined;
  }
  if (name === "numerator") return number;
  if (name === "denominator") return 1;
  if (name === "imag") return 0;
  if (name !== "bit_length") return undefined;
  return callable(() => (number === 0 ? 0 : (number < 0 ? BigInt(-number) : BigInt(number)).toString(2).length));
}

const GET = signature("key, default=None, /");

function dictMethod(dict: Dict, name: string, budget: Budget): Instance | undefined {
  const make = (result: () => Value): Instance =>
    callable((args, keywords) => {
      bind(`dict.${name}()`, [], args, keywords);
      budget.read(dict);
      const made = result();
      budget.spend(dict.size);
      return made;
    });
  switch (name) {
    case "get":
      return callable((args, keywords) => {
        const [key, otherwise] = bind("dict.get()", GET, args, keywords);
        return firstOf(dict.get(key!), otherwise ?? null);
      });
    case "items":
      return make(() => itemsView(dict));
    case "keys":
      return make(() => new View("dict_keys", dict.keys()));
    case "values":
      return make(() => new View("dict_values", dict.values()));
    case "copy":
      return make(() => new Dict(dict.entries()));
    default:
      return undefined;
  }
}

export function itemsView(dict: Dict): View {
  return new View("dict_items", dict.entries().map(tuple));
}

const COUNT = signature("value, /");
const INDEX = signature("value, start=0, stop=None, /");

function listAttribute(list: Value[], name: string, budget: Budget): Value | undefined {
  if (list instanceof Range && (name === "start" || name === "stop" || name === "step")) return list[name];
  if (list instanceof Tuple && list.names?.includes(name) === true) return list[list.names.indexOf(name)];
  if (name === "copy" && typeName(list) === "list")
    return callable((args, keywords) => {
      bind("list.copy()", [], args, keywords);
      return [...list];
    });
  if (name === "count")
    return callable((args, keywords) => {
      const [searched] = bind("count()", COUNT, args, keywords);
      budget.serialized(list);
      return list.filter((item) => areEqual(item, searched!)).length;
    });
  if (name !== "index") return undefined;
  return callable((args, keywords) => {
    const [searched, start, stop] = bind("index()", INDEX, args, keywords);
    budget.serialized(list);
    const [from, to] = [bound(start!, list.length), stop === null ? list.length : bound(stop!, list.length)];
    const at = list.findIndex((item, i) => i >= from && i < to && areEqual(item, searched!));
    if (at < 0) throw new RangeError("the value is not in the list");
    return at;
  });
}

function bound(value: Value, length: number): number {
  const index = integerOf(value, "an index");
  return index < 0 ? Math.max(0, index + length) : index;
}

/** `value[start:stop:step]`. @throws TypeError, RangeError */
export function sliceOf(value: Value, bounds: readonly (Value | undefined)[], budget: Budget): Value {
  const text = stringOf(value);
  if (value instanceof Undefined) throw undefinedError(value);
  if (text === undefined && !Array.isArray(value))
    throw new TypeError(`a slice of a ${typeName(value)} is not supported`);
  budget.read(value);
  if (text !== undefined) budget.spend(text.length / 32);
  const items = itemsOf(value);
  const { start, stop, step } = indicesOf(bounds, items.length);
  const cut: Value[] = [];
  for (let at = start; step > 0 ? at < stop : at > stop; at += step) cut.push(items[at]!);
  const result = rebuilt(value, cut, { start, stop, step });
  budget.written(result);
  return result;
}

interface Indices {
  readonly start: number;
  readonly stop: number;
  readonly step: number;
}

/** Python's slice.indices(). */
function indicesOf(bounds: readonly (Value | undefined)[], length: number): Indices {
  const [first, last, by = 1] = bounds.map((value) => {
    if (value === undefined || value === null) return undefined;
    const whole = wholeOf(value);
    return typeof whole === "bigint" ? Math.sign(Number(whole)) * 2 ** 52 : integerOf(value, "slice indices");
  });
  const step = by;
  if (step === 0) throw new RangeError("slice step cannot be zero");
  const [low, high] = step > 0 ? [0, length] : [-1, length - 1];
  const within = (index: number): number => Math.min(high, Math.max(low, index < 0 ? index + length : index));
  return {
    start: first === undefined ? (step > 0 ? low : high) : within(first),
    stop: last === undefined ? (step > 0 ? high : low) : within(last),
    step,
  };
}

function rebuilt(value: Value, cut: Value[], { start, stop, step }: Indices): Value {
  if (typeof value === "string") return cut.join("");
  if (value instanceof Markup) return new Markup(cut.join(""));
  if (value instanceof Range) {
    const range = new Range();
    for (const item of cut) range.push(item);
    return Object.assign(range, {
      start: value.start + start * value.step,
      stop: value.start + stop * value.step,
      step: value.step * step,
    });
  }
  return value instanceof Tuple ? tuple(cut) : cut;
}
