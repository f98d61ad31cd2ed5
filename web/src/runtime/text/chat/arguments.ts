// Reads the JSON text of a call's arguments as values of a template, with nothing lost: JSON.parse() rounds integers beyond 2^53, takes
// 1.0 for an integer, and reorders keys that are numbers.
import { Ready } from "../template/values/inputs.js";
import { Float, integer } from "../template/values/numbers.js";
import { Dict, type Value } from "../template/values/values.js";

/** Nested arrays and objects. */
const MAX_NESTED = 500;

/** The value of a JSON text; undefined if it isn't JSON. */
export function valueOfJson(text: string): Ready | undefined {
  try {
    JSON.parse(text);
    return new Ready(new Reader(text).whole());
  } catch {
    return undefined;
  }
}

/** Reads text that is known to be JSON. */
class Reader {
  readonly #tokens: Iterator<RegExpExecArray>;
  #token = "";

  constructor(text: string) {
    this.#tokens = text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s[\]{}:,"]+/g);
    this.#next();
  }

  whole(): Value {
    return this.#value(0);
  }

  #next(): string {
    const before = this.#token;
    const next = this.#tokens.next();
    this.#token = next.done === true ? "" : next.value[0];
    return before;
  }

  #value(depth: number): Value {
    if (depth > MAX_NESTED) throw new RangeError("nested too deeply");
    const token = this.#next();
    if (token === "[") {
      const items: Value[] = [];
      while (this.#token !== "]") {
        items.push(this.#value(depth + 1));
        if (this.#token === ",") this.#next();
      }
      this.#next();
      return items;
    }
    if (token === "{") {
      const entries = new Dict();
      while (this.#token !== "}") {
        const key = JSON.parse(this.#next()) as string;
        this.#next(); // the colon
        entries.set(key, this.#value(depth + 1));
        if (this.#token === ",") this.#next();
      }
      this.#next();
      return entries;
    }
    return scalar(token);
  }
}

function scalar(token: string): Value {
  const value = JSON.parse(token) as string | number | boolean | null;
  if (typeof value !== "number") return value;
  if (/[.eE]/.test(token)) return new Float(value);
  return integer(BigInt(token));
}
