import { wholeNumber } from "../base/checks.js";
import { checkOptions, optionNames } from "../base/options.js";
import type { RopeConfig } from "../config/types.js";
import { disposeSymbol } from "../base/dispose.js";
import type { CacheDType } from "../memory/elements.js";
import { append, type AppendOptions } from "./append.js";
import { attend, type CachedAttentionOptions } from "./attend.js";
import type { KvCacheCore } from "./core.js";
import type { KeyMode } from "./options.js";
import { restore, save } from "./image.js";
import { type CachedTokens, positionsOf, read, type ReadOptions } from "./read.js";
import {
  canRetune,
  canShift,
  type CheckResult,
  retune,
  type RetuneOptions,
  type Retuning,
  shift,
  type ShiftOptions,
} from "./retune.js";
import type { Rope } from "../rope/rope.js";
import type { Tensor } from "../memory/tensor.js";

/** Selects a sequence of a cache. */
export interface SequenceOptions {
  /** Index of the sequence. Required if the cache has several sequences. Default: 0. */
  sequence?: number;
}

/** What to copy from one sequence to another. */
export interface CopyPrefixOptions {
  /** Sequence to copy from. */
  from: number;
  /** Sequence to copy to; its tokens are discarded. */
  to: number;
  /** Number of tokens, counted from the first. Default: all. */
  length?: number;
}

const TRUNCATE_OPTIONS = optionNames<SequenceOptions>("truncate()", { sequence: true });
const SAVE_OPTIONS = optionNames<SequenceOptions>("save()", { sequence: true });
const RESTORE_OPTIONS = optionNames<SequenceOptions>("restore()", { sequence: true });
const COPY_OPTIONS = optionNames<CopyPrefixOptions>("copyPrefix()", { from: true, to: true, length: true });

/**
 * A KV cache: keys and values of a model's layers. Positions and ropes can change after tokens were cached. Made by `rw.kvCache()`.
 *
 * Scores are always those of keys computed from scratch at their current positions, under the plan for the current length. If a rope's frequencies
 * depend on the length (dynamic, dynamic_yarn, longrope), `append()` re-rotates the cached keys when the length passes a boundary. All arguments are
 * checked before anything changes.
 */
export class KvCache implements Disposable {
  readonly #core: KvCacheCore;

  private constructor(core: KvCacheCore) {
    this.#core = core;
  }

  /** @internal */
  static create(core: KvCacheCore): KvCache {
    return new this(core);
  }

  /** Number of layers. */
  get layers(): number {
    return this.#core.layers.length;
  }

  /** Number of sequences. */
  get sequences(): number {
    return this.#core.sequences;
  }

  /** Maximum number of tokens of a sequence. */
  get maxLength(): number {
    return this.#core.maxLength;
  }

  /** Element type of the stored keys and values. */
  get dtype(): CacheDType {
    return this.#core.dtype;
  }

  /** How keys are stored. */
  get keys(): KeyMode {
    return this.#core.keys;
  }

  /** Number of position axes: the maximum over all ropes. */
  get axes(): number {
    return this.#core.axes;
  }

  /** Number of tokens of the first sequence. */
  get length(): number {
    return this.lengthOf(0);
  }

  /** Bytes of wasm memory that the tokens of all sequences take now. `rw.kvCacheBytes()` predicts it for sequences that share nothing. */
  get bytes(): number {
    return this.#core.heap.module.kv_bytes(this.#core.address);
  }

  /**
   * Number of tokens of a sequence: the maximum over its layers.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  lengthOf(sequence: number): number {
    return this.#core.tokens(this.#core.sequence(sequence));
  }

  /**
   * Positions of the tokens of a sequence. Required if the cache has several sequences. Default: 0.
   * @returns [axes · length] positions, axis by axis.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  positions(sequence?: number): Float64Array {
    return positionsOf(this.#core, this.#core.sequence(sequence));
  }

  /**
   * The current config of a layer's rope; null for a layer without RoPE.
   * @throws {@link RopewalkError} INVALID_ARGUMENT.
   */
  config(layer = 0): Readonly<RopeConfig> | null {
    return this.#core.groups[this.#core.layers[this.#core.layer(layer)]!.group]?.config ?? null;
  }

