// Filters of lists and dictionaries.
import { itemOf, itemsView, methodNamed } from "../attributes.js";
import type { Budget } from "../values/budget.js";
import { areEqual, compare } from "../values/comparisons.js";
import { filter, type Filter, type FilterCall } from "./filter_call.js";
import { calculate } from "../operators.js";
import { concatenate, toText } from "../values/python_text.js";
import { integerOf, isTrue, itemsOf, iterate, sizeOf, typeName } from "../values/types.js";
import {
  Dict,
  firstOf,
  Generator,
  Markup,
  stringOf,
  tuple,
  Undefined,
  undefinedError,
  type Value,
  View,
} from "../values/values.js";

type Getter = (item: Value) => Value;

/** What a filter's `attribute` reads, such as "function.name" or 0. */
function getter(attribute: Value | undefined, budget: Budget, otherwise: Value = null): Getter {
  if (attribute === undefined || attribute === null) return (item) => item;
  const text = stringOf(attribute);
  const parts: Value[] =
    text === undefined ? [attribute] : text.split(".").map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  return (item) => {
    budget.spend(parts.length);
    let found = item;
    for (const part of parts) {
      found = itemOf(found, part, budget);
      if (found instanceof Undefined && otherwise !== null) found = otherwise;
    }
    return found;
  };
}

/** How items are compared: texts in lower case unless `case_sensitive` is set. */
function folded(isCaseSensitive: Value, read: Getter = (item) => item): Getter {
  if (isTrue(isCaseSensitive)) return read;
  return (item) => {
    const value = read(item);
    return stringOf(value)?.toLowerCase() ?? value;
  };
}

function listed(operand: Value, budget: Budget): Value[] {
  budget.read(operand);
  const text = stringOf(operand);
  if (text !== undefined) budget.spend(text.length / 32);
  return itemsOf(operand);
}

function sorted<T>(items: readonly T[], keyOf: (item: T) => Value, isReversed: boolean, budget: Budget): T[] {
  const keyed = items.map((item) => ({ item, key: keyOf(item) }));
  budget.serialized(keyed.map(({ key }) => key));
  const sign = isReversed ? -1 : 1;
  return keyed.sort((a, b) => sign * compare(a.key, b.key)).map(({ item }) => item);
}

const sort = filter(
  "reverse=False, case_sensitive=False, attribute=None",
  (operand, { args: [reverse, isCaseSensitive, attribute], budget }) => {
    const text = stringOf(attribute);
    const attributes: Value[] = text === undefined ? [attribute!] : text.split(",");
    const keys = attributes.map((part) => folded(isCaseSensitive!, getter(part, budget)));
    return sorted(
      listed(operand, budget),
      (item) => keys.map((key) => key(item)),
      integerOf(reverse!, "reverse") !== 0,
      budget,
    );
  },
);

const dictsort = filter(
  "case_sensitive=False, by='key', reverse=False",
  (operand, { args: [isCaseSensitive, by, reverse], budget }) => {
    const part = stringOf(by) === "key" ? 0 : stringOf(by) === "value" ? 1 : undefined;
    if (part === undefined) throw new TypeError('You can only sort by either "key" or "value"');
    if (operand instanceof Undefined) throw undefinedError(operand);
    if (!(operand instanceof Dict)) throw new TypeError(`dictsort needs a dictionary (got ${typeName(operand)})`);
    const fold = folded(isCaseSensitive!);
    return sorted(operand.entries(), (entry) => fold(entry[part]), integerOf(reverse!, "reverse") !== 0, budget).map(
      tuple,
    );
  },
);

function extreme(sign: number): Filter {
  return filter("case_sensitive=False, attribute=None", (operand, { args: [isCaseSensitive, attribute], budget }) => {
    const key = folded(isCaseSensitive!, getter(attribute, budget));
    const items = listed(operand, budget);
    if (items.length === 0) return new Undefined("No aggregated item, sequence was empty.");
    budget.serialized(items);
    return items
      .map((item) => ({ item, key: key(item) }))
      .reduce((best, next) => (sign * compare(next.key, best.key) < 0 ? next : best)).item;
  });
}

