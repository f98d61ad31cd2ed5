// Types that say which bytes of which stored tensor make up a weight.
import type { StoredTensor } from "../files/model_files.js";

/** Bytes of a stored tensor that are copied into a weight. @internal */
export interface TensorSlice {
  readonly tensor: StoredTensor;
  /** First byte, from the start of the tensor. */
  readonly from: number;
  readonly bytes: number;
  /** Target of the first byte, from the start of the weight. */
  readonly to: number;
}

/** A weight of the core, and the slices it's assembled from. @internal */
export interface WeightMapping {
  /** −1 for weights outside the layers. */
  readonly layer: number;
  /** Index of the role in the core's list of matrices or vectors. */
  readonly slot: number;
  readonly expert: number;
  readonly isVector: boolean;
  readonly rows: number;
  readonly columns: number;
  readonly slices: readonly TensorSlice[];
  /** Added to each element of a vector. */
  readonly added: number;
}

/** Consecutive rows of a tensor. @internal */
export interface TensorRows {
  readonly tensor: StoredTensor;
  readonly first: number;
  readonly count: number;
}

/** Bytes of a weight in its stored format. @internal */
export function bytesOf({ slices }: WeightMapping): number {
  return slices.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Size of a tensor's last dimension. @internal */
export function columnsOf({ shape }: StoredTensor): number {
  return shape[shape.length - 1] ?? 1;
}

/** Number of rows: the product of all dimensions but the last. A vector has one row. @internal */
export function rowsOf({ shape }: StoredTensor): number {
  return shape.slice(0, -1).reduce((product, extent) => product * extent, 1);
}

/** All rows of a tensor. @internal */
export function wholeTensor(tensor: StoredTensor): TensorRows {
  return { tensor, first: 0, count: rowsOf(tensor) };
}

/** Slices that concatenate the given rows. @internal */
export function slicesOf(list: readonly TensorRows[]): TensorSlice[] {
  let to = 0;
  return list.map(({ tensor, first, count }) => {
    const rowBytes = tensor.bytes / rowsOf(tensor);
    const slice = { tensor, from: first * rowBytes, bytes: count * rowBytes, to };
    to += slice.bytes;
    return slice;
  });
}

/** A vector as rows of one element, so that a fused bias is split like its matrix. @internal */
export function asColumn(tensor: StoredTensor): StoredTensor {
  return { ...tensor, shape: [...tensor.shape, 1] };
}
