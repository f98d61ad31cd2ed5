// Reads values of unknown type (numbers, lists, names, objects), and throws with the path of a wrong one.
import type { Advised } from "../base/advice.js";
import { type Dict, isDict } from "../base/dict.js";
import { valueElsewhere } from "../base/elsewhere.js";
import { fail } from "../base/errors.js";
import { suggestion } from "../base/options.js";
import { show } from "../base/show.js";
import { isArray } from "../base/typed_arrays.js";

/** Checks the type of a value and returns it. Throws INVALID_CONFIG with `path`. */
export type ReadValue<Value> = (value: unknown, path: string) => Value;

/** JSON's null and JavaScript's undefined both mean that a key is absent. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

function mustBe(path: string, expected: string, value: unknown, advised?: Advised): never {
  return fail("INVALID_CONFIG", path, `must be ${expected} (got ${show(value)})`, advised);
}

/** A finite number. A bigint is accepted: GGUF's 64-bit integers are read as bigints. */
export function numberAt(value: unknown, path: string): number {
  const number = typeof value === "bigint" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number)) return mustBe(path, "a finite number", value);
  return number;
}

export function integerAt(value: unknown, path: string): number {
  const number = numberAt(value, path);
  return Number.isSafeInteger(number) ? number : mustBe(path, "an integer", value);
}

export function booleanAt(value: unknown, path: string): boolean {
  return typeof value === "boolean" ? value : mustBe(path, "true or false", value);
}

export function stringAt(value: unknown, path: string): string {
  return typeof value === "string" ? value : mustBe(path, "a string", value);
}

/** An array or typed array of numbers, copied into a plain array so that the result is JSON. */
export function listAt(value: unknown, path: string, read: ReadValue<number> = numberAt): number[] {
  const isList = isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
  if (!isList) return mustBe(path, "an array of numbers", value);
  return Array.from(value as ArrayLike<unknown>, (item, i) => read(item, `${path}[${i}]`));
}

export function integersAt(value: unknown, path: string): number[] {
  return listAt(value, path, integerAt);
}

export function oneOf<T extends string>(value: unknown, path: string, names: readonly T[]): T {
  if (names.includes(value as T)) return value as T;
  return mustBe(path, `one of ${names.join(", ")}`, value, valueElsewhere(value, names));
}

/** Reads one of these names. */
export const nameOf =
  <T extends string>(names: readonly T[]): ReadValue<T> =>
  (value, path) =>
    oneOf(value, path, names);

type Readers<T> = { readonly [Key in keyof T]?: ReadValue<NonNullable<T[Key]>> };

/** Reads objects with these keys and no others. Null counts as absent. */
export function objectAt<T extends object>(required: Readers<T>, optional: Readers<T>): ReadValue<T> {
  const readers = Object.entries({ ...required, ...optional } as Record<string, ReadValue<unknown>>);
  return (value, path) => {
    if (!isDict(value)) return fail("INVALID_CONFIG", path, "must be an object or null");
    for (const name of Object.keys(value)) {
      if (readers.some(([known]) => known === name)) continue;
      const known = readers.map(([name]) => name);
      fail("UNKNOWN_KEY", `${path}.${name}`, "isn't a key of this object", suggestion(name, known));
    }
    const present = readers.filter(([name]) => name in required || !isAbsent(value[name]));
    return Object.fromEntries(present.map(([name, read]) => [name, read(value[name], `${path}.${name}`)])) as T;
  };
}

/** Whether two JSON values are equal. The order of keys doesn't matter. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (isArray(a) && isArray(b)) {
    return a.length === b.length && a.every((item, i) => sameValue(item, b[i]));
  }
  if (isDict(a) && isDict(b)) {
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => key in b && sameValue(a[key], b[key]));
  }
  return Object.is(a, b);
}

/** Drops keys whose value is undefined: neither JSON nor TypeScript's exact optional properties have them. */
export function withoutAbsent<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as T;
}

/** Freezes an object and everything in it. Typed arrays can't be frozen. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}

/** What an object by layers has for one. transformers writes their numbers with zeros before them: "05". @internal */
export function layerEntry(all: Dict, layer: number): unknown {
  return all[Object.keys(all).find((key) => Number(key) === layer)!];
}
