// The Tokenizer interface, and its implementation over a vocabulary.
import { trueOrFalse } from "../base/checks.js";
import { fail, RopewalkError } from "../base/errors.js";
import { listOf } from "../base/lists.js";
import { checkOptions, optionNames } from "../base/options.js";
import { show } from "../base/show.js";
import { VocabularyStream, type DecodeOptions, type TokenStream } from "./token_stream.js";
import type { Vocabulary } from "./vocabulary.js";

/** Options for encoding. */
export interface EncodeOptions {
  /** Add the BOS and EOS tokens that the model expects around a text. Default true. */
  special?: boolean;
  /** Recognize special tokens written in the text. Default true. Set it to false for untrusted text. */
  parseSpecial?: boolean;
}

const ENCODE_OPTIONS = optionNames<EncodeOptions>("encode()", { special: true, parseSpecial: true });

/** Encodes text as a model's tokens and decodes tokens to text. */
export interface Tokenizer {
  /** One more than the largest token id. */
  readonly vocabularySize: number;
  /** The beginning-of-sequence (BOS) token, if the model has one. */
  readonly beginToken: number | undefined;
  /** All tokens that end a generation, with the end-of-sequence (EOS) token first. */
  readonly endTokens: readonly number[];
  /** Whether `encode` adds the BOS token by default. */
  readonly addsBegin: boolean;
  /**
   * Encodes a text. Lone surrogates are replaced by U+FFFD.
   *
   * @throws INVALID_ARGUMENT (text): not a string, or a word is millions of characters long
   */
  encode(text: string, options?: EncodeOptions): Int32Array;
  /**
   * Decodes tokens. Invalid UTF-8 is replaced by U+FFFD.
   *
   * @throws INVALID_ARGUMENT (tokens): the vocabulary doesn't have an id
   */
  decode(tokens: Iterable<number>, options?: DecodeOptions): string;
  /** Returns a stream that decodes tokens one at a time. */
  stream(options?: DecodeOptions): TokenStream;
  /**
   * The token of an id, in the vocabulary's format (`Ġthe`, `▁the`, `<0x0A>`).
   *
   * @throws INVALID_ARGUMENT (tokens): the vocabulary doesn't have the id
   */
  token(id: number): string;
  /** The id of a token in the vocabulary's format; undefined if there is none. */
  idOf(token: string): number | undefined;
  /** Whether a token is special: a control token or the unknown token, not part of the text. */
  isSpecial(id: number): boolean;
}

/** The parts in which tokenizers over a vocabulary differ. */
export interface Encoder {
  beginToken: number | undefined;
  endTokens: readonly number[];
  addsBegin: boolean;
  /** Whether a chat gets the begin token too, if its template doesn't write it: llama.cpp does so, transformers doesn't. */
  beginsChats: boolean;
  /** @param text without lone surrogates */
  encode(text: string, special: boolean, parseSpecial: boolean): ArrayLike<number>;
}

/** A tokenizer made of a vocabulary and an encoder. */
export class VocabularyTokenizer implements Tokenizer {
  readonly vocabularySize: number;
  readonly beginToken: number | undefined;
  readonly endTokens: readonly number[];
  readonly addsBegin: boolean;
  readonly #beginsChats: boolean;
  readonly #vocabulary: Vocabulary;
  readonly #encoder: Encoder;

  constructor(vocabulary: Vocabulary, encoder: Encoder) {
    this.vocabularySize = vocabulary.size;
    this.beginToken = encoder.beginToken;
    this.endTokens = Object.freeze([...encoder.endTokens]);
    this.addsBegin = encoder.addsBegin;
    this.#beginsChats = encoder.beginsChats;
    this.#vocabulary = vocabulary;
    this.#encoder = encoder;
  }

  encode(text: string, options?: EncodeOptions): Int32Array {
    const { special = true, parseSpecial = true } = checkOptions(options, ENCODE_OPTIONS);
    trueOrFalse(special, "special");
    trueOrFalse(parseSpecial, "parseSpecial");
    if (typeof text !== "string") fail("INVALID_ARGUMENT", "text", `must be a string (got ${show(text)})`);
    const wellFormed = text.replace(/\p{Surrogate}/gu, "\uFFFD");
    try {
      return Int32Array.from(this.#encoder.encode(wellFormed, special, parseSpecial));
    } catch (error) {
      if (error instanceof RopewalkError) throw error;
      // V8's regular expressions fail for a word of four million characters
      fail(
        "INVALID_ARGUMENT",
        "text",
        "cannot be split into words, as one is too long; encode the text in shorter parts",
        {
          cause: error,
        },
      );
    }
  }

  /** @internal */
  encodeChat(text: string): Int32Array {
    const tokens = this.encode(text, { special: false });
    const begin = this.#beginsChats ? this.beginToken : undefined;
    if (begin === undefined || tokens[0] === begin) return tokens;
    const all = new Int32Array(tokens.length + 1);
    all[0] = begin;
    all.set(tokens, 1);
    return all;
  }

  decode(tokens: Iterable<number>, options?: DecodeOptions): string {
    const stream = new VocabularyStream(this.#vocabulary, options, "decode()");
    const texts = listOf(tokens, "tokens", "token ids").map((token) => stream.push(token as number));
    return texts.join("") + stream.end();
  }

  stream(options?: DecodeOptions): TokenStream {
    return new VocabularyStream(this.#vocabulary, options);
  }

  token(id: number): string {
    return this.#vocabulary.pieceOf(id);
  }

  idOf(token: string): number | undefined {
    if (typeof token !== "string") fail("INVALID_ARGUMENT", "token", `must be a string (got ${show(token)})`);
    return this.#vocabulary.idOf(token);
  }

  isSpecial(id: number): boolean {
    return this.#vocabulary.isSpecial(id);
  }
}
