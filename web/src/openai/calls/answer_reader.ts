// Splits the text of an answer into content, reasoning and tool calls while it streams.
import type { AnswerFormat, CallFormat } from "./call_format.js";
import { type CalledFunction, readCalls } from "./call_text.js";

/** A part of an answer. */
export type AnswerPart =
  { readonly content: string } | { readonly reasoning: string } | { readonly call: CalledFunction };

/** Splits an answer. */
export interface AnswerReader {
  /** Adds text, and returns the parts that it completes. Text that may be the beginning of a marker waits. */
  push(text: string): AnswerPart[];
  /** The parts at the end. */
  end(): AnswerPart[];
  /** Whether the text read last is part of a call. */
  readonly isInCall: boolean;
}

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

  push(text: string): AnswerPart[] {
    this.#pending += text;
    const parts: AnswerPart[] = [];
    while (this.#step(parts));
    return parts;
  }

  end(): AnswerPart[] {
    const parts = this.push("");
    const rest = this.#pending;
    this.#pending = "";
    if (this.#state === "call") this.#addCalls(rest, parts);
    else this.#addText(rest, parts);
    return parts;
  }

  /** Reads up to the next marker. Returns false if there is none yet. */
  #step(parts: AnswerPart[]): boolean {
    const calls = this.#calls;
    if (this.#state === "call") {
      const { open, close } = calls!;
      const marker = close === "" ? open : close;
      const at = this.#pending.indexOf(marker);
      if (at < 0) return false;
      const text = this.#pending.slice(0, at);
      this.#pending = this.#pending.slice(at + marker.length);
      this.#addCalls(text, parts);
      if (close !== "") this.#state = "content";
      return true;
    }
    if (this.#state === "content" && this.#isFirst && calls?.isBare === true) {
      const start = this.#pending.trimStart();
      if (start === "") return false; // spaces may come before a call
      if (start.startsWith("{")) {
        this.#state = "call";
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
      this.#state = found.next;
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

  #addCalls(text: string, parts: AnswerPart[]): void {
    const calls = this.#calls!;
    if (text.trim() === "") return;
    const read = readCalls(calls.isBare ? text.replace(/^\s*<\|python_tag\|>/, "") : text, calls);
    if (read === undefined) parts.push({ content: calls.isBare ? text : calls.open + text + calls.close });
    else parts.push(...read.map((call) => ({ call })));
  }
}

const HARMONY_MARKERS = ["<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>"] as const;

/** Answers of gpt-oss: messages, each with a header that names its channel. */
class HarmonyReader implements AnswerReader {
  #pending = "";
  #header: string | undefined = "";
  #call = "";

  get isInCall(): boolean {
    return this.#header === undefined ? false : /to=functions\./.test(this.#header);
  }

  push(text: string): AnswerPart[] {
    this.#pending += text;
    const parts: AnswerPart[] = [];
    for (;;) {
      const found = HARMONY_MARKERS.map((marker) => ({ marker, at: this.#pending.indexOf(marker) }))
        .filter(({ at }) => at >= 0)
        .sort((a, b) => a.at - b.at)[0];
      const kept = Math.max(...HARMONY_MARKERS.map((marker) => overlap(this.#pending, marker)));
      const end = found?.at ?? this.#pending.length - kept;
      this.#add(this.#pending.slice(0, end), parts);
      this.#pending = this.#pending.slice(end + (found?.marker.length ?? 0));
      if (found === undefined) return parts;
      if (found.marker === "<|message|>") this.#isBody = true;
      else if (found.marker === "<|channel|>" && !this.#isBody) this.#header = `${this.#header ?? ""} `;
      else this.#endMessage(parts);
    }
  }

  end(): AnswerPart[] {
    const parts: AnswerPart[] = [];
    this.#add(this.#pending, parts);
    this.#pending = "";
    this.#endMessage(parts);
    return parts;
  }

  #isBody = false;

  #add(text: string, parts: AnswerPart[]): void {
    if (text === "") return;
    if (!this.#isBody) this.#header = (this.#header ?? "") + text;
    else if (this.isInCall) this.#call += text;
    else if (/\banalysis\b/.test(this.#header ?? "")) parts.push({ reasoning: text });
    else parts.push({ content: text });
  }

  #endMessage(parts: AnswerPart[]): void {
    const [, name] = /to=functions\.([\w.-]+)/.exec(this.#header ?? "") ?? [];
    if (this.#isBody && name !== undefined)
      parts.push({ call: { name, arguments: this.#call.trim() === "" ? "{}" : this.#call.trim() } });
    [this.#isBody, this.#header, this.#call] = [false, "", ""];
  }
}

/** Length of the longest proper prefix of `marker` that `text` ends with. */
function overlap(text: string, marker: string): number {
  for (let length = Math.min(text.length, marker.length - 1); length > 0; length--)
    if (text.endsWith(marker.slice(0, length))) return length;
  return 0;
}
