// A model in wasm memory: loading, forward pass, logits and losses.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import type { ModelFiles, ReadOptions } from "../../files/model_files.js";
import type { Heap } from "../../../core/memory/heap.js";
import { KvCacheCore } from "../../../core/cache/core.js";
import type { CacheDType } from "../../../core/memory/elements.js";
import type { KeyMode } from "../../../core/cache/options.js";
import { Owned } from "../../../core/memory/owned.js";
import type { Status } from "../../../core/memory/status.js";
import { fingerprintOf } from "../weights/fingerprint.js";
import { loadWeights } from "../weights/load_weights.js";
import { withLongFactors, usesLongFactors } from "../plan/long_rope.js";
import { defaultLayerConfig } from "../../../core/memory/model_fields.js";
import { RECURRENCES } from "../architectures/parts/architecture.js";
import { cacheOptions } from "../plan/cache_layers.js";
import { type LayerWatcher, walkLayers } from "./layer_walk.js";
import { type AdaptersInUse, NO_ADAPTERS } from "./adapters_in_use.js";
import type { ModelLayer, ModelPlan } from "../plan/model_plan.js";
import { stateBytes } from "../plan/recurrent_layers.js";
import { newStates, TextMemory } from "./text_memory.js";
import { TokenBatches, type TextsReader, type TextTokens } from "./token_batches.js";
import type { WeightMapping } from "../weights/weight_mapping.js";

/**
 * Tokens per forward pass. Large enough to amortize reading the weights, small enough to check for aborts between
 * calls.
 */
export const BATCH_TOKENS = 128;

/** Calls `read` with the batches of tokens, in order. @internal */
export function inBatches(tokens: Int32Array, read: (batch: Int32Array, isLast: boolean) => void): void {
  for (let first = 0; first < tokens.length; first += BATCH_TOKENS) {
    const next = first + BATCH_TOKENS;
    read(tokens.slice(first, next), next >= tokens.length);
  }
}

/** How a session stores keys and values. @internal */
export interface CacheSettings {
  dtype: CacheDType;
  keys?: KeyMode;
}

/** @internal */
export interface MemoryOptions {
  /** Length of the text, if known: chooses the factors of a LongRoPE. */
  length?: number;
  /** Layers with other RoPEs than the model's. */
  layers?: readonly ModelLayer[];
  /** The most checkpoints of recurrent layers. */
  checkpoints?: number;
  adapters?: AdaptersInUse;
}

/**
 * Sessions enforce their context length themselves, and pages are allocated on demand, so caches are created with a
 * huge limit.
 */
const MAX_CACHE_LENGTH = 2 ** 30;

/** The weights of a model in wasm memory, and the calls into the core that use them. @internal */
export class ModelCore implements TextsReader {
  readonly heap: Heap;
  readonly plan: ModelPlan;
  readonly useScalarKernels: boolean;
  /** See fingerprintOf(). */
  readonly fingerprint: string;
  readonly #owned: Owned;
  /** Reads the next tokens of texts that are read token by token. */
  readonly batches = new TokenBatches(this);
  /** The cache of the last forward() of one text. */
  #lastCache: KvCacheCore | undefined;
  /** Addresses of the adapters that the core has in use. */
  #adaptersInUse: readonly number[] = [];
  /** Whether watchers are called, so that no other text may be read. */
  #isWalking = false;

  private constructor(heap: Heap, plan: ModelPlan, fingerprint: string, address: number, useScalarKernels: boolean) {
    this.heap = heap;
    this.plan = plan;
    this.fingerprint = fingerprint;
    this.useScalarKernels = useScalarKernels;
    this.#owned = new Owned(heap, address, "model", destroyModel);
  }

  /** Bytes of one copy of the states of the recurrent layers. */
  get stateBytes(): number {
    return stateBytes(this.plan.config.recurrence, this.plan.shapes);
  }

  /** Loads the weights of a plan. On failure or abort, all memory is freed. */
  static async load(
    heap: Heap,
    files: ModelFiles,
    plan: ModelPlan,
    mappings: readonly WeightMapping[],
    useScalarKernels: boolean,
    options: ReadOptions,
  ): Promise<ModelCore> {
    const address = heap.module.model_create(useScalarKernels);
    if (address === 0)
      fail("OUT_OF_MEMORY", "", "out of memory for a model", advise.dispose({ of: ["tensors", "models"] }));
    try {
      configure(heap, address, plan);
      const samples = await loadWeights(heap, address, files, plan.reader, mappings, options);
      options.signal?.throwIfAborted();
      return new ModelCore(heap, plan, fingerprintOf(plan, samples, mappings), address, useScalarKernels);
    } catch (error) {
      heap.module.model_destroy(address);
      throw error;
    }
  }

  /** Address of the model in wasm memory. Throws DISPOSED. */
  get address(): number {
    return this.#owned.address;
  }

  /** Throws DISPOSED. */
  checkAlive(): void {
    this.#owned.check();
  }

