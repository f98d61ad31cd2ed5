import { fail } from "../base/errors.js";

/** A plain object read from JSON or handed in by a caller: nothing about its values is known yet. */
export type Dict = Record<string, unknown>;

export function isDict(value: unknown): value is Dict {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
}

/** JSON's null and JavaScript's undefined both mean that a key is absent. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** A finite number; bigint too, since GGUF's 64-bit integers are read as such. */
export function numberAt(value: unknown, path: string): number {
  const number = typeof value === "bigint" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number)) {
    return fail("INVALID_CONFIG", path, `must be a finite number, not ${show(value)}`);
  }
  return number;
}

export function integerAt(value: unknown, path: string): number {
  const number = numberAt(value, path);
  if (!Number.isSafeInteger(number)) return fail("INVALID_CONFIG", path, `must be an integer, not ${show(value)}`);
  return number;
}

export function booleanAt(value: unknown, path: string): boolean {
  if (typeof value !== "boolean") return fail("INVALID_CONFIG", path, `must be true or false, not ${show(value)}`);
  return value;
}

export function stringAt(value: unknown, path: string): string {
  if (typeof value !== "string") return fail("INVALID_CONFIG", path, `must be a string, not ${show(value)}`);
  return value;
}

/** An array or typed array of numbers, copied into a plain array so that the result is JSON. */
export function listAt(value: unknown, path: string, at: typeof numberAt = numberAt): number[] {
  const isList = Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
  if (!isList) return fail("INVALID_CONFIG", path, `must be an array of numbers, not ${show(value)}`);
  return Array.from(value as ArrayLike<unknown>, (item, i) => at(item, `${path}[${i}]`));
}

export function integersAt(value: unknown, path: string): number[] {
  return listAt(value, path, integerAt);
}

export function oneOf<T extends string>(value: unknown, path: string, names: readonly T[]): T {
  if (!names.includes(value as T)) {
    return fail("INVALID_CONFIG", path, `must be one of ${names.join(", ")}, not ${show(value)}`);
  }
  return value as T;
}

/** Whether two JSON values are the same, whatever the order of their keys. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => sameValue(item, b[i]));
  }
  if (isDict(a) && isDict(b)) {
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => key in b && sameValue(a[key], b[key]));
  }
  return Object.is(a, b);
}

/** Drops the keys whose value is undefined, which JSON and exact optional properties do not have. */
export function withoutAbsent<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as T;
}

/** Freezes plain data all the way down. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}
