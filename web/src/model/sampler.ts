import { finiteNumber, wholeNumber } from "../base/checks.js";
import { RopewalkError } from "../base/errors.js";
import type { Heap } from "../memory/heap.js";

/** How the next token is chosen. Applied in this order, as transformers does. */
export interface SamplingOptions {
  /** Logits of tokens seen lately are divided by it, or multiplied where negative; above 0 (1: no penalty). */
  repetitionPenalty?: number;
  /** How many of the last tokens the penalty is for, from 0 (64). */
  penaltyWindow?: number;
  /** From 0, which takes the most probable (0.8, or what the model's generation_config.json says). */
  temperature?: number;
  /** Only the k most probable; 0: all (40, likewise). */
  topK?: number;
  /** Of those the fewest whose probabilities sum to p, above 0 and at most 1 (0.95, likewise). */
  topP?: number;
  /** And whose probability is at least this part of the largest, 0 to 1 (0.05, likewise). */
  minP?: number;
  /** A whole number below 2^53; the same seed gives the same text in every engine on the simd build (one drawn at random). */
  seed?: number;
}

/** A token and the natural logarithm of its probability. */
export interface TokenProbability {
  token: number;
  logprob: number;
}

/** Bytes of the core's LogProbability. */
const PAIR_BYTES = 16;

/**
 * Chooses tokens from logits in wasm memory.
 * @internal
 */
export class Sampler {
  readonly #heap: Heap;
  readonly #penaltyWindow: number;
  #address: number;

  /** Throws INVALID_ARGUMENT. */
  constructor(heap: Heap, options: SamplingOptions) {
    const number = (name: keyof SamplingOptions, otherwise: number): number =>
      finiteNumber(options[name] ?? otherwise, name);
    const { module } = heap;
    this.#heap = heap;
    this.#penaltyWindow = wholeNumber(options.penaltyWindow ?? 64, 0, 2 ** 20, "penaltyWindow");
    const topK = wholeNumber(options.topK ?? 40, 0, 2 ** 30, "topK");
    const seed = wholeNumber(options.seed ?? Math.floor(Math.random() * 2 ** 53), 0, Number.MAX_SAFE_INTEGER, "seed");
    this.#address = module.sampler_create();
    if (this.#address === 0)
      throw new RopewalkError("OUT_OF_MEMORY", "", "memory for a sampler cannot be had; dispose of tensors or models");
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

  /** The next token after `tokens`, from their logits. */
  sample(logits: number, size: number, tokens: readonly number[]): number {
    const seen = Int32Array.from(this.#penaltyWindow === 0 ? [] : tokens.slice(-this.#penaltyWindow));
    const heap = this.#heap;
    return heap.borrow(seen.byteLength + 4, (at) => {
      heap.bytes(at + 4, seen.byteLength).set(new Uint8Array(seen.buffer));
      heap.check(heap.module.sampler_sample(this.#address, logits, size, at + 4, seen.length, at));
      return new Int32Array(heap.buffer, at, 1)[0]!;
    });
  }

  dispose(): void {
    if (this.#address !== 0) this.#heap.module.sampler_destroy(this.#address);
    this.#address = 0;
  }
}

/** ln p of a token. @internal */
export function logprobOf(heap: Heap, logits: number, size: number, token: number): number {
  return heap.floats(logits, size)[token]! - heap.module.log_normalizer(logits, size);
}

/** The most probable tokens, most probable first. @internal */
export function mostProbable(heap: Heap, logits: number, size: number, count: number): TokenProbability[] {
  return heap.borrow(count * PAIR_BYTES, (at) => {
    heap.module.most_probable(logits, size, at, count);
    const view = new DataView(heap.buffer, at, count * PAIR_BYTES);
    return Array.from({ length: count }, (_, i) => ({
      token: view.getInt32(i * PAIR_BYTES + 8, true),
      logprob: view.getFloat64(i * PAIR_BYTES, true),
    }));
  });
}
