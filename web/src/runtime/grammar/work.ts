// A limit on the work that a format may take, from its first character on. A format may come from somebody else, and a small one can take minutes:
// parts that contain each other multiply, and so do the states of patterns.
import * as advise from "../../core/base/advice.js";
import { fail } from "../../core/base/errors.js";

/** Steps that reading a format may take: about 0.1 microseconds each, and 10 bytes. */
const MAX_STEPS = 20_000_000;

/** What is left of the format that is being read. Reading is synchronous, so there is one at a time. */
let current: { left: number; readonly field: string } | undefined;

/** Reads a format with a limited number of steps. @throws INVALID_ARGUMENT: it takes more */
export function withLimitedWork<Result>(field: string, read: () => Result): Result {
  const outer = current;
  current = { left: MAX_STEPS, field };
  try {
    return read();
  } finally {
    current = outer;
  }
}

/** Takes steps. Whoever makes something or walks over something calls it, before it does so. @throws INVALID_ARGUMENT */
export function spend(steps: number, path?: string): void {
  if (current === undefined) return; // a constant of this package
  current.left -= steps;
  if (current.left < 0)
    failTooLarge(path ?? current.field, "use fewer or smaller parts", ": it takes too long to read");
}

/** @throws INVALID_ARGUMENT */
export function failTooLarge(field: string, advice: string, reason = ""): never {
  fail("INVALID_ARGUMENT", field, `is too large${reason}`, advise.other(advice));
}

/** Keywords with long lists. */
const LISTS = ["enum", "prefixItems", "required", "properties"];

/** The steps of looking at a schema: more for long lists in it. */
export function sizeOf(schema: Readonly<Record<string, unknown>>): number {
  let size = 20;
  const excluded = (schema["not"] as { enum?: unknown } | undefined)?.enum;
  for (const value of [...LISTS.map((keyword) => schema[keyword]), excluded]) {
    if (typeof value === "object" && value !== null)
      size += Array.isArray(value) ? value.length : Object.keys(value).length;
  }
  return size;
}
