// Samples tokens from logits.
import { finiteNumber, wholeNumber } from "../../base/checks.js";
import { fail } from "../../base/errors.js";
import type { Heap } from "../../memory/heap.js";
import { Owned } from "../../memory/owned.js";
import type { SamplingOptions } from "./options.js";

/** A token and ln p of it. */
export interface TokenProbability {
  token: number;
  logprob: number;
}

/** Size of the core's LogProbability. */
const ENTRY_BYTES = 16;

/** Samples tokens from logits in wasm memory. @internal */
export class Sampler {
  /** Number of recent tokens that the penalty applies to. */
  readonly penaltyWindow: number;
  readonly #heap: Heap;
  readonly #owned: Owned;

  /** Throws INVALID_ARGUMENT. */
  constructor(heap: Heap, options: SamplingOptions) {
    const number = (name: keyof SamplingOptions, fallback: number): number =>
      finiteNumber(options[name] ?? fallback, name);
    const { module } = heap;
    this.#heap = heap;
    this.penaltyWindow = wholeNumber(options.penaltyWindow ?? 64, 0, 2 ** 20, "penaltyWindow");
    const topK = wholeNumber(options.topK ?? 40, 0, 2 ** 30, "topK");
    const seed = wholeNumber(options.seed ?? Math.floor(Math.random() * 2 ** 53), 0, Number.MAX_SAFE_INTEGER, "seed");
    const [penalty, temperature] = [number("repetitionPenalty", 1), number("temperature", 0.8)];
    const [topP, minP] = [number("topP", 0.95), number("minP", 0.05)];
    const address = module.sampler_create();
    if (address === 0) fail("OUT_OF_MEMORY", "", "out of memory for a sampler; dispose of tensors or models");
    this.#owned = new Owned(heap, address, "sampler", destroySampler);
    try {
      heap.check(
        module.sampler_configure(address, penalty, temperature, topK, topP, minP),
        (field) => options[field as keyof SamplingOptions],
      );
    } catch (error) {
      this.dispose();
      throw error;
    }
    module.sampler_seed(address, seed);
  }

  /** Samples a token from the logits at an address. `recent` are the last tokens, for the penalty. */
  sample(logits: number, size: number, recent: readonly number[]): number {
    const tokens = Int32Array.from(recent);
    const heap = this.#heap;
    return heap.borrow(tokens.byteLength + 4, (result) => {
      const ids = result + 4;
      heap.bytes(ids, tokens.byteLength).set(new Uint8Array(tokens.buffer));
      heap.check(heap.module.sampler_sample(this.#owned.address, logits, size, ids, tokens.length, result));
      return new Int32Array(heap.buffer, result, 1)[0]!;
    });
  }

  dispose(): void {
    this.#owned.dispose();
  }
}

function destroySampler(heap: Heap, address: number): void {
  heap.module.sampler_destroy(address);
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