const join = filter("d='', attribute=None", (operand, { args: [d, attribute], budget }) => {
  const separator = concatenate([d!], budget);
  const read = getter(attribute, budget);
  const items = listed(operand, budget);
  budget.checkLength(separator.length * items.length);
  if (typeof operand === "object") budget.serialized(items);
  const texts = items.map((item) => toText(read(item)));
  budget.checkLength(separator.length * items.length + texts.reduce((sum, { length }) => sum + length, 0));
  return texts.join(separator);
});

/** select, reject, selectattr and rejectattr: a test by its name, with arguments. */
function selecting(isKept: boolean, byAttribute: boolean): Filter {
  return filter(undefined, (operand, call) => new Generator(selected(operand, call, isKept, byAttribute)));
}

function* selected(operand: Value, call: FilterCall, isKept: boolean, byAttribute: boolean): Iterator<Value> {
  if (!isTrue(operand)) return;
  const { args, keywords, budget } = call;
  if (byAttribute && args.length === 0) throw new TypeError("Missing parameter for attribute name");
  const read = getter(byAttribute ? args[0] : undefined, budget);
  const [name, ...rest] = args.slice(byAttribute ? 1 : 0);
  const test = name === undefined ? isTrue : (item: Value) => call.applyTest(name, item, rest, keywords);
  for (const item of iterate(operand)) {
    budget.spend(1);
    if (test(read(item)) === isKept) yield item;
  }
}

function* mapped(operand: Value, call: FilterCall): Iterator<Value> {
  if (!isTrue(operand)) return;
  const { args, keywords, budget } = call;
  let change: Getter;
  if (args.length === 0 && keywords.has("attribute")) {
    for (const key of keywords.keys())
      if (key !== "attribute" && key !== "default") throw new TypeError(`Unexpected keyword argument '${key}'`);
    change = getter(keywords.get("attribute"), budget, keywords.get("default"));
  } else {
    const [name, ...rest] = args;
    if (name === undefined) throw new TypeError("map requires a filter argument");
    change = (item) => call.applyFilter(name, item, rest, keywords);
  }
  for (const item of iterate(operand)) {
    budget.spend(1);
    yield change(item);
  }
}

function* uniqueItems(operand: Value, key: Getter, budget: Budget): Iterator<Value> {
  const seen = new Dict();
  for (const item of iterate(operand)) {
    const value = key(item);
    budget.serialized(value);
    if (seen.has(value)) continue;
    seen.set(value, null);
    yield item;
  }
}

const groupby = filter(
  "attribute, default=None, case_sensitive=False",
  (operand, { args: [attribute, otherwise, isCaseSensitive], budget }) => {
    const read = getter(attribute, budget, otherwise);
    const key = folded(isCaseSensitive!, read);
    const groups: { key: Value; items: Value[] }[] = [];
    for (const item of sorted(listed(operand, budget), key, false, budget)) {
      const value = key(item);
      const last = groups.at(-1);
      if (last !== undefined && areEqual(last.key, value)) last.items.push(item);
      else groups.push({ key: value, items: [item] });
    }
    return groups.map(({ items }) => Object.assign(tuple([read(items[0]!), items]), { names: ["grouper", "list"] }));
  },
);

const sum = filter("attribute=None, start=0", (operand, { args: [attribute, start], budget }) => {
  if (stringOf(start) !== undefined) throw new TypeError("sum() can't sum strings [use ''.join(seq) instead]");
  const read = getter(attribute, budget);
  return listed(operand, budget).reduce((total, item) => calculate("+", total, read(item), budget), start!);
});

function* batches(operand: Value, count: Value, fill: Value, budget: Budget): Iterator<Value> {
  const size = integerOf(count, "linecount");
  let row: Value[] = [];
  for (const item of iterate(operand)) {
    budget.spend(1);
    if (row.length === size) {
      yield row;
      row = [];
    }
    row.push(item);
  }
  if (row.length === 0) return;
  if (fill !== null && row.length < size) {
    budget.spend(size);
    while (row.length < size) row.push(fill);
  }
  yield row;
}

