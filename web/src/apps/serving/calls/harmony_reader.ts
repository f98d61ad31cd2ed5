// Splits the answers of gpt-oss, which consist of channels.
import { overlap } from "../../../core/base/overlap.js";
import type { AnswerPart, AnswerReader, Place } from "./answer_part.js";
import { AnswerText } from "./answer_text.js";
import type { CalledTools } from "./called_tools.js";
import { JsonStream } from "./json_stream.js";

const MARKERS = [
  "<|start|>",
  "<|channel|>",
  "<|constrain|>",
  "<|message|>",
  "<|end|>",
  "<|call|>",
  "<|return|>",
] as const;

/** Answers of gpt-oss: messages, each with a header that names its channel. */
export class HarmonyReader implements AnswerReader {
  readonly #tools: CalledTools;
  readonly #pending = new AnswerText(MARKERS);
  #header = "";
  /** Whether a marker was read. */
  #hasHeader = false;
  #isBody = false;
  /** Arguments of the call that is read. */
  #call: { readonly object: JsonStream; isEmpty: boolean } | undefined;
  /** Markers before this place are part of a string. */
  #from = 0;

  constructor(tools: CalledTools) {
    this.#tools = tools;
  }

  get place(): Place {
    if (this.#recipient !== undefined) return "call";
    return this.#isBody && /\banalysis\b/.test(this.#header) ? "reasoning" : "content";
  }

  /** The function that the message calls. */
  get #recipient(): string | undefined {
    const [, name] = /to=functions\.([\w.-]+)/.exec(this.#header) ?? [];
    return name !== undefined && this.#tools.has(name) ? name : undefined;
  }

  push(text: string): AnswerPart[] {
    this.#pending.push(text);
    const parts: AnswerPart[] = [];
    while (this.#step(parts));
    return parts;
  }

  end(isCut: boolean): AnswerPart[] {
    const parts: AnswerPart[] = [];
    this.#add(this.#pending.text.length, parts);
    if (!this.#hasHeader && this.#header !== "") parts.push({ content: this.#header }); // an answer without channels
    this.#endMessage(parts, isCut);
    return parts;
  }

  /** Reads up to the next marker. Returns false if there is none yet. */
  #step(parts: AnswerPart[]): boolean {
    const { text } = this.#pending;
    const found = MARKERS.map((marker) => ({ marker, at: text.indexOf(marker, this.#from) }))
      .filter(({ at }) => at >= 0)
      .sort((a, b) => a.at - b.at)[0];
    const kept = Math.max(...MARKERS.map((marker) => overlap(text, marker)));
    const isControl = found !== undefined && this.#pending.isControl(found.at);
    this.#add(found?.at ?? text.length - kept, parts);
    if (found === undefined) return false;
    if (this.#call?.object.isText === true && !isControl) {
      this.#from = found.marker.length; // part of a string
      return true;
    }
    this.#pending.skip(found.marker.length);
    this.#hasHeader = true;
    if (found.marker === "<|message|>") this.#beginBody(parts);
    else if (this.#isBody || !["<|channel|>", "<|constrain|>"].includes(found.marker)) this.#endMessage(parts);
    else this.#header += " ";
    return true;
  }

  #beginBody(parts: AnswerPart[]): void {
    this.#isBody = true;
    const name = this.#recipient;
    const [unknown] = /to=\S+/.exec(this.#header) ?? [];
    if (name === undefined) {
      if (unknown !== undefined) parts.push({ content: `${unknown} ` }); // no tool has the name: the call is content
      return;
    }
    this.#call = { object: new JsonStream(), isEmpty: true };
    parts.push({ call: name });
  }

  #add(length: number, parts: AnswerPart[]): void {
    if (length === 0) return;
    this.#from = Math.max(0, this.#from - length);
    if (this.#call !== undefined) this.#addArguments(length, parts);
    else {
      const text = this.#pending.take(length);
      if (!this.#isBody) this.#header += text;
      else parts.push(this.place === "reasoning" ? { reasoning: text } : { content: text });
    }
  }

  #addArguments(length: number, parts: AnswerPart[]): void {
    const text = this.#pending.text.slice(0, length);
    this.#pending.skip(length);
    let written = "";
    for (let at = 0; at < text.length;) {
      const read = this.#call!.object.push(text.slice(at)); // a marker ends the arguments, not a bracket
      written += read.written + (read.used === 0 ? text[at]! : "");
      at += Math.max(1, read.used);
    }
    if (written === "") return;
    this.#call!.isEmpty = false;
    parts.push({ arguments: written });
  }

  #endMessage(parts: AnswerPart[], isCut = false): void {
    if (this.#call !== undefined) {
      if (this.#call.isEmpty && !isCut) parts.push({ arguments: "{}" });
      parts.push({ isCallEnd: true });
    }
    [this.#isBody, this.#header, this.#call, this.#from] = [false, "", undefined, 0];
  }
}
