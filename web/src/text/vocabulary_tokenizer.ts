import { RopewalkError } from "../base/errors.js";
import { VocabularyStream, type DecodeOptions, type TokenStream } from "./token_stream.js";
import type { Vocabulary } from "./vocabulary.js";

/** How text becomes tokens. */
export interface EncodeOptions {
  /** Add the begin and end tokens that the model expects around a text. Default true. */
  special?: boolean;
  /** Recognise special tokens that are written in the text. Default true; false for text that others wrote. */
  parseSpecial?: boolean;
}

/** A model's vocabulary and how text is written in it. */
export interface Tokenizer {
  /** One more than the largest token id. */
  readonly vocabularySize: number;
  /** What a text begins with, where the model has such a token. */
  readonly beginToken: number | undefined;
  /** All tokens that end a generation, the one that ends a text (eos) first. */
  readonly endTokens: readonly number[];
  /** Whether `encode` puts the begin token first by itself. */
  readonly addsBegin: boolean;
  /**
   * The tokens of a text. Halves of surrogate pairs count as U+FFFD.
   *
   * @throws INVALID_ARGUMENT (text): no string, or a word in it is millions of characters long
   */
  encode(text: string, options?: EncodeOptions): Int32Array;
  /**
   * The text of tokens; U+FFFD stands for bytes that are no UTF-8.
   *
   * @throws INVALID_ARGUMENT (tokens): an id that the vocabulary does not have
   */
  decode(tokens: Iterable<number>, options?: DecodeOptions): string;
  /** Text from tokens that come one at a time. */
  stream(options?: DecodeOptions): TokenStream;
  /**
   * A token as the vocabulary writes it (`Ġthe`, `▁the`, `<0x0A>`).
   *
   * @throws INVALID_ARGUMENT (tokens): an id that the vocabulary does not have
   */
  token(id: number): string;
  /** The id of a token as the vocabulary writes it. */
  idOf(token: string): number | undefined;
  /** Whether a token is a mark for the model and no part of a text. */
  isSpecial(id: number): boolean;
}

/** What differs between tokenizers of one vocabulary. */
export interface Encoder {
  beginToken: number | undefined;
  endTokens: readonly number[];
  addsBegin: boolean;
  /** @param text without halves of surrogate pairs */
  encode(text: string, special: boolean, parseSpecial: boolean): ArrayLike<number>;
}

/** A tokenizer from a vocabulary and an encoder. */
export class VocabularyTokenizer implements Tokenizer {
  readonly vocabularySize: number;
  readonly beginToken: number | undefined;
  readonly endTokens: readonly number[];
  readonly addsBegin: boolean;
  readonly #vocabulary: Vocabulary;
  readonly #encoder: Encoder;

  constructor(vocabulary: Vocabulary, encoder: Encoder) {
    this.vocabularySize = vocabulary.size;
    this.beginToken = encoder.beginToken;
    this.endTokens = Object.freeze([...encoder.endTokens]);
    this.addsBegin = encoder.addsBegin;
    this.#vocabulary = vocabulary;
    this.#encoder = encoder;
  }

  encode(text: string, options: EncodeOptions = {}): Int32Array {
    if (typeof text !== "string")
      throw new RopewalkError("INVALID_ARGUMENT", "text", `must be a string (got ${typeof text})`);
    const wellFormed = text.replace(/\p{Surrogate}/gu, "\uFFFD");
    try {
      return Int32Array.from(this.#encoder.encode(wellFormed, options.special ?? true, options.parseSpecial ?? true));
    } catch (error) {
      // V8's regular expressions give up at a word of four million characters
      throw new RopewalkError("INVALID_ARGUMENT", "text", "could not be cut into words; give it in shorter parts", {
        cause: error,
      });
    }
  }

  decode(tokens: Iterable<number>, options: DecodeOptions = {}): string {
    const stream = this.stream(options);
    let text = "";
    for (const token of tokens) text += stream.push(token);
    return text + stream.end();
  }

  stream(options: DecodeOptions = {}): TokenStream {
    return new VocabularyStream(this.#vocabulary, options);
  }

  token(id: number): string {
    return this.#vocabulary.pieceOf(id);
  }

  idOf(token: string): number | undefined {
    return this.#vocabulary.idOf(token);
  }

  isSpecial(id: number): boolean {
    return this.#vocabulary.isSpecial(id);
  }
}
