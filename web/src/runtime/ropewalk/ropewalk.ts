// The runtime object that load() returns.
import { part } from "../../core/base/part.js";
import { attention, type AttentionOptions } from "../../core/attention/attention.js";
import type { RopeConfig } from "../../core/config/types.js";
import { fail } from "../../core/base/errors.js";
import type { OwnBytes } from "../../core/base/platform_types.js";
import { describe, smallestBase } from "../../core/rope/describe.js";
import type { Description } from "../../core/rope/description.js";
import type { DType, ElementArray } from "../../core/memory/elements.js";
import type { CachedModel } from "../files/cache/models.js";
import type { FilePlatform } from "../files/platform.js";
import type { ModelSource } from "../files/model_files.js";
import { Heap } from "../../core/memory/heap.js";
import { KvCache } from "../../core/cache/cache.js";
import { kvCacheBytes, type KvCacheBytesOptions, KvCacheCore } from "../../core/cache/core.js";
import type { KvCacheOptions } from "../../core/cache/options.js";
import { linearAttention, type LinearAttentionOptions } from "../../core/attention/linear_attention.js";
import { LinearState, type LinearStateOptions } from "../../core/attention/linear_state.js";
import { convertPairing, type ConvertPairingOptions } from "../../core/rope/pairing.js";
import {
  alibiSlopes,
  sinusoidalTable,
  type SinusoidalTableOptions,
  t5Buckets,
  type T5BucketOptions,
} from "../../core/attention/position_tables.js";
import type { PositionArray } from "../../core/memory/positions.js";
import type { Model, ModelInfo } from "../model/model.js";
import type { ModelOptions } from "../model/run/options.js";
import { quantizeRows, type QuantizeRowsOptions } from "../../core/quantize/quantize_rows.js";
import { Rope } from "../../core/rope/rope.js";
import { RopeCore } from "../../core/rope/core.js";
import { rotateByTable, type TableRotateOptions } from "../../core/rope/rotate_by_table.js";
import { Tensor } from "../../core/memory/tensor.js";
import { type Kernels, kernelsOf } from "../../core/load/kernels.js";
import { checkThreads, type Threads } from "../../core/load/threads.js";
import type { Tokenizer } from "../text/tokenizer.js";

/**
 * Builds of the kernels. `simd` runs on every current engine and gives the same bits everywhere. `relaxed` uses fused multiply-add if the
 * processor has it, so the last bits may differ. `scalar` runs the reference kernels in the simd file, for comparison.
 */
export const BUILDS = ["simd", "relaxed", "scalar"] as const;
/** One of {@link BUILDS}. */
export type Build = (typeof BUILDS)[number];

/** The loaded wasm module, which creates everything else. `load()` returns it. */
export class Ropewalk {
  readonly #build: Build;
  readonly #heap: Heap;
  readonly #files: FilePlatform;
  readonly #threads: Threads;

  private constructor(heap: Heap, build: Build, files: FilePlatform, threads: Threads) {
    if (!(heap instanceof Heap)) fail("INVALID_ARGUMENT", "", "load the module with load()");
    this.#heap = heap;
    this.#build = build;
    this.#files = files;
    this.#threads = threads;
  }

  /** @internal */
  static create(heap: Heap, build: Build, files: FilePlatform, threads: Threads): Ropewalk {
    return new this(heap, build, files, threads);
  }

  /** The build that is running. */
  get build(): Build {
    return this.#build;
  }

