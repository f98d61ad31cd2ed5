// Reads calls whose name and arguments stand between tags.
import type { AnswerPart } from "./answer_part.js";
import type { TaggedFormat } from "./call_format.js";
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
import { afterSpace, literal, nameAt, NO, tagAt, WAIT } from "./matcher.js";
import { taggedValue } from "./tagged_value.js";
import { TaggedText } from "./tagged_text.js";

export class TaggedCallReader implements CallReader {
  readonly #format: TaggedFormat;
  readonly #tools: CalledTools;
  readonly #closers: Closers;
  readonly #attempts: Attempts;
  #state: "open" | "next" | "closing" = "open";

  constructor(format: TaggedFormat, tools: CalledTools) {
    this.#format = format;
    this.#tools = tools;
    this.#closers = new Closers(format.close, format.section?.[1]);
    this.#attempts = new Attempts(format.end, format.close);
  }

  read(text: string, rest: Rest): Reading {
    const parts: AnswerPart[] = [];
    let at = 0;
    if (this.#state === "open") {
      if (!this.#attempts.isDue(text, rest)) return MORE_NEEDED;
      const opened = this.#opened(text);
      if (opened < 0) return opened === WAIT ? begunCall(undefined, text.length, rest) : NO_CALL;
      const call = this.#call(text, opened, rest);
      if (call.at === NO) return NO_CALL;
      if (call.at === WAIT) return begunCall(call.name, text.length, rest);
      parts.push(...wholeCall(call.name!, call.arguments));
      at = call.at;
      this.#state = this.#format.section === undefined ? "closing" : "next";
    }
    while (this.#state === "next") {
      const begin = literal(text, afterSpace(text, at), this.#format.open);
      const call = begin < 0 ? { at: begin } : this.#call(text, begin, rest);
      if (call.at === WAIT) {
        if (rest === "more") return { parts, used: at, state: "wait" };
        const begun = begunCall(call.name, text.length, rest);
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

  #opened(text: string): number {
    const { open, section, name } = this.#format;
    if (section === undefined) return text.startsWith(name[0]) && name[0] !== "" ? 0 : literal(text, 0, open);
    const end = literal(text, 0, section[0]);
    return end >= 0 ? literal(text, afterSpace(text, end), open) : end;
  }

  /** Reads one call, up to its own end tag. */
  #call(text: string, from: number, rest: Rest): { at: number; name?: string; arguments?: string } {
    const { name: around, value, end, close } = this.#format;
    const begun = literal(text, afterSpace(text, from), around[0]);
    if (begun < 0) return { at: begun };
    const { name, end: nameEnd } = nameAt(text, begun, this.#tools.names);
    if (nameEnd < 0) return { at: nameEnd };
    if (nameEnd >= text.length) return { at: WAIT };
    let at = tagAt(text, nameEnd, around[1]).end;
    if (at < 0) return { at };
    if (
      around[1] === "" &&
      !/\s/.test(text[at]!) &&
      literal(text, at, value[0]) === NO &&
      literal(text, at, end) === NO
    )
      return { at: NO };
    const given = new Map<string, string>();
    for (;;) {
      const next = afterSpace(text, at);
      if (next >= text.length && rest === "ended") return { at: text.length, name, arguments: objectOf(given) };
      const ended = literal(text, next, end);
      if (ended >= 0) return { at: ended, name, arguments: objectOf(given) };
      if (close !== "" && literal(text, next, close) >= 0) return { at: next, name, arguments: objectOf(given) };
      const read = new TaggedText(this.#format, this.#tools, name, text, rest).argumentAt(next, new Set(given.keys()));
      if (typeof read === "number") {
        const isBegun = ended === WAIT || (close !== "" && literal(text, next, close) === WAIT);
        return { at: read === NO && isBegun ? WAIT : read, name };
      }
      given.set(read.key, taggedValue(read.text, read.isText ? TEXT : this.#tools.typesOf(name, read.key)));
      at = read.end;
    }
  }
}

const TEXT = new Set(["string"] as const);

function objectOf(values: ReadonlyMap<string, string>): string {
  return `{${[...values].map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(",")}}`;
}
