// Splits the answers of gpt-oss, which consist of channels.
import { overlap } from "../../base/overlap.js";
import type { AnswerPart, AnswerReader } from "./answer_part.js";
import { JsonObjectStream } from "./json_object.js";

const HARMONY_MARKERS = ["<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>"] as const;

/** Answers of gpt-oss: messages, each with a header that names its channel. */
export class HarmonyReader implements AnswerReader {
  #pending = "";
  #header = "";
  #isBody = false;
  /** Arguments of the call that is read. */
  #call: { readonly object: JsonObjectStream; isEmpty: boolean } | undefined;

  get isInCall(): boolean {
    return /to=functions\./.test(this.#header);
  }

  get isReasoning(): boolean {
    return this.#isBody && !this.isInCall && /\banalysis\b/.test(this.#header);
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
      if (found.marker === "<|message|>") this.#beginBody(parts);
      else if (found.marker === "<|channel|>" && !this.#isBody) this.#header += " ";
      else this.#endMessage(parts);
    }
  }

  end(isCut: boolean): AnswerPart[] {
    const parts: AnswerPart[] = [];
    this.#add(this.#pending, parts);
    this.#pending = "";
    this.#endMessage(parts, isCut);
    return parts;
  }

  #beginBody(parts: AnswerPart[]): void {
    this.#isBody = true;
    const [, name] = /to=functions\.([\w.-]+)/.exec(this.#header) ?? [];
    if (name === undefined) return;
    this.#call = { object: new JsonObjectStream(Infinity), isEmpty: true }; // a marker ends it, not a bracket
    parts.push({ call: name });
  }

  #add(text: string, parts: AnswerPart[]): void {
    if (text === "") return;
    if (!this.#isBody) this.#header += text;
    else if (this.#call !== undefined) this.#addArguments(text, parts);
    else parts.push(this.isReasoning ? { reasoning: text } : { content: text });
  }

  #addArguments(text: string, parts: AnswerPart[]): void {
    const { written } = this.#call!.object.push(text);
    if (written === "") return;
    this.#call!.isEmpty = false;
    parts.push({ arguments: written });
  }

  #endMessage(parts: AnswerPart[], isCut = false): void {
    if (this.#call !== undefined) {
      if (this.#call.isEmpty && !isCut) parts.push({ arguments: "{}" });
      parts.push({ isCallEnd: true });
    }
    [this.#isBody, this.#header, this.#call] = [false, "", undefined];
  }
}
