// Splits the text of an answer into content, reasoning and tool calls while it streams.
import { overlap } from "../../../core/base/overlap.js";
import { markControl } from "../../../runtime/text/control_text.js";
import type { Tool } from "../tool.js";
import type { AnswerPart, AnswerReader, Place } from "./answer_part.js";
import { AnswerText } from "./answer_text.js";
import type { AnswerFormat, CallFormat, ReasoningFormat } from "./call_format.js";
import { callReader } from "./call_reader.js";
import type { CallReader, Rest } from "./call_reading.js";
import { CalledTools } from "./called_tools.js";
import { HarmonyReader } from "./harmony_reader.js";

/**
 * @param tools - those that may be called: a call of another is content
 * @param isReasoning - whether the prompt ends inside the reasoning
 */
export function answerReader(format: AnswerFormat, tools: readonly Tool[], isReasoning: boolean): AnswerReader {
  const called = new CalledTools(tools);
  return format.isHarmony ? new HarmonyReader(called) : new MarkedReader(format, called, isReasoning);
}

/** What a marker begins. */
type MarkerKind = "call" | "reasoning" | "content" | "nothing" | "frame";

/** Answers in which markers enclose calls and reasoning. */
class MarkedReader implements AnswerReader {
  readonly #format: CallFormat | undefined;
  readonly #tools: CalledTools;
  readonly #reasoning: ReasoningFormat | undefined;
  /** Texts around content that mean nothing. */
  readonly #frame: readonly string[];
  readonly #pending: AnswerText;
  #state: "content" | "reasoning" = "content";
  /** Reads a call that begins in what is pending, after this much space. */
  #call: { readonly reader: CallReader; space: number; isSure: boolean } | undefined;
  /** Markers before this place in what is pending begin nothing. */
  #from = 0;
  /** Whether nothing but space came since the beginning or the last block. */
  #isFirst = true;
  /** Whether a block or its marker came before: line breaks after it are part of the format. */
  #followsBlock = false;
  /** A closing marker that was missing after a call. It isn't content if it comes later. */
  #missing = "";

