import { attention, type AttentionOptions } from "../attention/attention.js";
import type { RopeConfig } from "../config/types.js";
import { describe, smallestBase } from "../rope/describe.js";
import type { Description } from "../rope/description.js";
import type { DType, ElementArray } from "../memory/elements.js";
import type { CachedModel } from "../files/cache/models.js";
import type { FilePlatform, ModelSource } from "../files/model_files.js";
import type { Heap } from "../memory/heap.js";
import { KvCache } from "../cache/cache.js";
import { kvCacheBytes, type KvCacheBytesOptions, KvCacheCore } from "../cache/core.js";
import type { KvCacheOptions } from "../cache/options.js";
import { linearAttention, type LinearAttentionOptions } from "../attention/linear_attention.js";
import { LinearState, type LinearStateOptions } from "../attention/linear_state.js";
import { convertPairing, type ConvertPairingOptions } from "../rope/pairing.js";
import {
  alibiSlopes,
  sinusoidalTable,
  type SinusoidalTableOptions,
  t5Buckets,
  type T5BucketOptions,
} from "../attention/position_tables.js";
import type { PositionArray } from "../memory/positions.js";
import type { Model, ModelInfo, ModelOptions } from "../model/model.js";
import { Rope } from "../rope/rope.js";
import { RopeCore } from "../rope/core.js";
import { Tensor } from "../memory/tensor.js";
import type { Tokenizer } from "../text/tokenizer.js";

/**
 * `simd`: every current engine, the same bits everywhere. `relaxed`: fused multiply-add where the processor has it, so the last bits may
 * differ. `scalar`: the reference kernels in the simd file, for comparing.
 */
export const BUILDS = ["simd", "relaxed", "scalar"] as const;
/** One of {@link BUILDS}. */
export type Build = (typeof BUILDS)[number];

/** The loaded module: everything begins here. Made by `load()`. */
export class Ropewalk {
  /** Which build is running. */
  readonly build: Build;
  readonly #heap: Heap;
  readonly #files: FilePlatform;

  /** @internal */
  constructor(heap: Heap, build: Build, files: FilePlatform) {
    this.#heap = heap;
    this.build = build;
    this.#files = files;
  }

  /** Bytes of wasm memory, used or not. It grows and never shrinks; only the end of the page or worker gives it back. */
  get memoryBytes(): number {
    return this.#heap.buffer.byteLength;
  }

