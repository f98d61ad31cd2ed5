// Reads calls of FunctionGemma and Gemma 4: objects without quotes around keys, and with a marker as the quote of texts.
import type { QuotedFormat } from "./call_format.js";
import {
  Attempts,
  begunCall,
  type CallReader,
  Closers,
  MORE_NEEDED,
  NO_CALL,
  type Reading,
  type Rest,
  wholeCall,
} from "./call_reading.js";
import type { CalledTools } from "./called_tools.js";
import { afterSpace, literal, nameAt, NO, WAIT } from "./matcher.js";
import { parsed } from "./json_stream.js";

export class QuotedCallReader implements CallReader {
  readonly #format: QuotedFormat;
  readonly #tools: CalledTools;
  readonly #closers: Closers;
  readonly #attempts: Attempts;
  #isRead = false;

  constructor(format: QuotedFormat, tools: CalledTools) {
    this.#format = format;
    this.#tools = tools;
    this.#closers = new Closers(format.close);
    this.#attempts = new Attempts("}");
  }

  read(text: string, rest: Rest): Reading {
    if (this.#isRead) return this.#closers.read(text, 0, rest);
    if (!this.#attempts.isDue(text, rest)) return MORE_NEEDED;
    const opened = literal(text, 0, this.#format.open);
    const begun = opened < 0 ? opened : literal(text, afterSpace(text, opened), "call:");
    const { name, end } = begun < 0 ? { name: "", end: begun } : nameAt(text, begun, this.#tools.names);
    const at = end < 0 ? end : afterSpace(text, end);
    if (at === NO) return NO_CALL;
    if (at === WAIT || at >= text.length) return begunCall(undefined, text.length, rest);
    if (text[at] !== "{") return NO_CALL;
    const value = new QuotedReader(text, this.#format.quote, this.#tools.keysOf(name)).value(at);
    if (typeof value === "number") return value === WAIT ? begunCall(name, text.length, rest) : NO_CALL;
    this.#isRead = true;
    return this.#closers.read(text, value.end, rest, wholeCall(name, value.json));
  }
}

interface Value {
  readonly json: string;
  readonly end: number;
}

/** As deep as values may be. */
const MAX_DEPTH = 500;

/** Reads the values of a text. */
class QuotedReader {
  readonly #text: string;
  readonly #quote: string;
  /** Keys of the outermost object that the schema names. */
  readonly #keys: readonly string[];

  constructor(text: string, quote: string, keys: readonly string[]) {
    this.#text = text;
    this.#quote = quote;
    this.#keys = keys;
  }

  /** The value that begins here; NO or WAIT. */
  value(at: number, depth = 0): Value | number {
    const text = this.#text;
    if (at >= text.length) return WAIT;
    if (depth > MAX_DEPTH) return NO;
    if (text[at] === "{") return this.#members(at, "}", depth);
    if (text[at] === "[") return this.#members(at, "]", depth);
    const quoted = this.#string(at);
    if (quoted !== NO) return quoted;
    const length = /^[^,}\]]*/.exec(text.slice(at))![0].length;
    if (at + length >= text.length) return WAIT;
    const bare = text.slice(at, at + length).trim();
    return { json: bareValue(bare), end: at + length };
  }

  #string(at: number): Value | number {
    const begin = literal(this.#text, at, this.#quote);
    if (begin < 0) return begin;
    const end = this.#text.indexOf(this.#quote, begin);
    if (end < 0) return WAIT;
    return { json: JSON.stringify(this.#text.slice(begin, end)), end: end + this.#quote.length };
  }

  /** The members of an object or a list. */
  #members(from: number, close: "}" | "]", depth: number): Value | number {
    const members: string[] = [];
    let at = afterSpace(this.#text, from + 1);
    while (this.#text[at] !== close) {
      if (at >= this.#text.length) return WAIT;
      let key = "";
      if (close === "}") {
        const found = this.#key(at, depth);
        if (typeof found === "number") return found;
        key = `${found.json}:`;
        at = afterSpace(this.#text, found.end);
      }
      const value = this.value(at, depth + 1);
      if (typeof value === "number") return value;
      members.push(key + value.json);
      at = afterSpace(this.#text, value.end);
      if (this.#text[at] === ",") at = afterSpace(this.#text, at + 1);
      else if (at < this.#text.length && this.#text[at] !== close) return NO;
    }
    const [first, last] = close === "}" ? "{}" : "[]";
    return { json: first! + members.join(",") + last!, end: at + 1 };
  }

  /** A key, up to the colon after it. */
  #key(at: number, depth: number): Value | number {
    const quoted = this.#string(at);
    if (quoted === WAIT) return WAIT;
    if (typeof quoted !== "number") {
      const colon = afterSpace(this.#text, quoted.end);
      return this.#text[colon] === ":" ? { ...quoted, end: colon + 1 } : colon >= this.#text.length ? WAIT : NO;
    }
    const known = depth === 0 ? this.#keys.find((key) => this.#text.startsWith(`${key}:`, at)) : undefined;
    const colon = known === undefined ? this.#text.indexOf(":", at) : at + known.length;
    if (colon < 0) return WAIT;
    const key = this.#text.slice(at, colon).trim();
    if (known === undefined && /[{}[\],\n]/.test(key)) return NO;
    return { json: JSON.stringify(key), end: colon + 1 };
  }
}

/** A value without quotes. Texts have quotes, so a number is a number whatever the schema says. */
function bareValue(text: string): string {
  if (/^true$/i.test(text)) return "true";
  if (/^false$/i.test(text)) return "false";
  if (/^(?:null|none)$/i.test(text)) return "null";
  const isNumber = /^[-\d]/.test(text) && typeof parsed(text) === "number";
  return isNumber ? text : JSON.stringify(text);
}
