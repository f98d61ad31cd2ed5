// What a model remembers of a text: keys and values in a cache, and the states of recurrent layers.
import type { KvCacheCore } from "../../../core/cache/core.js";
import type { Heap } from "../../../core/memory/heap.js";
import { Owned } from "../../../core/memory/owned.js";
import type { AdaptersInUse } from "./adapters_in_use.js";

/** The states of the recurrent layers of a model for an empty text; undefined if it has no such layers. @internal */
export function newStates(heap: Heap, model: number, checkpoints: number): Owned | undefined {
  const address = heap.borrow(4, (result) => {
    heap.check(heap.module.model_states(model, checkpoints, result));
    return new Uint32Array(heap.buffer, result, 1)[0]!;
  });
  return address === 0 ? undefined : new Owned(heap, address, "session", destroyStates, "model.session()");
}

/** @internal */
export class TextMemory {
  readonly cache: KvCacheCore;
  readonly #states: Owned | undefined;
  /** What the text is read with. Only an empty one can get others, because keys and values of one adapter aren't those of another. */
  adapters: AdaptersInUse;

  constructor(cache: KvCacheCore, states: Owned | undefined, adapters: AdaptersInUse) {
    this.cache = cache;
    this.#states = states;
    this.adapters = adapters;
  }

  /** Throws DISPOSED. */
  checkAlive(): void {
    this.cache.checkAlive();
  }

  get hasStates(): boolean {
    return this.#states !== undefined;
  }

  /** Address of the states; 0 if there are none. */
  get statesAddress(): number {
    return this.#states?.address ?? 0;
  }

  /** Bytes of wasm memory that it uses now. */
  get bytes(): number {
    const { module } = this.cache.heap;
    const states = this.#states;
    return module.kv_bytes(this.cache.address) + (states === undefined ? 0 : module.states_bytes(states.address));
  }

  /** Makes the state of the recurrent layers a checkpoint, if there are any, and memory for it: without it, only rewinding takes longer. */
  keepCheckpoint(): void {
    if (this.#states !== undefined) this.cache.heap.module.states_keep(this.#states.address);
  }

  /**
   * Goes back to a text of `length` tokens, or to the last known state of the recurrent layers before that.
   * @returns the number of tokens that are left
   */
  rewind(length: number): number {
    const { heap } = this.cache;
    const left = this.#states === undefined ? length : heap.module.states_rewind(this.#states.address, length);
    if (this.cache.layers.length > 0) heap.check(heap.module.kv_truncate(this.cache.address, 0, left));
    return left;
  }

  /** To be called after `discard` tokens after the first `keep` were removed from the cache. */
  shiftStates(keep: number, discard: number): void {
    if (this.#states !== undefined) this.cache.heap.module.states_shift(this.#states.address, keep, discard);
  }

  /** Makes this memory, which must be empty, a copy of another of the same model with the same RoPEs. They share keys, values and checkpoints. */
  copy(other: TextMemory): void {
    const { heap, address, layers } = this.cache;
    const from = other.cache;
    if (layers.length > 0) heap.check(heap.module.kv_copy_prefix(from.address, 0, address, 0, from.tokens(0)));
    if (this.#states === undefined) return;
    this.restoreStates(other.saveStates());
    heap.module.states_share(other.statesAddress, this.#states.address);
  }

  /** An image of the states, without checkpoints; empty if there are none. */
  saveStates(): Uint8Array {
    const { heap } = this.cache;
    const states = this.#states;
    if (states === undefined) return new Uint8Array(0);
    const bytes = heap.module.states_image_bytes(states.address);
    return heap.borrow(bytes, (at) => {
      heap.module.states_save(states.address, at);
      return heap.bytes(at, bytes).slice();
    });
  }

  /** Throws INVALID_BYTES, OUT_OF_MEMORY. On failure nothing changes. */
  restoreStates(image: Uint8Array): void {
    const { heap } = this.cache;
    const states = this.#states;
    if (states === undefined) return;
    heap.borrow(Math.max(image.length, 1), (at) => {
      heap.bytes(at, image.length).set(image);
      heap.check(heap.module.states_restore(states.address, at, image.length), undefined, "bytes");
    });
  }

  /** Tokens that the states have seen; undefined if there are none. */
  get stateTokens(): number | undefined {
    return this.#states && this.cache.heap.module.states_tokens(this.#states.address);
  }

  dispose(): void {
    this.cache.dispose();
    this.#states?.dispose();
  }
}

function destroyStates(heap: Heap, address: number): void {
  heap.module.states_destroy(address);
}
