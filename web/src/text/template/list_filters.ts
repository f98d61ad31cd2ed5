// Filters of lists and dictionaries.
import { itemOf, methodNamed } from "./attributes.js";
import type { Budget } from "./budget.js";
import { argument, type FilterFunction } from "./filter_call.js";
import { applyOperator } from "./operators.js";
import { toText } from "./python_text.js";
import {
  areEqual,
  compare,
  firstOf,
  Generator,
  integerOf,
  isTrue,
  itemsOf,
  stringOf,
  tuple,
  typeName,
  Undefined,
  type Value,
  valueOfKey,
} from "./values.js";

/** What a filter's `attribute` reads, such as "function.name" or 0. */
function getter(attribute: Value | undefined, budget: Budget, otherwise?: Value): (item: Value) => Value {
  if (attribute === undefined || attribute === null) return (item) => item;
  const parts: Value[] =
    typeof attribute === "number"
      ? [attribute]
      : toText(attribute)
          .split(".")
          .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  return (item) => {
    budget.spend(parts.length);
    const found = parts.reduce((value, part) => itemOf(value, part, budget), item);
    return found instanceof Undefined && otherwise !== undefined ? otherwise : found;
  };
}

/** How items are compared: texts in lower case unless `case_sensitive` is set. */
function folder(isCaseSensitive: boolean): (item: Value) => Value {
  return (item) => (isCaseSensitive ? item : (stringOf(item)?.toLowerCase() ?? item));
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

const sort: FilterFunction = (operand, call) => {
  const read = getter(argument(call, 2, "attribute"), call.budget);
  const fold = folder(isTrue(argument(call, 1, "case_sensitive") ?? false));
  const isReversed = isTrue(argument(call, 0, "reverse") ?? false);
  return sorted(listed(operand, call.budget), (item) => fold(read(item)), isReversed, call.budget);
};

const dictsort: FilterFunction = (operand, call) => {
  if (!(operand instanceof Map)) throw new TypeError(`dictsort needs a dictionary (got ${typeName(operand)})`);
  const fold = folder(isTrue(argument(call, 0, "case_sensitive") ?? false));
  const by = stringOf(argument(call, 1, "by") ?? "key");
  if (by !== "key" && by !== "value") throw new TypeError('You can only sort by either "key" or "value"');
  const isReversed = isTrue(argument(call, 2, "reverse") ?? false);
  const entries = Array.from(operand, ([key, value]) => [valueOfKey(key), value] as const);
  return sorted(entries, ([key, value]) => fold(by === "key" ? key : value), isReversed, call.budget).map(tuple);
};

function extreme(sign: number): FilterFunction {
  return (operand, call) => {
    const fold = folder(isTrue(argument(call, 0, "case_sensitive") ?? false));
    const read = getter(argument(call, 1, "attribute"), call.budget);
    const items = listed(operand, call.budget);
    if (items.length === 0) return new Undefined("No aggregated item, sequence was empty.");
    call.budget.serialized(items);
    return items.reduce((best, item) => (sign * compare(fold(read(item)), fold(read(best))) < 0 ? item : best));
  };
}

const join: FilterFunction = (operand, call) => {
  const { budget } = call;
  const separator = toText(argument(call, 0, "d") ?? "");
  const read = getter(argument(call, 1, "attribute"), budget);
  const items = listed(operand, budget);
  budget.checkLength(separator.length * items.length);
  if (typeof operand === "object") budget.serialized(items);
  const texts = items.map((item) => toText(read(item)));
  budget.checkLength(separator.length * items.length + texts.reduce((sum, { length }) => sum + length, 0));
  return texts.join(separator);
};

/** select, reject, selectattr and rejectattr: a test by its name, with arguments. */
function selecting(isKept: boolean, byAttribute: boolean): FilterFunction {
  return (operand, call) => {
    const { args, budget } = call;
    if (byAttribute && args.length === 0) throw new TypeError("Missing parameter for attribute name");
    const read = getter(byAttribute ? args[0] : undefined, budget);
    const [name, ...rest] = args.slice(byAttribute ? 1 : 0);
    const test = name === undefined ? isTrue : (item: Value) => call.applyTest(toText(name), item, rest);
    const items = isTrue(operand) ? listed(operand, budget) : [];
    budget.spend(items.length);
    return new Generator(items.filter((item) => test(read(item)) === isKept));
  };
}

const map: FilterFunction = (operand, call) => {
  const { args, keywords, budget } = call;
  const attribute = keywords.get("attribute");
  const items = isTrue(operand) ? listed(operand, budget) : [];
  budget.spend(items.length);
  if (args.length === 0 && attribute !== undefined)
    return new Generator(items.map(getter(attribute, budget, keywords.get("default"))));
  const [name, ...rest] = args;
  if (name === undefined) throw new TypeError("map requires a filter argument");
  return new Generator(items.map((item) => call.applyFilter(toText(name), item, rest, keywords)));
};

/** The first item for each different key. */
function uniqueBy(items: readonly Value[], keyOf: (item: Value) => Value, budget: Budget): Value[] {
  const seen = new Set<unknown>();
  const others: Value[] = [];
  return items.filter((item) => {
    const key = keyOf(item);
    const simple = stringOf(key) ?? key;
    if (typeof simple !== "object") {
      if (seen.has(simple)) return false;
      seen.add(simple);
      return true;
    }
    budget.serialized(others);
    if (others.some((other) => areEqual(other, key))) return false;
    others.push(key);
    return true;
  });
}

const unique: FilterFunction = (operand, call) => {
  const fold = folder(isTrue(argument(call, 0, "case_sensitive") ?? false));
  const read = getter(argument(call, 1, "attribute"), call.budget);
  const items = listed(operand, call.budget);
  call.budget.serialized(items);
  return new Generator(uniqueBy(items, (item) => fold(read(item)), call.budget));
};

const groupby: FilterFunction = (operand, call) => {
  const { budget } = call;
  const read = getter(argument(call, 0, "attribute"), budget, argument(call, 1, "default"));
  const fold = folder(isTrue(argument(call, 2, "case_sensitive") ?? false));
  const groups: { key: Value; items: Value[] }[] = [];
  for (const item of sorted(listed(operand, budget), (value) => fold(read(value)), false, budget)) {
    const key = fold(read(item));
    const last = groups.at(-1);
    if (last !== undefined && areEqual(fold(last.key), key)) last.items.push(item);
    else groups.push({ key: read(item), items: [item] });
  }
  return groups.map(({ key, items }) => tuple([key, items]));
};

const sum: FilterFunction = (operand, call) => {
  const { budget } = call;
  const items = listed(operand, budget).map(getter(argument(call, 0, "attribute"), budget));
  return items.reduce((total, item) => applyOperator("+", total, item, budget), argument(call, 1, "start") ?? 0);
};

/** batch and slice, which fill the last row with a value. */
const batch: FilterFunction = (operand, call) => {
  const count = Math.max(1, integerOf(argument(call, 0, "linecount") ?? 1, "linecount"));
  const fill = argument(call, 1, "fill_with") ?? null;
  const items = listed(operand, call.budget);
  const rows: Value[][] = [];
  for (let at = 0; at < items.length; at += count) rows.push(items.slice(at, at + count));
  const last = rows.at(-1);
  call.budget.spend(items.length + Math.min(count, 1 << 20));
  if (last !== undefined && fill !== null) while (last.length < count) last.push(fill);
  return new Generator(rows);
};

export const LIST_FILTERS: Readonly<Record<string, FilterFunction>> = {
  attr: (operand, call) => methodNamed(operand, toText(argument(call, 0, "name") ?? ""), call.budget),
  batch,
  dictsort,
  first: (operand, { budget }) =>
    firstOf(listed(operand, budget)[0], new Undefined("No first item, sequence was empty.")),
  groupby,
  join,
  last(operand, { budget }) {
    if (operand instanceof Generator) throw new TypeError("'generator' object is not reversible");
    return firstOf(listed(operand, budget).at(-1), new Undefined("No last item, sequence was empty."));
  },
  list: (operand, { budget }) => Array.from(listed(operand, budget)),
  map,
  max: extreme(-1),
  min: extreme(1),
  reject: selecting(false, false),
  rejectattr: selecting(false, true),
  reverse(operand, { budget }) {
    if (operand instanceof Generator) throw new TypeError("argument must be iterable");
    const items = Array.from(listed(operand, budget)).reverse();
    return stringOf(operand) === undefined ? new Generator(items) : items.join("");
  },
  select: selecting(true, false),
  selectattr: selecting(true, true),
  sort,
  sum,
  unique,
};
