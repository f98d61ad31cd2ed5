// Limits against small schemas that would take minutes: parts that contain each other several times multiply.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";

/** Units of work that a schema may take: about 10 microseconds each. */
const MAX_WORK = 300_000;

/** Counts what the conversion of a schema takes. */
export class Work {
  #left = MAX_WORK;

  /** @throws INVALID_ARGUMENT: it is too much */
  spend(units: number, path: string): void {
    this.#left -= units;
    if (this.#left < 0) failTooLarge(path, "use fewer or smaller parts", ": the schema takes too long to convert");
  }
}

/** @throws INVALID_ARGUMENT */
export function failTooLarge(field: string, advice: string, reason = ""): never {
  fail("INVALID_ARGUMENT", field, `is too large${reason}`, advise.other(advice));
}

/** The work of looking at a schema: more for long lists in it. */
export function sizeOf(schema: Readonly<Record<string, unknown>>): number {
  let size = 1;
  for (const keyword of ["enum", "prefixItems", "required", "properties"]) {
    const value = schema[keyword];
    if (typeof value === "object" && value !== null)
      size += (Array.isArray(value) ? value.length : Object.keys(value).length) / 50;
  }
  return size;
}
