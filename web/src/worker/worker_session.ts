// The Worker's counterpart of Session.
import { optionalFunction, optionalSignal, savedBytes } from "../base/checks.js";
import { asyncDisposeSymbol } from "../base/dispose.js";
import { fail } from "../base/errors.js";
import { checkOptions } from "../base/options.js";
import type { RopeOverrides } from "../config/overrides.js";
import type { RopeConfig } from "../config/types.js";
import { listOf } from "../base/lists.js";
import {
  APPEND_OPTIONS,
  EXTEND_OPTIONS,
  type ExtendOptions,
  FORK_OPTIONS,
  type ForkOptions,
  GENERATE_OPTIONS,
  type GenerateOptions,
  RESTORE_OPTIONS,
  type RestoreOptions,
  RETUNE_OPTIONS,
  type RetuneSessionOptions,
  type SessionAppendOptions,
  SHIFT_OPTIONS,
  type ShiftSessionOptions,
} from "../model/session/options.js";
import { CallQueue } from "../model/session/call_queue.js";
import type { Piece } from "../model/session/generate.js";
import type { AdapterOptions } from "../model/adapters/in_use.js";
import type { Steering } from "../model/session/layer_changes.js";
import { type Trace, TRACE_OPTIONS, type TraceOptions } from "../model/session/trace_options.js";
import type { TokenProbability } from "../model/session/sampler.js";
import { sendDraft } from "./draft_handle.js";
import type { Reply, SessionHandle, SessionState } from "./protocol.js";
import type { RpcClient } from "./rpc_client.js";
import { nameToSend } from "./source_to_send.js";
import { adaptersToSend } from "./worker_adapter.js";

/**
 * A session of a model in a Worker: like `Session`, but with promises. `length`, `contextLength`, `bytes` and `rope`
 * are those of the Worker's last reply.
 *
 * Calls on a session run one after the other, in the order in which they were made. Calls wait for a generation until
 * its last piece, or until its loop is left. Only those that read (`tokens`, `text`, `logits`, `logprobs`, `logprobOf`,
 * `hidden`, `attention`, `keys`, `values`, `save`, `keep`, `fork`) run between two pieces. If the loop doesn't ask for a piece for a second while other calls
 * wait, they end the generation: the next step of its loop throws INVALID_ARGUMENT.
 */
export class WorkerSession implements AsyncDisposable {
  readonly #client: RpcClient;
  readonly #id: number;
  readonly #model: object; // keeps the model from being garbage-collected before its session
  readonly #queue: CallQueue;
  #adapters: readonly object[]; // these too
  #state: SessionState;
  #isDisposed = false;