  get vocabularySize(): number {
    return this.plan.config.vocabulary_size;
  }

  /** The memory of an empty text. */
  newMemory(
    { dtype, keys }: CacheSettings,
    { length = 0, layers: modelLayers = this.plan.layers, checkpoints = 0, adapters = NO_ADAPTERS }: MemoryOptions = {},
  ): TextMemory {
    const layers = cacheOptions(this.plan, modelLayers, (rope) =>
      usesLongFactors(rope, length) ? withLongFactors(rope) : rope,
    );
    const cache = new KvCacheCore(
      this.heap,
      { layers, maxLength: MAX_CACHE_LENGTH, dtype, ...(keys !== undefined && { keys }) },
      this.useScalarKernels,
      0,
    );
    try {
      return new TextMemory(cache, newStates(this.heap, this.address, checkpoints), adapters);
    } catch (error) {
      cache.dispose();
      throw error;
    }
  }

  /**
   * Runs at most {@link BATCH_TOKENS} tokens through the layers and adds them to the memory of their text. On failure
   * the memory is unchanged. Watchers are called between the layers; `first` is the position of the first token.
   */
  forward(memory: TextMemory, tokens: Int32Array, watchers: readonly LayerWatcher[] = [], first = 0): void {
    const { heap, address } = this;
    const { cache, statesAddress } = memory;
    this.checkIdle();
    this.#lastCache = undefined;
    this.#useAdapters(memory.adapters);
    const check = (status: Status): void => this.#checkForward(status, cache);
    heap.borrow(tokens.byteLength, (ids) => {
      heap.bytes(ids, tokens.byteLength).set(new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength));
      const run = watchers.length === 0 ? "model_forward" : "model_forward_begin";
      check(heap.module[run](address, cache.address, 0, statesAddress, ids, tokens.length));
    });
    if (watchers.length > 0) {
      this.#isWalking = true;
      try {
        walkLayers(this, memory, watchers, { first, rows: tokens.length }, check);
      } finally {
        this.#isWalking = false;
      }
    }
    this.#lastCache = cache;
  }

  /** Adds tokens to each of several texts with the same adapters in one forward(). On failure their memories are unchanged. */
  forwardTexts(texts: readonly TextTokens[]): void {
    const { heap, address } = this;
    this.checkIdle();
    this.#lastCache = undefined;
    this.#useAdapters(texts[0]!.memory.adapters);
    const WORDS = 5; // of the core's TextFields
    const total = texts.reduce((sum, { tokens }) => sum + tokens.length, 0);
    heap.borrow((texts.length * WORDS + total) * 4, (fields) => {
      let ids = fields + texts.length * WORDS * 4;
      const words = texts.flatMap(({ memory, tokens }) => {
        new Int32Array(heap.buffer, ids, tokens.length).set(tokens);
        const text = [memory.cache.address, 0, memory.statesAddress, ids, tokens.length];
        ids += tokens.length * 4;
        return text;
      });
      new Uint32Array(heap.buffer, fields, words.length).set(words);
      this.#checkForward(heap.module.model_forward_texts(address, fields, texts.length), texts[0]!.memory.cache);
    });
    if (texts.length === 1) this.#lastCache = texts[0]!.memory.cache;
  }

  /** Writes the logits of each text of the last forwardTexts() to wasm memory, [vocabularySize] each. */
  writeLastLogits(targets: readonly number[]): void {
    const { heap, address } = this;
    heap.borrow(targets.length * 4, (list) => {
      new Uint32Array(heap.buffer, list, targets.length).set(targets);
      heap.check(heap.module.model_last_logits(address, list));
    });
  }

  #checkForward(status: Status, cache: KvCacheCore): void {
    if (["k", "v"].includes(this.heap.fieldOf(status))) failOnKeys(cache);
    this.heap.check(status);
  }

  /**
   * Runs whole texts (a WholeTexts of the core) through the layers.
   * @param rows - address of hidden states that are added to the embeddings, [tokens, hidden_size]; 0 for none
   */
  readTexts(texts: number, tokens: number, adapters: AdaptersInUse, rows: number): Status {
    this.checkIdle();
    this.#lastCache = undefined;
    this.#useAdapters(adapters);
    return this.heap.module.model_read_texts(this.address, texts, tokens, rows);
  }

  /** Makes sure that the core doesn't use an adapter, whose memory may then be freed. Others stay in use: a hook may run inside a forward pass. */
  forgetAdapter(adapter: number): void {
    if (this.#owned.isAlive && this.#adaptersInUse.includes(adapter)) this.#useAdapters(NO_ADAPTERS);
  }

  /** Sets what the next run and its logits add to the products with the weights. */
  #useAdapters({ list }: AdaptersInUse): void {
    if (list.length === 0 && this.#adaptersInUse.length === 0) return;
    const { heap, address } = this;
    const addresses = list.map(({ adapter }) => adapter.address);
    heap.borrow(8 * list.length, (at) => {
      list.forEach(({ scale }, i) => {
        new Uint32Array(heap.buffer, at + 8 * i, 1)[0] = addresses[i]!;
        heap.floats(at + 8 * i + 4, 1)[0] = scale;
      });
      heap.check(heap.module.model_use_adapters(address, at, list.length));
    });
    this.#adaptersInUse = addresses;
  }

  /** Whether the last forward() was of this cache. */
  hasRead(cache: KvCacheCore): boolean {
    return this.#lastCache === cache;
  }

  /** Writes the logits of tokens of the last forward() to wasm memory, [count, vocabularySize]. */
  writeLogits(first: number, target: number, count = 1): void {
    this.heap.check(this.heap.module.model_logits(this.address, first, count, target));
  }

  /** Hidden state of one token of the last forward(), after the final norm. */
  hidden(token: number): Float32Array {
    const { hidden_size } = this.plan.config;
    return this.hiddenRows(token + 1).slice(token * hidden_size);
  }

  /** A view of the hidden states of the first `rows` tokens of the last forward(). */
  hiddenRows(rows: number): Float32Array {
    return this.heap.floats(this.heap.module.model_hidden(this.address), rows * this.plan.config.hidden_size);
  }

  /** For watchers: a view of the next layer's input, [rows, hiddenSize]. */
  residual(rows: number): Float32Array {
    return this.heap.floats(this.heap.module.model_residual(this.address), rows * this.plan.config.hidden_size);
  }

  /** For watchers, after a layer with attention: a view of its queries, [rows, heads, headDim]. */
  queries(rows: number, headDim: number): Float32Array {
    return this.heap.floats(this.heap.module.model_queries(this.address), rows * this.plan.config.heads * headDim);
  }

  /** For watchers, after a layer with attention: the weights by which each head read the first `length` keys, for a token of the batch. */
  attentionOfRow(token: number, length: number): Float32Array[] {
    return this.#weights(length, (at) => this.heap.module.model_row_attention(this.address, token, at));
  }

  /**
   * Weights by which each head of a layer read the `length` keys of a cache for the last token of the last forward(),
   * which must have been of that cache.
   */
  attention(cache: KvCacheCore, layer: number, length: number): Float32Array[] {
    const { heap, address } = this;
    return this.#weights(length, (at) => heap.module.model_attention(address, cache.address, 0, layer, at));
  }

  #weights(length: number, write: (at: number) => Status): Float32Array[] {
    const { heap } = this;
    const { heads } = this.plan.config;
    return heap.borrow(heads * length * 4, (at) => {
      heap.check(write(at));
      return Array.from({ length: heads }, (_, head) => heap.floats(at + head * length * 4, length).slice());
    });
  }

  /** Loss (−ln p) of each target, where target i follows token `first` + i of the last forward(). */
  losses(first: number, targets: Int32Array): Float64Array {
    const { heap, address } = this;
    return heap.borrow(targets.length * 16, (ids) => {
      const out = ids + targets.length * 8;
      heap.bytes(ids, targets.byteLength).set(new Uint8Array(targets.buffer, targets.byteOffset, targets.byteLength));
      heap.check(heap.module.model_losses(address, first, ids, targets.length, out));
      return heap.doubles(out, targets.length).slice();
    });
  }

  /** Throws INVALID_ARGUMENT while watchers are called. */
  checkIdle(): void {
    if (this.#isWalking)
      fail(
        "INVALID_ARGUMENT",
        "onLayer",
        "runs inside the model, so the hook can't read another text with it",
        advise.code("load a second model"),
      );
  }

  dispose(): void {
    this.#owned.dispose();
  }
}

/** A model makes its keys and values itself, so its file is at fault if the cache refuses them. */
function failOnKeys({ dtype }: KvCacheCore): never {
  const isNarrow = dtype === "f16" || dtype.startsWith("q");
  const range = isNarrow ? ` or too large for a cache of ${dtype}` : "";
  const reason = `the weights are damaged${isNarrow ? ", or need more range than the cache has" : ""}`;
  fail(
    "INVALID_FILE",
    "tensors",
    `produce keys or values that are not finite${range}: ${reason}`,
    isNarrow ? advise.load({ option: "kv.dtype", value: '"bf16"' }) : {},
  );
}

function configure(heap: Heap, address: number, { config, shapes, reader }: ModelPlan): void {
  const { module } = heap;
  heap.check(module.model_set_layers(address, shapes.length), undefined, reader.file);
  for (const [layer, shape] of shapes.entries()) {
    const window = shape.window === 0 ? defaultLayerConfig().window : shape.window;
    module.model_set_layer(address, layer, { ...shape, window, recurrence: RECURRENCES.indexOf(shape.recurrence) });
  }
  heap.check(module.model_configure(address, config), undefined, reader.file);
}

function destroyModel(heap: Heap, address: number): void {
  heap.module.model_destroy(address);
}
