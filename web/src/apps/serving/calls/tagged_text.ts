// Finds where the values of arguments between tags end. A value may contain tags, and its own end tag may be missing.
import type { TaggedFormat } from "./call_format.js";
import type { Rest } from "./call_reading.js";
import type { CalledTools } from "./called_tools.js";
import { afterSpace, literal, nameAt, NO, tagAt, WAIT } from "./matcher.js";

/** The most characters of a key that the schema doesn't have. */
const MAX_KEY = 200;
const [CDATA, CDATA_END] = ["<![CDATA[", "]]>"];

export interface TaggedArgument {
  readonly key: string;
  readonly text: string;
  /** Whether it is marked as text. */
  readonly isText: boolean;
  readonly end: number;
}

/** A key, and where its value begins; NO or WAIT. */
interface FoundKey {
  readonly key: string;
  readonly end: number;
  /** What stands for `*` in the tags after it. */
  readonly attribute: string;
}

/** The text of one call. */
export class TaggedText {
  readonly #format: TaggedFormat;
  readonly #tools: CalledTools;
  readonly #keys: readonly string[];
  readonly #text: string;
  readonly #rest: Rest;

  constructor(format: TaggedFormat, tools: CalledTools, name: string, text: string, rest: Rest) {
    this.#format = format;
    this.#tools = tools;
    this.#keys = tools.keysOf(name);
    this.#text = text;
    this.#rest = rest;
  }

