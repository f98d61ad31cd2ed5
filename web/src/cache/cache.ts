import { wholeNumber } from "../base/checks.js";
import type { RopeConfig } from "../config/types.js";
import { disposeSymbol } from "../base/dispose.js";
import type { CacheDType } from "../memory/elements.js";
import { append, type AppendOptions } from "./append.js";
import { attend, type CachedAttentionOptions } from "./attend.js";
import type { KvCacheCore } from "./core.js";
import type { KeyMode } from "./options.js";
import { restore, save } from "./image.js";
import { heldPositions, type HeldTokens, read, type ReadOptions } from "./read.js";
import { possibility, type Possibility, retune, type RetuneOptions, shift, type ShiftOptions } from "./retune.js";
import type { Tensor } from "../memory/tensor.js";

/** Which sequence of a cache is meant. */
export interface SequenceOptions {
  /** Index of the sequence (0; to be named in a cache of several). */
  sequence?: number;
}

/** What to copy from one sequence to another. */
export interface CopyPrefixOptions {
  /** Sequence to copy from. */
  from: number;
  /** Sequence to copy to; what it held is given up. */
  to: number;
  /** Number of tokens, from the first on (all). */
  length?: number;
}

/**
 * Keys and values of a model's layers, whose positions and ropes can be changed after they were cached. Made by `rw.kvCache()`.
 *
 * Scores are always those of keys computed afresh at their present positions, under the plan for the present length: where a rope's
 * frequencies depend on the length (dynamic, dynamic_yarn, longrope), `append()` turns the keys held as the length passes a boundary. Everything
 * is checked before anything is changed.
 */
export class KvCache implements Disposable {
  readonly #core: KvCacheCore;

  /** @internal */
  constructor(core: KvCacheCore) {
    this.#core = core;
  }

  /** Number of layers. */
  get layers(): number {
    return this.#core.layers.length;
  }

  /** Number of sequences. */
  get sequences(): number {
    return this.#core.sequences;
  }

  /** Tokens of a sequence at most. */
  get maxLength(): number {
    return this.#core.maxLength;
  }

  /** Element type in which keys and values are held. */
  get dtype(): CacheDType {
    return this.#core.dtype;
  }

  /** How keys are held. */
  get keys(): KeyMode {
    return this.#core.keys;
  }

  /** Number of position axes: the most that any rope has. */
  get axes(): number {
    return this.#core.axes;
  }

  /** Tokens of the first sequence. */
  get length(): number {
    return this.lengthOf(0);
  }

  /** Bytes of wasm memory that hold tokens now, of all sequences. `rw.kvCacheBytes()` tells it beforehand. */
  get bytes(): number {
    return this.#core.heap.module.kv_bytes(this.#core.address);
  }

  /**
   * Tokens of a sequence: what the layer furthest on has been given.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  lengthOf(sequence: number): number {
    return this.#core.tokens(this.#core.sequence(sequence));
  }

  /**
   * Where the tokens of a sequence (0; to be named in a cache of several) stand.
   * @returns [axes · length] positions, one axis after the other.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  positions(sequence?: number): Float64Array {
    return heldPositions(this.#core, this.#core.sequence(sequence));
  }

  /**
   * The config that turns a layer's keys now; null for a layer without RoPE.
   * @throws {@link RopewalkError} INVALID_ARGUMENT.
   */
  config(layer = 0): Readonly<RopeConfig> | null {
    return this.#core.groups[this.#core.layers[this.#core.layer(layer)]!.group]?.config ?? null;
  }

