/// <reference lib="es2021.promise" preserve="true" />
/// <reference lib="es2022.error" preserve="true" />
import type { Advice } from "./advice.js";
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

/** What an error has besides its code, field and problem. */
export interface RopewalkErrorOptions extends ErrorOptions {
  /** What to do. */
  advice?: Advice;
  /** How the message says that. */
  words?: string;
}

/** What differs in an error that is thrown again. @internal */
export interface ErrorChanges extends ErrorOptions {
  readonly code?: RopewalkErrorCode;
  readonly field?: string;
  readonly problem?: string;
  /** How the message says the advice. */
  readonly words?: string;
}

/** The error that this package throws for invalid input, failed loading, and exhausted memory. */
export class RopewalkError extends Error {
  static {
    Object.defineProperty(this, "name", { value: "RopewalkError" }); // engines print this, and minifiers shorten the class name
  }

  /** The cause. */
  readonly code: RopewalkErrorCode;
  /** Path of the config field or argument at fault (`rope_scaling.factor`, `positions`), or "" if there is none. */
  readonly field: string;
  /** What is wrong with the field, without what to do: `must be a number from 1 to 1e30 (got 0)`. */
  readonly problem: string;
  /** What to do, for programs: `{ do: "raise", option: "contextLength" }`; undefined if there is no advice. The message says it in words. */
  readonly advice: Advice | undefined;
  readonly #words: string;

  constructor(code: RopewalkErrorCode, field: string, problem: string, options: RopewalkErrorOptions = {}) {
    const { advice, words = "" } = options;
    super(printable(`${field && `${field}: `}${problem}${words && `; ${words}`}`), options);
    this.name = "RopewalkError";
    this.code = code;
    this.field = printable(field); // may have a name from a file
    this.problem = printable(problem);
    this.advice = advice;
    this.#words = words;
  }

  /** How the message says the advice. @internal */
  get words(): string {
    return this.#words;
  }
}

/** An error with other parts than another one. Its advice and what isn't named stay. @internal */
export function changed(error: RopewalkError, changes: ErrorChanges): RopewalkError {
  const { code, field, problem, advice, words, cause } = error;
  const parts = { code, field, problem, words, cause, ...changes };
  return new RopewalkError(parts.code, parts.field, parts.problem, {
    words: parts.words,
    ...(advice && { advice }),
    ...(parts.cause !== undefined && { cause: parts.cause }),
  });
}

/**
 * Throws a {@link RopewalkError}. All of this package's errors are thrown here.
 * `field` is the path of the config field or argument at fault, or "". `problem` says what was expected and what the value was. What to do comes
 * from a function of advice.ts: `fail(code, field, problem, advise.raise({ option: "contextLength" }))`. Pass `cause` in `options` to keep an
 * underlying error.
 * @internal
 */
export function fail(code: RopewalkErrorCode, field: string, problem: string, options?: RopewalkErrorOptions): never {
  const error = new RopewalkError(code, field, problem, options);
  // Starts the stack at the caller. Firefox before 138 doesn't have this.
  (Error as { captureStackTrace?: typeof Error.captureStackTrace }).captureStackTrace?.(error, fail);
  throw error;
}
