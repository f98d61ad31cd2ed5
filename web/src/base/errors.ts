/// <reference lib="es2021.promise" preserve="true" />
/// <reference lib="es2022.error" preserve="true" />
import { printable } from "./show.js";

/** The cause of a {@link RopewalkError}, for programs. The message is for people. */
export type RopewalkErrorCode =
  | "INVALID_CONFIG"
  | "UNKNOWN_KEY"
  | "UNSUPPORTED_ROPE_TYPE"
  | "UNKNOWN_FAMILY"
  | "INVALID_ARGUMENT"
  | "INVALID_SHAPE"
  | "INVALID_DTYPE"
  | "INVALID_POSITION"
  | "INVALID_BYTES"
  | "CACHE_FULL"
  | "INVALID_FILE"
  | "UNSUPPORTED_MODEL"
  | "NETWORK"
  | "OUT_OF_MEMORY"
  | "THREAD_LOST"
  | "DISPOSED"
  | "NOT_LOADED"
  | "WASM_LOAD"
  | "UNSUPPORTED_ENGINE";

/** The error that this package throws for invalid input, failed loading, and exhausted memory. */
export class RopewalkError extends Error {
  static {
    Object.defineProperty(this, "name", { value: "RopewalkError" }); // engines print this, and minifiers shorten the class name
  }

  /** The cause. */
  readonly code: RopewalkErrorCode;
  /** Path of the config field or argument at fault (`rope_scaling.factor`, `positions`), or "" if there is none. */
  readonly field: string;

  constructor(code: RopewalkErrorCode, field: string, message: string, options?: ErrorOptions) {
    super(printable(field === "" ? message : `${field}: ${message}`), options);
    this.name = "RopewalkError";
    this.code = code;
    this.field = printable(field); // may have a name from a file
  }
}

/** The message of an error without its field. @internal */
export function problemOf({ field, message }: Pick<RopewalkError, "field" | "message">): string {
  return field !== "" && message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message;
}

/**
 * Throws a {@link RopewalkError}. All of this package's errors are thrown here.
 * `field` is the path of the config field or argument at fault, or "". The message says what was expected, what the
 * value was, and what to do. Pass `{ cause }` in `options` to keep an underlying error.
 * @internal
 */
export function fail(code: RopewalkErrorCode, field: string, message: string, options?: ErrorOptions): never {
  const error = new RopewalkError(code, field, message, options);
  // Starts the stack at the caller. Firefox before 138 doesn't have this.
  (Error as { captureStackTrace?: typeof Error.captureStackTrace }).captureStackTrace?.(error, fail);
  throw error;
}
