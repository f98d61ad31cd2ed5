// The memory behind a tensor, which only this package's modules can reach.
import { checkDType, type DType, sizeOf } from "./elements.js";
import type { Heap } from "./heap.js";
import { Owned } from "./owned.js";
import { checkShape, elementCount } from "./shape.js";

/**
 * Where a tensor is, and what it contains.
 * @internal
 */
export class TensorMemory {
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** Number of elements. */
  readonly length: number;
  readonly owned: Owned;

  constructor(heap: Heap, shape: readonly number[], dtype: DType) {
    this.shape = Object.freeze(checkShape(shape, "shape"));
    this.dtype = checkDType(dtype);
    this.length = elementCount(this.shape);
    const bytes = this.length * sizeOf(dtype);
    this.owned = new Owned(heap, heap.allocate(bytes, "shape"), "tensor", freeElements);
    heap.bytes(this.owned.address, bytes).fill(0);
  }

  get data(): Float32Array | Uint16Array {
    const { address, heap } = this.owned;
    return this.dtype === "f32"
      ? new Float32Array(heap.buffer, address, this.length)
      : new Uint16Array(heap.buffer, address, this.length);
  }
}

function freeElements(heap: Heap, address: number): void {
  heap.free(address);
}
