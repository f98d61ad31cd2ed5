// The Tokenizer interface, and its implementation over a vocabulary.
import * as advise from "../../core/base/advice.js";
import { trueOrFalse, wholeNumber } from "../../core/base/checks.js";
import { fail, RopewalkError } from "../../core/base/errors.js";
import { listOf } from "../../core/base/lists.js";
import { checkOptions, optionNames, type OptionNames } from "../../core/base/options.js";
import { show } from "../../core/base/show.js";
import { assemble, type Assembly, type Templates, type TypedTokens } from "./components/templates.js";
import { collected, drained, type Encoding, type EncodingLimit, type LimitedTokens } from "./encoding_steps.js";
import type { DecodeOptions, TokenStream, TokenTexts } from "./token_stream.js";
import type { PromptPiece } from "./chat/control_tokens.js";
import type { Vocabulary } from "./vocabulary.js";

/** Options for encoding. */
export interface EncodeOptions {
  /** Add the special tokens that the model expects around a text: BOS and EOS, or `[CLS]` and `[SEP]`. Default true. */
  special?: boolean;
  /** Recognize special tokens written in the text. Default true. Set it to false for untrusted text. */
  parseSpecial?: boolean;
  /**
   * Tokens that the result may have, special ones included. A longer text loses tokens at its end, or at its start if tokenizer_config.json
   * has the `truncation_side` "left". Of a pair the longer text loses tokens first. By default nothing is left out.
   */
  maxLength?: number;
}

const namesIn = (call: string): OptionNames =>
  optionNames<EncodeOptions>(call, { special: true, parseSpecial: true, maxLength: true });
const ENCODE_OPTIONS = { "encode()": namesIn("encode()"), "encodePair()": namesIn("encodePair()") };

/** Two texts as one input of a model, such as a query and a document for a reranker. */
export interface EncodedPair {
  /** Token ids, as `[CLS] a [SEP] b [SEP]` or as the model has it. */
  ids: Int32Array;
  /** The type of each token (`token_type_ids`): of BERT 0 for the first text and 1 for the second, of RoBERTa always 0. */
  typeIds: Int32Array;
}

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
   * @throws INVALID_ARGUMENT (text): not a string, or a word is millions of characters long; (maxLength): less than the special tokens
   */
  encode(text: string, options?: EncodeOptions): Int32Array;
  /**
   * Encodes two texts as one input, with the special tokens that the model expects around and between them. Like `encode` otherwise.
   *
   * @throws INVALID_ARGUMENT (first, second, maxLength)
   */
  encodePair(first: string, second: string, options?: EncodeOptions): EncodedPair;
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
  /**
   * The UTF-8 bytes that a token adds to a text, which may be a part of a character. None for special tokens, and for
   * ids that no text uses.
   *
   * @throws INVALID_ARGUMENT (tokens): the id isn't below `vocabularySize`
   */
  bytes(id: number): Uint8Array;
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
  /** The special tokens around one text or two. */
  templates: Templates;
  /** Whether truncation leaves out the start of a text. */
  keepsEnd: boolean;
  /**
   * The tokens of a text, without those around it.
   *
   * @param text without lone surrogates
   */
  encode(text: string, parseSpecial: boolean): Encoding;
  /** The tokens of a text in which no added token is looked for. Default: none that is special. */
  encodePlain?(text: string): Encoding;
  /** Texts of added tokens that aren't special. */
  addedTexts?: readonly string[];
}

/** An input, whole or up to a limit. @internal */
export interface LimitedInput extends TypedTokens {
  /** Tokens that it has at least, without the special ones around texts. */
  readonly least: number;
  readonly isWhole: boolean;
}

/** A tokenizer made of a vocabulary, the texts of its tokens, and an encoder. */
export class VocabularyTokenizer implements Tokenizer {
  readonly vocabularySize: number;
  readonly beginToken: number | undefined;
  readonly endTokens: readonly number[];
  readonly addsBegin: boolean;
  readonly #beginsChats: boolean;
  readonly #vocabulary: Vocabulary;
  readonly #texts: TokenTexts;
  readonly #encoder: Encoder;

  constructor(vocabulary: Vocabulary, texts: TokenTexts, encoder: Encoder) {
    this.vocabularySize = vocabulary.size;
    this.beginToken = encoder.beginToken;
    this.endTokens = Object.freeze([...encoder.endTokens]);
    this.addsBegin = encoder.addsBegin;
    this.#beginsChats = encoder.beginsChats;
    this.#vocabulary = vocabulary;
    this.#texts = texts;
    this.#encoder = encoder;
  }

  encode(text: string, options?: EncodeOptions): Int32Array {
    return finished(this.encodeSteps([text], options)).ids;
  }

  encodePair(first: string, second: string, options?: EncodeOptions): EncodedPair {
    const { ids, typeIds } = finished(this.encodeSteps([first, second], options));
    return { ids, typeIds };
  }

