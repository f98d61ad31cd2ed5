// The Worker's counterpart of Tokenizer.
import { listOf } from "../base/lists.js";
import type { DecodeOptions, EncodedPair, EncodeOptions } from "../text/tokenizer.js";
import type { PromptPiece } from "../text/chat_template.js";
import type { RpcClient } from "./rpc_client.js";
import type { TokenizerHandle, TokenizerProperties } from "./protocol.js";

/**
 * A tokenizer in a Worker: like `Tokenizer`, but with promises. It has no `stream`, because generated pieces contain
 * their text.
 */
export class WorkerTokenizer implements TokenizerProperties {
  /** One more than the largest token id. */
  readonly vocabularySize: number;
  /** Token that begins a text (BOS), if the model has one. */
  readonly beginToken: number | undefined;
  /** Tokens that end a generation; the one that ends a text (EOS) is the first. */
  readonly endTokens: readonly number[];
  /** Whether `encode` adds the begin token by default. */
  readonly addsBegin: boolean;
  readonly #client: RpcClient;
  readonly #id: number;

  /** @internal */
  constructor(client: RpcClient, { id, vocabularySize, beginToken, endTokens, addsBegin }: TokenizerHandle) {
    this.#client = client;
    this.#id = id;
    this.vocabularySize = vocabularySize;
    this.beginToken = beginToken;
    this.endTokens = endTokens;
    this.addsBegin = addsBegin;
    client.watch(this, id);
  }

  /**
   * Encodes a text.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, UNSUPPORTED_MODEL (the model has no tokenizer).
   */
  encode(text: string, options?: EncodeOptions): Promise<Int32Array> {
    return this.#invoke("encode", text, options);
  }

  /** Encodes a chat that a template has rendered. @internal */
  encodeChat(text: string | readonly PromptPiece[]): Promise<Int32Array> {
    return this.#client.send((server) => server.encodeChat(this.#id, text));
  }

  /**
   * Encodes two texts as one input.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, UNSUPPORTED_MODEL (the model has no tokenizer).
   */
  encodePair(first: string, second: string, options?: EncodeOptions): Promise<EncodedPair> {
    return this.#invoke("encodePair", first, second, options);
  }

  /**
   * Decodes token ids.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, UNSUPPORTED_MODEL (the model has no tokenizer).
   */
  async decode(tokens: Iterable<number>, options?: DecodeOptions): Promise<string> {
    return this.#invoke("decode", listOf(tokens, "tokens", "token ids"), options); // some iterables can't be cloned
  }

  /**
   * Returns a token as written in the vocabulary.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, UNSUPPORTED_MODEL (the model has no tokenizer).
   */
  token(id: number): Promise<string> {
    return this.#invoke("token", id);
  }

  /**
   * Returns the UTF-8 bytes that a token adds to a text, as `Tokenizer.bytes`.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, UNSUPPORTED_MODEL (the model has no tokenizer).
   */
  bytes(id: number): Promise<Uint8Array> {
    return this.#invoke("bytes", id);
  }

  /** Returns the id of a token as written in the vocabulary; undefined if there is none. */
  idOf(token: string): Promise<number | undefined> {
    return this.#invoke("idOf", token);
  }

  /** Whether a token is a control token, which isn't part of the text. */
  isSpecial(id: number): Promise<boolean> {
    return this.#invoke("isSpecial", id);
  }

  async #invoke<T>(name: string, ...args: readonly unknown[]): Promise<T> {
    return (await this.#client.send((server) => server.invoke(this.#id, name, args))).value as T;
  }
}
