// Decodes tokens to text one at a time.
import { trueOrFalse } from "../base/checks.js";
import { checkOptions, optionNames, type OptionNames } from "../base/options.js";
import { markControl } from "./control_text.js";
import type { Vocabulary, WordPieceFormat } from "./vocabulary.js";

/** Options for decoding. */
export interface DecodeOptions {
  /** Leave out special tokens such as `<|im_end|>`. Default true. */
  skipSpecial?: boolean;
  /**
   * The tokens follow others, so a space before the first word is part of the text and not added by `encode`. Default false.
   * Only matters for vocabularies that add such a space (Llama 2, Mistral 7B, Phi-3) or leave it out (BERT).
   */
  continues?: boolean;
  /** Mark the text of special tokens, whatever `skipSpecial` says: see control_text.ts. Default false. @internal */
  marksSpecial?: boolean;
}

const namesIn = (call: string): OptionNames =>
  optionNames<DecodeOptions>(call, { skipSpecial: true, continues: true, marksSpecial: true });
const DECODE_OPTIONS = { "decode()": namesIn("decode()"), "stream()": namesIn("stream()") };

/** Decodes tokens one at a time. The results of `push` and `end` concatenate to what `decode` returns for the same tokens. */
export interface TokenStream {
  /**
   * Adds a token and returns the text that it completes: whole characters, or "" if a character is still incomplete.
   *
   * @throws INVALID_ARGUMENT (tokens): the vocabulary doesn't have the id
   */
  push(token: number): string;
  /** Ends the text and resets the stream. Returns U+FFFD for an incomplete character, else "". */
  end(): string;
}

/** Passes the bytes of tokens to a streaming UTF-8 decoder. */
export class VocabularyStream implements TokenStream {
  readonly #vocabulary: Vocabulary;
  readonly #skipSpecial: boolean;
  readonly #continues: boolean;
  readonly #marksSpecial: boolean;
  // keeps a byte order mark, as it is part of the text
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #dropsSpace: boolean;
  #isFirst: boolean;

  constructor(vocabulary: Vocabulary, options?: DecodeOptions, call: "decode()" | "stream()" = "stream()") {
    const { skipSpecial = true, continues = false, marksSpecial = false } = checkOptions(options, DECODE_OPTIONS[call]);
    this.#vocabulary = vocabulary;
    this.#marksSpecial = trueOrFalse(marksSpecial, "marksSpecial");
    this.#skipSpecial = trueOrFalse(skipSpecial, "skipSpecial") || this.#marksSpecial;
    this.#continues = trueOrFalse(continues, "continues");
    this.#dropsSpace = this.#dropsFirstSpace();
    this.#isFirst = !this.#continues;
  }

  push(token: number): string {
    const { wordPiece } = this.#vocabulary.format;
    const text = wordPiece === undefined ? this.#pushBytes(token) : this.#pushWordPiece(token, wordPiece);
    if (!this.#marksSpecial || !this.#vocabulary.isSpecial(token)) return text;
    return markControl(new TextDecoder().decode(this.#vocabulary.bytesOf(token))); // the rest is as with skipSpecial
  }

  #pushWordPiece(token: number, format: WordPieceFormat): string {
    const text = this.#vocabulary.wordPieceText(token, this.#isFirst, format);
    if (this.#skipSpecial && this.#vocabulary.isSpecial(token)) return "";
    this.#isFirst = false;
    return text;
  }

  #pushBytes(token: number): string {
    const vocabulary = this.#vocabulary;
    let bytes = vocabulary.bytesOf(token);
    const formatsAdded = vocabulary.format.formatsAdded === true;
    const afterSpecial = vocabulary.format.spacePrefix === "after_special" && vocabulary.isAdded(token);
    if (this.#skipSpecial && vocabulary.isSpecial(token)) {
      this.#dropsSpace ||= afterSpecial;
      return "";
    }
    if (this.#dropsSpace && vocabulary.format.spacePrefix === "first_token")
      bytes = bytes.filter((byte) => byte !== 0x20);
    else if (this.#dropsSpace && bytes[0] === 0x20 && (formatsAdded || !vocabulary.isAdded(token)))
      bytes = bytes.subarray(1);
    this.#dropsSpace = afterSpecial;
    return this.#decoder.decode(bytes, { stream: true });
  }

  end(): string {
    this.#dropsSpace = this.#dropsFirstSpace();
    this.#isFirst = !this.#continues;
    return this.#decoder.decode();
  }

  #dropsFirstSpace(): boolean {
    return !this.#continues && this.#vocabulary.format.spacePrefix !== "never";
  }
}