  /** The kernels that were chosen for this engine and processor. */
  get kernels(): Kernels {
    return kernelsOf(this.#heap, this.#isScalar);
  }

  /** Number of threads that share the work of a call, this one included. Decreases if a thread ends by itself. */
  get threads(): number {
    return this.#threads.count;
  }

  /**
   * Why `"auto"` took one thread, for example because the page isn't cross-origin isolated, or a script of the package couldn't start a Worker.
   * Undefined if it took more, or `threads` was a number.
   */
  get oneThread(): string | undefined {
    return this.#threads.oneThread;
  }

  /**
   * Changes the number of threads. Results have the same bits with any number. `useThreads(1)` ends the other threads, which otherwise sleep between
   * calls.
   *
   * @param threads - 1 to 32, or `"auto"`, as in {@link LoadOptions.threads}.
   * @throws {@link RopewalkError} UNSUPPORTED_ENGINE if memory isn't shared, WASM_LOAD if a thread can't start (`"auto"` uses one thread then);
   * INVALID_ARGUMENT, OUT_OF_MEMORY.
   */
  async useThreads(threads: number | "auto"): Promise<void> {
    checkThreads(threads);
    await this.#threads.use(threads);
  }

  /** Size of wasm memory in bytes, used or free. It only grows, and is released when the page or Worker ends. */
  get memoryBytes(): number {
    return this.#heap.buffer.byteLength;
  }

  /**
   * Creates a rope: rotary position embedding for a config. `ropeConfig()` reads the config of a model file.
   * @throws {@link RopewalkError} INVALID_CONFIG, UNKNOWN_KEY, UNSUPPORTED_ROPE_TYPE, OUT_OF_MEMORY.
   */
  rope(config: RopeConfig): Rope {
    return Rope.create(this.#core(config));
  }

  /**
   * Creates a tensor of zeros in wasm memory, which kernels read and write without copies.
   * @param shape - extents. The last dimension is contiguous.
   * @throws {@link RopewalkError} INVALID_SHAPE, INVALID_DTYPE, OUT_OF_MEMORY.
   */
  tensor(shape: readonly number[], dtype: DType = "f32"): Tensor {
    return Tensor.create(this.#heap, shape, dtype);
  }

  /**
   * Rotates `x` by given tables of cosines and sines, in place or into `out`, and returns the result: ONNX's RotaryEmbedding, and apply_rotary_pos_emb
   * of transformers. Products and sums are f32, and 16-bit results are rounded once. Rows of both tables are copied for the call.
   *
   * @param x - queries or keys, as for {@link Rope.rotate}.
   * @throws {@link RopewalkError} INVALID_SHAPE, INVALID_DTYPE, INVALID_POSITION, INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  rotate<X extends Tensor | ElementArray>(x: X, options: TableRotateOptions): X {
    return rotateByTable(this.#heap, this.#isScalar, x, options);
  }

  /**
   * Describes a config at a sequence length: pairs, ranges, decay and warnings. Default: the trained length.
   * @throws {@link RopewalkError} the codes of {@link Ropewalk.rope}.
   */
  describe(config: RopeConfig, seqLen?: number): Description {
    return describe(this.#core(config), seqLen);
  }

  /**
   * Converts a q or k projection, or its bias, from one pairing to the other: permutes the rows in the rotary span of each head. Scores don't
   * change if q and k are both converted.
   *
   * @param weights - [heads · head_dim, columns], any element type.
   * @returns a new array of the same type.
   * @throws {@link RopewalkError} INVALID_SHAPE, INVALID_ARGUMENT, INVALID_CONFIG, OUT_OF_MEMORY.
   */
  convertPairing<Weights extends ElementArray>(weights: Weights, options: ConvertPairingOptions): Weights {
    return convertPairing(this.#heap, weights, options);
  }

  /**
   * Rounds rows of weights to another format, with the same bits as ggml's reference quantization on x86-64.
   *
   * @param rows - whole rows, as bytes.
   * @returns the rows in the other format.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_SHAPE, INVALID_FILE (an element is infinite, NaN or huge), OUT_OF_MEMORY.
   */
  quantizeRows(rows: Uint8Array, options: QuantizeRowsOptions): OwnBytes {
    return quantizeRows(this.#heap, rows, options);
  }

  /**
   * The smallest base, to 0.1 %, that keeps the score of equal vectors above zero at distances up to `window` with plain RoPE (Men et al. 2024,
   * arXiv:2405.14591); null if none below 1e12 does.
   * @throws {@link RopewalkError} INVALID_CONFIG, INVALID_ARGUMENT.
   */
  smallestBase(rotary_dim: number, window: number): number | null {
    return smallestBase({ heap: this.#heap, geometry: { rotary_dim } }, window);
  }

  /**
   * Softmax attention, with or without RoPE: softmax(q kᵀ · scale) v for each head and batch row. Query head h uses key head ⌊h · KH / H⌋. Needs
   * memory for one block of scores only. Arrays outside wasm memory are copied there for the call.
   *
   * @param q - f32 queries, [B, T, H, D], [B, H, T, D] or [T, H, D] according to `layout`.
   * @param k - keys of N tokens and KH heads, with shape `kvShape`; f32, f16 or bf16.
   * @param v - values, with the shape and element type of k.
   * @returns `out`, or a new array or Tensor of q's type and shape. A query without visible keys gives zeros.
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
   * Creates a KV cache. The ropes and positions of cached keys can be changed later.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_DTYPE, INVALID_CONFIG, UNKNOWN_KEY, UNSUPPORTED_ROPE_TYPE, DISPOSED (a rope),
   * OUT_OF_MEMORY.
   */
  kvCache(options: KvCacheOptions): KvCache {
    return KvCache.create(new KvCacheCore(this.#heap, options, this.#isScalar));
  }

  /**
   * The exact number of bytes of wasm memory that all sequences of a cache take at a length, without creating the cache.
   * @throws {@link RopewalkError} the codes of {@link Ropewalk.kvCache}.
   */
  kvCacheBytes(options: KvCacheBytesOptions): number {
    return kvCacheBytes(this.#heap, options);
  }

  /**
   * Linear attention, in time linear in the number of tokens, with φ(x) = elu(x) + 1 (Katharopoulos et al. 2020, arXiv:2006.16236):
   * Σ (φ(q)·φ(k)) v / Σ φ(q)·φ(k) for each head and batch row. A rope rotates φ(q) and φ(k) in the numerator only (RoFormer, equation 19).
   *
   * @param q - f32 queries, [B, T, H, D], [B, H, T, D] or [T, H, D] according to `layout`.
   * @param k - f32 keys of N tokens and KH heads, with shape `kvShape`. All values must be finite.
   * @param v - f32 values, with the shape and limits of k.
   * @returns `out`, or a new array or Tensor of q's type and shape.
   * @throws {@link RopewalkError} the codes of {@link Ropewalk.attention}.
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
   * Creates the running sums of linear attention, for a sequence that grows.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_SHAPE (heads), DISPOSED (a rope), OUT_OF_MEMORY; the codes of {@link Ropewalk.rope}.
   */
  linearState(options: LinearStateOptions): LinearState {
    return LinearState.create(this.#heap, options, this.#isScalar);
  }

  /**
   * The sinusoidal table of Vaswani et al. 2017 (arXiv:1706.03762): for position p, sin(p / base^(2i/dim)) and its cosine, alternating.
   *
   * @param lengthOrPositions - n for positions 0 … n−1, or n positions within ±2^31.
   * @param dim - number of columns, 1 to 8192.
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
   * ALiBi slopes (Press et al. 2021, arXiv:2108.12409). With n heads, n a power of two: 2^(−8(h+1)/n) for head h. Otherwise: the slopes for the
   * next smaller power of two m, then every other slope for 2m heads.
   *
   * @param heads - number of heads, 1 to 65536.
   * @returns [heads].
   * @throws {@link RopewalkError} INVALID_ARGUMENT.
   */
  alibiSlopes(heads: number): Float32Array {
    return alibiSlopes(this.#heap, heads);
  }

  /**
   * T5's buckets of distances (Raffel et al. 2019, arXiv:1910.10683).
   *
   * @param relativePositions - positions of keys minus positions of queries.
   * @returns the bucket index of each, from 0.
   * @throws {@link RopewalkError} INVALID_POSITION, INVALID_ARGUMENT, OUT_OF_MEMORY.
   */
  t5Buckets(relativePositions: PositionArray, options?: T5BucketOptions): Int32Array {
    return t5Buckets(this.#heap, relativePositions, options);
  }

  /**
   * Loads a model: GGUF (one or several files), or safetensors with config.json and tokenizer.json. The source is an address, a path in Node,
   * files dropped on a page, or bytes in memory. Weights keep the format of the file, and are streamed into wasm memory. If it throws, all
   * memory is freed.
   *
   * @throws {@link RopewalkError} INVALID_FILE, UNSUPPORTED_MODEL and NETWORK, with the file and part at fault; OUT_OF_MEMORY, before anything
   * is allocated if the model can't fit; INVALID_ARGUMENT, INVALID_CONFIG. The signal's reason if aborted.
   */
  async model(source: ModelSource, options?: ModelOptions): Promise<Model> {
    const { loadModel } = await part(() => import("../model/load_model.js"));
    return loadModel(this.#modelHost, source, options);
  }

  /**
   * Reads the headers of a model only: architecture, RoPE of each layer, and the memory it would take.
   * @throws {@link RopewalkError} the codes of {@link Ropewalk.model}.
   */
  async modelInfo(source: ModelSource, options?: ModelOptions): Promise<ModelInfo> {
    const { modelInfo } = await part(() => import("../model/load_model.js"));
    return modelInfo(this.#modelHost, source, options);
  }

  /**
   * The models that the option `cache` of {@link Ropewalk.model} stored on this device for this page's origin. In Node, those in the folder of
   * huggingface_hub, whichever program downloaded them.
   */
  async cachedModels(): Promise<CachedModel[]> {
    const { cachedModels } = await part(() => import("../files/cache/models.js"));
    return cachedModels(this.#files);
  }

  /**
   * Deletes the stored files of a model. Loaded models aren't affected.
   * @param source - the address that the model was opened with, or `org/name` for all that is stored of a repository of the Hub.
   * @returns whether anything was stored.
   * @throws {@link RopewalkError} INVALID_ARGUMENT if it is neither.
   */
  async deleteCachedModel(source: string | URL): Promise<boolean> {
    const { deleteCachedModel } = await part(() => import("../files/cache/models.js"));
    return deleteCachedModel(this.#files, source);
  }

  /**
   * Creates a tokenizer without a model, from a parsed tokenizer.json or `{ "tokenizer.json": text }` (and a parsed tokenizer_config.json), from
   * the metadata of a GGUF file, or from `{ "rwkv_vocab_v20230424.txt": text }`, the vocabulary of RWKV World.
   * @throws {@link RopewalkError} INVALID_FILE and UNSUPPORTED_MODEL, with the part at fault; INVALID_ARGUMENT if `source` isn't an object.
   */
  async tokenizer(source: object, tokenizerConfig?: object): Promise<Tokenizer> {
    const { tokenizerFrom } = await part(() => import("../text/tokenizer.js"));
    return tokenizerFrom(source, tokenizerConfig);
  }

  get #modelHost(): { heap: Heap; files: FilePlatform; isScalar: boolean } {
    return { heap: this.#heap, files: this.#files, isScalar: this.#isScalar };
  }

  get #isScalar(): boolean {
    return this.#build === "scalar";
  }

  #core(config: RopeConfig): RopeCore {
    return new RopeCore(this.#heap, config, this.#isScalar);
  }
}
