import { valueElsewhere } from "./elsewhere.js";
import { fail, type RopewalkErrorCode } from "./errors.js";
import { show } from "./show.js";
import { typedArrayName, viewBytes } from "./typed_arrays.js";

/** A count with its noun, for a message: `1 token`, `2 tokens`. @internal */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/**
 * Returns `value` if it is an integer from `least` to `most`. Throws INVALID_ARGUMENT. `why` explains the limits in the message.
 * @internal
 */
export function wholeNumber(value: unknown, least: number, most: number, field: string, why = ""): number {
  if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) {
    const range = least === most ? least : `an integer from ${least} to ${most}`;
    fail("INVALID_ARGUMENT", field, `must be ${range}${why} (got ${show(value)})`);
  }
  return value as number;
}

/** Returns `value` if it is a finite number. Throws INVALID_ARGUMENT. @internal */
export function finiteNumber(value: unknown, field: string): number {
  if (!Number.isFinite(value)) fail("INVALID_ARGUMENT", field, `must be a finite number (got ${show(value)})`);
  return value as number;
}

/** Returns the index of `value` in a list of names, which is its enumerator in the core. @internal */
export function codeIn(
  names: readonly string[],
  value: unknown,
  field: string,
  code: RopewalkErrorCode = "INVALID_ARGUMENT",
): number {
  const index = names.indexOf(value as string);
  if (index < 0)
    fail(code, field, `must be one of ${names.join(", ")} (got ${show(value)})`, valueElsewhere(value, names));
  return index;
}

/** Returns `value` if it is true or false. Throws INVALID_ARGUMENT. @internal */
export function trueOrFalse(value: unknown, field: string): boolean {
  if (typeof value !== "boolean") fail("INVALID_ARGUMENT", field, `must be true or false (got ${show(value)})`);
  return value;
}

/** A view of bytes that save() returned. @internal */
export function savedBytes(value: unknown): Uint8Array {
  const bytes = typedArrayName(value) === "Uint8Array" ? viewBytes(value) : undefined;
  return bytes ?? fail("INVALID_ARGUMENT", "bytes", "must be a Uint8Array returned by save(), and not detached");
}

/** Returns a callback option, or undefined if it is absent. Throws INVALID_ARGUMENT. @internal */
export function optionalFunction<F extends (...args: never[]) => unknown>(
  value: F | undefined,
  field: string,
): F | undefined {
  if (value !== undefined && typeof value !== "function")
    fail("INVALID_ARGUMENT", field, `must be a function (got ${show(value)})`);
  return value;
}

/** Returns the option `signal`, or undefined if it is absent. Throws INVALID_ARGUMENT. @internal */
export function optionalSignal(value: AbortSignal | undefined): AbortSignal | undefined {
  const methods = ["throwIfAborted", "addEventListener", "removeEventListener"] as const;
  const given = value as Record<string, unknown> | null | undefined;
  // Signals of other realms aren't instances of this realm's class.
  const isSignal =
    typeof given === "object" && given !== null && methods.every((name) => typeof given[name] === "function");
  if (given !== undefined && !isSignal)
    fail("INVALID_ARGUMENT", "signal", `must be an AbortSignal (got ${show(value)})`);
  return value;
}
