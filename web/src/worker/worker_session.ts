// The Worker's counterpart of Session.
import type { RopeOverrides } from "../config/overrides.js";
import type { RopeConfig } from "../config/types.js";
import type { GenerateOptions, Piece } from "../model/generate.js";
import type { ModelLayer } from "../model/model_plan.js";
import type { TokenProbability } from "../model/sampler.js";
import type { SessionAppendOptions } from "../model/session.js";
import type { RpcClient } from "./rpc_client.js";
import { asyncDisposeSymbol } from "../base/dispose.js";
import type { Reply, SessionHandle, SessionState } from "./protocol.js";

/**
 * A session of a model in a Worker: like `Session`, but with promises. `length`, `contextLength`, `bytes` and `rope`
 * are those of the Worker's last reply.
 */
export class WorkerSession implements AsyncDisposable {
  readonly #client: RpcClient;
  readonly #id: number;
  readonly #model: object; // keeps the model from being garbage-collected before its session
  #state: SessionState;

  /** @internal */
  constructor(client: RpcClient, model: object, { id, state }: SessionHandle) {
    this.#client = client;
    this.#model = model;
    this.#id = id;
    this.#state = state;
    client.watch(this, id);
  }

  /** Number of tokens. */
  get length(): number {
    return this.#state.length;
  }

  /** Maximum number of tokens. */
  get contextLength(): number {
    return this.#state.contextLength;
  }

  /** Bytes of wasm memory that the keys and values use. */
  get bytes(): number {
    return this.#state.bytes;
  }

  /** RoPE of the full-attention layers, or of the sliding-window layers if those have none; null without RoPE. */
  get rope(): Readonly<RopeConfig> | null {
    return this.#state.rope;
  }

  /** Token ids, oldest first. */
  get tokens(): Promise<readonly number[]> {
    return this.#invoke("tokens");
  }

  /** Text of all tokens, without special tokens. */
  get text(): Promise<string> {
    return this.#invoke("text");
  }

  /**
   * Appends text or token ids. A string gets the model's begin token only if the session is empty.
   * @throws {@link RopewalkError} CACHE_FULL (nothing is appended), INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED; rejects
   * with the signal's reason.
   */
  append(input: string | Iterable<number>, options: SessionAppendOptions = {}): Promise<void> {
    const cloneable = typeof input === "string" ? input : [...input];
    return this.#tracked(
      this.#client.call(options, (server, call, rest) => server.invoke(this.#id, "append", [cloneable], call, rest)),
    );
  }

  /**
   * Returns the logits of the next token.
   * @returns [vocabularySize]
   * @throws {@link RopewalkError} INVALID_ARGUMENT (the session is empty), DISPOSED.
   */
  logits(): Promise<Float32Array> {
    return this.#invoke("logits");
  }

  /**
   * Returns the most probable next tokens, most probable first.
   * @param count - number of tokens, from 1; default: 10
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  logprobs(count?: number): Promise<TokenProbability[]> {
    return this.#invoke("logprobs", count);
  }

  /**
   * Returns ln p of a token as the next one.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  logprobOf(token: number): Promise<number> {
    return this.#invoke("logprobOf", token);
  }

  /**
   * Returns the hidden state of the last token, as `Session.hidden`.
   * @returns [hiddenSize]
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  hidden(): Promise<Float32Array> {
    return this.#invoke("hidden");
  }

  /**
   * Continues the text token by token. The Worker computes a token when the loop asks for it. The session stays usable
   * after an abort or after leaving the loop.
   * @throws {@link RopewalkError} as `Session.generate`; rejects with the signal's reason.
   */
  generate(options: GenerateOptions = {}): AsyncGenerator<Piece, void, void> {
    return this.#client.stream(
      options,
      (server, call, rest) => server.generate(call, this.#id, rest),
      (reply) => this.#storeState(reply),
    );
  }

  /**
   * Removes all tokens after the first `length`.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  rewind(length: number): Promise<void> {
    return this.#invoke("rewind", length);
  }

  /**
   * Removes `discard` tokens after the first `keep`, as `Session.shift`.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_POSITION, DISPOSED, OUT_OF_MEMORY.
   */
  shift(options: { keep?: number; discard: number }): Promise<void> {
    return this.#invoke("shift", options);
  }

  /**
   * Changes the RoPE and re-rotates cached keys, as `Session.retune`.
   * @throws {@link RopewalkError} as `ropeConfig()`; INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  retune(overrides: RopeOverrides, options: { kind?: ModelLayer["kind"]; contextLength?: number } = {}): Promise<void> {
    return this.#invoke("retune", overrides, options);
  }

  /**
   * Doubles the context length, as `Session.extend`.
   * @throws {@link RopewalkError} UNSUPPORTED_MODEL, and as {@link WorkerSession.retune}.
   */
  extend(): Promise<void> {
    return this.#invoke("extend");
  }

  /**
   * Creates an independent session with the same contents, in the same Worker.
   * @throws {@link RopewalkError} OUT_OF_MEMORY, DISPOSED.
   */
  async fork(): Promise<WorkerSession> {
    return new WorkerSession(this.#client, this.#model, await this.#client.send((server) => server.fork(this.#id)));
  }

  /**
   * Returns bytes that {@link WorkerSession.restore} and `Session.restore` read.
   * @throws {@link RopewalkError} OUT_OF_MEMORY, DISPOSED.
   */
  save(): Promise<Uint8Array> {
    return this.#invoke("save");
  }

  /**
   * Replaces the contents of this session by saved ones. On failure the session is unchanged.
   * @throws {@link RopewalkError} INVALID_BYTES, OUT_OF_MEMORY, DISPOSED.
   */
  restore(bytes: Uint8Array): Promise<void> {
    return this.#invoke("restore", bytes);
  }

  /** Frees the memory. Calling it twice is harmless. Calls afterwards reject with DISPOSED. */
  dispose(): Promise<void> {
    return this.#client.release(this, this.#id);
  }

  /** Same as {@link WorkerSession.dispose}. */
  [asyncDisposeSymbol](): Promise<void> {
    return this.dispose();
  }

  #invoke<T>(name: string, ...args: readonly unknown[]): Promise<T> {
    return this.#tracked(this.#client.send((server) => server.invoke(this.#id, name, args)));
  }

  /** Stores the session's new state when a call ends. A failed call can change it, too. */
  async #tracked<T>(call: Promise<Reply>): Promise<T> {
    try {
      const reply = await call;
      this.#storeState(reply);
      return reply.value as T;
    } catch (error) {
      await this.#client
        .send((server) => server.sessionState(this.#id))
        .then(
          (state) => (this.#state = state),
          () => undefined,
        );
      throw error;
    }
  }

  #storeState({ state }: Reply): void {
    if (state !== undefined) this.#state = state;
  }
}
