// The public Session class: the tokens of one text, their KV cache, and generation.
import { wholeNumber } from "../base/checks.js";
import { overrideRopeConfig } from "../config/rope_config.js";
import type { RopeOverrides } from "../config/overrides.js";
import type { RopeConfig } from "../config/types.js";
import { disposeSymbol } from "../base/dispose.js";
import { fail } from "../base/errors.js";
import type { Heap } from "../memory/heap.js";
import type { KvCacheCore } from "../cache/core.js";
import { restore as restoreCache, save as saveCache } from "../cache/image.js";
import { retune as retuneCache, shift as shiftCache } from "../cache/retune.js";
import { Owned } from "../memory/owned.js";
import type { Tokenizer } from "../text/tokenizer.js";
import { EventLoopYielder } from "./event_loop.js";
import { extendedOverrides } from "./extend.js";
import { withLongFactors, usesLongFactors } from "./long_rope.js";
import { generate, type GenerateOptions, type Piece } from "./generate.js";
import { type CacheSettings, type ModelCore, BATCH_TOKENS } from "./model_core.js";
import type { ModelLayer } from "./model_plan.js";
import { logprobOf, mostProbable, type SamplingOptions, type TokenProbability } from "./sampler.js";
import { readSession, writeSession } from "./session_image.js";

/** Options of a session. */
export interface SessionOptions {
  /**
   * Maximum number of tokens, 1 to 2^24. Default: the model's `contextLength`. {@link Session.retune} and `whenFull:
   * "extend"` can change it.
   */
  contextLength?: number;
}

/** Options of {@link Session.append}. */
export interface SessionAppendOptions {
  /**
   * Aborts between two batches of 128 tokens, or after the last, and rejects with the signal's reason. Tokens read
   * until then stay in the session.
   */
  signal?: AbortSignal;
  /** Called after each batch, with numbers of tokens. */
  onProgress?: (progress: { done: number; total: number }) => void;
}

/**
 * A text that a model has read and can continue: its tokens, and their keys and values in a cache. Created by
 * `model.session()`.
 */
export class Session implements Disposable {
  readonly #core: ModelCore;
  readonly #cache: KvCacheCore;
  readonly #cacheSettings: CacheSettings;
  readonly #tokenizer: Tokenizer;
  /** Sampling defaults from the model's files. */
  readonly #sampling: SamplingOptions;
  readonly #logits: Owned;
  readonly #tokens: number[] = [];
  /**
   * The requested RoPE of each group of layers. The cache has the one in effect, which differs for a LongRoPE
   * (long_rope.ts).
   */
  #ropes: Readonly<RopeConfig>[];
  #contextLength: number;
  #hasFreshLogits = false; // whether #logits follow the last token
  #hidden: Float32Array | undefined;

