// Stands for a RegExp in calls of String's methods, with a limit on steps and on the length of results.
import { compile, type Match, type Steps, TooManySteps } from "./matcher.js";

/** What the methods of String need of a regular expression with the flags g and u. */
export class LimitedPattern {
  readonly flags = "gu";
  lastIndex = 0;
  readonly #find: (text: string, from: number) => Match | undefined;

  readonly #steps: Steps;

  /** @throws UnknownSyntax */
  constructor(source: string, steps: Steps) {
    this.#steps = steps;
    this.#find = compile(source, steps);
  }

  [Symbol.match](text: string): string[] | null {
    const found = Array.from(this.#matches(text), ({ start, end }) => text.slice(start, end));
    return found.length === 0 ? null : found;
  }

  *[Symbol.matchAll](text: string): Generator<{ 0: string; index: number }> {
    for (const { start, end } of this.#matches(text)) yield { 0: text.slice(start, end), index: start };
  }

  /** The replacement is used as it is written, as in the tokenizers library of Hugging Face. */
  [Symbol.replace](text: string, replacement: string): string {
    let result = "";
    let from = 0;
    for (const { start, end } of this.#matches(text)) {
      result += text.slice(from, start) + replacement;
      if (result.length > this.#steps.longest) throw new TooManySteps("a replacement makes the text too long");
      from = end;
    }
    return result + text.slice(from);
  }

  [Symbol.split](text: string): (string | undefined)[] {
    if (text === "") return this.#find(text, 0) === undefined ? [text] : [];
    const pieces: (string | undefined)[] = [];
    let from = 0;
    for (const { start, end, groups } of this.#matches(text)) {
      if (start === end && (start === from || start >= text.length)) continue; // nothing doesn't split off nothing
      pieces.push(text.slice(from, start), ...groups.map((group) => group && text.slice(...group)));
      from = end;
    }
    pieces.push(text.slice(from));
    return pieces;
  }

  *#matches(text: string): Generator<Match> {
    for (let from = 0; from <= text.length;) {
      const match = this.#find(text, from);
      if (match === undefined) return;
      yield match;
      from = match.end === match.start ? match.end + (text.codePointAt(match.end)! > 0xffff ? 2 : 1) : match.end;
    }
  }
}