  /**
   * Takes up new tokens of a layer in one call into wasm: turns and stores k, stores v, turns q in place.
   * @throws {@link RopewalkError} CACHE_FULL, INVALID_SHAPE, INVALID_DTYPE, INVALID_POSITION, INVALID_ARGUMENT (NaN and infinity in k or v
   * included), DISPOSED, OUT_OF_MEMORY.
   */
  append(options: AppendOptions): void {
    append(this.#core, options);
  }

  /**
   * Attends to what a layer holds, from the queries that `append()` has turned: those of the newest tokens.
   *
   * @param q - f32; [B, T, H, D], [B, H, T, D] or [T, H, D] as `layout` says.
   * @returns `out`, or something new of q's kind and shape.
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
  truncate(length: number, options: SequenceOptions = {}): void {
    const { heap, address, maxLength } = this.#core;
    const sequence = this.#core.sequence(options.sequence);
    heap.check(heap.module.kv_truncate(address, sequence, wholeNumber(length, 0, maxLength, "length")));
  }

  /**
   * Takes tokens out of a sequence, and moves those behind into their place: the first of them stands where the first of those taken out stood.
   * With rotated keys, one rotation and rounding of each; values stay.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_POSITION, DISPOSED, OUT_OF_MEMORY.
   */
  shift(options: ShiftOptions): void {
    shift(this.#core, options, true);
  }

  /**
   * Whether {@link KvCache.shift} would do, and if not, why.
   * @throws {@link RopewalkError} DISPOSED.
   */
  canShift(options: ShiftOptions): Possibility {
    return possibility(() => shift(this.#core, options, false));
  }

  /**
   * Makes the first tokens of one sequence those of another too, as a copy of its own.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  copyPrefix(options: CopyPrefixOptions): void {
    const core = this.#core;
    const from = core.sequence(options.from, "from");
    const to = core.sequence(options.to, "to");
    const length = wholeNumber(options.length ?? core.tokens(from), 0, core.maxLength, "length");
    core.heap.check(core.heap.module.kv_copy_prefix(core.address, from, to, length));
  }

  /**
   * Makes another rope turn layers, or tokens stand elsewhere, or both: keys become those that the same k would have given from the start. Keys that
   * are rotated turn once from old to new; raw ones stay. (Above the first layer, what k and v say of the text they were made from stays what
   * lower layers made of it.) Turned to a type that changes with every length, rotated keys turn at each token from then on.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_SHAPE, INVALID_POSITION, INVALID_CONFIG, UNKNOWN_KEY, UNSUPPORTED_ROPE_TYPE,
   * DISPOSED, OUT_OF_MEMORY.
   */
  retune(options: RetuneOptions): void {
    retune(this.#core, options, true);
  }

  /**
   * Whether {@link KvCache.retune} would do, and if not, why.
   * @throws {@link RopewalkError} DISPOSED.
   */
  canRetune(options: RetuneOptions): Possibility {
    return possibility(() => retune(this.#core, options, false));
  }

  /**
   * Keys and values as they are held, for a look at them.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  read(options: ReadOptions = {}): HeldTokens {
    return read(this.#core, options);
  }

  /**
   * A sequence as bytes: the same for the same tokens on every machine, with the `simd` build.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  save(options: SequenceOptions = {}): Uint8Array {
    return save(this.#core, this.#core.sequence(options.sequence));
  }

  /**
   * Puts a saved sequence in the place of one of this cache, which has the same layers, heads, element type and kind of keys; keys that another
   * rope had turned are turned to this cache's.
   * @throws {@link RopewalkError} INVALID_BYTES, CACHE_FULL, INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY; the cache is then as it was.
   */
  restore(bytes: Uint8Array, options: SequenceOptions = {}): void {
    restore(this.#core, bytes, this.#core.sequence(options.sequence));
  }

  /**
   * Empties all sequences and gives their memory back.
   * @throws {@link RopewalkError} DISPOSED.
   */
  clear(): void {
    for (let sequence = 0; sequence < this.sequences; sequence++) this.truncate(0, { sequence });
  }

  /** Gives the memory back. Doing so twice is harmless. */
  dispose(): void {
    this.#core.dispose();
  }

  /** As {@link KvCache.dispose}, for `using`. */
  [disposeSymbol](): void {
    this.dispose();
  }
}
