// Which kernels a module runs.
import { WEIGHT_FORMATS, type WeightFormatName } from "../quantize/weight_formats.js";
import type { Heap } from "../memory/heap.js";

/**
 * How weights are multiplied: as floats; as 16-bit words; as bytes with seven bits on one side; or as bytes with eight bits, after a test of how this
 * engine and processor read the eighth.
 */
export type ProductKernel = "floats" | "words" | "bytes" | "signed bytes" | "unsigned bytes";

/** The kernels that were chosen for this engine and processor. */
export interface Kernels {
  /** By format of the weights. */
  readonly products: Readonly<Record<WeightFormatName, ProductKernel>>;
}

/** Asks the core for its kernels. @internal */
export function kernelsOf(heap: Heap, isScalar: boolean): Kernels {
  const products = WEIGHT_FORMATS.map((format, i) => [format, heap.text(heap.module.dot_name(isScalar, i))]);
  return { products: Object.fromEntries(products) as Kernels["products"] };
}
