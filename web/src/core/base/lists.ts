// Reads the lists that callers pass: token ids, and the messages of a chat. Compares token ids.
import { wholeNumber } from "./checks.js";
import { onnxHint } from "./elsewhere.js";
import { fail } from "./errors.js";
import { show } from "./show.js";

/** More tokens than any context has. */
const LONGEST = 2 ** 24;

/**
 * The elements of a list, read once. Throws INVALID_ARGUMENT if it isn't iterable, and what the caller's iterator throws.
 * @param what - what the list has, for the message
 * @internal
 */
export function listOf(given: unknown, field: string, what: string): unknown[] {
  const refuse = (problem: string): never =>
    fail("INVALID_ARGUMENT", field, `must be ${what} (${problem})`, onnxHint(given));
  if (ArrayBuffer.isView(given) && !(given instanceof DataView)) {
    const array = given as Int32Array; // if it is detached, its length is 0, and its iterator would throw
    return Array.from({ length: array.length }, (_, i) => Number(array[i]));
  }
  const list = given as Partial<Iterable<unknown>> | null;
  if (typeof given !== "object" || typeof list?.[Symbol.iterator] !== "function") return refuse(`got ${show(given)}`);
  const items: unknown[] = [];
  try {
    for (const item of list as Iterable<unknown>) {
      if (items.push(item) > LONGEST) refuse(`got more than ${LONGEST}`);
    }
  } catch (cause) {
    // an iterator without next(): the engine's message doesn't name the argument.
    if (!(cause instanceof TypeError)) throw cause;
    fail("INVALID_ARGUMENT", field, `must be ${what} (got an object that can't be iterated)`, { cause });
  }
  return items;
}

/** Token ids from a list. Throws INVALID_ARGUMENT for ids that a vocabulary of this size doesn't have. @internal */
export function tokenIds(given: unknown, vocabularySize: number, field: string): Int32Array {
  const ids = listOf(given, field, "text or token ids");
  return Int32Array.from(ids, (id, i) => wholeNumber(id, 0, vocabularySize - 1, `${field}[${i}]`));
}

/** Length of the common beginning of two texts: what a session needn't read again. @internal */
export function commonLength(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a[length] === b[length]) length += 1;
  return length;
}
