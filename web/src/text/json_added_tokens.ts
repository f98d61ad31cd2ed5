// Finds the added tokens of a tokenizer.json in a text, as Hugging Face's Rust library does.
import { type Dict, isDict } from "../base/dict.js";
import { TokenTree } from "./token_tree.js";
import { withFixedClasses, WORD_CHARACTERS } from "./unicode/classes.js";

interface AddedToken {
  readonly content: string;
  readonly special: boolean;
  /** Found only where no letter, number or similar is next to it. */
  readonly singleWord: boolean;
  /** Takes the whitespace before and after it. */
  readonly stripsBefore: boolean;
  readonly stripsAfter: boolean;
}

/** A part of a text: an added token, or text between two. */
export interface Part {
  readonly text: string;
  readonly isToken: boolean;
  /** Whether the part starts where the text does. */
  readonly isFirst: boolean;
}

const SPACES_AT_END = new RegExp(withFixedClasses("\\s+$"), "u");
const SPACES_AT_START = new RegExp(withFixedClasses("^\\s+"), "u");
const WORD = withFixedClasses(`[${WORD_CHARACTERS}]`);
const ENDS_WITH_WORD = new RegExp(`${WORD}$`, "u");
const STARTS_WITH_WORD = new RegExp(`^${WORD}`, "u");

/** Tokens that are looked for in the same text. */
class TokenSet {
  readonly #tree = new TokenTree();
  readonly #tokens: AddedToken[] = [];

  add(token: AddedToken, written: string): void {
    if (written !== "") this.#tree.add(written, this.#tokens.push(token) - 1);
  }

  /** Splits a text at the leftmost tokens, and at the longest of several. */
  split(text: string, parseSpecial: boolean, isFirst: boolean): Part[] {
    const parts: Part[] = [];
    let end = 0;
    const addText = (to: number): void => {
      if (to > end) parts.push({ text: text.slice(end, to), isToken: false, isFirst: isFirst && end === 0 });
    };
    for (let at = 0; at < text.length;) {
      const found = this.#tree.longestAt(text, at);
      const token = found === undefined ? undefined : this.#tokens[found.id]!;
      if (found === undefined || token === undefined) {
        at += 1;
        continue;
      }
      const start = at;
      at = found.end;
      const isHidden = token.special && !parseSpecial;
      if (isHidden || (token.singleWord && !standsAlone(text, start, found.end))) continue;
      const first = token.stripsBefore ? start - spacesBefore(text.slice(end, Math.max(end, start))) : start;
      addText(first);
      parts.push({ text: token.content, isToken: true, isFirst: isFirst && first === 0 });
      end = token.stripsAfter ? found.end + spacesAfter(text, found.end) : found.end;
    }
    addText(text.length);
    return parts;
  }
}

function standsAlone(text: string, start: number, end: number): boolean {
  return (
    !ENDS_WITH_WORD.test(text.slice(Math.max(0, start - 2), start)) && !STARTS_WITH_WORD.test(text.slice(end, end + 2))
  );
}

const spacesBefore = (text: string): number => SPACES_AT_END.exec(text)?.[0].length ?? 0;
const spacesAfter = (text: string, from: number): number => SPACES_AT_START.exec(text.slice(from))?.[0].length ?? 0;

/** The added tokens of a file: those found in a text as it is, and those found after it is normalized. */
export class JsonAddedTokens {
  readonly #asWritten = new TokenSet();
  readonly #normalized = new TokenSet();
  readonly #normalize: (text: string) => string;

  /** Tokens that aren't special by the text that they have after it is normalized. */
  readonly normalizedTexts = new Map<number, string>();

  /** @param tokens `added_tokens` of the file */
  constructor(tokens: readonly unknown[], normalize: (text: string) => string) {
    this.#normalize = normalize;
    for (const token of tokens) if (isDict(token)) this.#add(token);
  }

  #add(token: Dict): void {
    const special = token["special"] === true;
    const added: AddedToken = {
      content: String(token["content"]),
      special,
      singleWord: token["single_word"] === true,
      stripsBefore: token["lstrip"] === true,
      stripsAfter: token["rstrip"] === true,
    };
    if (token["normalized"] === true || (token["normalized"] === undefined && !special)) {
      const written = this.#normalize(added.content);
      this.#normalized.add(added, written);
      if (!special) this.normalizedTexts.set(Number(token["id"]), written);
    } else this.#asWritten.add(added, added.content);
  }

  /** Splits a text into added tokens and normalized text. */
  split(text: string, parseSpecial: boolean): Part[] {
    return this.#asWritten
      .split(text, parseSpecial, true)
      .flatMap((part) =>
        part.isToken ? [part] : this.#normalized.split(this.#normalize(part.text), parseSpecial, part.isFirst),
      );
  }
}
