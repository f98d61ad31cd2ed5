import type { Vocabulary } from "./vocabulary.js";

/** How tokens become text. */
export interface DecodeOptions {
  /** Leave out tokens that are marks for the model (`<|im_end|>`). Default true. */
  skipSpecial?: boolean;
  /**
   * The tokens go on after others: a space before the first word is text, and not one that encoding added. Default false.
   * Only vocabularies that add such a space (Llama 2, Mistral 7B, Phi-3) tell the difference.
   */
  continues?: boolean;
}

/** Text from tokens, one at a time. All that `push` and `end` return, joined, is what `decode` returns for the same tokens. */
export interface TokenStream {
  /**
   * Takes a token and returns the text that is certain now: whole characters, "" while one is incomplete.
   *
   * @throws INVALID_ARGUMENT (tokens): an id that the vocabulary does not have
   */
  push(token: number): string;
  /** Ends the text: U+FFFD for a character that was never completed. The stream is then as new. */
  end(): string;
}

/** A stream over the bytes of tokens, which a UTF-8 decoder puts together to characters. */
export class VocabularyStream implements TokenStream {
  readonly #vocabulary: Vocabulary;
  readonly #skipSpecial: boolean;
  readonly #continues: boolean;
  // a byte order mark is a character like any other
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #dropsSpace: boolean;

  constructor(vocabulary: Vocabulary, options: DecodeOptions = {}) {
    this.#vocabulary = vocabulary;
    this.#skipSpecial = options.skipSpecial ?? true;
    this.#continues = options.continues ?? false;
    this.#dropsSpace = this.#dropsFirstSpace();
  }

  push(token: number): string {
    const vocabulary = this.#vocabulary;
    let bytes = vocabulary.bytesOf(token);
    const afterSpecial = vocabulary.spelling.added_space === "after_special" && vocabulary.isAdded(token);
    if (this.#skipSpecial && vocabulary.isSpecial(token)) {
      this.#dropsSpace ||= afterSpecial;
      return "";
    }
    if (this.#dropsSpace && bytes[0] === 0x20 && !vocabulary.isAdded(token)) bytes = bytes.subarray(1);
    this.#dropsSpace = afterSpecial;
    return this.#decoder.decode(bytes, { stream: true });
  }

  end(): string {
    this.#dropsSpace = this.#dropsFirstSpace();
    return this.#decoder.decode();
  }

  #dropsFirstSpace(): boolean {
    return !this.#continues && this.#vocabulary.spelling.added_space !== "never";
  }
}
