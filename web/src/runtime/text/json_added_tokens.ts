// Finds the added tokens of a tokenizer.json in a text, as Hugging Face's Rust library does.
import { firstOf, type SourceText } from "./components/source_text.js";
import type { AddedToken } from "./json_vocabulary.js";
import { TokenTree } from "./token_tree.js";
import { onFirstUse, SPACE, withFixedClasses, WORD_CHARACTERS } from "./unicode/classes.js";

/** A part of a text: the id of an added token, or text between two. */
export type Part = number | SourceText;

const wordAtStart = onFirstUse(() => withFixedClasses(`^[${WORD_CHARACTERS}]`), "u");

/** Tokens that are looked for in the same text. */
class TokenSet {
  readonly #tree = new TokenTree();
  readonly #tokens: AddedToken[] = [];

  add(token: AddedToken, written: string): void {
    if (written !== "") this.#tree.add(written, this.#tokens.push(token) - 1);
  }

  /** Splits a text at the leftmost tokens, and at the longest of several. */
  split(source: SourceText, parseSpecial: boolean): Part[] {
    const { text } = source;
    if (this.#tokens.length === 0) return text === "" ? [] : [source];
    const parts: Part[] = [];
    let end = 0;
    const addText = (to: number): void => {
      if (to > end) parts.push({ text: text.slice(end, to), first: firstOf(source.first, end, to) });
    };
    for (let at = 0; at < text.length;) {
      const found = this.#tree.longestAt(text, at);
      if (found === undefined) {
        at += 1;
        continue;
      }
      const token = this.#tokens[found.id]!;
      const start = at;
      at = found.end;
      const isHidden = token.special && !parseSpecial;
      if (isHidden || (token.singleWord && !standsAlone(text, start, found.end))) continue;
      // spaces that a token before it has taken are no part of this one, and what is left of it may be nothing
      const from = token.stripsBefore ? Math.max(end, withoutSpaces(text, end, start)) : start;
      const to = token.stripsAfter ? afterSpaces(text, found.end) : found.end;
      addText(from);
      if (to > from) parts.push(token.id);
      end = to;
    }
    addText(text.length);
    return parts;
  }
}

function standsAlone(text: string, start: number, end: number): boolean {
  const before = start > 1 && text.codePointAt(start - 2)! > 0xffff ? start - 2 : start - 1;
  return !(start > 0 && wordAtStart().test(text.slice(before, start))) && !wordAtStart().test(text.slice(end, end + 2));
}

/** The end of text[from, to) without the spaces before it. */
function withoutSpaces(text: string, from: number, to: number): number {
  let end = to;
  while (end > from && SPACE.test(text.charAt(end - 1))) end -= 1;
  return end;
}

function afterSpaces(text: string, from: number): number {
  let start = from;
  while (SPACE.test(text.charAt(start))) start += 1;
  return start;
}

/** The added tokens of a file: those found in a text as it is, and those found after it is normalized. */
export class JsonAddedTokens {
  readonly #asWritten = new TokenSet();
  readonly #normalized = new TokenSet();
  readonly #normalize: (source: SourceText) => SourceText;
  /** Tokens by the text that they have after it is normalized, if that is another one. They are decoded from it. */
  readonly normalizedTexts = new Map<number, string>();

  constructor(tokens: Iterable<AddedToken>, normalize: (source: SourceText) => SourceText) {
    this.#normalize = normalize;
    for (const token of tokens) {
      const { id, content } = token;
      if (!token.normalized) {
        this.#asWritten.add(token, content);
        continue;
      }
      const { text } = normalize({ text: content, first: 0 });
      this.#normalized.add(token, text);
      if (text !== content) this.normalizedTexts.set(id, text);
    }
  }

  /** Splits a text into added tokens and normalized text. */
  split(text: string, parseSpecial: boolean): Part[] {
    const first = text === "" ? 0 : text.codePointAt(0)! > 0xffff ? 2 : 1;
    return this.#asWritten
      .split({ text, first }, parseSpecial)
      .flatMap((part) =>
        typeof part === "number" ? [part] : this.#normalized.split(this.#normalize(part), parseSpecial),
      );
  }
}
