// Splits the text of an answer into content, reasoning and tool calls while it streams.
import { overlap } from "../../base/overlap.js";
import type { AnswerPart, AnswerReader } from "./answer_part.js";
import type { AnswerFormat, CallFormat } from "./call_format.js";
import { CallStream } from "./call_stream.js";
import { HarmonyReader } from "./harmony_reader.js";

/**
 * @param readsCalls - whether tools were given; else calls stay text
 * @param isReasoning - whether the prompt ends inside the reasoning
 */
export function answerReader(format: AnswerFormat, readsCalls: boolean, isReasoning: boolean): AnswerReader {
  if (format.isHarmony) return new HarmonyReader();
  return new MarkedReader(readsCalls ? format.calls : undefined, format.reasoning, isReasoning);
}

/** Answers in which markers enclose calls and reasoning. */
class MarkedReader implements AnswerReader {
  readonly #calls: CallFormat | undefined;
  readonly #reasoning: AnswerFormat["reasoning"];
  #state: "content" | "reasoning" | "call";
  #pending = "";
  #call: CallStream | undefined;
  /** Whether nothing but space came before. */
  #isFirst = true;

  constructor(calls: CallFormat | undefined, reasoning: AnswerFormat["reasoning"], isReasoning: boolean) {
    this.#calls = calls;
    this.#reasoning = reasoning;
    this.#state = isReasoning ? "reasoning" : "content";
  }

  get isInCall(): boolean {
    return this.#state === "call";
  }

  get isReasoning(): boolean {
    return this.#state === "reasoning";
  }

  push(text: string): AnswerPart[] {
    this.#pending += text;
    const parts: AnswerPart[] = [];
    while (this.#step(parts));
    return parts;
  }

  end(isCut: boolean): AnswerPart[] {
    const parts = this.push("");
    const rest = this.#pending;
    this.#pending = "";
    if (this.#call === undefined) this.#addText(rest, parts);
    else parts.push(...this.#call.push(rest), ...this.#call.end("", isCut));
    return parts;
  }

  /** Reads up to the next marker. Returns false if there is none yet. */
  #step(parts: AnswerPart[]): boolean {
    const calls = this.#calls;
    if (this.#call !== undefined) {
      const { open, close } = calls!;
      const marker = close === "" ? open : close;
      const at = this.#pending.indexOf(marker);
      const end = at < 0 ? this.#pending.length - overlap(this.#pending, marker) : at;
      parts.push(...this.#call.push(this.#pending.slice(0, end)));
      this.#pending = this.#pending.slice(at < 0 ? end : end + marker.length);
      if (at < 0) return false;
      parts.push(...this.#call.end(close));
      this.#enter(close === "" ? "call" : "content", open);
      return true;
    }
    if (this.#state === "content" && this.#isFirst && calls?.isBare === true) {
      const start = this.#pending.trimStart();
      if (start === "") return false; // spaces may come before a call
      if (start.startsWith("{")) {
        this.#enter("call", "");
        return true;
      }
    }
    const markers = this.#markers();
    const found = markers
      .map(({ text, next }) => ({ text, next, at: this.#pending.indexOf(text) }))
      .filter(({ at }) => at >= 0)
      .sort((a, b) => a.at - b.at)[0];
    if (found !== undefined) {
      this.#addText(this.#pending.slice(0, found.at), parts);
      this.#pending = this.#pending.slice(found.at + found.text.length);
      this.#enter(found.next, found.text);
      return true;
    }
    const kept = Math.max(0, ...markers.map(({ text }) => overlap(this.#pending, text)));
    const spaces = /\s*$/.exec(this.#pending.slice(0, this.#pending.length - kept))![0].length; // goes if a marker follows
    const end = this.#pending.length - kept - (markers.length > 0 ? spaces : 0);
    this.#addText(this.#pending.slice(0, end), parts, false);
    this.#pending = this.#pending.slice(end);
    return false;
  }

  #markers(): { text: string; next: "content" | "reasoning" | "call" }[] {
    if (this.#state === "reasoning") return [{ text: this.#reasoning!.close, next: "content" }];
    return [
      ...(this.#reasoning === undefined ? [] : [{ text: this.#reasoning.open, next: "reasoning" as const }]),
      ...(this.#calls === undefined ? [] : [{ text: this.#calls.open, next: "call" as const }]),
    ];
  }

  /** Adds text up to a marker or the end, where spaces around markers go, or text that goes on. */
  #addText(text: string, parts: AnswerPart[], isEnd = true): void {
    const hasMarkers = this.#markers().length > 0;
    const begun = this.#isFirst && hasMarkers ? text.trimStart() : text;
    const added = isEnd && hasMarkers ? begun.trimEnd() : begun;
    if (added !== "") {
      this.#isFirst = false;
      parts.push(this.#state === "reasoning" ? { reasoning: added } : { content: added });
    }
    if (isEnd) this.#isFirst = true;
  }

  /** @param opening - the marker that was read */
  #enter(state: "content" | "reasoning" | "call", opening: string): void {
    this.#state = state;
    this.#call = state === "call" ? new CallStream(this.#calls!, opening) : undefined;
  }
}
