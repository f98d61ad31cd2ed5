// Reads calls that are JSON: an object with name and arguments, or a list of them.
import type { AnswerPart } from "./answer_part.js";
import type { JsonFormat } from "./call_format.js";
import { Attempts, type CallReader, MORE_NEEDED, NO_CALL, type Reading, type Rest, wholeCall } from "./call_reading.js";
import type { CalledTools } from "./called_tools.js";
import { endOfString, endOfValue, JsonStream, stringOf } from "./json_stream.js";
import { afterSpace, literal, WAIT } from "./matcher.js";

/** What a call begins with. */
type Head =
  /** The arguments begin `at` an object. `depth` brackets end the call after them. */
  | { readonly state: "arguments"; readonly name: string; readonly at: number; readonly depth: number }
  | { readonly state: "whole"; readonly name: string; readonly arguments: string; readonly at: number }
  | { readonly state: "no" }
  /** More text is needed. The name may be known. */
  | { readonly state: "wait"; readonly name?: string };

const NO_HEAD: Head = { state: "no" };

export class JsonCallReader implements CallReader {
  readonly #format: JsonFormat;
  readonly #tools: CalledTools;
  #state: "open" | "arguments" | "tail" | "after" = "open";
  #isInList = false;
  #arguments = new JsonStream();
  /** Brackets that end the call. */
  #depth = 0;
  readonly #attempts = new Attempts("}", '"name"');

  constructor(format: JsonFormat, tools: CalledTools) {
    this.#format = format;
    this.#tools = tools;
  }

