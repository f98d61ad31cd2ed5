import { RopewalkError } from "../base/errors.js";
import type { ModelFiles, ReadOptions } from "../files/model_files.js";
import type { Heap } from "../memory/heap.js";
import { KvCacheCore } from "../cache/core.js";
import type { CacheDType } from "../memory/elements.js";
import type { KeyMode } from "../cache/options.js";
import { Owned } from "../memory/owned.js";
import { loadWeights } from "./load_weights.js";
import { alwaysLong, isLong } from "./long_rope.js";
import type { ModelLayer, ModelPlan } from "./model_plan.js";
import type { Placement } from "./placement.js";

/** Tokens that go through the layers in one call: enough to read each weight once for many, few enough to be given up between two calls. */
export const TOKENS_AT_ONCE = 128;

/** How a session keeps keys and values. @internal */
export interface CacheChoice {
  dtype: CacheDType;
  keys?: KeyMode;
}

/** The largest length a cache is told of; sessions keep to their own, and memory is taken as tokens come. */
const CACHE_LIMIT = 2 ** 30;

/**
 * A model in wasm memory: what the operations on it share.
 * @internal
 */
export class ModelCore {
  readonly heap: Heap;
  readonly plan: ModelPlan;
  readonly useScalarKernels: boolean;
  readonly #owned: Owned;

  private constructor(heap: Heap, plan: ModelPlan, address: number, useScalarKernels: boolean) {
    this.heap = heap;
    this.plan = plan;
    this.useScalarKernels = useScalarKernels;
    this.#owned = new Owned(heap, address, "model", destroyModel);
  }

  /** Loads the weights of a plan. On failure, or when the signal says so, all memory is given back. */
  static async load(
    heap: Heap,
    files: ModelFiles,
    plan: ModelPlan,
    placements: readonly Placement[],
    useScalarKernels: boolean,
    options: ReadOptions,
  ): Promise<ModelCore> {
    const address = heap.module.model_create(useScalarKernels);
    if (address === 0)
      throw new RopewalkError("OUT_OF_MEMORY", "", "memory for a model cannot be had; dispose of tensors or models");
    try {
      configure(heap, address, plan);
      await loadWeights(heap, address, files, plan.facts, placements, options);
      options.signal?.throwIfAborted();
      return new ModelCore(heap, plan, address, useScalarKernels);
    } catch (error) {
      heap.module.model_destroy(address);
      throw error;
    }
  }

  /** Where the model lies in wasm memory. Throws DISPOSED. */
  get address(): number {
    return this.#owned.address;
  }

  get vocabularySize(): number {
    return this.plan.config.vocabulary_size;
  }

  /** An empty cache for the model's layers, for a text of a length where that is known; with other ropes, where `under` has them. */
  newCache({ dtype, keys }: CacheChoice, length = 0, under: readonly ModelLayer[] = this.plan.layers): KvCacheCore {
    const { kv_heads: kvHeads, head_dim: headDim } = this.plan.config;
    const layers = under.map(({ rope }) => ({
      rope: rope !== null && isLong(rope, length) ? alwaysLong(rope) : rope,
      kvHeads,
      headDim,
    }));
    return new KvCacheCore(
      this.heap,
      { layers, maxLength: CACHE_LIMIT, dtype, ...(keys !== undefined && { keys }) },
      this.useScalarKernels,
    );
  }

  /** Takes at most {@link TOKENS_AT_ONCE} tokens through the layers and into a cache. On failure the cache is as it was. */
  forward(cache: KvCacheCore, tokens: Int32Array): void {
    const { heap, address } = this;
    heap.borrow(tokens.byteLength, (at) => {
      heap.bytes(at, tokens.byteLength).set(new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength));
      heap.check(heap.module.model_forward(address, cache.address, 0, at, tokens.length));
    });
  }

  /** Writes the logits of one token of the last forward() to wasm memory, [vocabularySize]. */
  writeLogits(token: number, target: number): void {
    this.heap.check(this.heap.module.model_logits(this.address, token, 1, target));
  }

  /** The last hidden state of one token of the last forward(), as the head reads it. */
  hidden(token: number): Float32Array {
    const { hidden_size } = this.plan.config;
    return this.heap.floats(this.heap.module.model_hidden(this.address) + token * hidden_size * 4, hidden_size).slice();
  }

  /** −ln p of each target, at the tokens of the last forward() from `first` on. */
  losses(first: number, targets: Int32Array): Float64Array {
    const { heap, address } = this;
    return heap.borrow(targets.length * 16, (at) => {
      const out = at + targets.length * 8;
      heap.bytes(at, targets.byteLength).set(new Uint8Array(targets.buffer, targets.byteOffset, targets.byteLength));
      heap.check(heap.module.model_losses(address, first, at, targets.length, out));
      return heap.doubles(out, targets.length).slice();
    });
  }

  dispose(): void {
    this.#owned.dispose();
  }
}

function configure(heap: Heap, address: number, { config, layers, facts }: ModelPlan): void {
  const words = Int32Array.from(layers.flatMap(({ window, hasExperts }) => [window, Number(hasExperts)]));
  heap.borrow(words.byteLength, (at) => {
    heap.bytes(at, words.byteLength).set(new Uint8Array(words.buffer));
    heap.check(heap.module.model_configure(address, config, at), undefined, facts.file);
  });
}

function destroyModel(heap: Heap, address: number): void {
  heap.module.model_destroy(address);
}
