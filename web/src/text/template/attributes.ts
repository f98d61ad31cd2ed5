// Attributes and items of values: `value.name`, `value["name"]` and `value[1:2]`.
import type { Budget } from "./budget.js";
import { STRING_METHODS } from "./string_methods.js";
import {
  Callable,
  type Dict,
  firstOf,
  integerOf,
  keyOf,
  Markup,
  Namespace,
  numberOf,
  stringOf,
  tuple,
  Tuple,
  typeName,
  Undefined,
  undefinedError,
  type Value,
  valueOfKey,
  View,
  itemsOf,
  areEqual,
} from "./values.js";

/** Methods that change their object, which the sandbox of transformers forbids. */
const FORBIDDEN: Readonly<Record<string, readonly string[]>> = {
  list: ["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"],
  dict: ["clear", "pop", "popitem", "setdefault", "update"],
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
  const name = stringOf(key) ?? String(numberOf(key));
  const shown = name.length > 100 ? `${name.slice(0, 100)}…` : name;
  return new Undefined(`'${typeName(value)} object' has no attribute '${shown}'`);
}

function itemAt(value: Value, key: Value): Value | undefined {
  if (value instanceof Namespace) return value.attributes.get(stringOf(key) ?? "");
  if (value instanceof Map)
    return key instanceof Object && !(key instanceof Markup) ? undefined : value.get(keyOf(key));
  const index = numberOf(key);
  if (index === undefined || !Number.isInteger(index)) return undefined;
  if (Array.isArray(value)) return value.at(index);
  const text = stringOf(value);
  return text === undefined ? undefined : Array.from(text).at(index);
}

/** A method, but no item. @throws Error: the value is undefined */
export function methodNamed(value: Value, name: string, budget: Budget): Value {
  return methodOf(value, name, budget) ?? missing(value, name);
}

function methodOf(value: Value, name: string, budget: Budget): Value | undefined {
  if (FORBIDDEN[typeName(value)]?.includes(name) === true)
    return new Undefined(`access to attribute '${name}' of '${typeName(value)}' object is unsafe.`);
  const text = stringOf(value);
  if (text !== undefined) {
    const method = Object.hasOwn(STRING_METHODS, name) ? STRING_METHODS[name] : undefined;
    if (method === undefined) return undefined;
    return new Callable((args, keywords) => {
      budget.read(value);
      for (const argument of args) budget.read(argument);
      const result = method(text, args, keywords, budget);
      budget.written(result);
      return value instanceof Markup && typeof result === "string" ? new Markup(result) : result;
    });
  }
  if (value instanceof Map) return dictMethod(value, name, budget);
  if (Array.isArray(value) && (name === "index" || name === "count")) return searchMethod(value, name, budget);
  return undefined;
}

function dictMethod(dict: Dict, name: string, budget: Budget): Callable | undefined {
  const make = (result: () => Value): Callable =>
    new Callable(() => {
      budget.read(dict);
      const made = result();
      budget.spend(dict.size);
      return made;
    });
  switch (name) {
    case "get":
      return new Callable(([key = null, otherwise = null]) => firstOf(dict.get(keyOf(key)), otherwise));
    case "items":
      return make(() => itemsView(dict));
    case "keys":
      return make(() => new View("dict_keys", Array.from(dict.keys(), valueOfKey)));
    case "values":
      return make(() => new View("dict_values", Array.from(dict.values())));
    case "copy":
      return make(() => new Map(dict));
    default:
      return undefined;
  }
}

export function itemsView(dict: Dict): View {
  return new View(
    "dict_items",
    Array.from(dict, ([key, value]) => tuple([valueOfKey(key), value])),
  );
}

function searchMethod(list: readonly Value[], name: string, budget: Budget): Callable {
  return new Callable(([searched = null]) => {
    budget.serialized(list as Value[]);
    if (name === "count") return list.filter((item) => areEqual(item, searched)).length;
    const at = list.findIndex((item) => areEqual(item, searched));
    if (at < 0) throw new RangeError("the value is not in the list");
    return at;
  });
}

/** `value[start:stop:step]`. @throws TypeError, RangeError */
export function sliceOf(value: Value, bounds: readonly (Value | undefined)[], budget: Budget): Value {
  const text = stringOf(value);
  if (value instanceof Undefined) throw undefinedError(value);
  if (text === undefined && !Array.isArray(value)) throw new TypeError(`'${typeName(value)}' object can't be cut`);
  budget.read(value);
  if (text !== undefined) budget.spend(text.length / 32);
  const items = itemsOf(value);
  const [start, stop, step = 1] = bounds.map((bound) =>
    bound === undefined || bound === null ? undefined : integerOf(bound, "slice indices"),
  );
  if (step === 0) throw new RangeError("slice step cannot be zero");
  const [low, high] = step > 0 ? [0, items.length] : [-1, items.length - 1];
  const within = (index: number): number => Math.min(high, Math.max(low, index < 0 ? index + items.length : index));
  const last = stop === undefined ? (step > 0 ? high : low) : within(stop);
  const cut: Value[] = [];
  for (
    let at = start === undefined ? (step > 0 ? low : high) : within(start);
    step > 0 ? at < last : at > last;
    at += step
  )
    cut.push(items[at]!);
  const result = text !== undefined ? cut.join("") : value instanceof Tuple ? tuple(cut) : cut;
  budget.written(result);
  return result;
}
