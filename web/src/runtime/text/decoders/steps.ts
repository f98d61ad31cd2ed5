// The decoders of a tokenizer.json that change the text of tokens.
import { cleanUp } from "./cleanup.js";
import type { Sink } from "./sink.js";

/** Removes characters at the start and the end of a text. */
export interface StripOptions {
  readonly content: string;
  readonly start: number;
  readonly stop: number;
}

/** @returns a text without up to `start` of the character at its start and up to `stop` at its end */
export function strip(text: string, { content, start, stop }: StripOptions): string {
  let from = 0;
  for (let i = 0; i < start && text.startsWith(content, from); i++) from += content.length;
  let to = text.length;
  for (let i = 0; i < stop && to > from && text.endsWith(content, to); i++) to -= content.length;
  return text.slice(from, Math.max(from, to));
}

/** Strips one text that comes in parts. Holds back what may be its end. */
export function stripParts(options: StripOptions, continues: boolean, next: Sink): Sink {
  const { content, stop } = options;
  let start = continues ? 0 : options.start;
  let held = "";
  return {
    add(part) {
      let text = held + part;
      for (; start > 0 && text !== ""; start--) {
        if (!text.startsWith(content)) {
          start = 0;
          break;
        }
        text = text.slice(content.length);
      }
      let end = text.length;
      for (let i = 0; i < stop && text.endsWith(content, end); i++) end -= content.length;
      held = text.slice(end);
      if (end > 0) next.add(text.slice(0, end));
    },
    end: () => next.end(),
  };
}

/** Writes the suffix of words as a space, and of the last token as nothing. */
export function joinWords(suffix: string, onlyJoined: boolean, next: Sink): Sink {
  let held: string | undefined;
  const flush = (space: string): void => {
    if (held !== undefined) next.add(held.replaceAll(suffix, () => space));
    held = undefined;
  };
  return {
    add(token) {
      flush(" ");
      // all of a word but the space after it is known at once
      if (
        onlyJoined &&
        suffix !== "" &&
        token.indexOf(suffix) === token.length - suffix.length &&
        token.endsWith(suffix)
      ) {
        next.add(token.slice(0, -suffix.length));
        held = suffix;
      } else held = token;
      if (suffix !== "" && !held.includes(suffix)) flush("");
    },
    end() {
      flush("");
      next.end();
    },
  };
}

/** Options of WordPiece. */
export interface WordPieceOptions {
  readonly prefix: string;
  readonly cleanup: boolean;
}

/** The text of a token of WordPiece: a space is before each one but the first, or nothing where it has the prefix. */
export function wordPieceText(token: string, isFirst: boolean, { prefix, cleanup }: WordPieceOptions): string {
  const text = isFirst ? token : token.startsWith(prefix) ? token.slice(prefix.length) : ` ${token}`;
  return cleanup ? cleanUp(text) : text;
}

/** Options of CTC. */
export interface CtcOptions {
  readonly pad: string;
  readonly delimiter: string;
  readonly cleanup: boolean;
}

/** The text of a token of CTC. */
export function ctcText(token: string, { pad, delimiter, cleanup }: CtcOptions): string {
  const text = replaceText(token, pad, "");
  return cleanup ? replaceText(cleanUp(text), delimiter, " ") : text;
}

/** Replaces a text as Rust does, which finds nothing between all characters too. */
export function replaceText(text: string, from: string, to: string): string {
  return from === "" && text !== ""
    ? Array.from(text, (character) => to + character).join("") + to
    : text.replaceAll(from, () => to);
}

/** Leaves out repeated tokens, and those without a text. */
export function withoutRepeats(options: CtcOptions, next: Sink): Sink {
  let last: string | undefined;
  return {
    add(token) {
      if (token === last) return;
      last = token;
      const text = ctcText(token, options);
      if (text !== "") next.add(text);
    },
    end: () => next.end(),
  };
}
