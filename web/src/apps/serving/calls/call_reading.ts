// What reading the text of calls comes to.
import type { AnswerPart } from "./answer_part.js";
import { afterSpace, literal, WAIT } from "./matcher.js";

/** What was read of a text. */
export interface Reading {
  readonly parts: readonly AnswerPart[];
  /** Length of the text that was read. */
  readonly used: number;
  /**
   * `wait`: more text is needed. `no`: the text isn't a call; nothing was read. `done`: the calls have ended, and what follows is content.
   */
  readonly state: "wait" | "no" | "done";
  /** A closing marker that is still missing. If it follows later, it isn't content. */
  readonly missing?: string;
}

export const NO_CALL: Reading = { parts: [], used: 0, state: "no" };
export const MORE_NEEDED: Reading = { parts: [], used: 0, state: "wait" };

/** Whether more text follows, the answer has ended, or it was cut. */
export type Rest = "more" | "ended" | "cut";

/** Reads the calls that begin at one place. */
export interface CallReader {
  /** Reads text, without what the last reading has used. */
  read(text: string, rest: Rest): Reading;
}

/** A call that is read as a whole. Without arguments, it was cut before them. */
export function wholeCall(name: string, given: string | undefined): AnswerPart[] {
  return [{ call: name }, ...(given === undefined ? [] : [{ arguments: given }]), { isCallEnd: true }];
}

/** The beginning of a call that isn't whole, which is all of the text. */
export function begunCall(name: string | undefined, length: number, rest: Rest): Reading {
  if (rest === "more") return MORE_NEEDED;
  if (rest === "ended") return NO_CALL;
  return { parts: name === undefined ? [] : wholeCall(name, undefined), used: length, state: "done" };
}

/** The closing markers after a call. Each may be missing. */
export class Closers {
  readonly #markers: string[];
  #missing = "";

  constructor(...markers: (string | undefined)[]) {
    this.#markers = markers.filter((marker) => marker !== undefined && marker !== "") as string[];
  }

  read(text: string, from: number, rest: Rest, parts: readonly AnswerPart[] = []): Reading {
    let at = from;
    for (let marker = this.#markers[0]; marker !== undefined; marker = this.#markers[0]) {
      const end = literal(text, afterSpace(text, at), marker);
      if (end === WAIT && rest === "more") return { parts, used: at, state: "wait" };
      if (end >= 0) at = end;
      else this.#missing ||= marker;
      this.#markers.shift();
    }
    return { parts, used: at, state: "done", missing: this.#missing };
  }
}

/** Up to this length, text is read again with each piece, and then only when a marker may have ended the call. */
const MIN_WAITING = 256;
/** A longer text must have grown by this share too, so that the time is linear in the length. */
const [LONG, SHARE] = [4096, 1 / 32];

/** Says when a call that is read as a whole is worth reading again. */
export class Attempts {
  readonly #ends: readonly string[];
  #length = 0;
  /** Whether an end came that hasn't been read. */
  #hasEnd = false;
  /** Length of the text that was read last. */
  #read = 0;

  /** @param ends - texts of which one is at the end of a call */
  constructor(...ends: string[]) {
    this.#ends = ends.filter((end) => end !== "");
  }

  isDue(text: string, rest: Rest): boolean {
    if (text.length < this.#length) [this.#length, this.#read] = [0, 0]; // a call before was read
    const from = this.#length;
    this.#length = text.length;
    if (rest !== "more" || text.length <= MIN_WAITING) return true;
    this.#hasEnd ||= this.#ends.some((end) => text.includes(end, Math.max(0, from - end.length + 1)));
    if (!this.#hasEnd || (text.length > LONG && text.length < this.#read * (1 + SHARE))) return false;
    [this.#hasEnd, this.#read] = [false, text.length];
    return true;
  }
}
