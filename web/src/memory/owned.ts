import { fail } from "../base/errors.js";
import type { Heap } from "./heap.js";

/** Gives an object in wasm memory back. It must not refer to what owns the object, which would then never be collected. @internal */
export type GiveBack = (heap: Heap, address: number) => void;

/** A net for what was never disposed of; nobody may rely on it, because a full wasm memory does not make it run. */
const forgotten = new FinalizationRegistry<() => void>((giveBack) => giveBack());

/**
 * An object in wasm memory that lives as long as one in JavaScript, or until that is disposed of.
 * @internal
 */
export class Owned {
  readonly heap: Heap;
  readonly #name: string;
  readonly #maker: string;
  readonly #giveBack: GiveBack;
  #address: number;

  /** `name` is what users call it, and `maker` what makes a new one. */
  constructor(heap: Heap, address: number, name: string, giveBack: GiveBack, maker = `rw.${name}()`) {
    this.heap = heap;
    this.#name = name;
    this.#maker = maker;
    this.#giveBack = giveBack;
    this.#address = address;
    forgotten.register(this, releaser(heap, address, giveBack), this);
  }

  /** Throws DISPOSED. */
  check(): void {
    if (this.#address === 0) fail("DISPOSED", this.#name, `has been disposed of; make a new one with ${this.#maker}`);
  }

  /** Where the object lies. Throws DISPOSED. */
  get address(): number {
    this.check();
    return this.#address;
  }

  dispose(): void {
    if (this.#address === 0) return;
    forgotten.unregister(this);
    this.#giveBack(this.heap, this.#address);
    this.#address = 0;
  }
}

/** Made where no `this` is in sight that it could hold. */
function releaser(heap: Heap, address: number, giveBack: GiveBack): () => void {
  return () => giveBack(heap, address);
}