function* slices(operand: Value, count: Value, fill: Value, budget: Budget): Iterator<Value> {
  const items = [...listed(operand, budget)];
  const number = integerOf(count, "slices");
  if (number === 0) throw new RangeError("integer modulo by zero");
  const [size, larger] = [Math.floor(items.length / number), items.length % number];
  for (let i = 0, start = 0; i < number; i++) {
    budget.spend(1);
    const end = start + size + (i < larger ? 1 : 0);
    const slice = items.slice(start, end);
    if (fill !== null && i >= larger) slice.push(fill);
    yield slice;
    start = end;
  }
}

function* pairs(operand: Value): Iterator<Value> {
  if (operand instanceof Undefined) return;
  if (!(operand instanceof Dict)) throw new TypeError("Can only get item pairs from a mapping.");
  yield* itemsView(operand).items;
}

const ITERATORS: Readonly<Record<string, string>> = {
  list: "list_reverseiterator",
  tuple: "reversed",
  range: "range_iterator",
};

function reversed(operand: Value, budget: Budget): Value {
  const items = Array.from(listed(operand, budget)).reverse();
  if (stringOf(operand) !== undefined) return operand instanceof Markup ? new Markup(items.join("")) : items.join("");
  if (operand instanceof Generator) return items;
  return new Generator(items.values(), ITERATORS[typeName(operand)] ?? "reversed");
}

const length = filter("", (operand, { budget }) => {
  if (stringOf(operand) !== undefined) budget.read(operand);
  const size = sizeOf(operand);
  if (size === undefined) throw new TypeError(`object of type '${typeName(operand)}' has no len()`);
  return size;
});

const otherwise = filter("default_value='', boolean=False", (operand, { args: [value, boolean] }) =>
  operand instanceof Undefined || (isTrue(boolean!) && !isTrue(operand)) ? value! : operand,
);

export const LIST_FILTERS: Readonly<Record<string, Filter>> = {
  attr: filter("name", (operand, { args: [name], budget }) => {
    const text = stringOf(name);
    if (text === undefined) throw new TypeError("attribute name must be string");
    return methodNamed(operand, text, budget);
  }),
  batch: filter(
    "linecount, fill_with=None",
    (operand, { args: [count, fill], budget }) => new Generator(batches(operand, count!, fill!, budget)),
  ),
  count: length,
  d: otherwise,
  default: otherwise,
  dictsort,
  first: filter("", (operand, { budget }) => {
    budget.read(operand);
    for (const item of iterate(operand)) return item;
    return new Undefined("No first item, sequence was empty.");
  }),
  groupby,
  items: filter("", (operand) => new Generator(pairs(operand))),
  join,
  last: filter("", (operand, { budget }) => {
    const isReversible = operand instanceof View || sizeOf(operand) !== undefined;
    if (!isReversible) throw new TypeError(`'${typeName(operand)}' object is not reversible`);
    return firstOf(listed(operand, budget).at(-1), new Undefined("No last item, sequence was empty."));
  }),
  length,
  list: filter("", (operand, { budget }) => Array.from(listed(operand, budget))),
  map: filter(undefined, (operand, call) => new Generator(mapped(operand, call))),
  max: extreme(-1),
  min: extreme(1),
  reject: selecting(false, false),
  rejectattr: selecting(false, true),
  reverse: filter("", (operand, { budget }) => reversed(operand, budget)),
  select: selecting(true, false),
  selectattr: selecting(true, true),
  slice: filter(
    "slices, fill_with=None",
    (operand, { args: [count, fill], budget }) => new Generator(slices(operand, count!, fill!, budget)),
  ),
  sort,
  sum,
  unique: filter(
    "case_sensitive=False, attribute=None",
    (operand, { args: [isCaseSensitive, attribute], budget }) =>
      new Generator(uniqueItems(operand, folded(isCaseSensitive!, getter(attribute, budget)), budget)),
  ),
};
