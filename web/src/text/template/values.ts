// Values of a running template. They behave as Python's do.

/** A number that Python writes with a decimal point. */
export class Float {
  constructor(readonly value: number) {}
}

/** What a name, key or attribute that doesn't exist stands for. Most uses of it are errors. */
export class Undefined {
  constructor(readonly reason: string) {}
}

/** Text that is safe in HTML. Adding other text to it escapes that text. */
export class Markup {
  constructor(readonly text: string) {}
}

export class Tuple extends Array<Value> {}

/** What `range()` returns. */
export class Range extends Array<Value> {}

/** What filters such as `map` and `select` return. Its items can be read once. */
export class Generator {
  #items: Value[];
  constructor(items: Value[]) {
    this.#items = items;
  }

  /** The items that haven't been read. */
  take(): Value[] {
    const items = this.#items;
    this.#items = [];
    return items;
  }
}

/** Keys, values or items of a dictionary. */
export class View {
  constructor(
    readonly kind: "dict_keys" | "dict_values" | "dict_items",
    readonly items: Value[],
  ) {}
}

export class Namespace {
  constructor(readonly attributes: Map<string, Value>) {}
}

export type Arguments = readonly Value[];
export type Keywords = ReadonlyMap<string, Value>;

export class Callable {
  constructor(readonly call: (args: Arguments, keywords: Keywords) => Value) {}
}

export type Key = string | number | boolean | null;
export type Dict = Map<Key, Value>;

/** Plain numbers are Python's integers, and null is its None. */
export type Value =
  | string
  | number
  | boolean
  | null
  | Float
  | Undefined
  | Markup
  | Generator
  | View
  | Namespace
  | Callable
  | Value[]
  | Dict;

/** The first value that isn't missing; `??` would also skip None. */
export function firstOf<Last extends Value | undefined>(...options: [...(Value | undefined)[], Last]): Value | Last {
  return options.find((option) => option !== undefined) as Value | Last;
}

export function tuple(items: readonly Value[]): Tuple {
  const made = new Tuple();
  for (const item of items) made.push(item);
  return made;
}

/** Nested arrays and objects of the inputs. */
const MOST_NESTED = 500;

/** Converts JSON. @throws TypeError for anything else, or if it is nested too deeply */
export function valueOf(input: unknown, depth = 0): Value {
  if (depth > MOST_NESTED) throw new TypeError("it is nested too deeply");
  if (typeof input === "string" || typeof input === "boolean" || input === null || input instanceof Callable)
    return input;
  if (typeof input === "number") return Number.isInteger(input) ? input : new Float(input);
  if (input === undefined) return new Undefined("a variable is undefined");
  if (Array.isArray(input)) return Array.from(input, (item) => valueOf(item, depth + 1));
  if (typeof input !== "object") throw new TypeError(`a ${typeof input} is not JSON`);
  return new Map(Object.entries(input).map(([key, item]) => [key, valueOf(item, depth + 1)]));
}

/** Python's name for the type of a value. */
export function typeName(value: Value): string {
  if (value === null) return "NoneType";
  if (typeof value === "string") return "str";
  if (typeof value === "number") return "int";
  if (typeof value === "boolean") return "bool";
  if (value instanceof Tuple) return "tuple";
  if (value instanceof Range) return "range";
  if (Array.isArray(value)) return "list";
  if (value instanceof Map) return "dict";
  if (value instanceof Float) return "float";
  if (value instanceof View) return value.kind;
  if (value instanceof Generator) return "generator";
  return value instanceof Callable ? "function" : value.constructor.name;
}

/** The text of a string; undefined for other values. */
export function stringOf(value: Value | undefined): string | undefined {
  return typeof value === "string" ? value : value instanceof Markup ? value.text : undefined;
}

/** The number of an integer, float or boolean; undefined for other values. */
export function numberOf(value: Value | undefined): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return Number(value);
  return value instanceof Float ? value.value : undefined;
}