  /** @internal */
  constructor(
    core: ModelCore,
    tokenizer: Tokenizer,
    cacheSettings: CacheSettings,
    contextLength: number,
    sampling: SamplingOptions,
  ) {
    this.#core = core;
    this.#tokenizer = tokenizer;
    this.#cacheSettings = cacheSettings;
    this.#sampling = sampling;
    this.#contextLength = checkContext(contextLength);
    this.#cache = core.newCache(cacheSettings);
    this.#ropes = this.#cache.groups.map(({ config }) => config);
    try {
      this.#logits = new Owned(
        core.heap,
        core.heap.allocate(core.vocabularySize * 4),
        "session",
        freeLogits,
        "model.session()",
      );
    } catch (error) {
      this.#cache.dispose();
      throw error;
    }
  }

  /** Token ids, oldest first. */
  get tokens(): readonly number[] {
    return this.#tokens;
  }

  /** Number of tokens. */
  get length(): number {
    return this.#tokens.length;
  }

  /** Maximum number of tokens. */
  get contextLength(): number {
    return this.#contextLength;
  }

  /** Bytes of wasm memory that the keys and values use now. */
  get bytes(): number {
    return this.#core.heap.module.kv_bytes(this.#cache.address);
  }

  /** Text of all tokens, without special tokens. */
  get text(): string {
    return this.#tokenizer.decode(this.#tokens);
  }

  /** RoPE of the full-attention layers, or of the sliding-window layers if those have none; null without RoPE. */
  get rope(): Readonly<RopeConfig> | null {
    return this.#ropes[this.#groupOf("full_attention") ?? this.#groupOf("sliding_attention") ?? -1] ?? null;
  }

  /**
   * Appends text or token ids. A string gets the model's begin token only if the session is empty.
   * @throws {@link RopewalkError} CACHE_FULL (nothing is appended), INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED; rejects
   * with the signal's reason.
   */
  async append(input: string | Iterable<number>, options: SessionAppendOptions = {}): Promise<void> {
    const tokens = this.#encode(input);
    if (this.length + tokens.length > this.#contextLength) {
      fail(
        "CACHE_FULL",
        "tokens",
        `${tokens.length} more tokens don't fit: ${this.length} of ${this.#contextLength} are used; call shift() or rewind(), or use a larger contextLength`,
      );
    }
    await this.#read(tokens, options);
  }

  /**
   * Returns the logits of the next token.
   * @returns [vocabularySize], a copy
   * @throws {@link RopewalkError} INVALID_ARGUMENT (the session is empty), DISPOSED.
   */
  logits(): Float32Array {
    return this.#core.heap.floats(this.#freshLogits(), this.#core.vocabularySize).slice();
  }

  /**
   * Returns the most probable next tokens, most probable first.
   * @param count - number of tokens, from 1
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  logprobs(count = 10): TokenProbability[] {
    const size = this.#core.vocabularySize;
    return mostProbable(this.#core.heap, this.#freshLogits(), size, wholeNumber(count, 1, size, "count"));
  }

  /**
   * Returns ln p of a token as the next one.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  logprobOf(token: number): number {
    const size = this.#core.vocabularySize;
    return logprobOf(this.#core.heap, this.#freshLogits(), size, wholeNumber(token, 0, size - 1, "token"));
  }

  /**
   * Returns the hidden state of the last token after the final norm: an embedding of the text.
   * @returns [hiddenSize], a copy
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  hidden(): Float32Array {
    this.#freshLogits();
    return this.#hidden!.slice();
  }

  /**
   * Continues the text token by token. Each yielded token is already part of the session, except an end or stop token,
   * and the last token of a full context. The session stays usable after an abort or after leaving the loop.
   * @throws {@link RopewalkError} INVALID_ARGUMENT (the session is empty, or an invalid option), OUT_OF_MEMORY,
   * DISPOSED; rejects with the signal's reason.
   */
  generate(options: GenerateOptions = {}): AsyncGenerator<Piece, void, void> {
    return generate(
      {
        heap: this.#core.heap,
        tokenizer: this.#tokenizer,
        // some models pad the embedding with rows that no token uses
        vocabularySize: Math.min(this.#core.vocabularySize, this.#tokenizer.vocabularySize),
        tokens: this.#tokens,
        logits: () => this.#freshLogits(),
        append: (token) => this.#read(Int32Array.of(token), {}),
        isFull: () => this.length >= this.#contextLength,
        shift: (keep) => this.shift({ keep, discard: Math.max(1, (this.length - keep) >> 1) }),
        extend: () => this.extend(),
      },
      { ...this.#sampling, ...options },
    );
  }

  /**
   * Removes all tokens after the first `length`.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  rewind(length: number): void {
    const { heap } = this.#core;
    heap.check(heap.module.kv_truncate(this.#cache.address, 0, wholeNumber(length, 0, this.length, "length")));
    this.#tokens.length = length;
    this.#hasFreshLogits = false;
  }

  /**
   * Removes `discard` tokens after the first `keep` and moves the rest down, which makes room for more. The keys of
   * moved tokens are re-rotated to their new positions exactly. Their values aren't recomputed, so they still reflect
   * the removed tokens.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_POSITION, DISPOSED, OUT_OF_MEMORY.
   */
  shift({ keep = 0, discard }: { keep?: number; discard: number }): void {
    shiftCache(this.#cache, { keep, discard });
    this.#tokens.splice(keep, discard);
    this.#hasFreshLogits = false;
  }

  /**
   * Changes the RoPE. Cached keys are re-rotated, so the text isn't read again.
   * @param overrides - as in `rw.model()`
   * @param options - `kind` of layer to change, and a new context length. Default: `full_attention`, and the same length
   * @throws {@link RopewalkError} as `ropeConfig()`; INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  retune(overrides: RopeOverrides, options: { kind?: ModelLayer["kind"]; contextLength?: number } = {}): void {
    const kind = options.kind ?? "full_attention";
    const group = this.#groupOf(kind);
    if (group === undefined) fail("INVALID_ARGUMENT", "kind", `no ${kind} layer of this model has RoPE`);
    const rope = overrideRopeConfig(this.#ropes[group]!, overrides);
    const contextLength = checkContext(options.contextLength ?? this.#contextLength);
    this.#setRope(group, rope, this.length);
    this.#contextLength = contextLength;
    this.#hasFreshLogits = false;
  }

  /**
   * Doubles the context length, with the YaRN factor that reaches it.
   * @throws {@link RopewalkError} UNSUPPORTED_MODEL (YaRN can't replace the model's scaling), and as {@link
   * Session.retune}.
   */
  extend(): void {
    const contextLength = 2 * this.#contextLength;
    const overrides = extendedOverrides(this.rope, this.#core.plan.trainedLength, contextLength);
    if (overrides === undefined) this.#contextLength = checkContext(contextLength);
    else this.retune(overrides, { contextLength });
  }

  /**
   * Creates an independent session with the same tokens, keys and values.
   * @throws {@link RopewalkError} OUT_OF_MEMORY, DISPOSED.
   */
  fork(): Session {
    const copy = new Session(this.#core, this.#tokenizer, this.#cacheSettings, this.#contextLength, this.#sampling);
    try {
      copy.restore(this.save());
      return copy;
    } catch (error) {
      copy.dispose();
      throw error;
    }
  }

  /**
   * Returns bytes that {@link Session.restore} reads, also in another page or process with the same model. They contain
   * tokens, keys, values and RoPE, with a version and a checksum.
   * @throws {@link RopewalkError} OUT_OF_MEMORY, DISPOSED.
   */
  save(): Uint8Array {
    return writeSession(
      { tokens: this.#tokens, contextLength: this.#contextLength, ropes: this.#ropes },
      saveCache(this.#cache, 0),
    );
  }

  /**
   * Replaces the contents of this session by saved ones. On failure the session is unchanged.
   * @throws {@link RopewalkError} INVALID_BYTES (damaged, or saved with another model), OUT_OF_MEMORY, DISPOSED.
   */
  restore(bytes: Uint8Array): void {
    const { tokens, contextLength, ropes, cache } = readSession(bytes, this.#cache.groups.length);
    const before = this.#ropes;
    const setRopes = (configs: readonly Readonly<RopeConfig>[], length: number): void =>
      configs.forEach((rope, group) => this.#setRope(group, rope, length));
    try {
      setRopes(ropes, tokens.length);
      restoreCache(this.#cache, cache, 0);
    } catch (error) {
      setRopes(before, this.length);
      throw error;
    }
    this.#tokens.splice(0, Infinity, ...tokens);
    this.#contextLength = contextLength;
    this.#hasFreshLogits = false;
  }

  /** Frees the memory. Calling it twice is harmless. Using the session afterwards throws DISPOSED. */
  dispose(): void {
    this.#cache.dispose();
    this.#logits.dispose();
  }

  /** Same as {@link Session.dispose}. */
  [disposeSymbol](): void {
    this.dispose();
  }

  #encode(input: string | Iterable<number>): Int32Array {
    if (typeof input === "string") return this.#tokenizer.encode(input, { special: this.length === 0 });
    const tokens = [...input];
    for (const [i, token] of tokens.entries()) wholeNumber(token, 0, this.#core.vocabularySize - 1, `tokens[${i}]`);
    return Int32Array.from(tokens);
  }

  async #read(added: Int32Array, { signal, onProgress }: SessionAppendOptions): Promise<void> {
    const length = this.length + added.length;
    const needsReread = this.#ropes.some(
      (rope) => this.length > 0 && usesLongFactors(rope, length) !== usesLongFactors(rope, this.length),
    );
    const reread = needsReread ? this.length : 0;
    const tokens = needsReread ? Int32Array.from([...this.#tokens, ...added]) : added;
    if (needsReread) this.rewind(0);
    if (this.length === 0) this.#ropes.forEach((rope, group) => this.#setRope(group, rope, length));
    const yielder = new EventLoopYielder();
    for (let first = 0; first < tokens.length; first += BATCH_TOKENS) {
      if (first >= reread) signal?.throwIfAborted(); // an abort must not lose tokens that were read before
      this.#forward(tokens.slice(first, first + BATCH_TOKENS), first + BATCH_TOKENS >= tokens.length);
      onProgress?.({ done: Math.min(first + BATCH_TOKENS, tokens.length), total: tokens.length });
      await yielder.yieldIfDue();
    }
    signal?.throwIfAborted();
  }

  /** Sets the RoPE of a group of layers for a text of `length` tokens. */
  #setRope(group: number, rope: Readonly<RopeConfig>, length: number): void {
    const effective = usesLongFactors(rope, length) ? withLongFactors(rope) : rope;
    const { config, layers } = this.#cache.groups[group]!;
    if (JSON.stringify(effective) !== JSON.stringify(config)) retuneCache(this.#cache, { rope: effective, layers });
    this.#ropes = this.#ropes.map((current, i) => (i === group ? rope : current));
  }

  /**
   * Runs a batch through the model. Logits cost a product with the whole vocabulary, so only the last batch computes
   * them.
   */
  #forward(tokens: Int32Array, isLast = true): void {
    const core = this.#core;
    core.forward(this.#cache, tokens);
    this.#hasFreshLogits = false;
    this.#tokens.push(...tokens);
    if (!isLast) return;
    core.writeLogits(tokens.length - 1, this.#logits.address);
    this.#hidden = core.hidden(tokens.length - 1);
    this.#hasFreshLogits = true;
  }

  /** Address of the logits after the last token. If the cache has changed since, the last token is read again. */
  #freshLogits(): number {
    const last = this.#tokens.at(-1);
    if (last === undefined) fail("INVALID_ARGUMENT", "session", "is empty; call append() first");
    if (!this.#hasFreshLogits) {
      this.rewind(this.length - 1);
      this.#forward(Int32Array.of(last));
    }
    return this.#logits.address;
  }

  #groupOf(kind: ModelLayer["kind"]): number | undefined {
    const layer = this.#core.plan.layers.findIndex((candidate) => candidate.kind === kind && candidate.rope !== null);
    return layer < 0 ? undefined : this.#cache.layers[layer]!.group;
  }
}

/** Throws INVALID_ARGUMENT for an invalid context length. @internal */
export function checkContext(length: number): number {
  return wholeNumber(length, 1, 2 ** 24, "contextLength");
}

function freeLogits(heap: Heap, address: number): void {
  heap.free(address);
}
