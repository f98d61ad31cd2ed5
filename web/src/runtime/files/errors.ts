// The errors that reading model files raises. Their field is "<file>: <part>".
import { fail, type RopewalkErrorOptions } from "../../core/base/errors.js";
import { printable, quote } from "../../core/base/show.js";

/** The longest name in a field. Names in files may be many megabytes. */
const FIELD_LETTERS = 200;

/** Throws INVALID_FILE: a file is damaged, truncated, or not what its name says. `part` names the part of the file. @internal */
export function invalidFile(file: string, part: string, problem: string, options?: RopewalkErrorOptions): never {
  fail("INVALID_FILE", fieldOf(file, part), problem, options);
}

/** Throws UNSUPPORTED_MODEL: a valid file uses a feature that this package doesn't have. @internal */
export function unsupportedModel(file: string, part: string, problem: string, options?: RopewalkErrorOptions): never {
  fail("UNSUPPORTED_MODEL", fieldOf(file, part), problem, options);
}

/** Throws NETWORK: a server fails to deliver a file. @internal */
export function networkError(file: string, problem: string, options?: RopewalkErrorOptions): never {
  fail("NETWORK", fieldOf(file, "download"), problem, options);
}

/** The field of an error: a file and a part of it. Control characters are escaped, and then long names cut. @internal */
export function fieldOf(file: string, part: string): string {
  const short = (name: string): string => {
    const shown = printable(name.slice(0, FIELD_LETTERS + 1));
    return shown.length <= FIELD_LETTERS ? shown : `${shown.slice(0, FIELD_LETTERS)}…`;
  };
  return `${short(file)}: ${short(part)}`;
}

/** A name from a file, for a message: as it is if it looks like a name, otherwise in quotes and cut. @internal */
export function named(name: string): string {
  return /^[\w.:/-]{1,100}$/.test(name) ? name : quote(name);
}
