import type { RopeConfig } from "../config/types.js";
import type { GenerateOptions, Piece } from "../model/generate.js";
import type { ModelInfo, Prompt } from "../model/model.js";
import type { Perplexity, PerplexityOptions } from "../model/perplexity.js";
import type { SessionOptions } from "../model/session.js";
import type { ChatMessage, ChatOptions } from "../text/chat_template.js";
import { asyncDisposeSymbol } from "./async_dispose.js";
import type { Connection } from "./connection.js";
import type { HeldModel } from "./protocol.js";
import { WorkerSession } from "./worker_session.js";
import { WorkerTokenizer } from "./worker_tokenizer.js";

/** A model in the memory of a Worker: as `Model`, with promises. */
export class WorkerModel implements AsyncDisposable {
  /** What it is. */
  readonly info: ModelInfo;
  /** Its vocabulary. */
  readonly tokenizer: WorkerTokenizer;
  /** Jinja source of its chat template, if there is one. */
  readonly chatTemplate: string | undefined;
  /** What turns the layers that see the whole context; null where none is turned. */
  readonly rope: Readonly<RopeConfig> | null;
  readonly #connection: Connection;
  readonly #id: number;

  /** @internal */
  constructor(connection: Connection, { id, info, rope, chatTemplate, tokenizer }: HeldModel) {
    this.#connection = connection;
    this.#id = id;
    this.info = info;
    this.rope = rope;
    this.chatTemplate = chatTemplate;
    this.tokenizer = new WorkerTokenizer(connection, tokenizer);
    connection.watch(this, id);
  }

  /**
   * An empty text for the model to read and go on with. Several may be used in turn.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED.
   */
  async session(options: SessionOptions = {}): Promise<WorkerSession> {
    return new WorkerSession(
      this.#connection,
      this,
      await this.#connection.run((host) => host.session(this.#id, options)),
    );
  }

  /**
   * Goes on with a prompt in a session of its own, token by token, each made when it is asked for.
   * @throws {@link RopewalkError} as `Model.generate`; rejects with the signal's reason.
   */
  generate(prompt: Prompt, options: GenerateOptions & SessionOptions = {}): AsyncGenerator<Piece, void, void> {
    return this.#connection.pieces(
      options,
      (host, call, rest) => host.generate(call, this.#id, rest, sent(prompt)),
      () => undefined,
    );
  }

  /**
   * The tokens of a prompt, as `Model.promptTokens`.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, UNSUPPORTED_MODEL (there is no tokenizer, or no template).
   */
  promptTokens(prompt: Prompt, options: ChatOptions = {}): Promise<Int32Array> {
    return this.#ask("promptTokens", sent(prompt), options);
  }

  /**
   * The text of a chat as the model's template writes it, ready for the model's answer.
   * @throws {@link RopewalkError} as `Model.renderChat`.
   */
  renderChat(messages: readonly ChatMessage[], options: ChatOptions = {}): Promise<string> {
    return this.#ask("renderChat", messages, options);
  }

  /**
   * How well the model foresees a text, position by position.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED; rejects with the signal's reason.
   */
  async perplexity(text: string | Iterable<number>, options: PerplexityOptions = {}): Promise<Perplexity> {
    const given = typeof text === "string" ? text : [...text];
    return (
      await this.#connection.listen(options, (host, call, rest) =>
        host.ask(this.#id, "perplexity", [given], call, rest),
      )
    ).value as Perplexity;
  }

  /**
   * The last hidden state after a text, as `Session.hidden`.
   * @throws {@link RopewalkError} as `Session.append`.
   */
  async embed(text: string | Iterable<number>, options: { signal?: AbortSignal } = {}): Promise<Float32Array> {
    const given = typeof text === "string" ? text : [...text];
    return (
      await this.#connection.listen(options, (host, call, rest) => host.ask(this.#id, "embed", [given], call, rest))
    ).value as Float32Array;
  }

  /** Gives the weights back. Sessions give back their own; using either afterwards rejects with DISPOSED. */
  dispose(): Promise<void> {
    return this.#connection.release(this, this.#id);
  }

  /** The same. */
  [asyncDisposeSymbol](): Promise<void> {
    return this.dispose();
  }

  async #ask<T>(name: string, ...args: readonly unknown[]): Promise<T> {
    return (await this.#connection.run((host) => host.ask(this.#id, name, args))).value as T;
  }
}

/** A prompt as it can be cloned, which not every iterable can. */
function sent(prompt: Prompt): Prompt {
  return typeof prompt === "string" ? prompt : ([...prompt] as Prompt);
}
