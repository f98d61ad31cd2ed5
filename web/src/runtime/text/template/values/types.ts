// What a value is: its type, its number, its length, its items, and whether it is true.
import { Float, type Integer } from "./numbers.js";
import {
  Dict,
  Generator,
  Instance,
  Markup,
  Namespace,
  Range,
  stringOf,
  Tuple,
  Undefined,
  undefinedError,
  type Value,
  View,
} from "./values.js";

/** Python's name for the type of a value. */
export function typeName(value: Value): string {
  if (value === null) return "NoneType";
  if (typeof value === "string") return "str";
  if (typeof value === "number" || typeof value === "bigint") return "int";
  if (typeof value === "boolean") return "bool";
  if (value instanceof Tuple) return "tuple";
  if (value instanceof Range) return "range";
  if (Array.isArray(value)) return "list";
  if (value instanceof Dict) return "dict";
  if (value instanceof Float) return "float";
  if (value instanceof View || value instanceof Generator) return value.kind;
  if (value instanceof Instance) return value.type;
  if (value instanceof Namespace) return "Namespace";
  return value instanceof Markup ? "Markup" : "Undefined";
}

/** The number of an integer or boolean; undefined for other values. */
export function wholeOf(value: Value | undefined): Integer | undefined {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "number" || typeof value === "bigint" ? value : undefined;
}

/** The number of an integer, float or boolean; undefined for other values. */
export function numberOf(value: Value | undefined): Integer | Float | undefined {
  return value instanceof Float ? value : wholeOf(value);
}

/** The value of an integer that counts something. @throws TypeError: it is none, RangeError: it is too large */
export function integerOf(value: Value, what: string): number {
  const number = wholeOf(value);
  if (value instanceof Undefined) throw undefinedError(value);
  if (number === undefined) throw new TypeError(`${what} must be an integer: a ${typeName(value)} is not supported`);
  if (typeof number === "bigint") throw new RangeError(`${what} is too large: ${number} is not supported`);
  return number;
}

export function isTrue(value: Value): boolean {
  if (value instanceof Undefined) return false;
  if (value instanceof Float) return value.value !== 0;
  const number = wholeOf(value);
  if (number !== undefined) return number !== 0;
  const size = sizeOf(value);
  return size === undefined ? value !== null : size > 0;
}

/** The characters of a text: Unicode code points, as in Python. */
export function lengthOf(text: string): number {
  return /[\ud800-\udfff]/.test(text) ? Array.from(text).length : text.length;
}

/** The length of a string or collection; undefined for other values. */
export function sizeOf(value: Value): number | undefined {
  const text = stringOf(value);
  if (text !== undefined) return lengthOf(text);
  if (Array.isArray(value)) return value.length;
  if (value instanceof Dict) return value.size;
  if (value instanceof View) return value.items.length;
  return value instanceof Undefined ? 0 : undefined;
}

/** The items of a value, read when they are needed. @throws TypeError: it isn't iterable */
export function iterate(value: Value): IterableIterator<Value> {
  if (value instanceof Generator) return readOnce(value);
  return itemsOf(value).values();
}

/** Reads a generator. It goes on where the last reader stopped, also after a `break`. */
function readOnce({ items }: Generator): IterableIterator<Value> {
  return {
    next: () => items.next(),
    [Symbol.iterator]() {
      return this;
    },
  };
}

/** The items of a value. @throws TypeError: it isn't iterable */
export function itemsOf(value: Value): Value[] {
  if (Array.isArray(value)) return value;
  if (value instanceof Dict) return value.keys();
  if (value instanceof View) return value.items;
  if (value instanceof Generator) return Array.from(readOnce(value));
  if (value instanceof Undefined) return [];
  const text = stringOf(value);
  if (text === undefined) throw new TypeError(`'${typeName(value)}' object is not iterable`);
  return Array.from(text);
}
