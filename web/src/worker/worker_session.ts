import type { RopeOverrides } from "../config/overrides.js";
import type { RopeConfig } from "../config/types.js";
import type { GenerateOptions, Piece } from "../model/generate.js";
import type { ModelLayer } from "../model/model_plan.js";
import type { TokenProbability } from "../model/sampler.js";
import type { SessionAppendOptions } from "../model/session.js";
import type { Connection } from "./connection.js";
import { asyncDisposeSymbol } from "./async_dispose.js";
import type { Answer, HeldSession, SessionState } from "./protocol.js";

/**
 * A text that a model in a Worker has read, and may go on with: as `Session`, with promises. What is a number here stands as after the
 * last answer of the Worker.
 */
export class WorkerSession implements AsyncDisposable {
  readonly #connection: Connection;
  readonly #id: number;
  readonly #model: object; // which must not be forgotten before its session
  #state: SessionState;

  /** @internal */
  constructor(connection: Connection, model: object, { id, state }: HeldSession) {
    this.#connection = connection;
    this.#model = model;
    this.#id = id;
    this.#state = state;
    connection.watch(this, id);
  }

  /** Number of tokens held. */
  get length(): number {
    return this.#state.length;
  }

  /** Tokens that may be held. */
  get contextLength(): number {
    return this.#state.contextLength;
  }

  /** Bytes of wasm memory that keys and values take. */
  get bytes(): number {
    return this.#state.bytes;
  }

  /** What turns the layers that see the whole context; null where none is turned. */
  get rope(): Readonly<RopeConfig> | null {
    return this.#state.rope;
  }

  /** Tokens held, oldest first. */
  get tokens(): Promise<readonly number[]> {
    return this.#ask("tokens");
  }

  /** The text of all tokens, special ones left out. */
  get text(): Promise<string> {
    return this.#ask("text");
  }

  /**
   * Reads more text. A string is encoded without a begin token, unless it is the first.
   * @throws {@link RopewalkError} CACHE_FULL (nothing is taken up), INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED; rejects with the signal's reason.
   */
  append(input: string | Iterable<number>, options: SessionAppendOptions = {}): Promise<void> {
    const given = typeof input === "string" ? input : [...input];
    return this.#keepUp(
      this.#connection.listen(options, (host, call, rest) => host.ask(this.#id, "append", [given], call, rest)),
    );
  }

  /**
   * Logits of the token that comes next.
   * @returns [vocabularySize].
   * @throws {@link RopewalkError} INVALID_ARGUMENT (nothing has been read), DISPOSED.
   */
  logits(): Promise<Float32Array> {
    return this.#ask("logits");
  }

  /**
   * The most probable tokens to come next, most probable first (10).
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  logprobs(count?: number): Promise<TokenProbability[]> {
    return this.#ask("logprobs", count);
  }

  /**
   * ln p that a token comes next.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  logprobOf(token: number): Promise<number> {
    return this.#ask("logprobOf", token);
  }

  /**
   * The last hidden state of the newest token, as `Session.hidden`.
   * @returns [hidden size].
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  hidden(): Promise<Float32Array> {
    return this.#ask("hidden");
  }

  /**
   * Goes on with the text, token by token, each made when it is asked for. Given up by the signal or by leaving the loop, the session can be used
   * on.
   * @throws {@link RopewalkError} as `Session.generate`; rejects with the signal's reason.
   */
  generate(options: GenerateOptions = {}): AsyncGenerator<Piece, void, void> {
    return this.#connection.pieces(
      options,
      (host, call, rest) => host.generate(call, this.#id, rest),
      (answer) => this.#note(answer),
    );
  }

  /**
   * Keeps the first `length` tokens.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  rewind(length: number): Promise<void> {
    return this.#ask("rewind", length);
  }

  /**
   * Takes tokens out, after the first `keep`, as `Session.shift`.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_POSITION, DISPOSED, OUT_OF_MEMORY.
   */
  shift(options: { keep?: number; discard: number }): Promise<void> {
    return this.#ask("shift", options);
  }

  /**
   * Changes the RoPE of what is held and of what comes, as `Session.retune`.
   * @throws {@link RopewalkError} as `ropeConfig()`; INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  retune(overrides: RopeOverrides, options: { kind?: ModelLayer["kind"]; contextLength?: number } = {}): Promise<void> {
    return this.#ask("retune", overrides, options);
  }

  /**
   * Makes room for twice as many tokens, as `Session.extend`.
   * @throws {@link RopewalkError} UNSUPPORTED_MODEL; as {@link WorkerSession.retune}.
   */
  extend(): Promise<void> {
    return this.#ask("extend");
  }

  /**
   * A session of its own that has read the same, in the same Worker.
   * @throws {@link RopewalkError} OUT_OF_MEMORY, DISPOSED.
   */
  async fork(): Promise<WorkerSession> {
    return new WorkerSession(this.#connection, this.#model, await this.#connection.run((host) => host.fork(this.#id)));
  }

  /**
   * Everything needed to go on later, as `Session.save`.
   * @throws {@link RopewalkError} OUT_OF_MEMORY, DISPOSED.
   */
  save(): Promise<Uint8Array> {
    return this.#ask("save");
  }

  /**
   * Takes the place of what is held.
   * @throws {@link RopewalkError} INVALID_BYTES, OUT_OF_MEMORY, DISPOSED; the session is then as it was.
   */
  restore(bytes: Uint8Array): Promise<void> {
    return this.#ask("restore", bytes);
  }

  /** Gives the Worker's memory back; using the session afterwards rejects with DISPOSED. */
  dispose(): Promise<void> {
    return this.#connection.release(this, this.#id);
  }

  /** The same. */
  [asyncDisposeSymbol](): Promise<void> {
    return this.dispose();
  }

  #ask<T>(name: string, ...args: readonly unknown[]): Promise<T> {
    return this.#keepUp(this.#connection.run((host) => host.ask(this.#id, name, args)));
  }

  /** A call that fails may have changed something too. */
  async #keepUp<T>(asked: Promise<Answer>): Promise<T> {
    try {
      const answer = await asked;
      this.#note(answer);
      return answer.value as T;
    } catch (error) {
      await this.#connection
        .run((host) => host.stateOf(this.#id))
        .then(
          (state) => (this.#state = state),
          () => undefined,
        );
      throw error;
    }
  }

  #note({ state }: Answer): void {
    if (state !== undefined) this.#state = state;
  }
}
