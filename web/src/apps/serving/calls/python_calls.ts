// Reads calls as Python writes them: `[name(key="value", …), …]`.
import type { AnswerPart } from "./answer_part.js";
import type { PythonFormat } from "./call_format.js";
import {
  Attempts,
  begunCall,
  type CallReader,
  Closers,
  NO_CALL,
  type Reading,
  type Rest,
  wholeCall,
} from "./call_reading.js";
import type { CalledTools } from "./called_tools.js";
import { JsonCallReader } from "./json_calls.js";
import { afterSpace, literal, nameAt, NO, WAIT } from "./matcher.js";
import { PythonReader } from "./python_literal.js";
import { NotPython, unescaped } from "./python_string.js";

export class PythonCallReader implements CallReader {
  readonly #format: PythonFormat;
  readonly #tools: CalledTools;
  readonly #closers: Closers;
  readonly #attempts = new Attempts(")");
  #state: "open" | "calls" | "closing" = "open";
  #isInList = false;
  /** Some models write JSON between the same markers if they are asked to. */
  #json: JsonCallReader | undefined;

  constructor(format: PythonFormat, tools: CalledTools) {
    this.#format = format;
    this.#tools = tools;
    this.#closers = new Closers(format.close);
  }

  read(text: string, rest: Rest): Reading {
    if (this.#json !== undefined) return this.#json.read(text, rest);
    if (!this.#attempts.isDue(text, rest)) return { parts: [], used: 0, state: "wait" };
    const parts: AnswerPart[] = [];
    let at = 0;
    if (this.#state === "open") {
      const opened = literal(text, 0, this.#format.open);
      if (opened < 0) return opened === WAIT ? begunCall(undefined, text.length, rest) : NO_CALL;
      at = afterSpace(text, opened);
      const isInList = text[at] === "[";
      if (isInList) at = afterSpace(text, at + 1);
      if (text[at] === "{") {
        this.#json = new JsonCallReader(
          { ...JSON_CALLS, open: this.#format.open, close: this.#format.close },
          this.#tools,
        );
        return this.#json.read(text, rest);
      }
      const first = this.#call(text, at, rest);
      if (first.at === NO) return NO_CALL;
      if (first.at === WAIT) return begunCall(first.name, text.length, rest);
      parts.push(...wholeCall(first.name!, first.arguments));
      at = first.at;
      this.#isInList = isInList;
      this.#state = "calls";
    }
    while (this.#state === "calls") {
      const next = at + /^[\s,;]*/.exec(text.slice(at))![0].length;
      if (next >= text.length && rest === "more") return { parts, used: at, state: "wait" };
      if (text[next] === "]" && this.#isInList) {
        at = next + 1;
        this.#state = "closing";
        break;
      }
      const call = this.#call(text, next, rest);
      if (call.at === WAIT) {
        const closed = literal(text, next, this.#format.close);
        if (rest === "more") return { parts, used: at, state: "wait" };
        const begun = closed === WAIT ? NO_CALL : begunCall(call.name, text.length, rest);
        if (begun.state === "done") return { ...begun, parts: [...parts, ...begun.parts] };
      }
      if (call.at < 0) this.#state = "closing";
      else {
        parts.push(...wholeCall(call.name!, call.arguments));
        at = call.at;
      }
    }
    return this.#closers.read(text, at, rest, parts);
  }

  /** One call; NO or WAIT. */
  #call(text: string, from: number, rest: Rest): { at: number; name?: string; arguments?: string } {
    const { name, end } = nameAt(text, from, this.#tools.names);
    if (end < 0) return { at: end };
    const open = literal(text, afterSpace(text, end), "(");
    if (open < 0) return { at: open };
    const keys = this.#tools.keysOf(name);
    const given = new Map<string, string>();
    const reader = new PythonReader(text, open);
    try {
      for (;;) {
        reader.skipSpace();
        if (reader.isAtEnd) throw new NotPython(true);
        if (reader.next === ")") break;
        const key = keyAt(text, reader.at, keys);
        reader.at = key.end;
        given.set(key.name, argumentAt(text, reader, keys, rest));
      }
    } catch (error) {
      if (!(error instanceof NotPython)) throw error;
      return { at: error.isCut ? WAIT : NO, name };
    }
    const members = [...given].map(([key, value]) => `${JSON.stringify(key)}:${value}`);
    return { at: reader.at + 1, name, arguments: `{${members.join(",")}}` };
  }
}

const JSON_CALLS = {
  style: "json",
  lead: "",
  isList: true,
  nameKey: "name",
  argumentsKey: "arguments",
  isBare: false,
  markers: [],
} as const;

/** The name of an argument, and where its value begins. */
function keyAt(text: string, from: number, keys: readonly string[]): { name: string; end: number } {
  for (const name of keys) {
    if (!text.startsWith(name, from)) continue;
    const equals = afterSpace(text, from + name.length);
    if (text[equals] === "=") return { name, end: equals + 1 };
  }
  const [head, name] = /^([^\s=(),'"[\]{}]+)\s*=/.exec(text.slice(from, from + 300)) ?? [];
  if (head !== undefined) return { name: name!, end: from + head.length };
  throw new NotPython(/^[^=(),'"[\]{}]*$/.test(text.slice(from)));
}

/** The JSON of an argument, up to the next one. */
function argumentAt(text: string, reader: PythonReader, keys: readonly string[], rest: Rest): string {
  const begin = reader.at;
  try {
    const { json } = reader.value();
    endArgument(reader);
    return json;
  } catch (error) {
    if (!(error instanceof NotPython) || (error.isCut && rest === "more")) throw error;
    const loose = looseString(text, begin, keys);
    if (loose === undefined) throw error;
    reader.at = loose.end;
    endArgument(reader);
    return loose.json;
  }
}

/** Skips the comma after an argument. */
function endArgument(reader: PythonReader): void {
  reader.skipSpace();
  if (reader.isAtEnd) throw new NotPython(true);
  if (reader.next === ",") reader.at += 1;
  else if (reader.next !== ")") throw new NotPython(false);
}

/** A string with quotes in it that aren't escaped, as LFM2.5's template writes them: it ends where the next argument or the end of the call follows. */
function looseString(text: string, from: number, keys: readonly string[]): { json: string; end: number } | undefined {
  const begin = afterSpace(text, from);
  const quote = text[begin];
  if (quote !== "'" && quote !== '"') return undefined;
  for (let at = text.indexOf(quote, begin + 1); at >= 0; at = text.indexOf(quote, at + 1)) {
    const next = afterSpace(text, at + 1);
    if (next >= text.length) throw new NotPython(true);
    const isKey = text[next] === "," && keys.some((key) => text.startsWith(`${key}=`, afterSpace(text, next + 1)));
    const isEnd = text[next] === ")" && /^\)\s*(?:$|[\],;<\n])/.test(text.slice(next));
    if (isKey || isEnd) return { json: JSON.stringify(unescaped(text.slice(begin + 1, at))), end: at + 1 };
  }
  throw new NotPython(true);
}
