import { disposeSymbol } from "./dispose.js";
import { checkDType, type DType, sizeOf } from "./elements.js";
import { RopewalkError } from "./errors.js";
import type { Heap } from "./heap.js";
import { checkShape, elementCount } from "./shape.js";

/** A net for tensors that were never disposed of; nobody may rely on it, because a full wasm memory does not make it run. */
const forgotten = new FinalizationRegistry<{ heap: Heap; address: number }>(({ heap, address }) => heap.free(address));

/**
 * A tensor in wasm memory: kernels work on it without copies. Made by `rw.tensor()`, given back by `dispose()` or `using`.
 */
export class Tensor implements Disposable {
  /** Extents, the last one contiguous. */
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** Number of elements. */
  readonly length: number;
  readonly #heap: Heap;
  #address: number;

  /** @internal */
  constructor(heap: Heap, shape: readonly number[], dtype: DType) {
    this.shape = Object.freeze([...checkShape(shape, "shape")]);
    this.dtype = checkDType(dtype);
    this.length = elementCount(this.shape);
    this.#heap = heap;
    this.#address = heap.allocate(this.length * sizeOf(dtype), "shape");
    this.bytes.fill(0);
    forgotten.register(this, { heap, address: this.#address }, this);
  }

  /** Where the tensor lies in wasm memory. Throws DISPOSED. @internal */
  get address(): number {
    if (this.#address === 0) throw new RopewalkError("DISPOSED", "tensor", "has been disposed of; make a new one with rw.tensor()");
    return this.#address;
  }

  /** Whose memory it lies in. @internal */
  get heap(): Heap {
    return this.#heap;
  }

  private get bytes(): Uint8Array {
    return this.#heap.bytes(this.address, this.length * sizeOf(this.dtype));
  }

  /**
   * The elements where they lie: a Float32Array for f32, a Uint16Array of bits for f16 and bf16. Made anew on each access; do not keep it
   * across other calls, because memory that grows leaves older views empty.
   */
  get data(): Float32Array | Uint16Array {
    const { buffer } = this.#heap;
    return this.dtype === "f32" ? new Float32Array(buffer, this.address, this.length) : new Uint16Array(buffer, this.address, this.length);
  }

  /**
   * Copies `elements` into the tensor, as many as it holds: numbers for f32, bits for f16 and bf16.
   * Throws INVALID_SHAPE where the lengths differ.
   */
  set(elements: ArrayLike<number>): this {
    if (elements.length !== this.length) {
      throw new RopewalkError("INVALID_SHAPE", "elements", `must have the tensor's ${this.length} elements (got ${elements.length})`);
    }
    this.data.set(elements);
    return this;
  }

  /** Gives the memory back. Doing so twice is harmless. */
  dispose(): void {
    if (this.#address === 0) return;
    forgotten.unregister(this);
    this.#heap.free(this.#address);
    this.#address = 0;
  }

  /** As {@link Tensor.dispose}, for `using`. */
  [disposeSymbol](): void {
    this.dispose();
  }
}
