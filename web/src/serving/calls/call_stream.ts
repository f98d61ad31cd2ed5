// Reads the text of calls while it streams: the name as soon as it is known, then pieces of the arguments.
import type { AnswerPart } from "./answer_part.js";
import type { CallFormat, CallStyle } from "./call_format.js";
import { type CalledFunction, readCalls } from "./call_text.js";
import { cutCalls } from "./cut_call.js";
import { JsonObjectStream } from "./json_object.js";

/** What comes before the arguments, in the styles where they are a JSON object. Other calls are read when they are whole. */
const HEADS: Partial<Record<CallStyle, RegExp>> = {
  json: /^[\s[,;]*\{\s*(?:"type"\s*:\s*"function"\s*,\s*)?"name"\s*:\s*(?<quoted>"(?:[^"\\]|\\.)*")\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\{)/,
  named: /^\s*(?<name>[^\s[{]+)\s*(?:\[CALL_ID\][^[]*)?\[ARGS\]\s*(?=\{)/,
  separated:
    /^\s*(?:function<｜tool▁sep｜>(?<fenced>[^\s{<]+)\s*\n```(?:json)?\n|(?<name>[^\s{<]+)\s*<｜tool▁sep｜>)\s*(?=\{)/,
};

/** What may follow the last call of a text: brackets of lists, fences and space. */
const TAIL = /^[\s\],;`]*/;

/** The calls between two markers. */
export class CallStream {
  readonly #format: CallFormat;
  readonly #opening: string;
  #state: "head" | "arguments" | "tail" = "head";
  #pending = "";
  #object = new JsonObjectStream();
  #hasCalls = false;

  /** @param opening - the marker before, which stays with text that has another form */
  constructor(format: CallFormat, opening: string) {
    this.#format = format;
    this.#opening = opening;
  }

  push(text: string): AnswerPart[] {
    this.#pending += text;
    const parts: AnswerPart[] = [];
    while (this.#step(parts));
    return parts;
  }

  /**
   * The parts at the end. Text that isn't a call is content, but not if it is the beginning of one that is cut.
   * @param closing - the marker after, if there is one
   */
  end(closing: string, isCut = false): AnswerPart[] {
    const rest = this.#pending;
    this.#pending = "";
    if (this.#state === "arguments") return [{ isCallEnd: true }]; // cut: the arguments are incomplete
    if (this.#state === "tail") return [];
    const text = this.#hasCalls ? rest.replace(TAIL, "") : rest;
    if (text.trim() === "") return [];
    // JSON without a marker may also be text
    const isBegun =
      this.#opening !== "" || this.#hasCalls || /^\s*\{\s*"name"|^\s*\{\s*"type"\s*:\s*"function"/.test(text);
    if (isCut && isBegun) return cutCalls(text, this.#format).flatMap(partsOfCall);
    const calls = readCalls(this.#hasCalls ? text.replace(/\]\s*$/, "") : text, this.#format);
    return calls?.flatMap(partsOfCall) ?? [{ content: this.#hasCalls ? text : this.#opening + text + closing }];
  }

  /** Returns false if more text is needed. */
  #step(parts: AnswerPart[]): boolean {
    if (this.#pending === "") return false;
    if (this.#state === "head") {
      const found = HEADS[this.#format.style]?.exec(this.#pending);
      if (found === null || found === undefined) return false;
      const { quoted, name, fenced } = found.groups!;
      const called = quoted === undefined ? (name ?? fenced!) : parsedText(quoted);
      if (called === undefined) return false;
      parts.push({ call: called });
      this.#pending = this.#pending.slice(found[0].length);
      this.#begin("arguments");
      this.#hasCalls = true;
      return true;
    }
    const { written, used, isEnd } = this.#object.push(this.#pending);
    this.#pending = this.#pending.slice(used);
    if (this.#state === "arguments" && written !== "") parts.push({ arguments: written });
    if (!isEnd) return false;
    if (this.#state === "arguments") parts.push({ isCallEnd: true });
    // in JSON, the object of the call itself goes on after its arguments
    this.#begin(this.#state === "arguments" && this.#format.style === "json" ? "tail" : "head");
    return true;
  }

  #begin(state: "head" | "arguments" | "tail"): void {
    this.#state = state;
    this.#object = new JsonObjectStream(state === "tail" ? 1 : 0);
  }
}

/** A call that is read as a whole. */
function partsOfCall({ name, arguments: given }: CalledFunction): AnswerPart[] {
  return [{ call: name }, ...(given === "" ? [] : [{ arguments: given }]), { isCallEnd: true }];
}

function parsedText(quoted: string): string | undefined {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return undefined;
  }
}
