import { wholeNumber } from "../base/checks.js";
import { overrideRopeConfig } from "../config/rope_config.js";
import type { RopeOverrides } from "../config/overrides.js";
import type { RopeConfig } from "../config/types.js";
import { disposeSymbol } from "../base/dispose.js";
import { RopewalkError } from "../base/errors.js";
import type { Heap } from "../memory/heap.js";
import type { KvCacheCore } from "../cache/core.js";
import { restore as restoreCache, save as saveCache } from "../cache/image.js";
import { retune as retuneCache, shift as shiftCache } from "../cache/retune.js";
import { Owned } from "../memory/owned.js";
import type { Tokenizer } from "../text/tokenizer.js";
import { Turns } from "./breathe.js";
import { extendedOverrides } from "./extend.js";
import { alwaysLong, isLong } from "./long_rope.js";
import { generate, type GenerateOptions, type Piece } from "./generate.js";
import { type CacheChoice, type ModelCore, TOKENS_AT_ONCE } from "./model_core.js";
import type { ModelLayer } from "./model_plan.js";
import { logprobOf, mostProbable, type SamplingOptions, type TokenProbability } from "./sampler.js";
import { readSession, writeSession } from "./session_image.js";

/** What a session is to hold. */
export interface SessionOptions {
  /** Tokens at most, 1 to 2^24 (the model's `contextLength`). {@link Session.retune} and the policy `extend` can change it. */
  contextLength?: number;
}

/** What accompanies a long call. */
export interface SessionAppendOptions {
  /** Gives up after each piece, and rejects with its reason; what has been taken up stays, after the last piece all of it. */
  signal?: AbortSignal;
  /** Called after each piece. */
  onProgress?: (progress: { done: number; total: number }) => void;
}

/**
 * A text that a model has read, and may go on with: its tokens, and their keys and values in a cache. Made by `model.session()`.
 */
export class Session implements Disposable {
  readonly #core: ModelCore;
  readonly #cache: KvCacheCore;
  readonly #choice: CacheChoice;
  readonly #tokenizer: Tokenizer;
  /** What the model's files say of sampling. */
  readonly #sampling: SamplingOptions;
  readonly #logits: Owned;
  readonly #tokens: number[] = [];
  /** What turns each group of layers, as it was asked for; the cache holds it as it is in force (long_rope.ts). */
  #ropes: Readonly<RopeConfig>[];
  #contextLength: number;
  #isFresh = false; // whether #logits are those after the last token
  #hidden: Float32Array | undefined;