  /** @internal */
  constructor(client: RpcClient, model: object, { id, state }: SessionHandle, adapters: readonly object[]) {
    this.#client = client;
    this.#model = model;
    this.#adapters = adapters;
    this.#id = id;
    this.#state = state;
    this.#queue = new CallQueue(() => {
      if (this.#isDisposed) fail("DISPOSED", "session", "is disposed; create a new one with model.session()");
    });
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
    return this.#read("tokens");
  }

  /** Text of all tokens, without special tokens. */
  get text(): Promise<string> {
    return this.#read("text");
  }

  /**
   * Appends text or token ids. A string gets the model's begin token only if the session is empty.
   * @throws {@link RopewalkError} CACHE_FULL (nothing is appended), INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED; rejects
   * with the signal's reason.
   */
  async append(input: string | Iterable<number>, options?: SessionAppendOptions): Promise<void> {
    const { signal: givenSignal, onProgress: givenProgress } = checkOptions(options, APPEND_OPTIONS);
    const signal = optionalSignal(givenSignal);
    const onProgress = optionalFunction(givenProgress, "onProgress");
    const tokens = typeof input === "string" ? input : listOf(input, "tokens", "text or token ids");
    const local = { ...(signal && { signal }), ...(onProgress && { onProgress }) };
    await this.#run("append", "change", signal, () =>
      this.#client.call(local, (server, call, rest) => server.invoke(this.#id, "append", [tokens], call, rest)),
    );
  }

  /**
   * Returns the logits of the next token.
   * @returns [vocabularySize]
   * @throws {@link RopewalkError} INVALID_ARGUMENT (the session is empty), DISPOSED.
   */
  logits(): Promise<Float32Array> {
    return this.#read("logits");
  }

  /**
   * Returns the most probable next tokens, most probable first.
   * @param count - number of tokens, from 1; default: 10
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  logprobs(count?: number): Promise<TokenProbability[]> {
    return this.#read("logprobs", count);
  }

  /**
   * Returns ln p of a token as the next one.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  logprobOf(token: number): Promise<number> {
    return this.#read("logprobOf", token);
  }

  /**
   * Returns the hidden state of the last token, as `Session.hidden`.
   * @returns [hiddenSize]
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  hidden(): Promise<Float32Array> {
    return this.#read("hidden");
  }

  /**
   * Returns the attention weights of the last token in a layer, as `Session.attention`.
   * @returns for each query head, [length]
   * @throws {@link RopewalkError} INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED.
   */
  attention(layer: number): Promise<Float32Array[]> {
    return this.#read("attention", layer);
  }

  /**
   * Returns the cached keys of a layer, as `Session.keys`.
   * @returns for each key head, [length, headDim]
   * @throws {@link RopewalkError} INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED.
   */
  keys(layer: number): Promise<Float32Array[]> {
    return this.#read("keys", layer);
  }

  /**
   * Returns the cached values of a layer, as `Session.values`.
   * @returns for each key head, [length, headDim]
   * @throws {@link RopewalkError} INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED.
   */
  values(layer: number): Promise<Float32Array[]> {
    return this.#read("values", layer);
  }

  /**
   * Appends text or token ids, and returns what the model computed for them, as `Session.trace`.
   * @throws {@link RopewalkError} as `Session.trace`.
   */
  async trace(input: string | Iterable<number>, options?: TraceOptions): Promise<Trace> {
    const { ...given } = checkOptions(options, TRACE_OPTIONS);
    optionalFunction(given.onProgress, "onProgress");
    const tokens = typeof input === "string" ? input : listOf(input, "tokens", "text or token ids");
    return this.#run("trace", "change", optionalSignal(given.signal), () =>
      this.#client.call(given, (server, call, rest) => server.invoke(this.#id, "trace", [tokens], call, rest)),
    );
  }

  /**
   * Adds vectors to the inputs of layers from now on, as `Session.steer`. There is no `onLayer` here, because a function
   * can't be sent to the Worker.
   * @throws {@link RopewalkError} as `Session.steer`.
   */
  steer(steering: readonly Steering[]): Promise<void> {
    return this.#change("steer", steering);
  }

  /**
   * Sets the LoRA adapters of an empty session, as `Session.useAdapters`.
   * @throws {@link RopewalkError} as `Session.useAdapters`.
   */
  async useAdapters(adapters: AdapterOptions): Promise<void> {
    const sent = adaptersToSend(adapters, this.#client);
    await this.#run("useAdapters", "change", undefined, async () => {
      const reply = await this.#client.send((server) => server.invoke(this.#id, "useAdapters", [sent.adapters]));
      this.#adapters = sent.uses;
      return reply;
    });
  }

  /**
   * Continues the text token by token. The Worker computes a token when the loop asks for it. The session stays usable
   * after an abort or after leaving the loop.
   * @throws {@link RopewalkError} as `Session.generate`; rejects with the signal's reason.
   */
  async *generate(options?: GenerateOptions): AsyncGenerator<Piece, void, void> {
    const { ...given } = checkOptions(options, GENERATE_OPTIONS);
    const stream = (): AsyncGenerator<Piece, void, void> =>
      this.#client.stream(
        sendDraft(given, this.#client),
        (server, call, rest) => server.generate(call, this.#id, rest),
        (reply) => this.#storeState(reply),
      );
    yield* this.#queue.generate(optionalSignal(given.signal), stream);
  }

  /**
   * Removes all tokens after the first `length`.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  rewind(length: number): Promise<void> {
    return this.#change("rewind", length);
  }

  /**
   * Removes `discard` tokens after the first `keep`, as `Session.shift`.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_POSITION, DISPOSED, OUT_OF_MEMORY.
   */
  async shift(options: ShiftSessionOptions): Promise<void> {
    await this.#change("shift", { ...checkOptions(options, SHIFT_OPTIONS) });
  }

  /**
   * Changes the RoPE and re-rotates cached keys, as `Session.retune`.
   * @throws {@link RopewalkError} as `ropeConfig()`; INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  async retune(rope: RopeOverrides, options?: RetuneSessionOptions): Promise<void> {
    await this.#change("retune", rope, { ...checkOptions(options, RETUNE_OPTIONS) });
  }

  /**
   * Raises the context length, by default to the double, as `Session.extend`.
   * @throws {@link RopewalkError} UNSUPPORTED_MODEL, and as {@link WorkerSession.retune}.
   */
  async extend(options?: ExtendOptions): Promise<void> {
    await this.#change("extend", { ...checkOptions(options, EXTEND_OPTIONS) });
  }

  /**
   * Creates an independent session with the same contents, in the same Worker.
   * @throws {@link RopewalkError} as `Session.fork`.
   */
  async fork(options?: ForkOptions): Promise<WorkerSession> {
    const { ...given } = checkOptions(options, FORK_OPTIONS);
    let copy: WorkerSession | undefined;
    try {
      return await this.#queue.run("fork", "read", undefined, async () => {
        const handle = await this.#client.send((server) => server.fork(this.#id, given));
        return (copy = new WorkerSession(this.#client, this.#model, handle, this.#adapters));
      });
    } catch (error) {
      await copy?.dispose(); // this session was disposed of meanwhile
      throw error;
    }
  }

  /**
   * Returns bytes that {@link WorkerSession.restore} and `Session.restore` read.
   * @throws {@link RopewalkError} OUT_OF_MEMORY, DISPOSED.
   */
  save(): Promise<Uint8Array> {
    return this.#read("save");
  }

  /**
   * Replaces the tokens, keys, values and RoPE of this session by saved ones, as `Session.restore`. Its context length
   * stays. On failure the session is unchanged.
   * @throws {@link RopewalkError} INVALID_BYTES, CACHE_FULL, INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED.
   */
  async restore(bytes: Uint8Array, options?: RestoreOptions): Promise<void> {
    await this.#change("restore", savedBytes(bytes), { ...checkOptions(options, RESTORE_OPTIONS) });
  }

  /**
   * Saves the session and writes the bytes from the Worker, as `Session.keep`: they don't pass the caller's thread.
   * @throws {@link RopewalkError} as `Session.keep`.
   */
  async keep(name: string | URL): Promise<void> {
    await this.#read("keep", nameToSend(name));
  }

  /**
   * Frees the memory, and ends calls that run or wait with DISPOSED. Calling it twice is harmless. Calls afterwards
   * reject with DISPOSED.
   */
  dispose(): Promise<void> {
    this.#isDisposed = true;
    this.#adapters = [];
    this.#queue.close();
    return this.#client.release(this, this.#id);
  }

  /** Same as {@link WorkerSession.dispose}. */
  [asyncDisposeSymbol](): Promise<void> {
    return this.dispose();
  }

  #read<T>(name: string, ...args: readonly unknown[]): Promise<T> {
    return this.#invoke(name, "read", args);
  }

  #change(name: string, ...args: readonly unknown[]): Promise<void> {
    return this.#invoke(name, "change", args);
  }

  #invoke<T>(name: string, kind: "change" | "read", args: readonly unknown[]): Promise<T> {
    return this.#run(name, kind, undefined, () => this.#client.send((server) => server.invoke(this.#id, name, args)));
  }

  /** Runs a call when it's its turn. */
  #run<T>(
    name: string,
    kind: "change" | "read",
    signal: AbortSignal | undefined,
    call: () => Promise<Reply>,
  ): Promise<T> {
    return this.#queue.run(name, kind, signal, () => this.#tracked(call()));
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
