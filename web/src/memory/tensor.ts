import { disposeSymbol } from "../base/dispose.js";
import { checkDType, type DType, sizeOf } from "./elements.js";
import { fail } from "../base/errors.js";
import type { Heap } from "./heap.js";
import { Owned } from "./owned.js";
import { checkShape, elementCount } from "./shape.js";

/**
 * A tensor in wasm memory: kernels work on it without copies. Made by `rw.tensor()`, given back by `dispose()` or `using`.
 */
export class Tensor implements Disposable {
  /** Extents, the last one contiguous. */
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** Number of elements. */
  readonly length: number;
  readonly #owned: Owned;

  /** @internal */
  constructor(heap: Heap, shape: readonly number[], dtype: DType) {
    this.shape = Object.freeze([...checkShape(shape, "shape")]);
    this.dtype = checkDType(dtype);
    this.length = elementCount(this.shape);
    this.#owned = new Owned(heap, heap.allocate(this.length * sizeOf(dtype), "shape"), "tensor", freeElements);
    this.bytes.fill(0);
  }

  /** Where the tensor lies in wasm memory. Throws DISPOSED. @internal */
  get address(): number {
    return this.#owned.address;
  }

  /** Whose memory it lies in. @internal */
  get heap(): Heap {
    return this.#owned.heap;
  }

  private get bytes(): Uint8Array {
    return this.heap.bytes(this.address, this.length * sizeOf(this.dtype));
  }

  /**
   * The elements where they lie: a Float32Array for f32, a Uint16Array of bits for f16 and bf16. Made anew on each access; do not keep it
   * across other calls, because memory that grows leaves older views empty.
   */
  get data(): Float32Array | Uint16Array {
    const { buffer } = this.heap;
    return this.dtype === "f32"
      ? new Float32Array(buffer, this.address, this.length)
      : new Uint16Array(buffer, this.address, this.length);
  }

  /**
   * Copies `elements` into the tensor, as many as it holds: numbers for f32, bits for f16 and bf16.
   * Throws INVALID_SHAPE where the lengths differ.
   */
  set(elements: ArrayLike<number>): this {
    if (elements.length !== this.length) {
      fail("INVALID_SHAPE", "elements", `must have the tensor's ${this.length} elements (got ${elements.length})`);
    }
    this.data.set(elements);
    return this;
  }

  /** Gives the memory back. Doing so twice is harmless. */
  dispose(): void {
    this.#owned.dispose();
  }

  /** As {@link Tensor.dispose}, for `using`. */
  [disposeSymbol](): void {
    this.dispose();
  }
}

function freeElements(heap: Heap, address: number): void {
  heap.free(address);
}