  /** The argument that begins here; NO or WAIT. */
  argumentAt(from: number, given: ReadonlySet<string>): TaggedArgument | number {
    const known = this.#keyAt(from, this.#keys);
    const { key, end, attribute } = known.end === NO ? this.#anyKeyAt(from) : known;
    if (end < 0) return end;
    const value = this.#valueAt(end, new Set([...given, key]));
    if (typeof value === "number") return value;
    const isText = value.isText || (attribute !== "" && attribute === this.#format.textAttribute);
    return { key, ...value, isText };
  }

  /** One of these keys with the tags around it. */
  #keyAt(from: number, keys: readonly string[]): FoundKey {
    const begun = literal(this.#text, from, this.#format.value[0]);
    if (begun < 0) return { key: "", end: begun, attribute: "" };
    let end = NO;
    for (const key of keys) {
      const keyEnd = literal(this.#text, begun, key);
      const found = keyEnd < 0 ? { end: keyEnd, attribute: "" } : this.#between(keyEnd);
      if (found.end >= 0) return { key, ...found };
      if (found.end === WAIT) end = WAIT;
    }
    return { key: "", end, attribute: "" };
  }

  #anyKeyAt(from: number): FoundKey {
    const { value } = this.#format;
    const begun = literal(this.#text, from, value[0]);
    if (begun < 0) return { key: "", end: begun, attribute: "" };
    const [first] = value[1][0]!.split("*");
    const keyEnd = this.#text.indexOf(first!, begun);
    const key = this.#text.slice(begun, keyEnd < 0 ? undefined : keyEnd);
    if (key.includes("\n") || key.length > MAX_KEY) return { key, end: NO, attribute: "" };
    return keyEnd < 0 ? { key, end: WAIT, attribute: "" } : { key, ...this.#between(keyEnd) };
  }

  /** Where the tags between key and value end, and what they say of the value. */
  #between(from: number): { end: number; attribute: string } {
    let [at, attribute] = [from, ""];
    for (const [i, tag] of this.#format.value[1].entries()) {
      const found = tagAt(this.#text, i === 0 ? at : afterSpace(this.#text, at), tag);
      if (found.end < 0) return { end: found.end, attribute: "" };
      at = found.end;
      attribute ||= found.attribute;
    }
    return { end: at, attribute };
  }

  #valueAt(from: number, given: ReadonlySet<string>): Omit<TaggedArgument, "key"> | number {
    const after = this.#format.value[2];
    if (this.#text.startsWith(CDATA, from) || (this.#rest === "more" && CDATA.startsWith(this.#text.slice(from)))) {
      const begin = from + CDATA.length;
      const { at, end } = this.#endTag(begin, CDATA_END + after);
      if (at >= 0) return { text: this.#text.slice(begin, at), isText: true, end };
      if (this.#rest === "more") return WAIT;
    }
    const closed = this.#endTag(from, after);
    const limit = closed.at >= 0 ? closed.at : this.#text.length;
    const missing = this.#withoutEndTag(from, limit, given);
    if (missing >= 0) return this.#value(from, missing, missing);
    if (closed.at >= 0) return this.#value(from, closed.at, closed.end);
    if (this.#rest === "more") return WAIT;
    const last = this.#lastEnd(from);
    if (last >= 0) return this.#value(from, last, last);
    return this.#rest === "cut" ? WAIT : this.#value(from, this.#text.trimEnd().length, this.#text.length);
  }

  #value(from: number, to: number, end: number): Omit<TaggedArgument, "key"> {
    let text = this.#text.slice(from, to);
    const isMissing = end === to;
    if (this.#format.isPadded) text = text.replace(/^\n/, "");
    if (this.#format.isPadded || isMissing) text = text.replace(/\n$/, "");
    return { text, isText: false, end };
  }

  /** The first end tag that isn't part of the value, as the next argument or the end of the call follows it. */
  #endTag(from: number, tag: string): { at: number; end: number } {
    for (let at = this.#text.indexOf(tag, from); at >= 0; at = this.#text.indexOf(tag, at + 1)) {
      const end = at + tag.length;
      const next = this.#afterValue(end);
      if (next === WAIT && this.#rest === "more") return { at: WAIT, end };
      if (next !== NO) return { at, end };
    }
    return { at: NO, end: NO };
  }

  /** Whether what follows an end tag is the next argument or the end of the call. */
  #afterValue(from: number): number {
    const { value, end, close, open } = this.#format;
    const next = afterSpace(this.#text, from);
    if (next >= this.#text.length) return WAIT;
    const ends = [this.#tagsAt(next, [end, close]), literal(this.#text, next, value[0])];
    // the end tag of the call may be missing, if nothing or another call follows
    if (close !== "") ends.push(this.#tagsAt(next, [close, open]));
    return ends.some((at) => at >= 0) ? next : ends.includes(WAIT) ? WAIT : NO;
  }

  /** Where these tags end, with nothing but space between them; NO or WAIT. */
  #tagsAt(from: number, tags: readonly string[]): number {
    let at = from;
    for (const tag of tags) {
      at = literal(this.#text, afterSpace(this.#text, at), tag);
      if (at < 0) return at;
    }
    return at;
  }

  /** Where the next argument or the next call begins, if the end tag is missing; NO. */
  #withoutEndTag(from: number, limit: number, given: ReadonlySet<string>): number {
    const { value, isPadded } = this.#format;
    const others = this.#keys.filter((key) => !given.has(key));
    const isLine = isPadded && this.#text[from] === "\n";
    let first = limit;
    for (let at = this.#text.indexOf(value[0], from); at >= 0 && at < first; at = this.#text.indexOf(value[0], at + 1))
      if (this.#isTag(at, this.#keyAt(at, others).end, isLine)) first = at;
    const call = this.#nextCall(from, first);
    return call >= 0 ? call : first < limit ? first : NO;
  }

  /** Whether the tags of a key are here. If they have lines of their own, others are part of a text. */
  #isTag(at: number, end: number, isLine: boolean): boolean {
    return end >= 0 && (!isLine || (this.#text[at - 1] === "\n" && this.#text[end] === "\n"));
  }

  /** Where a call ends that another call follows; NO. */
  #nextCall(from: number, limit: number): number {
    const { end, close, open, name } = this.#format;
    for (let at = this.#text.indexOf(end, from); at >= 0 && at < limit; at = this.#text.indexOf(end, at + 1)) {
      const next = this.#tagsAt(at + end.length, [close, open, name[0]]);
      if (next >= 0 && nameAt(this.#text, next, this.#tools.names).end >= 0) return at;
    }
    return NO;
  }

  /** Where the tags at the end of the text begin; NO. */
  #lastEnd(from: number): number {
    const { end, close, section } = this.#format;
    const at = this.#text.lastIndexOf(end);
    const closed = close === "" ? NO : this.#text.lastIndexOf(close);
    const begin = at >= from ? at : closed;
    if (begin < from) return NO;
    const tags = [end, close, section?.[1] ?? ""].filter((tag) => tag !== "");
    const rest = tags.reduce((text, tag) => text.replace(tag, ""), this.#text.slice(begin));
    return rest.trim() === "" ? begin : NO;
  }
}
