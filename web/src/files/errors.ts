// The errors that reading model files raises. Their field is "<file>: <part>".
import { fail } from "../base/errors.js";

/** Throws INVALID_FILE: a file is damaged, truncated, or not what its name says. `part` names the part of the file. @internal */
export function invalidFile(file: string, part: string, message: string, options?: ErrorOptions): never {
  fail("INVALID_FILE", `${file}: ${part}`, message, options);
}

/** Throws UNSUPPORTED_MODEL: a valid file uses a feature that this package doesn't have. @internal */
export function unsupportedModel(file: string, part: string, message: string): never {
  fail("UNSUPPORTED_MODEL", `${file}: ${part}`, message);
}

/** Throws NETWORK: a server fails to deliver a file. @internal */
export function networkError(file: string, message: string, options?: ErrorOptions): never {
  fail("NETWORK", `${file}: download`, message, options);
}

/** A value from a file as JSON, for a message. Truncated, as a damaged file may hold anything. @internal */
export function shortJson(value: unknown): string {
  const json = String(JSON.stringify(value));
  return json.length <= 60 ? json : `${json.slice(0, 60)}…`;
}