  read(text: string, rest: Rest): Reading {
    const parts: AnswerPart[] = [];
    let at = 0;
    for (;;) {
      if (this.#state === "open") {
        if (!this.#attempts.isDue(text, rest)) return MORE_NEEDED;
        const opened = this.#opened(text);
        if (opened < 0) return opened === WAIT ? this.#unfinished({ state: "wait" }, text, rest, parts, 0) : NO_CALL;
        const head = this.#head(text, opened);
        if (head.state === "no" || head.state === "wait") return this.#unfinished(head, text, rest, parts, 0);
        this.#isInList = text.slice(0, opened).trimEnd().endsWith("[") && opened > this.#format.open.length;
        at = this.#begin(head, parts);
      } else if (this.#state === "arguments") {
        const { written, used, isEnd } = this.#arguments.push(text.slice(at));
        at += used;
        if (written !== "") parts.push({ arguments: written });
        if (!isEnd && rest === "more") return { parts, used: at, state: "wait" };
        parts.push({ isCallEnd: true });
        this.#state = "tail";
      } else if (this.#state === "tail") {
        const end = this.#endOfTail(text, at);
        if (end === WAIT && rest === "more") return { parts, used: at, state: "wait" };
        at = end === WAIT ? text.length : end;
        this.#state = "after";
      } else {
        const next = this.#next(text, at, rest, parts);
        if (typeof next !== "number") return next;
        at = next;
      }
    }
  }

  /** Where the first call begins; NO or WAIT. */
  #opened(text: string): number {
    const { open, isBare } = this.#format;
    const marker = literal(text, 0, open);
    if (marker < 0 && !isBare) return marker;
    let at = afterSpace(text, Math.max(marker, 0));
    if ("```json".startsWith(text.slice(at))) return WAIT;
    const fence = /^```(?:json)?/.exec(text.slice(at));
    if (fence !== null) at = afterSpace(text, at + fence[0].length);
    if (text[at] === "[") at = afterSpace(text, at + 1);
    if (at >= text.length) return WAIT;
    return text[at] === "{" ? at : marker === WAIT ? WAIT : -1;
  }

  /** Begins a call, and returns where what follows is. */
  #begin(head: Extract<Head, { at: number }>, parts: AnswerPart[]): number {
    if (head.state === "whole") {
      parts.push(...wholeCall(head.name, head.arguments));
      this.#state = "after";
    } else {
      parts.push({ call: head.name });
      this.#arguments = new JsonStream();
      this.#depth = head.depth;
      this.#state = "arguments";
    }
    return head.at;
  }

  /** What is read of the beginning of a call that is no call, or isn't whole. */
  #unfinished(head: Head, text: string, rest: Rest, parts: AnswerPart[], used: number): Reading {
    const isFirst = this.#state === "open";
    if (head.state === "wait" && rest === "more") return isFirst ? MORE_NEEDED : { parts, used, state: "wait" };
    if (head.state === "wait" && rest === "cut") {
      if (head.name !== undefined) parts.push(...wholeCall(head.name, undefined));
      if (head.name !== undefined || !this.#isText(text.slice(used)))
        return { parts, used: text.length, state: "done" };
    }
    return isFirst ? NO_CALL : { parts, used, state: "done", missing: this.#format.close };
  }

  /** Whether JSON without a marker may be anything. */
  #isText(text: string): boolean {
    return this.#format.isBare && !/^\s*(?:<\|python_tag\|>|\{\s*"(?:name"|type"\s*:\s*"function"))/.test(text);
  }

  /** Where the brackets of the call end; WAIT. Text of another form ends it too. */
  #endOfTail(text: string, from: number): number {
    let at = from;
    while (this.#depth > 0) {
      const next = afterSpace(text, at);
      if (next >= text.length) return WAIT;
      if (text[next] === "}") this.#depth -= 1;
      else if (text[next] !== ",") return at;
      if (text[next] === ",") {
        // another key, such as the call's id
        const key = afterSpace(text, next + 1);
        if (key >= text.length) return WAIT;
        if (text[key] !== '"') return at;
        const colon = endOfString(text, key);
        const value = colon < 0 ? -1 : afterSpace(text, afterSpace(text, colon) + 1);
        const end = value < 0 || value >= text.length ? -1 : endOfValue(text, value);
        if (end < 0) return WAIT;
        at = end;
      } else at = next + 1;
    }
    return at;
  }

  /** Reads what follows a call: the next one, which begins where the result says, or the end. */
  #next(text: string, from: number, rest: Rest, parts: AnswerPart[]): number | Reading {
    const { close } = this.#format;
    let at = from;
    for (;;) {
      const next = at + /^[\s,;`]*/.exec(text.slice(at))![0].length;
      if (next >= text.length) {
        if (rest === "more") return { parts, used: at, state: "wait" };
        return { parts, used: text.length, state: "done" };
      }
      if (close !== "") {
        const end = literal(text, next, close);
        if (end >= 0) return { parts, used: end, state: "done" };
        if (end === WAIT && rest === "more") return { parts, used: at, state: "wait" };
      }
      if (text[next] === "]" && this.#isInList) {
        this.#isInList = false;
        at = next + 1;
        if (close === "") return { parts, used: at, state: "done" };
        continue;
      }
      if (text[next] !== "{") return { parts, used: at, state: "done", missing: close };
      const head = this.#head(text, next);
      if (head.state === "no" || head.state === "wait") {
        const used = rest === "more" && head.state === "wait" ? at : next;
        return this.#unfinished(head, text, rest, parts, used);
      }
      return this.#begin(head, parts);
    }
  }

  /** Reads the object of a call up to its arguments. */
  #head(text: string, from: number): Head {
    let [at, depth] = [from + 1, 1];
    let name: string | undefined;
    let given: string | undefined;
    const wait = (): Head => ({ state: "wait", ...(name !== undefined && { name }) });
    while (depth > 0) {
      at = afterSpace(text, at);
      if (at >= text.length) return wait();
      if (text[at] === "}" || text[at] === ",") {
        if (text[at] === "}") depth -= 1;
        at += 1;
        continue;
      }
      const keyEnd = text[at] === '"' ? endOfString(text, at) : NaN;
      if (keyEnd < 0) return wait();
      const key = Number.isNaN(keyEnd) ? undefined : stringOf(text.slice(at, keyEnd));
      if (key === undefined) return NO_HEAD;
      at = afterSpace(text, keyEnd);
      if (at < text.length && text[at] !== ":") return NO_HEAD;
      at = afterSpace(text, at + 1);
      if (at >= text.length) return this.#mayBe(key, name) ? wait() : NO_HEAD;
      if (this.#format.argumentsKey === undefined) {
        if (!this.#tools.has(key) || text[at] !== "{") return NO_HEAD;
        return { state: "arguments", name: key, at, depth };
      }
      if (key === "function" && text[at] === "{") {
        depth += 1;
        at += 1;
        continue;
      }
      if (!this.#mayBe(key, name)) return NO_HEAD;
      if (ARGUMENTS.has(key) && text[at] === "{" && name !== undefined) return { state: "arguments", name, at, depth };
      if (NAMES.has(key) && text[at] === '"' && !this.#isNameBegun(text.slice(at + 1))) return NO_HEAD;
      const end = endOfValue(text, at);
      if (end < 0) return wait();
      const value = text.slice(at, end);
      at = end;
      if (ARGUMENTS.has(key)) given = value;
      else if (NAMES.has(key)) {
        name = stringOf(value);
        if (name === undefined || !this.#tools.has(name)) return NO_HEAD;
      }
    }
    // `{"name": "now"}` alone is a call only between markers
    if (name === undefined || (this.#format.isBare && given === undefined)) return NO_HEAD;
    return { state: "whole", name, arguments: argumentsOf(given), at };
  }

  /** Whether an object with this key can be a call. */
  #mayBe(key: string, name: string | undefined): boolean {
    if (this.#format.argumentsKey === undefined) return this.#tools.has(key);
    return (NAMES.has(key) && name === undefined) || ARGUMENTS.has(key) || OTHERS.has(key);
  }

  /** Whether a string, which may be incomplete, can be a name. */
  #isNameBegun(text: string): boolean {
    const begun = text.split('"', 1)[0]!;
    return begun.includes("\\") || this.#tools.names.some((name) => name.startsWith(begun));
  }
}

const NAMES: ReadonlySet<string> = new Set(["name", "tool_name", "function"]);
const ARGUMENTS: ReadonlySet<string> = new Set(["arguments", "parameters"]);
const OTHERS: ReadonlySet<string> = new Set(["type", "id", "index", "tool_call_id"]);

/** The arguments of a call that was read as a whole. Some models write them as JSON in a string. */
function argumentsOf(given: string | undefined): string {
  if (given === undefined || given === "null") return "{}";
  if (given.startsWith("{")) return new JsonStream().push(given).written;
  return stringOf(given) ?? given;
}
