// The public Session class: the text that a model has read, and its continuation.
import { optionalFunction, wholeNumber } from "../../../core/base/checks.js";
import { part } from "../../../core/base/part.js";
import { disposeSymbol } from "../../../core/base/dispose.js";
import { checkOptions } from "../../../core/base/options.js";
import type { RopeConfig } from "../../../core/config/types.js";
import { cachedRows } from "./cached_rows.js";
import { CallQueue } from "./call_queue.js";
import { bringTo, chatTurn } from "./chat.js";
import { extendText } from "./extend.js";
import { type Piece, readGenerateOptions } from "./generate.js";
import { generate, generatingSession } from "./generation.js";
import { tokenIds } from "../../../core/base/lists.js";
import type { Adapter } from "../run/adapter.js";
import { type AdapterOptions, type AdaptersInUse, readAdapters, type ScaledAdapter } from "../run/adapters_in_use.js";
import {
  type ChatTurnOptions,
  type CheckpointSettings,
  type ExtendOptions,
  EXTEND_OPTIONS,
  type ForkOptions,
  type GenerateOptions,
  readAppendOptions,
  readForkOptions,
  type RetuneSessionOptions,
  type SessionRope,
  readRestoreOptions,
  type RestoreOptions,
  type SessionAppendOptions,
  SHIFT_OPTIONS,
  type ShiftSessionOptions,
} from "./options.js";
import { logprobOf, mostProbable, type TokenProbability } from "./sampler.js";
import { retuning } from "./retune.js";
import type { ChatMessage } from "../../text/chat_template.js";
import type { SessionModel } from "./session_model.js";
import { readMore, type Reading, restoreText, setAdapters } from "./fitting_text.js";
import { SessionText } from "./text.js";
import type { LayerHook, Steering } from "./layer_changes.js";
import { type Trace, TRACE_OPTIONS, type TraceOptions } from "./trace_options.js";
import { looped } from "../run/looped.js";
import { readTraceOptions } from "./trace_settings.js";

/**
 * A text that a model has read and can continue: its tokens, and their keys and values in a cache. Created by
 * `model.session()`.
 *
 * Calls on a session run one after the other. {@link Session.append} and {@link Session.generate} wait for the calls
 * before them. The other methods can't wait: they throw INVALID_ARGUMENT while a call runs. Between two pieces of a
 * generation, those that only read can be called. A method that changes the session ends the generation: the next step
 * of its loop throws. So do calls that have waited for a second while the loop didn't ask for a piece.
 */
export class Session implements Disposable {
  readonly #text: SessionText;
  readonly #queue: CallQueue;
  readonly #model: SessionModel;
  readonly #checkpoints: CheckpointSettings;

  /** @internal */
  constructor(model: SessionModel, contextLength: number, checkpoints: CheckpointSettings, adapters: AdaptersInUse) {
    const text = new SessionText(model.core, model.cacheSettings, contextLength, { ...checkpoints, adapters });
    this.#text = text;
    this.#queue = new CallQueue(() => text.checkAlive());
    this.#model = model;
    this.#checkpoints = checkpoints;
  }

  /** Token ids, oldest first. A frozen array, which later calls don't change. */
  get tokens(): readonly number[] {
    return this.#text.tokens;
  }

  /** Number of tokens. */
  get length(): number {
    return this.#text.length;
  }

  /** Maximum number of tokens. */
  get contextLength(): number {
    return this.#text.contextLength;
  }

  /**
   * Bytes of wasm memory that the keys, values and states of recurrent layers use now. What n sessions share (see `fork`) counts as its
   * n-th part.
   */
  get bytes(): number {
    return this.#text.bytes;
  }

  /** Text of all tokens, without special tokens. */
  get text(): string {
    return this.#model.tokenizer.decode(this.tokens);
  }

  /** RoPE of the full-attention layers, or of the sliding-window layers if those have none; null without RoPE. */
  get rope(): Readonly<RopeConfig> | null {
    return this.#text.ropes.main;
  }

  /** The LoRA adapters that it reads and generates with, and their scales. */
  get adapters(): readonly Readonly<Required<ScaledAdapter<Adapter>>>[] {
    return this.#text.adapters.list;
  }

