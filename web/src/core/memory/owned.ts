// Ties an object in wasm memory to a JavaScript object, so that it is freed exactly once.
import * as advise from "../base/advice.js";
import { fail } from "../base/errors.js";
import type { Heap } from "./heap.js";

/** Frees an object in wasm memory. It must not reference the owner, which could then never be collected. @internal */
export type Release = (heap: Heap, address: number) => void;

/** Frees what was collected without dispose(). Only a safety net: a full wasm memory doesn't trigger garbage collection. */
const registry = new FinalizationRegistry<() => void>((release) => release());

/**
 * An object in wasm memory that is freed by `dispose()`, or when its JavaScript owner is collected.
 * @internal
 */
export class Owned {
  readonly heap: Heap;
  readonly #name: string;
  readonly #maker: string;
  readonly #release: Release;
  #address: number;

  /** `name` is what errors call the object, and `maker` the call that creates a new one. */
  constructor(heap: Heap, address: number, name: string, release: Release, maker = `rw.${name}()`) {
    this.heap = heap;
    this.#name = name;
    this.#maker = maker;
    this.#release = release;
    this.#address = address;
    registry.register(this, releaseLater(heap, address, release), this);
  }

  /** Whether it isn't disposed. */
  get isAlive(): boolean {
    return this.#address !== 0;
  }

  /** Throws DISPOSED. */
  check(): void {
    if (this.#address === 0)
      fail("DISPOSED", this.#name, "is disposed", advise.code(`create a new one with ${this.#maker}`));
  }

  /** Address in wasm memory. Throws DISPOSED. */
  get address(): number {
    this.check();
    return this.#address;
  }

  dispose(): void {
    if (this.#address === 0) return;
    registry.unregister(this);
    this.#release(this.heap, this.#address);
    this.#address = 0;
  }
}

/** A function of its own, so that the closure can't capture `this`. */
function releaseLater(heap: Heap, address: number, release: Release): () => void {
  return () => release(heap, address);
}
