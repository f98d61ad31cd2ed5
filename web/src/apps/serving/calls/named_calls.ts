// Reads calls that are a name with markers around it, then the arguments as a JSON object.
import type { AnswerPart } from "./answer_part.js";
import type { NamedFormat, NameHead } from "./call_format.js";
import { begunCall, type CallReader, Closers, NO_CALL, type Reading, type Rest, wholeCall } from "./call_reading.js";
import type { CalledTools } from "./called_tools.js";
import { JsonStream } from "./json_stream.js";
import { afterSpace, literal, nameAt, NO, WAIT } from "./matcher.js";

/** The most characters of a call's id. */
const MAX_NOTE = 200;

/** Where the arguments begin; NO or WAIT. */
interface Head {
  readonly at: number;
  readonly name?: string;
  /** Whether all but the arguments is there. */
  readonly isWhole?: boolean;
}

export class NamedCallReader implements CallReader {
  readonly #format: NamedFormat;
  readonly #tools: CalledTools;
  readonly #closers: Closers;
  #state: "head" | "arguments" | "closing" = "head";
  readonly #arguments = new JsonStream();

  constructor(format: NamedFormat, tools: CalledTools) {
    this.#format = format;
    this.#tools = tools;
    this.#closers = new Closers(format.close, format.section?.[1]);
  }

  read(text: string, rest: Rest): Reading {
    const parts: AnswerPart[] = [];
    let at = 0;
    if (this.#state === "head") {
      const { at: begin, name, isWhole } = this.#head(text);
      if (begin === NO) return NO_CALL;
      if (begin === WAIT) {
        if (rest === "ended" && isWhole === true)
          return { parts: wholeCall(name!, "{}"), used: text.length, state: "done" };
        return begunCall(name, text.length, rest);
      }
      parts.push({ call: name! });
      this.#state = "arguments";
      at = begin;
    }
    if (this.#state === "arguments") {
      const { written, used, isEnd } = this.#arguments.push(text.slice(at));
      at += used;
      if (written !== "") parts.push({ arguments: written });
      if (!isEnd && rest === "more") return { parts, used: at, state: "wait" };
      parts.push({ isCallEnd: true });
      this.#state = "closing";
    }
    const fence = /^\s*`*/.exec(text.slice(at))![0];
    if (fence.endsWith("`")) at += fence.length;
    return this.#closers.read(text, at, rest, parts);
  }

  #head(text: string): Head {
    const { open, section, heads } = this.#format;
    const sectionEnd = section === undefined ? NO : literal(text, 0, section[0]);
    const opened = literal(text, sectionEnd < 0 ? 0 : afterSpace(text, sectionEnd), open);
    if (opened < 0) return { at: opened === WAIT || sectionEnd === WAIT ? WAIT : NO };
    const found = heads.map((head) => this.#argumentsAfter(text, opened, head));
    return found.find(({ at }) => at >= 0) ?? found.find(({ at }) => at === WAIT) ?? { at: NO };
  }

  #argumentsAfter(text: string, from: number, { before, note, after, hasId }: NameHead): Head {
    const place = hasId === true ? text.indexOf(before, from) : afterSpace(text, from);
    const id = text.slice(from, place < 0 ? undefined : place).replace(/<[^<]*$/, ""); // the marker may be incomplete
    if (hasId === true && (id.length > MAX_NOTE || /[\s<]/.test(id))) return { at: NO };
    if (place < 0) return { at: WAIT };
    const begun = literal(text, place, before);
    if (begun < 0) return { at: begun };
    const { name, end } = nameAt(text, afterSpace(text, begun), this.#tools.names);
    if (end < 0) return { at: end };
    let at = afterSpace(text, end);
    if (at >= text.length) return { at: WAIT };
    const noted = note === undefined ? NO : literal(text, at, note);
    if (noted >= 0) {
      at = text.indexOf(after, noted);
      if (at < 0) return { at: text.length - noted > MAX_NOTE ? NO : WAIT, name };
    }
    const headEnd = literal(text, at, after);
    if (headEnd < 0) return { at: headEnd === WAIT || noted === WAIT ? WAIT : NO, name };
    at = afterSpace(text, headEnd);
    if (at >= text.length) return { at: WAIT, name, isWhole: true };
    if (text[at] !== "{") return { at: NO };
    const first = text[afterSpace(text, at + 1)];
    if (first === undefined) return { at: WAIT, name, isWhole: false };
    return first === '"' || first === "}" ? { at, name } : { at: NO };
  }
}