  /** encode() and encodePair() in steps. A text that is over the limit isn't encoded to its end. @internal */
  *encodeSteps(
    texts: readonly [string] | readonly [string, string],
    options?: EncodeOptions,
    limit?: EncodingLimit,
  ): Generator<void, LimitedInput, void> {
    const { parseSpecial, ...assembly } = this.#read(options, texts.length === 1 ? "encode()" : "encodePair()");
    const fields = texts.length === 1 ? ["text"] : ["first", "second"];
    const all: LimitedTokens[] = [];
    for (const [i, text] of texts.entries())
      all.push(yield* collected(this.#encoding(text, parseSpecial, fields[i]!), limit));
    const input = assemble(
      this.#encoder.templates,
      all.map(({ tokens }) => tokens),
      assembly,
    );
    return { ...input, ...sumOf(all) };
  }

  #read(options: EncodeOptions | undefined, call: keyof typeof ENCODE_OPTIONS): Assembly & { parseSpecial: boolean } {
    const { special = true, parseSpecial = true, maxLength } = checkOptions(options, ENCODE_OPTIONS[call]);
    return {
      special: trueOrFalse(special, "special"),
      parseSpecial: trueOrFalse(parseSpecial, "parseSpecial"),
      maxLength,
      keepsEnd: this.#encoder.keepsEnd,
    };
  }

  *#encoding(text: string, parseSpecial: boolean, field: string): Encoding {
    if (typeof text !== "string") fail("INVALID_ARGUMENT", field, `must be a string (got ${show(text)})`);
    const wellFormed = text.replace(/\p{Surrogate}/gu, "\uFFFD");
    try {
      yield* this.#encoder.encode(wellFormed, parseSpecial);
    } catch (error) {
      if (error instanceof RopewalkError) throw error;
      // V8's regular expressions fail for a word of four million characters
      const advised = advise.other("shorten the text, or read it in parts");
      fail("INVALID_ARGUMENT", field, "cannot be split into words, as one is too long", { ...advised, cause: error });
    }
  }

  /** @internal */
  encodeChat(text: string | readonly PromptPiece[]): Int32Array {
    return finished(this.encodeChatSteps(text)).ids;
  }

  /** encodeChat() in steps. @internal */
  *encodeChatSteps(
    text: string | readonly PromptPiece[],
    limit?: EncodingLimit,
  ): Generator<void, Omit<LimitedInput, "typeIds">, void> {
    const input =
      typeof text === "string"
        ? yield* this.encodeSteps([text], { special: false }, limit)
        : yield* this.#pieceSteps(text, limit);
    const { ids, ...counts } = input;
    const begin = this.#beginsChats ? this.beginToken : undefined;
    if (begin === undefined || ids[0] === begin) return input;
    const all = new Int32Array(ids.length + 1);
    all[0] = begin;
    all.set(ids, 1);
    return { ids: all, ...counts };
  }

  /** Encodes each piece by itself, as transformers does: after a line break, so that none gets the space that begins a text. */
  *#pieceSteps(
    pieces: readonly PromptPiece[],
    limit: EncodingLimit | undefined,
  ): Generator<void, Omit<LimitedInput, "typeIds">, void> {
    const line = drained(this.#piece("\n", false));
    const ids: number[] = [];
    for (const [i, { text, isPlain }] of pieces.entries()) {
      if (text === "") continue;
      const rest = limit && { ...limit, tokens: Math.max(0, limit.tokens - ids.length) };
      const after = yield* collected(this.#piece(`\n${text}`, isPlain), rest);
      const isAfter = i > 0 && line.every((token, at) => after.tokens[at] === token);
      const piece = isAfter ? after : yield* collected(this.#piece(text, isPlain), rest);
      const own = isAfter ? after.tokens.slice(line.length) : piece.tokens;
      if (isPlain && own.includes(this.idOf(text)!))
        fail(
          "INVALID_ARGUMENT",
          "messages",
          `have ${show(text)}, which this vocabulary can't write as text`,
          advise.other("leave it out"),
        );
      const before = ids.length;
      for (const token of own) ids.push(token);
      if (!piece.isWhole)
        return { ids: Int32Array.from(ids), least: before + piece.least - line.length, isWhole: false };
    }
    return { ids: Int32Array.from(ids), least: ids.length, isWhole: true };
  }

  #piece(text: string, isPlain: boolean): Encoding {
    const plain = isPlain ? this.#encoder.encodePlain?.(text) : undefined;
    return plain ?? this.#encoding(text, !isPlain, "text");
  }

  /**
   * The texts of control tokens: special tokens, and as in transformers the added tokens that a template writes.
   * @param written - all texts in the template
   * @internal
   */
  controlTokens(written: string): string[] {
    const special = this.#vocabulary.pieces.filter(
      (piece, id): piece is string => piece !== undefined && piece !== "" && this.#vocabulary.isSpecial(id),
    );
    const added = (this.#encoder.addedTexts ?? []).filter((text) => text.trim() !== "" && written.includes(text));
    return [...special, ...added];
  }

  decode(tokens: Iterable<number>, options?: DecodeOptions): string {
    const stream = this.#texts.stream(options, "decode()");
    const texts = listOf(tokens, "tokens", "token ids").map((token) => stream.push(token as number));
    return texts.join("") + stream.end();
  }

  stream(options?: DecodeOptions): TokenStream {
    return this.#texts.stream(options, "stream()");
  }

  token(id: number): string {
    return this.#vocabulary.pieceOf(id);
  }

  bytes(id: number): Uint8Array {
    wholeNumber(id, 0, this.vocabularySize - 1, "tokens");
    return this.#vocabulary.isText(id) ? this.#texts.bytesOf(id) : new Uint8Array();
  }

  idOf(token: string): number | undefined {
    if (typeof token !== "string") fail("INVALID_ARGUMENT", "token", `must be a string (got ${show(token)})`);
    return this.#vocabulary.idOf(token);
  }

  isSpecial(id: number): boolean {
    return this.#vocabulary.isSpecial(id);
  }
}

/** Runs all steps. */
function finished<T>(steps: Generator<void, T, void>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** What the texts of an input have together. */
function sumOf(texts: readonly LimitedTokens[]): { least: number; isWhole: boolean } {
  return {
    least: texts.reduce((sum, { least }) => sum + least, 0),
    isWhole: texts.every(({ isWhole }) => isWhole),
  };
}
