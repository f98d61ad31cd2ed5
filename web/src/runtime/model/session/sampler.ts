// Samples tokens from logits.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import type { Heap } from "../../../core/memory/heap.js";
import { Owned } from "../../../core/memory/owned.js";
import type { Tokenizer } from "../../text/tokenizer.js";
import { SAMPLER_FIELDS, type SamplingSettings } from "./sampling_settings.js";
import { textOf } from "./token_text.js";

/** A token and ln p of it. */
export interface TokenProbability {
  token: number;
  logprob: number;
  /** The text of the token, with U+FFFD for a part of a character. Special tokens have theirs, such as `<|im_end|>`. */
  text: string;
}

/** Size of the core's LogProbability. */
const ENTRY_BYTES = 16;

/** Samples tokens from logits in wasm memory. @internal */
export class Sampler {
  /** Number of recent tokens that penalties look at. */
  readonly window: number;
  readonly #heap: Heap;
  readonly #owned: Owned;

  /** `breakers` are tokens. Throws INVALID_ARGUMENT, OUT_OF_MEMORY. */
  constructor(heap: Heap, { core, biases, seed, given }: SamplingSettings, breakers: Int32Array) {
    const { module } = heap;
    this.#heap = heap;
    const hasPenalties = core.repetition !== 1 || core.frequency !== 0 || core.presence !== 0;
    this.window = Math.max(hasPenalties ? core.penalty_window : 0, core.dry_multiplier > 0 ? core.dry_window : 0);
    const address = module.sampler_create();
    if (address === 0)
      fail("OUT_OF_MEMORY", "", "out of memory for a sampler", advise.dispose({ of: ["tensors", "models"] }));
    this.#owned = new Owned(heap, address, "sampler", destroySampler);
    try {
      const values = Float64Array.from(SAMPLER_FIELDS, (field) => core[field]);
      this.#borrowed(values, (at) => heap.check(module.sampler_configure(address, at), given));
      if (biases.length > 0)
        this.#borrowed(biasBytes(biases), (at) => heap.check(module.sampler_set_biases(address, at, biases.length)));
      if (breakers.length > 0)
        this.#borrowed(breakers, (at) => heap.check(module.sampler_set_breakers(address, at, breakers.length)));
    } catch (error) {
      this.dispose();
      throw error;
    }
    module.sampler_seed(address, seed);
  }

  /**
   * Samples a token from the logits at an address. `recent` are the last tokens, for the penalties. `allowed` has a bit
   * for each token that may be sampled; without it, all may.
   */
  sample(logits: number, size: number, recent: readonly number[], allowed?: Int32Array): number {
    const tokens = Int32Array.from(recent);
    const heap = this.#heap;
    return heap.borrow(4 + tokens.byteLength + (allowed?.byteLength ?? 0), (result) => {
      const ids = result + 4;
      const bits = allowed === undefined ? 0 : ids + tokens.byteLength;
      heap.bytes(ids, tokens.byteLength).set(new Uint8Array(tokens.buffer));
      if (allowed !== undefined) heap.bytes(bits, allowed.byteLength).set(new Uint8Array(allowed.buffer));
      heap.check(heap.module.sampler_sample(this.#owned.address, logits, size, ids, tokens.length, bits, result));
      return new Int32Array(heap.buffer, result, 1)[0]!;
    });
  }

  #borrowed(array: Float64Array | Int32Array | Uint8Array, use: (address: number) => void): void {
    this.#heap.borrow(array.byteLength, (address) => {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      this.#heap.bytes(address, array.byteLength).set(bytes);
      use(address);
    });
  }

  dispose(): void {
    this.#owned.dispose();
  }
}

/** An array of the core's TokenBias. */
function biasBytes(biases: SamplingSettings["biases"]): Uint8Array {
  const view = new DataView(new ArrayBuffer(8 * biases.length));
  biases.forEach(([token, bias], i) => {
    view.setInt32(8 * i, token, true);
    view.setFloat32(8 * i + 4, bias, true);
  });
  return new Uint8Array(view.buffer);
}

function destroySampler(heap: Heap, address: number): void {
  heap.module.sampler_destroy(address);
}

/** ln p of a token, from logits at an address. @internal */
export function logprobOf(heap: Heap, logits: number, size: number, token: number): number {
  return heap.floats(logits, size)[token]! - heap.module.log_normalizer(logits, size);
}

/** The most probable tokens in descending order, from logits at an address. @internal */
export function mostProbable(
  heap: Heap,
  tokenizer: Tokenizer,
  logits: number,
  size: number,
  count: number,
): TokenProbability[] {
  return heap.borrow(count * ENTRY_BYTES, (result) => {
    heap.module.most_probable(logits, size, result, count);
    const view = new DataView(heap.buffer, result, count * ENTRY_BYTES);
    return Array.from({ length: count }, (_, i) => {
      const token = view.getInt32(i * ENTRY_BYTES + 8, true);
      return { token, logprob: view.getFloat64(i * ENTRY_BYTES, true), text: textOf(tokenizer, token) };
    });
  });
}