  /**
   * Rotary position embedding by `config`, which `ropeConfig()` makes of a model's files.
   * @throws {@link RopewalkError} INVALID_CONFIG, UNKNOWN_KEY, UNSUPPORTED_ROPE_TYPE, OUT_OF_MEMORY.
   */
  rope(config: RopeConfig): Rope {
    return new Rope(this.#core(config));
  }

  /**
   * A tensor of zeros in wasm memory, on which kernels work without copies.
   * @param shape - extents, the last contiguous.
   * @throws {@link RopewalkError} INVALID_SHAPE, INVALID_DTYPE, OUT_OF_MEMORY.
   */
  tensor(shape: readonly number[], dtype: DType = "f32"): Tensor {
    return new Tensor(this.#heap, shape, dtype);
  }

  /**
   * What `config` means at a sequence length (the trained one).
   * @throws {@link RopewalkError} as {@link Ropewalk.rope}.
   */
  describe(config: RopeConfig, seqLen?: number): Description {
    return describe(this.#core(config), seqLen);
  }

  /**
   * Moves a q or k projection (or its bias) from one pairing to the other: the rows of the rotary span of each head are permuted, and scores
   * stay the same when q and k are converted alike.
   *
   * @param weights - [heads · head_dim, columns], any element type.
   * @returns a new array of the same kind.
   * @throws {@link RopewalkError} INVALID_SHAPE, INVALID_ARGUMENT, INVALID_CONFIG, OUT_OF_MEMORY.
   */
  convertPairing<Weights extends ElementArray>(weights: Weights, options: ConvertPairingOptions): Weights {
    return convertPairing(this.#heap, weights, options);
  }

  /**
   * The smallest base, to 0.1 %, at which plain RoPE keeps the score of equal vectors above zero over distances up to `window`
   * (Men et al. 2024, arXiv:2405.14591); null where none below 1e12 does.
   * @throws {@link RopewalkError} INVALID_CONFIG, INVALID_ARGUMENT.
   */
  smallestBase(rotary_dim: number, window: number): number | null {
    return smallestBase({ heap: this.#heap, geometry: { rotary_dim } }, window);
  }

  /**
   * Softmax attention, with or without RoPE, over keys and values that are at hand: softmax(q kᵀ · scale) v, by head and batch row. Query head h
   * reads key head ⌊h · KH / H⌋. No more memory than for a block of scores; arrays outside wasm memory are copied there for the call.
   *
   * @param q - f32 queries, [B, T, H, D], [B, H, T, D] or [T, H, D] as `layout` says.
   * @param k - keys of N tokens and KH heads, as `kvShape` says; f32, f16 or bf16.
   * @param v - values, in shape and element type as k.
   * @returns `out`, or something new of q's kind and shape. Queries that see no key are answered by zeros.
   * @throws {@link RopewalkError} INVALID_SHAPE, INVALID_DTYPE, INVALID_POSITION, INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  attention<Q extends Tensor | Float32Array, Out extends Tensor | Float32Array = Q>(
    q: Q,
    k: Tensor | ElementArray,
    v: Tensor | ElementArray,
    options: AttentionOptions<Out>,
  ): Out {
    return attention(this.#heap, this.#isScalar, q, k, v, options);
  }

  /**
   * A cache of keys and values, whose ropes and positions can be changed after they were cached.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_DTYPE, INVALID_CONFIG, UNKNOWN_KEY, UNSUPPORTED_ROPE_TYPE, DISPOSED (a rope),
   * OUT_OF_MEMORY.
   */
  kvCache(options: KvCacheOptions): KvCache {
    return new KvCache(new KvCacheCore(this.#heap, options, this.#isScalar));
  }

  /**
   * Bytes of wasm memory that all sequences of such a cache take at a length, exactly, without making it.
   * @throws {@link RopewalkError} as {@link Ropewalk.kvCache}.
   */
  kvCacheBytes(options: KvCacheBytesOptions): number {
    return kvCacheBytes(this.#heap, options);
  }

  /**
   * Attention without softmax, in time linear in the tokens, with φ(x) = elu(x) + 1 (Katharopoulos et al. 2020, arXiv:2006.16236):
   * Σ (φ(q)·φ(k)) v / Σ φ(q)·φ(k), by head and batch row. With a rope φ(q) and φ(k) are turned above the line only (RoFormer, equation 19).
   *
   * @param q - f32 queries, [B, T, H, D], [B, H, T, D] or [T, H, D] as `layout` says.
   * @param k - f32 keys of N tokens and KH heads, as `kvShape` says; finite, as v.
   * @returns `out`, or something new of q's kind and shape.
   * @throws {@link RopewalkError} as {@link Ropewalk.attention}.
   */
  linearAttention<Q extends Tensor | Float32Array, Out extends Tensor | Float32Array = Q>(
    q: Q,
    k: Tensor | Float32Array,
    v: Tensor | Float32Array,
    options: LinearAttentionOptions<Out>,
  ): Out {
    return linearAttention(this.#heap, q, k, v, options);
  }

  /**
   * The running sums of linear attention, for a sequence that goes on.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_SHAPE (heads), as {@link Ropewalk.rope}, DISPOSED (a rope), OUT_OF_MEMORY.
   */
  linearState(options: LinearStateOptions): LinearState {
    return new LinearState(this.#heap, options, this.#isScalar);
  }

  /**
   * The sinusoidal table of Vaswani et al. 2017 (arXiv:1706.03762): at position p, sin(p / base^(2i/dim)) and its cosine, in turn.
   *
   * @param lengthOrPositions - positions 0 … n−1, or n positions within ±2^31.
   * @param dim - columns, 1 to 8192.
   * @returns [n, dim].
   * @throws {@link RopewalkError} INVALID_POSITION, INVALID_ARGUMENT, OUT_OF_MEMORY.
   */
  sinusoidalTable(
    lengthOrPositions: number | PositionArray,
    dim: number,
    options?: SinusoidalTableOptions,
  ): Float32Array {
    return sinusoidalTable(this.#heap, lengthOrPositions, dim, options);
  }

  /**
   * ALiBi's slopes (Press et al. 2021, arXiv:2108.12409): 2^(−8(h+1)/n) for a power of two n of heads, else those of the next smaller power
   * and then every other one of twice as many.
   *
   * @param heads - 1 to 65536.
   * @returns [heads].
   * @throws {@link RopewalkError} INVALID_ARGUMENT.
   */
  alibiSlopes(heads: number): Float32Array {
    return alibiSlopes(this.#heap, heads);
  }

  /**
   * The buckets that T5 sorts distances into (Raffel et al. 2019, arXiv:1910.10683).
   *
   * @param relativePositions - position of the key less that of the query.
   * @returns as many indices from 0.
   * @throws {@link RopewalkError} INVALID_POSITION, INVALID_ARGUMENT, OUT_OF_MEMORY.
   */
  t5Buckets(relativePositions: PositionArray, options?: T5BucketOptions): Int32Array {
    return t5Buckets(this.#heap, relativePositions, options);
  }

  /**
   * Loads a model: GGUF (one file or several) or safetensors with config.json and tokenizer.json, from an address, a path in Node, files
   * dropped on a page, or memory. Weights stay in the format of the file, and are streamed into wasm memory.
   *
   * @throws {@link RopewalkError} INVALID_FILE, UNSUPPORTED_MODEL, NETWORK with the file and part at fault; OUT_OF_MEMORY before anything is
   * taken where the model cannot fit; INVALID_ARGUMENT, INVALID_CONFIG. Rejects with the signal's reason. All memory is then given back.
   */
  async model(source: ModelSource, options: ModelOptions = {}): Promise<Model> {
    const { loadModel } = await import("../model/load_model.js");
    return loadModel(this.#modelHost, source, options);
  }

  /**
   * What a model is, from its headers alone: architecture, RoPE of each layer, memory it would take.
   * @throws {@link RopewalkError} as {@link Ropewalk.model}.
   */
  async modelInfo(source: ModelSource, options: ModelOptions = {}): Promise<ModelInfo> {
    const { modelInfo } = await import("../model/load_model.js");
    return modelInfo(this.#modelHost, source, options);
  }

  /** What option `cache` of {@link Ropewalk.model} has kept on this device for this page's origin; nothing in Node. */
  async cachedModels(): Promise<CachedModel[]> {
    const { cachedModels } = await import("../files/cache/models.js");
    return cachedModels(this.#files);
  }

  /**
   * Removes all that is kept of a model, by the address that it was opened by; models in memory stay as they are.
   * @returns whether there was any.
   * @throws {@link RopewalkError} INVALID_ARGUMENT where it is no address.
   */
  async deleteCachedModel(source: string | URL): Promise<boolean> {
    const { deleteCachedModel } = await import("../files/cache/models.js");
    return deleteCachedModel(this.#files, source);
  }

  /**
   * A tokenizer without a model, from a parsed tokenizer.json (and tokenizer_config.json) or from the metadata of a GGUF file.
   * @throws {@link RopewalkError} INVALID_FILE, UNSUPPORTED_MODEL with the part at fault.
   */
  async tokenizer(source: object, tokenizerConfig?: object): Promise<Tokenizer> {
    const { tokenizerFromGguf, tokenizerFromJson } = await import("../text/tokenizer.js");
    return "tokenizer.ggml.model" in source ? tokenizerFromGguf(source) : tokenizerFromJson(source, tokenizerConfig);
  }

  get #modelHost(): { heap: Heap; files: FilePlatform; isScalar: boolean } {
    return { heap: this.#heap, files: this.#files, isScalar: this.#isScalar };
  }

  get #isScalar(): boolean {
    return this.build === "scalar";
  }

  #core(config: RopeConfig): RopeCore {
    return new RopeCore(this.#heap, config, this.#isScalar);
  }
}
