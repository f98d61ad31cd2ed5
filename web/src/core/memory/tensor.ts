// Tensors in wasm memory.
import { disposeSymbol } from "../base/dispose.js";
import type { DType } from "./elements.js";
import { Heap } from "./heap.js";
import { fail } from "../base/errors.js";
import { copyElements } from "./tensor_elements.js";
import { TensorMemory } from "./tensor_memory.js";

let memoryOf: (value: object) => TensorMemory | undefined;

/**
 * A tensor in wasm memory. Kernels read and write it without copies. Create one with `rw.tensor()`, and free it with `dispose()` or `using`.
 */
export class Tensor implements Disposable {
  readonly #memory: TensorMemory;

  // Nothing that a caller can reach leads to an address or to the wasm module: only this package's modules can import tensorMemory().
  static {
    memoryOf = (value) => (#memory in value ? value.#memory : undefined);
  }

  private constructor(heap: Heap, shape: readonly number[], dtype: DType) {
    if (!(heap instanceof Heap)) fail("INVALID_ARGUMENT", "", "create tensors with rw.tensor()");
    this.#memory = new TensorMemory(heap, shape, dtype);
  }

  /** A tensor of zeros. @internal */
  static create(heap: Heap, shape: readonly number[], dtype: DType): Tensor {
    return new this(heap, shape, dtype);
  }

  /** Extents. The last dimension is contiguous. */
  get shape(): readonly number[] {
    return this.#memory.shape;
  }

  /** Element type. */
  get dtype(): DType {
    return this.#memory.dtype;
  }

  /** Number of elements. */
  get length(): number {
    return this.#memory.length;
  }

  /**
   * A view of the elements in wasm memory: a Float32Array for f32, a Uint16Array of bits for f16 and bf16. Each access creates a new view. Don't
   * keep a view across other calls: when wasm memory grows, older views become empty.
   */
  get data(): Float32Array | Uint16Array {
    return this.#memory.data;
  }

  /**
   * Copies `elements` into the tensor. Numbers are rounded to the tensor's element type, to nearest even. The elements of a Uint16Array are the bits
   * of an f16 or bf16 tensor, and numbers for an f32 tensor.
   * @throws {@link RopewalkError} INVALID_SHAPE if the lengths differ; INVALID_ARGUMENT if they aren't numbers; DISPOSED.
   */
  set(elements: ArrayLike<number>): this {
    copyElements(this.#memory, elements);
    return this;
  }

  /** Frees the memory. Calling it twice is harmless. */
  dispose(): void {
    this.#memory.owned.dispose();
  }

  /** Same as {@link Tensor.dispose}, for `using`. */
  [disposeSymbol](): void {
    this.dispose();
  }
}

/** The memory of a tensor; undefined for any other value. @internal */
export function tensorMemory(value: unknown): TensorMemory | undefined {
  return typeof value === "object" && value !== null ? memoryOf(value) : undefined;
}