  /**
   * Sets the LoRA adapters of an empty session: a new one, or one after `rewind(0)`. Keys and values of tokens that were
   * read with other adapters would be wrong for these. [] for none.
   * @throws {@link RopewalkError} INVALID_ARGUMENT (also: the session has tokens), UNKNOWN_KEY, DISPOSED.
   */
  useAdapters(adapters: AdapterOptions): void {
    const read = readAdapters(adapters, this.#model.core);
    this.#queue.now("useAdapters", "change", () => setAdapters(this.#text, read));
  }

  /**
   * Appends text or token ids, after the calls before it. A string gets the model's begin token only if the session is
   * empty.
   * @throws {@link RopewalkError} CACHE_FULL (nothing is appended), INVALID_ARGUMENT, UNKNOWN_KEY, OUT_OF_MEMORY,
   * DISPOSED; rejects with the signal's reason.
   */
  async append(input: string | Iterable<number>, options?: SessionAppendOptions): Promise<void> {
    const read = readAppendOptions(options);
    await readMore("append", this.#reading, input, read.signal, (tokens) => this.#text.append(tokens, read));
  }

  /**
   * Appends text or token ids as {@link Session.append}, and returns what the model computed for them: attention weights,
   * hidden states, queries, keys, values and logits. The session is then the same as after `append()`.
   * @throws {@link RopewalkError} as `append()`; INVALID_ARGUMENT (a layer without attention; more than `maxBytes`),
   * UNSUPPORTED_MODEL (several residual streams: Gemma 3n).
   */
  async trace(input: string | Iterable<number>, options: TraceOptions = {}): Promise<Trace> {
    const text = this.#text;
    const settings = readTraceOptions(options, text.core.plan);
    const rest = readAppendOptions(options, TRACE_OPTIONS);
    return readMore("trace", this.#reading, input, rest.signal, async (tokens) => {
      const { traceText } = await part(() => import("./trace.js"));
      text.checkAlive();
      return traceText(text, tokens, settings, rest);
    });
  }

  /**
   * Sets a hook that is called before each layer and may change the residual of the tokens that are read from now on;
   * undefined removes it. It runs inside the call that reads them: what it throws rejects that call, and the batch of
   * tokens isn't read. (A call that reads tokens again, as `rewind()` does with recurrent layers, then ends before them.) Forks have it too; saved sessions don't. For a hook of a session in a Worker, run this class in a
   * Worker of your own, or use {@link Session.steer}.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, UNSUPPORTED_MODEL (several residual streams: Gemma 3n), DISPOSED.
   */
  onLayer(hook: LayerHook | undefined): void {
    const checked = optionalFunction(hook, "hook");
    this.#queue.now("onLayer", "change", () => this.#text.changeLayers((changes) => (changes.hook = checked)));
  }

  /**
   * Adds vectors to the inputs of layers, for the tokens that are read from now on, before a hook of
   * {@link Session.onLayer} sees them; [] adds none. Forks have them too; saved sessions don't.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_SHAPE, UNKNOWN_KEY, UNSUPPORTED_MODEL, DISPOSED.
   */
  steer(steering: readonly Steering[]): void {
    this.#queue.now("steer", "change", () => this.#text.changeLayers((changes) => changes.steer(steering)));
  }

  /**
   * Returns the logits of the next token.
   * @returns [vocabularySize], a copy
   * @throws {@link RopewalkError} INVALID_ARGUMENT (the session is empty, or a call runs), DISPOSED.
   */
  logits(): Float32Array {
    const { heap, vocabularySize: size } = this.#text.core;
    return this.#withLogits("logits", (address) => heap.floats(address, size).slice());
  }

  /**
   * Returns the most probable next tokens, most probable first.
   * @param count - number of tokens, from 1
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  logprobs(count = 10): TokenProbability[] {
    const { heap, vocabularySize: size } = this.#text.core;
    wholeNumber(count, 1, size, "count");
    return this.#withLogits("logprobs", (address) => mostProbable(heap, this.#model.tokenizer, address, size, count));
  }

  /**
   * Returns ln p of a token as the next one.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  logprobOf(token: number): number {
    const { heap, vocabularySize: size } = this.#text.core;
    wholeNumber(token, 0, size - 1, "token");
    return this.#withLogits("logprobOf", (address) => logprobOf(heap, address, size, token));
  }

  /**
   * Returns the hidden state of the last token after the final norm: an embedding of the text.
   * @returns [hiddenSize], a copy
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  hidden(): Float32Array {
    return this.#queue.now("hidden", "read", () => this.#text.hidden());
  }

  /**
   * Returns the attention weights of the last token in a layer: how much each head reads each token, for the logits of
   * the next one. A head's weights sum to 1, and are 0 outside a sliding window. The last token is read again if the
   * model has read another text since.
   * @param layer - from 0 to `model.info.layers.length` − 1
   * @returns for each query head, the weights of all tokens, [length]
   * @throws {@link RopewalkError} INVALID_ARGUMENT (the session is empty, or a call runs), OUT_OF_MEMORY, DISPOSED.
   */
  attention(layer: number): Float32Array[] {
    this.#checkLayer(layer);
    return this.#queue.now("attention", "read", () => this.#text.attention(layer));
  }

  /**
   * Returns the cached keys of a layer as they are stored: rotated to their positions, or raw if the model was opened
   * with raw keys. A layer that reads the keys of an earlier one has the same. With latent attention (DeepSeek), a row is
   * the rotated part, then the latent. `rope.rotate(…, { inverse: true, role: "key" })` gives rotated keys as they were projected.
   * @param layer - from 0 to `model.info.layers.length` − 1
   * @returns for each key head, [length, headDim]
   * @throws {@link RopewalkError} INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED.
   */
  keys(layer: number): Float32Array[] {
    return this.#cached("keys", layer, "k");
  }

  /**
   * Returns the cached values of a layer, in the shape of its {@link Session.keys}. With latent attention there are none.
   * @param layer - from 0 to `model.info.layers.length` − 1
   * @returns for each key head, [length, headDim]
   * @throws {@link RopewalkError} INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED.
   */
  values(layer: number): Float32Array[] {
    return this.#cached("values", layer, "v");
  }

  /**
   * Continues the text token by token. Each yielded token is already part of the session, except an end or stop token,
   * and the last token of a full context. The session stays usable after an abort or after leaving the loop.
   *
   * The generation begins when the loop asks for the first piece, after the calls before it, and lasts until the last
   * piece, or until the loop is left. Other calls of `append` and `generate` wait until then.
   * @throws {@link RopewalkError} INVALID_ARGUMENT (the session is empty, an option is invalid, or another call ended
   * the generation), UNKNOWN_KEY, OUT_OF_MEMORY, DISPOSED; rejects with the signal's reason.
   */
  generate(options?: GenerateOptions): AsyncGenerator<Piece, void, void> {
    return looped("generate", this.#generate(options));
  }

  async *#generate(options: GenerateOptions | undefined): AsyncGenerator<Piece, void, void> {
    const settings = readGenerateOptions(options, this.#model.sampling, this.#text.core.vocabularySize);
    const session = generatingSession(this.#model, this.#text);
    yield* this.#queue.generate(settings.signal, () => generate(session, settings));
  }

  /**
   * Answers a chat. Renders the messages by the model's template, reads what the session hasn't read of the prompt, and continues it as
   * {@link Session.generate}. The tokens at the beginning that both have in common stay, so the next turn of a chat reads only what is new.
   * All others are removed. The pieces are those of a new session with the same RoPE and options, to the last bit, whatever was read before.
   * @throws {@link RopewalkError} CACHE_FULL (the prompt is longer than the context: nothing changes), UNSUPPORTED_MODEL (no chat template), and
   * as `model.renderChat()` and {@link Session.generate}.
   */
  chat(messages: readonly ChatMessage[], options?: ChatTurnOptions): AsyncGenerator<Piece, void, void> {
    return looped("chat", chatTurn(this.#model, this.#text, this.#queue, messages, options));
  }

  /** Makes the text that of a prompt, as {@link Session.chat}. Returns the number of tokens that stayed. @internal */
  async bringTo(prompt: Iterable<number>, options?: SessionAppendOptions): Promise<number> {
    const tokens = tokenIds(prompt, this.#text.core.vocabularySize, "tokens");
    const read = readAppendOptions(options);
    return this.#queue.run("bringTo", "change", read.signal, () => bringTo(this.#text, tokens, read));
  }

  /**
   * Removes all tokens after the first `length`. A model with recurrent layers goes back to the nearest checkpoint before
   * that ({@link SessionOptions.checkpoints}), and reads the tokens after it again, which blocks the thread.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  rewind(length: number): void {
    this.#queue.now("rewind", "change", () => this.#text.rewind(wholeNumber(length, 0, this.length, "length")));
  }

  /**
   * Removes `discard` tokens after the first `keep` and moves the rest down, which makes room for more. The keys of
   * moved tokens are re-rotated to their new positions exactly. Their values aren't recomputed, so they still reflect
   * the removed tokens. So do the states of recurrent layers, which have seen them.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, UNKNOWN_KEY, INVALID_POSITION, DISPOSED, OUT_OF_MEMORY.
   */
  shift(options: ShiftSessionOptions): void {
    const { keep = 0, discard } = checkOptions(options, SHIFT_OPTIONS);
    this.#queue.now("shift", "change", () => this.#text.shift(keep, discard));
  }

  /**
   * Changes the RoPE. Cached keys are re-rotated, so the text isn't read again. Recurrent layers have no RoPE, and their
   * states stay.
   * Keys that are normalized after the rotation (HunYuan, Llama 4) keep the ε of the attention factor a that they had,
   * not of the new one b: they are off by a share of at most ε |1/a² − 1/b²| / 2m, m being the mean of the key's squares.
   * @param rope - as the option of `rw.model()`
   * @throws {@link RopewalkError} as `ropeConfig()`; INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  retune(rope: SessionRope, options?: RetuneSessionOptions): void {
    this.#queue.now("retune", "change", retuning(this.#text, rope, options));
  }

  /**
   * Raises the context length, by default to the double, with the YaRN factor that reaches it.
   * @throws {@link RopewalkError} UNSUPPORTED_MODEL (YaRN can't replace the model's scaling), and as
   * {@link Session.retune}.
   */
  extend(options?: ExtendOptions): void {
    const { contextLength } = checkOptions(options, EXTEND_OPTIONS);
    this.#queue.now("extend", "change", () => extendText(this.#text, contextLength));
  }

  /**
   * Creates an independent session with the same tokens, keys, values, states, RoPE and adapters. Both use the same memory for keys and
   * values until one of them changes: then that one copies the pages (of 32 tokens) that it changes. They share the checkpoints of recurrent
   * layers.
   * @param options - default: those of this session
   * @throws {@link RopewalkError} INVALID_ARGUMENT (also a context length below the number of tokens), UNKNOWN_KEY,
   * OUT_OF_MEMORY, DISPOSED.
   */
  fork(options?: ForkOptions): Session {
    const { contextLength, checkpoints } = readForkOptions(options, this.#text, this.#checkpoints);
    return this.#queue.now("fork", "read", () => {
      const copy = new Session(this.#model, contextLength, checkpoints, this.#text.adapters);
      try {
        copy.#text.copy(this.#text);
        return copy;
      } catch (error) {
        copy.dispose();
        throw error;
      }
    });
  }

  /**
   * Returns bytes that {@link Session.restore} reads, also in another page or process with the same model file. They
   * contain tokens, keys, values, the states of recurrent layers, RoPE and fingerprints of the model and its adapters, with a
   * version and a checksum. They don't contain the context length or checkpoints.
   * @throws {@link RopewalkError} INVALID_ARGUMENT (a call runs), OUT_OF_MEMORY, DISPOSED.
   */
  save(): Uint8Array {
    return this.#queue.now("save", "read", () => this.#text.save());
  }

  /**
   * Replaces the tokens, keys, values and RoPE of this session by saved ones. Its context length stays. On failure the
   * session is unchanged.
   * @throws {@link RopewalkError} INVALID_BYTES (damaged, or saved with another model or other adapters), CACHE_FULL (more tokens than the
   * context length), INVALID_ARGUMENT (not bytes, or a call runs), UNKNOWN_KEY, OUT_OF_MEMORY, DISPOSED.
   */
  restore(bytes: Uint8Array, options?: RestoreOptions): void {
    const rope = readRestoreOptions(options);
    this.#queue.now("restore", "change", () => restoreText(this.#text, bytes, rope));
  }

  /**
   * Saves the session as {@link Session.save} and writes the bytes: in Node to a file, in a page to OPFS, in the folder
   * `ropewalk-sessions`. `model.openSession()` reads them. The session may change while they are written.
   * @param name - Node: a path or `file:` URL; a page: a name without slashes
   * @throws {@link RopewalkError} as `save()`; INVALID_FILE (it can't be written: a file of that name is as it was).
   */
  async keep(name: string | URL): Promise<void> {
    const bytes = this.#queue.now("keep", "read", () => this.#text.save());
    await (await this.#model.keptFiles()).write(name, bytes);
  }

  /** Frees the memory, and ends calls that run or wait with DISPOSED. Calling it twice is harmless. Using the session afterwards throws DISPOSED. */
  dispose(): void {
    this.#text.dispose();
    this.#queue.close();
  }

  /** Same as {@link Session.dispose}. */
  [disposeSymbol](): void {
    this.dispose();
  }

  get #reading(): Reading {
    return { queue: this.#queue, text: this.#text, tokenizer: this.#model.tokenizer };
  }

  #cached(call: string, layer: number, part: "k" | "v"): Float32Array[] {
    this.#checkLayer(layer);
    const text = this.#text;
    return this.#queue.now(call, "read", () => cachedRows(text.core.plan, text.freshCache(), layer, part));
  }

  #checkLayer = (layer: number): unknown => wholeNumber(layer, 0, this.#text.core.plan.layers.length - 1, "layer");

  #withLogits<T>(call: string, use: (address: number) => T): T {
    return this.#queue.now(call, "read", () => use(this.#text.freshLogits()));
  }
}
