// Samples tokens from logits.
import { finiteNumber, wholeNumber } from "../base/checks.js";
import { fail } from "../base/errors.js";
import type { Heap } from "../memory/heap.js";

/** How the next token is sampled. The options are applied in this order, as in transformers. */
export interface SamplingOptions {
  /** Divides positive logits of recent tokens and multiplies negative ones; above 0. Default: 1, no penalty. */
  repetitionPenalty?: number;
  /** Number of recent tokens that the penalty applies to, from 0. Default: 64. */
  penaltyWindow?: number;
  /**
   * From 0, which always chooses the most probable token. Default: that of the model's generation_config.json, or 0.8.
   */
  temperature?: number;
  /** Keeps the k most probable tokens; 0 keeps all. Default: that of generation_config.json, or 40. */
  topK?: number;
  /**
   * Keeps the smallest set of most probable tokens whose probabilities sum to p, above 0 and at most 1. Default: that
   * of generation_config.json, or 0.95.
   */
  topP?: number;
  /**
   * Keeps tokens with at least this fraction of the largest probability, 0 to 1. Default: that of
   * generation_config.json, or 0.05.
   */
  minP?: number;
  /**
   * An integer from 0 to 2^53 − 1. On the simd build, the same seed gives the same text in every engine. Default:
   * random.
   */
  seed?: number;
}

/** A token and ln p of it. */
export interface TokenProbability {
  token: number;
  logprob: number;
}

/** Size of the core's LogProbability. */
const ENTRY_BYTES = 16;

/** Samples tokens from logits in wasm memory. @internal */
export class Sampler {
  readonly #heap: Heap;
  readonly #penaltyWindow: number;
  #address: number;

  /** Throws INVALID_ARGUMENT. */
  constructor(heap: Heap, options: SamplingOptions) {
    const number = (name: keyof SamplingOptions, fallback: number): number =>
      finiteNumber(options[name] ?? fallback, name);
    const { module } = heap;
    this.#heap = heap;
    this.#penaltyWindow = wholeNumber(options.penaltyWindow ?? 64, 0, 2 ** 20, "penaltyWindow");
    const topK = wholeNumber(options.topK ?? 40, 0, 2 ** 30, "topK");
    const seed = wholeNumber(options.seed ?? Math.floor(Math.random() * 2 ** 53), 0, Number.MAX_SAFE_INTEGER, "seed");
    this.#address = module.sampler_create();
    if (this.#address === 0) fail("OUT_OF_MEMORY", "", "out of memory for a sampler; dispose of tensors or models");
    try {
      const [penalty, temperature] = [number("repetitionPenalty", 1), number("temperature", 0.8)];
      const [topP, minP] = [number("topP", 0.95), number("minP", 0.05)];
      heap.check(
        module.sampler_configure(this.#address, penalty, temperature, topK, topP, minP),
        (field) => options[field as keyof SamplingOptions],
      );
    } catch (error) {
      this.dispose();
      throw error;
    }
    module.sampler_seed(this.#address, seed);
  }

  /** Samples the token after `tokens` from the logits at an address. */
  sample(logits: number, size: number, tokens: readonly number[]): number {
    const recent = Int32Array.from(this.#penaltyWindow === 0 ? [] : tokens.slice(-this.#penaltyWindow));
    const heap = this.#heap;
    return heap.borrow(recent.byteLength + 4, (result) => {
      const ids = result + 4;
      heap.bytes(ids, recent.byteLength).set(new Uint8Array(recent.buffer));
      heap.check(heap.module.sampler_sample(this.#address, logits, size, ids, recent.length, result));
      return new Int32Array(heap.buffer, result, 1)[0]!;
    });
  }

  dispose(): void {
    if (this.#address !== 0) this.#heap.module.sampler_destroy(this.#address);
    this.#address = 0;
  }
}

/** ln p of a token, from logits at an address. @internal */
export function logprobOf(heap: Heap, logits: number, size: number, token: number): number {
  return heap.floats(logits, size)[token]! - heap.module.log_normalizer(logits, size);
}

/** The most probable tokens in descending order, from logits at an address. @internal */
export function mostProbable(heap: Heap, logits: number, size: number, count: number): TokenProbability[] {
  return heap.borrow(count * ENTRY_BYTES, (result) => {
    heap.module.most_probable(logits, size, result, count);
    const view = new DataView(heap.buffer, result, count * ENTRY_BYTES);
    return Array.from({ length: count }, (_, i) => ({
      token: view.getInt32(i * ENTRY_BYTES + 8, true),
      logprob: view.getFloat64(i * ENTRY_BYTES, true),
    }));
  });
}