  /** @internal */
  constructor(
    core: ModelCore,
    tokenizer: Tokenizer,
    choice: CacheChoice,
    contextLength: number,
    sampling: SamplingOptions,
  ) {
    this.#core = core;
    this.#tokenizer = tokenizer;
    this.#choice = choice;
    this.#sampling = sampling;
    this.#contextLength = checkContext(contextLength);
    this.#cache = core.newCache(choice);
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

  /** Tokens held, oldest first. */
  get tokens(): readonly number[] {
    return this.#tokens;
  }

  /** Number of tokens held. */
  get length(): number {
    return this.#tokens.length;
  }

  /** Tokens that may be held. */
  get contextLength(): number {
    return this.#contextLength;
  }

  /** Bytes of wasm memory that keys and values take now. */
  get bytes(): number {
    return this.#core.heap.module.kv_bytes(this.#cache.address);
  }

  /** The text of all tokens, special ones left out. */
  get text(): string {
    return this.#tokenizer.decode(this.#tokens);
  }

  /**
   * What turns the layers that see the whole context; null where none is turned.
   */
  get rope(): Readonly<RopeConfig> | null {
    return this.#ropes[this.#groupOf("full_attention") ?? this.#groupOf("sliding_attention") ?? -1] ?? null;
  }

  /**
   * Reads more text. A string is encoded without a begin token, unless it is the first.
   * @throws {@link RopewalkError} CACHE_FULL (nothing is taken up), INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED; rejects with the signal's reason.
   */
  async append(input: string | Iterable<number>, options: SessionAppendOptions = {}): Promise<void> {
    const tokens = this.#encode(input);
    if (this.length + tokens.length > this.#contextLength) {
      throw new RopewalkError(
        "CACHE_FULL",
        "tokens",
        `${tokens.length} more tokens do not fit: ${this.length} of ${this.#contextLength} are taken; shift(), rewind(), or use a larger contextLength`,
      );
    }
    await this.#read(tokens, options);
  }

  /**
   * Logits of the token that comes next.
   * @returns [vocabularySize], a copy.
   * @throws {@link RopewalkError} INVALID_ARGUMENT (nothing has been read), DISPOSED.
   */
  logits(): Float32Array {
    return this.#core.heap.floats(this.#freshLogits(), this.#core.vocabularySize).slice();
  }

  /**
   * The most probable tokens to come next, most probable first.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  logprobs(count = 10): TokenProbability[] {
    const size = this.#core.vocabularySize;
    return mostProbable(this.#core.heap, this.#freshLogits(), size, wholeNumber(count, 1, size, "count"));
  }

  /**
   * ln p that a token comes next.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  logprobOf(token: number): number {
    const size = this.#core.vocabularySize;
    return logprobOf(this.#core.heap, this.#freshLogits(), size, wholeNumber(token, 0, size - 1, "token"));
  }

  /**
   * The last hidden state of the newest token, normalized as the head reads it: an embedding of the text.
   * @returns [hidden size], a copy.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  hidden(): Float32Array {
    this.#freshLogits();
    return this.#hidden!.slice();
  }

  /**
   * Goes on with the text, token by token. What it yields has been taken up; given up by the signal or by leaving the loop, the session can be
   * used on.
   * @throws {@link RopewalkError} INVALID_ARGUMENT (nothing has been read, options), OUT_OF_MEMORY, DISPOSED; rejects with the signal's reason.
   */
  generate(options: GenerateOptions = {}): AsyncGenerator<Piece, void, void> {
    return generate(
      {
        heap: this.#core.heap,
        tokenizer: this.#tokenizer,
        vocabularySize: Math.min(this.#core.vocabularySize, this.#tokenizer.vocabularySize), // some models have rows that stand for nothing
        tokens: this.#tokens,
        logits: () => this.#freshLogits(),
        take: (token) => this.#read(Int32Array.of(token), {}),
        isFull: () => this.length >= this.#contextLength,
        shift: (keep) => this.shift({ keep, discard: Math.max(1, (this.length - keep) >> 1) }),
        extend: () => this.extend(),
      },
      { ...this.#sampling, ...options },
    );
  }

  /**
   * Keeps the first `length` tokens.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  rewind(length: number): void {
    const { heap } = this.#core;
    heap.check(heap.module.kv_truncate(this.#cache.address, 0, wholeNumber(length, 0, this.length, "length")));
    this.#tokens.length = length;
    this.#isFresh = false;
  }

  /**
   * Takes tokens out, after the first `keep`, and moves those behind into their place: the context goes on with room for more. Their keys are
   * turned, exactly; their values still know what was taken out.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_POSITION, DISPOSED, OUT_OF_MEMORY.
   */
  shift({ keep = 0, discard }: { keep?: number; discard: number }): void {
    shiftCache(this.#cache, { keep, discard }, true);
    this.#tokens.splice(keep, discard);
    this.#isFresh = false;
  }

  /**
   * Changes the RoPE of what is held and of what comes: by the same overrides as in `rw.model()`. Cached keys are turned to the new one.
   * @param options - `kind` of layer (`full_attention`, or `sliding_attention` where a model's differ), and the context length from now on.
   * @throws {@link RopewalkError} as `ropeConfig()`; INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  retune(overrides: RopeOverrides, options: { kind?: ModelLayer["kind"]; contextLength?: number } = {}): void {
    const kind = options.kind ?? "full_attention";
    const group = this.#groupOf(kind);
    if (group === undefined) throw new RopewalkError("INVALID_ARGUMENT", "kind", `no layer of kind ${kind} has RoPE`);
    const rope = overrideRopeConfig(this.#ropes[group]!, overrides);
    const contextLength = checkContext(options.contextLength ?? this.#contextLength);
    this.#tune(group, rope, this.length);
    this.#contextLength = contextLength;
    this.#isFresh = false;
  }

  /**
   * Makes room for twice as many tokens, by the YaRN scaling that fits them.
   * @throws {@link RopewalkError} UNSUPPORTED_MODEL where the model's own scaling cannot be extended so; as {@link Session.retune}.
   */
  extend(): void {
    const contextLength = 2 * this.#contextLength;
    const overrides = extendedOverrides(this.rope, this.#core.plan.trainedLength, contextLength);
    if (overrides === undefined) this.#contextLength = checkContext(contextLength);
    else this.retune(overrides, { contextLength });
  }

  /**
   * A session of its own that has read the same.
   * @throws {@link RopewalkError} OUT_OF_MEMORY, DISPOSED.
   */
  fork(): Session {
    const copy = new Session(this.#core, this.#tokenizer, this.#choice, this.#contextLength, this.#sampling);
    try {
      copy.restore(this.save());
      return copy;
    } catch (error) {
      copy.dispose();
      throw error;
    }
  }

  /**
   * Everything needed to go on later, in another page or process with the same model: tokens, keys, values, RoPE. With version and checksum.
   * @throws {@link RopewalkError} OUT_OF_MEMORY, DISPOSED.
   */
  save(): Uint8Array {
    return writeSession(
      { tokens: this.#tokens, contextLength: this.#contextLength, ropes: this.#ropes },
      saveCache(this.#cache, 0),
    );
  }

  /**
   * Takes the place of what is held.
   * @throws {@link RopewalkError} INVALID_BYTES (damaged, or of another model), OUT_OF_MEMORY, DISPOSED; the session is then as it was.
   */
  restore(bytes: Uint8Array): void {
    const { tokens, contextLength, ropes, cache } = readSession(bytes, this.#cache.groups.length);
    const before = this.#ropes;
    const tuneAll = (configs: readonly Readonly<RopeConfig>[], length: number): void =>
      configs.forEach((rope, group) => this.#tune(group, rope, length));
    try {
      tuneAll(ropes, tokens.length);
      restoreCache(this.#cache, cache, 0);
    } catch (error) {
      tuneAll(before, this.length);
      throw error;
    }
    this.#tokens.splice(0, Infinity, ...tokens);
    this.#contextLength = contextLength;
    this.#isFresh = false;
  }

  /** Gives wasm memory back; using the session afterwards throws DISPOSED. */
  dispose(): void {
    this.#cache.dispose();
    this.#logits.dispose();
  }

  /** The same. */
  [disposeSymbol](): void {
    this.dispose();
  }

  #encode(input: string | Iterable<number>): Int32Array {
    if (typeof input === "string") return this.#tokenizer.encode(input, { special: this.length === 0 });
    const tokens = [...input];
    for (const [i, token] of tokens.entries()) wholeNumber(token, 0, this.#core.vocabularySize - 1, `tokens[${i}]`);
    return Int32Array.from(tokens);
  }

  async #read(given: Int32Array, { signal, onProgress }: SessionAppendOptions): Promise<void> {
    const length = this.length + given.length;
    const isOutgrown = this.#ropes.some(
      (rope) => this.length > 0 && isLong(rope, length) !== isLong(rope, this.length),
    );
    const again = isOutgrown ? this.length : 0;
    const tokens = isOutgrown ? Int32Array.from([...this.#tokens, ...given]) : given;
    if (isOutgrown) this.rewind(0);
    if (this.length === 0) this.#ropes.forEach((rope, group) => this.#tune(group, rope, length));
    const turns = new Turns();
    for (let first = 0; first < tokens.length; first += TOKENS_AT_ONCE) {
      if (first >= again) signal?.throwIfAborted(); // what had been read before is never lost
      this.#take(tokens.slice(first, first + TOKENS_AT_ONCE), first + TOKENS_AT_ONCE >= tokens.length);
      onProgress?.({ done: Math.min(first + TOKENS_AT_ONCE, tokens.length), total: tokens.length });
      await turns.give();
    }
    signal?.throwIfAborted();
  }

  /** Makes a rope hold for a group of layers, as a text of `length` is read under it. */
  #tune(group: number, rope: Readonly<RopeConfig>, length: number): void {
    const inForce = isLong(rope, length) ? alwaysLong(rope) : rope;
    const { config, layers } = this.#cache.groups[group]!;
    if (JSON.stringify(inForce) !== JSON.stringify(config)) retuneCache(this.#cache, { rope: inForce, layers }, true);
    this.#ropes = this.#ropes.map((one, i) => (i === group ? rope : one));
  }

  /** Takes tokens up; logits, a product with the whole vocabulary, are made only of the last that are at hand. */
  #take(tokens: Int32Array, isLast = true): void {
    const core = this.#core;
    core.forward(this.#cache, tokens);
    this.#isFresh = false;
    this.#tokens.push(...tokens);
    if (!isLast) return;
    core.writeLogits(tokens.length - 1, this.#logits.address);
    this.#hidden = core.hidden(tokens.length - 1);
    this.#isFresh = true;
  }

  /** Where the logits after the last token lie. What changed the cache since is made good by reading that token again. */
  #freshLogits(): number {
    const last = this.#tokens.at(-1);
    if (last === undefined)
      throw new RopewalkError("INVALID_ARGUMENT", "session", "has read nothing yet: append() a text first");
    if (!this.#isFresh) {
      this.rewind(this.length - 1);
      this.#take(Int32Array.of(last));
    }
    return this.#logits.address;
  }

  #groupOf(kind: ModelLayer["kind"]): number | undefined {
    const layer = this.#core.plan.layers.findIndex((one) => one.kind === kind && one.rope !== null);
    return layer < 0 ? undefined : this.#cache.layers[layer]!.group;
  }
}

/** Checks a context length. @internal */
export function checkContext(length: number): number {
  return wholeNumber(length, 1, 2 ** 24, "contextLength");
}

function freeLogits(heap: Heap, address: number): void {
  heap.free(address);
}
