import type { DecodeOptions, EncodeOptions } from "../text/tokenizer.js";
import type { Connection } from "./connection.js";
import type { HeldTokenizer, TokenizerFacts } from "./protocol.js";

/** A model's vocabulary, in a Worker: as `Tokenizer`, with promises. Pieces of a text come with it, so there is no stream. */
export class WorkerTokenizer implements TokenizerFacts {
  /** One more than the largest token id. */
  readonly vocabularySize: number;
  /** What a text begins with, where the model has such a token. */
  readonly beginToken: number | undefined;
  /** All tokens that end a generation, the one that ends a text (eos) first. */
  readonly endTokens: readonly number[];
  /** Whether `encode` puts the begin token first by itself. */
  readonly addsBegin: boolean;
  readonly #connection: Connection;
  readonly #id: number;

  /** @internal */
  constructor(connection: Connection, { id, vocabularySize, beginToken, endTokens, addsBegin }: HeldTokenizer) {
    this.#connection = connection;
    this.#id = id;
    this.vocabularySize = vocabularySize;
    this.beginToken = beginToken;
    this.endTokens = endTokens;
    this.addsBegin = addsBegin;
    connection.watch(this, id);
  }

  /**
   * The tokens of a text.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, UNSUPPORTED_MODEL (the model has no tokenizer).
   */
  encode(text: string, options?: EncodeOptions): Promise<Int32Array> {
    return this.#ask("encode", text, options);
  }

  /**
   * The text of tokens.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, UNSUPPORTED_MODEL (the model has no tokenizer).
   */
  decode(tokens: Iterable<number>, options?: DecodeOptions): Promise<string> {
    return this.#ask("decode", [...tokens], options);
  }

  /**
   * A token as the vocabulary writes it.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, UNSUPPORTED_MODEL (the model has no tokenizer).
   */
  token(id: number): Promise<string> {
    return this.#ask("token", id);
  }

  /** The id of a token as the vocabulary writes it. */
  idOf(token: string): Promise<number | undefined> {
    return this.#ask("idOf", token);
  }

  /** Whether a token is a mark for the model and no part of a text. */
  isSpecial(id: number): Promise<boolean> {
    return this.#ask("isSpecial", id);
  }

  async #ask<T>(name: string, ...args: readonly unknown[]): Promise<T> {
    return (await this.#connection.run((host) => host.ask(this.#id, name, args))).value as T;
  }
}
