// Tensors in wasm memory.
import { disposeSymbol } from "../base/dispose.js";
import { checkDType, type DType, sizeOf } from "./elements.js";
import { fail } from "../base/errors.js";
import type { Heap } from "./heap.js";
import { Owned } from "./owned.js";
import { checkShape, elementCount } from "./shape.js";

/**
 * A tensor in wasm memory. Kernels read and write it without copies. Create one with `rw.tensor()`, and free it with `dispose()` or `using`.
 */
export class Tensor implements Disposable {
  /** Extents. The last dimension is contiguous. */
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** Number of elements. */
  readonly length: number;
  readonly #owned: Owned;

  private constructor(heap: Heap, shape: readonly number[], dtype: DType) {
    this.shape = Object.freeze([...checkShape(shape, "shape")]);
    this.dtype = checkDType(dtype);
    this.length = elementCount(this.shape);
    const bytes = this.length * sizeOf(dtype);
    this.#owned = new Owned(heap, heap.allocate(bytes, "shape"), "tensor", freeElements);
    heap.bytes(this.address, bytes).fill(0);
  }

  /** A tensor of zeros. @internal */
  static create(heap: Heap, shape: readonly number[], dtype: DType): Tensor {
    return new this(heap, shape, dtype);
  }

  /** Address in wasm memory. Throws DISPOSED. @internal */
  get address(): number {
    return this.#owned.address;
  }

  /** The wasm memory that holds the tensor. @internal */
  get heap(): Heap {
    return this.#owned.heap;
  }

  /**
   * A view of the elements in wasm memory: a Float32Array for f32, a Uint16Array of bits for f16 and bf16. Each access creates a new view. Don't
   * keep a view across other calls: when wasm memory grows, older views become empty.
   */
  get data(): Float32Array | Uint16Array {
    const { buffer } = this.heap;
    return this.dtype === "f32"
      ? new Float32Array(buffer, this.address, this.length)
      : new Uint16Array(buffer, this.address, this.length);
  }

  /**
   * Copies `elements` into the tensor: numbers for f32, bits for f16 and bf16.
   * @throws {@link RopewalkError} INVALID_SHAPE if the lengths differ; DISPOSED.
   */
  set(elements: ArrayLike<number>): this {
    if (elements.length !== this.length) {
      fail(
        "INVALID_SHAPE",
        "elements",
        `must have ${this.length} elements, as the tensor has (got ${elements.length})`,
      );
    }
    this.data.set(elements);
    return this;
  }

  /** Frees the memory. Calling it twice is harmless. */
  dispose(): void {
    this.#owned.dispose();
  }

  /** Same as {@link Tensor.dispose}, for `using`. */
  [disposeSymbol](): void {
    this.dispose();
  }
}

function freeElements(heap: Heap, address: number): void {
  heap.free(address);
}