/** The value of an integer. @throws TypeError */
export function integerOf(value: Value, what: string): number {
  const number = value instanceof Float ? undefined : numberOf(value);
  if (number === undefined) throw new TypeError(`${what} must be an integer (got ${typeName(value)})`);
  return number;
}

/** A value as a key. Python finds the same entry for 1 and 1.0. @throws TypeError */
export function keyOf(value: Value): Key {
  if (value === null || typeof value === "boolean" || typeof value === "number") return value;
  const key = stringOf(value) ?? (value instanceof Float ? value.value : undefined);
  if (key === undefined) throw new TypeError(`unhashable type: '${typeName(value)}'`);
  return key;
}

export function valueOfKey(key: Key): Value {
  return typeof key === "number" && !Number.isInteger(key) ? new Float(key) : key;
}

export function undefinedError(value: Undefined): Error {
  return new Error(value.reason);
}

export function isTrue(value: Value): boolean {
  if (value instanceof Undefined) return false;
  const number = numberOf(value);
  if (number !== undefined) return number !== 0;
  const size = sizeOf(value);
  return size === undefined ? value !== null : size > 0;
}

/** The length of a string or collection; undefined for other values. */
export function sizeOf(value: Value): number | undefined {
  const text = stringOf(value);
  if (text !== undefined) return /[\ud800-\udfff]/.test(text) ? Array.from(text).length : text.length;
  if (Array.isArray(value)) return value.length;
  if (value instanceof Map) return value.size;
  if (value instanceof View) return value.items.length;
  return value instanceof Undefined ? 0 : undefined;
}

/** The items of a value. @throws TypeError: it isn't iterable */
export function itemsOf(value: Value): Value[] {
  if (Array.isArray(value)) return value;
  if (value instanceof Map) return Array.from(value.keys(), valueOfKey);
  if (value instanceof View) return value.items;
  if (value instanceof Generator) return value.take();
  if (value instanceof Undefined) return [];
  const text = stringOf(value);
  if (text === undefined) throw new TypeError(`'${typeName(value)}' object is not iterable`);
  return Array.from(text);
}

export function areEqual(a: Value, b: Value): boolean {
  if (a === b) return true;
  const number = numberOf(a);
  if (number !== undefined) return number === numberOf(b);
  const text = stringOf(a);
  if (text !== undefined) return text === stringOf(b);
  if (a instanceof Undefined) return b instanceof Undefined;
  if (a instanceof Map && b instanceof Map) {
    if (a.size !== b.size) return false;
    return Array.from(a).every(([key, value]) => {
      const other = b.get(key);
      return other !== undefined && areEqual(value, other);
    });
  }
  if (!Array.isArray(a) || !Array.isArray(b) || typeName(a) !== typeName(b)) return false;
  return a.length === b.length && a.every((value, i) => areEqual(value, b[i]!));
}

/** Negative, zero or positive. @throws TypeError: the values have no order */
export function compare(a: Value, b: Value): number {
  const [left, right] = [numberOf(a), numberOf(b)];
  if (left !== undefined && right !== undefined) return left - right;
  const [text, other] = [stringOf(a), stringOf(b)];
  if (text !== undefined && other !== undefined) return compareText(text, other);
  if (Array.isArray(a) && Array.isArray(b) && typeName(a) === typeName(b)) {
    const first = a.findIndex((value, i) => i >= b.length || !areEqual(value, b[i]!));
    return first < 0 || first >= b.length ? a.length - b.length : compare(a[first]!, b[first]!);
  }
  for (const value of [a, b]) if (value instanceof Undefined) throw undefinedError(value);
  throw new TypeError(`'<' not supported between instances of '${typeName(a)}' and '${typeName(b)}'`);
}

/** Compares by code points, as Python does. JavaScript compares UTF-16 code units. */
function compareText(a: string, b: string): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    if (a[i] !== b[i]) {
      const start = i > 0 && /[\udc00-\udfff]/.test(a.charAt(i)) ? i - 1 : i;
      return a.codePointAt(start)! - b.codePointAt(start)!;
    }
  }
  return a.length - b.length;
}