  constructor({ calls, reasoning, frame }: AnswerFormat, tools: CalledTools, isReasoning: boolean) {
    this.#format = tools.names.length > 0 ? calls : undefined;
    this.#tools = tools;
    this.#reasoning = reasoning;
    const ofReasoning = reasoning === undefined ? [] : (reasoning.markers ?? [reasoning.open, reasoning.close]);
    this.#frame = (frame?.texts ?? []).flatMap((text) =>
      text.includes("{tool}") ? tools.names.map((name) => text.replace("{tool}", () => name)) : [text],
    );
    const begun = frame?.begun ?? "";
    this.#pending = new AnswerText([
      ...(this.#format?.markers ?? []),
      ...ofReasoning,
      ...(frame?.markers ?? []),
      begun,
    ]);
    if (isReasoning) this.#enter("reasoning");
    else if (begun !== "") this.#pending.push(markControl(begun)); // it may begin a call, and is no content
  }

  get place(): Place {
    if (this.#call !== undefined) return this.#call.isSure ? "call" : "undecided";
    return this.#state;
  }

  push(text: string): AnswerPart[] {
    this.#pending.push(text);
    return this.#read("more");
  }

  end(isCut: boolean): AnswerPart[] {
    const parts = this.#read(isCut ? "cut" : "ended");
    const isSpace = this.#pending.text.trim() === "";
    // space at the end of a text belongs to it, but not space between a block and the end
    if (isSpace && this.#isFirst && this.#followsBlock) this.#pending.skip(this.#pending.text.length);
    this.#add(this.#pending.text.length, parts);
    return parts;
  }

  #read(rest: Rest): AnswerPart[] {
    const parts: AnswerPart[] = [];
    while (this.#call === undefined ? this.#readText(rest, parts) : this.#readCall(rest, parts));
    return parts;
  }

  /** Reads a call that has begun, or may have. Returns false if more text is needed. */
  #readCall(rest: Rest, parts: AnswerPart[]): boolean {
    const call = this.#call!;
    const { parts: read, used, state, missing = "" } = call.reader.read(this.#pending.text.slice(call.space), rest);
    if (state === "no") {
      this.#call = undefined;
      this.#from = call.space + 1;
      return true;
    }
    if (used > 0) {
      this.#pending.skip(call.space + used);
      call.space = 0;
      call.isSure = true;
    }
    parts.push(...read);
    if (state === "wait") return false;
    this.#enter("content");
    this.#missing = missing;
    return true;
  }

  /** Reads text up to the next marker. Returns false if there is none yet. */
  #readText(rest: Rest, parts: AnswerPart[]): boolean {
    const { text } = this.#pending;
    if (this.#isBare(text)) return this.#beginCall(/^\s*/.exec(text)![0].length, parts);
    const markers = this.#markers();
    const found = markers
      .map(([marker, kind]) => ({ marker, kind, at: this.#find(marker, kind) }))
      .filter(({ at }) => at >= 0)
      .sort((a, b) => a.at - b.at || b.marker.length - a.marker.length)[0];
    if (found !== undefined) {
      const { marker, kind, at } = found;
      const begun = text.slice(at);
      if (rest === "more" && markers.some(([other]) => other.length > begun.length && other.startsWith(begun)))
        return false; // it may be a longer marker
      if (kind === "call") return this.#beginCall(at, parts);
      const isBlock = kind !== "nothing" && kind !== "frame";
      const space = isBlock ? spaceBefore(text, at) : 0;
      this.#add(at - space, parts);
      this.#pending.skip(space + marker.length);
      if (isBlock) this.#enter(kind);
      else if (kind === "nothing") this.#missing = "";
      return true;
    }
    if (rest !== "more") return false;
    const kept = Math.max(0, ...markers.map(([marker]) => overlap(text, marker)));
    const space = markers.length === 0 ? 0 : spaceBefore(text, text.length - kept); // it goes if a block follows
    this.#add(text.length - kept - space, parts);
    return false;
  }

  /** Whether the answer is JSON, which may be a call without a marker. */
  #isBare(text: string): boolean {
    if (this.#format?.style !== "json" || !this.#format.isBare || this.#state === "reasoning") return false;
    return this.#isFirst && this.#from === 0 && /^\s*\{/.test(text);
  }

  /** The markers that may come next, and what they begin. */
  #markers(): (readonly [marker: string, kind: MarkerKind])[] {
    const calls = this.#format === undefined ? [] : beginnings(this.#format, this.#reasoning !== undefined);
    const beginCalls = calls.map((marker) => [marker, "call"] as const);
    if (this.#state === "reasoning") {
      // as in llama.cpp, the calls of some models also end their reasoning
      const endsReasoning = this.#format?.style === "tagged" && this.#format.endsReasoning === true;
      return [[this.#reasoning!.close, "content"], ...(endsReasoning ? beginCalls : [])];
    }
    return [
      ...beginCalls,
      ...(this.#reasoning === undefined ? [] : [[this.#reasoning.open, "reasoning"] as const]),
      ...(this.#missing === "" ? [] : [[this.#missing, "nothing"] as const]),
      ...this.#frame.map((text) => [text, "frame"] as const),
    ];
  }

  /**
   * Where a marker stands that means something; −1. Reasoning that is only text begins no block after content, and a frame without control tokens
   * is content.
   */
  #find(marker: string, kind: MarkerKind): number {
    const { text } = this.#pending;
    for (let at = text.indexOf(marker, this.#from); at >= 0; at = text.indexOf(marker, at + 1)) {
      const begins = this.#isFirst && text.slice(0, at).trim() === "";
      if (kind === "frame" && !this.#pending.hasControl(at, at + marker.length)) continue;
      if (kind !== "reasoning" || begins || this.#reasoning!.isAnywhere === true || this.#pending.isControl(at))
        return at;
    }
    return -1;
  }

  /** A call may begin here. What comes before is text for sure, but for the space, which goes if it is a call. */
  #beginCall(at: number, parts: AnswerPart[]): boolean {
    const space = spaceBefore(this.#pending.text, at);
    this.#add(at - space, parts);
    this.#call = { reader: callReader(this.#format!, this.#tools), space, isSure: false };
    return true;
  }

  /** Moves text from what is pending to the parts. */
  #add(length: number, parts: AnswerPart[]): void {
    if (length <= 0) return;
    const taken = this.#pending.take(length);
    this.#from = Math.max(0, this.#from - length);
    const added = this.#isFirst && this.#followsBlock ? taken.replace(/^(?:[^\S\n]*\n)+/, "") : taken;
    if (added === "") return;
    this.#isFirst = false;
    parts.push(this.#state === "reasoning" ? { reasoning: added } : { content: added });
  }

  #enter(state: "content" | "reasoning"): void {
    [this.#state, this.#call, this.#from] = [state, undefined, 0];
    [this.#isFirst, this.#followsBlock, this.#missing] = [true, true, ""];
  }
}

/** The markers that calls begin with. */
function beginnings(format: CallFormat, hasReasoning: boolean): string[] {
  const { open, section } = format;
  if (format.style !== "tagged") return [...(section === undefined ? [] : [section[0]]), open];
  // as in llama.cpp: Qwen3-Coder sometimes leaves out the first tag
  const isWithout = open === "" || (format.isPadded && !hasReasoning);
  return section !== undefined
    ? [section[0]]
    : [...(open === "" ? [] : [open]), ...(isWithout ? [format.name[0]] : [])];
}

/** Length of the space that ends here. */
function spaceBefore(text: string, end: number): number {
  return end - text.slice(0, end).trimEnd().length;
}