  /**
   * Appends new tokens to a layer in one call into wasm: rotates and stores k, stores v, rotates q in place.
   * @throws {@link RopewalkError} CACHE_FULL, INVALID_SHAPE, INVALID_DTYPE, INVALID_POSITION, INVALID_ARGUMENT (also for NaN and infinity in k or
   * v), DISPOSED, OUT_OF_MEMORY.
   */
  append(options: AppendOptions): void {
    append(this.#core, options);
  }

  /**
   * Attends to the cached keys and values of a layer. The queries are those that `append()` has rotated: the newest tokens.
   *
   * @param q - f32; [B, T, H, D], [B, H, T, D] or [T, H, D] as `layout` says.
   * @returns `out`, or a new array or Tensor like q.
   * @throws {@link RopewalkError} as {@link KvCache.append}.
   */
  attend<Q extends Tensor | Float32Array, Out extends Tensor | Float32Array = Q>(
    q: Q,
    options: CachedAttentionOptions<Out>,
  ): Out {
    return attend(this.#core, q, options);
  }

  /**
   * Keeps the first `length` tokens of a sequence.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  truncate(length: number, options?: SequenceOptions): void {
    const { sequence: given } = checkOptions(options, TRUNCATE_OPTIONS);
    const { heap, address, maxLength } = this.#core;
    const sequence = this.#core.sequence(given);
    heap.check(heap.module.kv_truncate(address, sequence, wholeNumber(length, 0, maxLength, "length")));
  }

  /**
   * Discards tokens and moves later ones down: the first of them gets the position of the first discarded token. Rotated keys are rotated and
   * rounded once each, which adds up over many shifts; raw keys and values stay the same.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_POSITION, DISPOSED, OUT_OF_MEMORY.
   */
  shift(options: ShiftOptions): void {
    shift(this.#core, options);
  }

  /**
   * Whether {@link KvCache.shift} is possible and, if not, why. OUT_OF_MEMORY is not predicted.
   * @throws {@link RopewalkError} DISPOSED, OUT_OF_MEMORY.
   */
  canShift(options: ShiftOptions): CheckResult {
    return canShift(this.#core, options);
  }

  /**
   * Replaces a sequence with a copy of the first tokens of another. Both use the same memory until one of them changes: then that one copies
   * the pages (of 32 tokens) that it changes.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  copyPrefix(options: CopyPrefixOptions): void {
    const { from: givenFrom, to: givenTo, length: givenLength } = checkOptions(options, COPY_OPTIONS);
    const core = this.#core;
    const from = core.sequence(givenFrom, "from");
    const to = core.sequence(givenTo, "to");
    const length = wholeNumber(givenLength ?? core.tokens(from), 0, core.maxLength, "length");
    core.heap.check(core.heap.module.kv_copy_prefix(core.address, from, core.address, to, length));
  }

  /**
   * Changes the rope of layers, the positions of tokens, or both. Afterwards the keys are those that the same k would have given from the start.
   * Rotated keys are rotated once, from the old rope and positions to the new, and rounded once; raw keys stay the same. Above the first layer, k and v still come
   * from activations that lower layers computed before the change. If the new rope's frequencies change with every length, rotated keys are
   * re-rotated at each token from then on. On failure nothing changes.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_SHAPE, INVALID_POSITION, INVALID_CONFIG, UNKNOWN_KEY, UNSUPPORTED_ROPE_TYPE,
   * DISPOSED, OUT_OF_MEMORY.
   */
  retune(rope: Rope | RopeConfig, options?: Omit<RetuneOptions, "rope">): void;
  retune(options: RetuneOptions): void;
  retune(change: Retuning, options?: RetuneOptions): void {
    retune(this.#core, change, options);
  }

  /**
   * Whether {@link KvCache.retune} is possible and, if not, why. OUT_OF_MEMORY is not predicted.
   * @throws {@link RopewalkError} DISPOSED, OUT_OF_MEMORY.
   */
  canRetune(rope: Rope | RopeConfig, options?: Omit<RetuneOptions, "rope">): CheckResult;
  canRetune(options: RetuneOptions): CheckResult;
  canRetune(change: Retuning, options?: RetuneOptions): CheckResult {
    return canRetune(this.#core, change, options);
  }

  /**
   * Copies keys and values as they are stored, for inspection.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  read(options?: ReadOptions): CachedTokens {
    return read(this.#core, options);
  }

  /**
   * Saves a sequence as bytes. With the `simd` build the same tokens give the same bytes on every machine.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  save(options?: SequenceOptions): Uint8Array {
    const { sequence } = checkOptions(options, SAVE_OPTIONS);
    return save(this.#core, this.#core.sequence(sequence));
  }

  /**
   * Replaces a sequence with a saved one. The cache must have the same layers, heads, element type and kind of keys and,
   * unless keys are raw, ropes with the same rotated span, pairing and position axes. Keys that were rotated by another
   * rope are re-rotated to this cache's rope.
   * @throws {@link RopewalkError} INVALID_BYTES, CACHE_FULL, INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY. On failure nothing changes.
   */
  restore(bytes: Uint8Array, options?: SequenceOptions): void {
    const { sequence } = checkOptions(options, RESTORE_OPTIONS);
    restore(this.#core, bytes, this.#core.sequence(sequence));
  }

  /**
   * Empties all sequences and frees their memory.
   * @throws {@link RopewalkError} DISPOSED.
   */
  clear(): void {
    for (let sequence = 0; sequence < this.sequences; sequence++) this.truncate(0, { sequence });
  }

  /** Frees the memory. Calling it twice is harmless. */
  dispose(): void {
    this.#core.dispose();
  }

  /** Same as {@link KvCache.dispose}, for `using`. */
  [disposeSymbol](): void {
    this.dispose();
  }
}
