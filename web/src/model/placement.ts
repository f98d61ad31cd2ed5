import type { StoredTensor } from "../files/model_files.js";

/** Bytes of a stored tensor that go into a weight. @internal */
export interface Piece {
  readonly tensor: StoredTensor;
  /** First byte, from the start of the tensor. */
  readonly from: number;
  readonly bytes: number;
  /** Where they go, from the start of the weight. */
  readonly to: number;
}

/** A weight of the core, and what of the file it is made of. @internal */
export interface Placement {
  /** −1 for the model's own. */
  readonly layer: number;
  /** Index of the role in the core's list of matrices or vectors. */
  readonly slot: number;
  readonly expert: number;
  readonly isVector: boolean;
  readonly rows: number;
  readonly columns: number;
  readonly pieces: readonly Piece[];
  /** Added to each element of a vector. */
  readonly added: number;
}

/** Rows of tensors, one after the other. @internal */
export interface Rows {
  readonly tensor: StoredTensor;
  readonly first: number;
  readonly count: number;
}

/** Number of elements in a tensor's last dimension. @internal */
export function columnsOf({ shape }: StoredTensor): number {
  return shape[shape.length - 1] ?? 1;
}

/** Number of rows: all dimensions but the last. A vector is one row. @internal */
export function rowsOf({ shape }: StoredTensor): number {
  return shape.slice(0, -1).reduce((product, extent) => product * extent, 1);
}

/** A whole tensor. @internal */
export function whole(tensor: StoredTensor): Rows {
  return { tensor, first: 0, count: rowsOf(tensor) };
}

/** The pieces that rows make, one behind the other. @internal */
export function piecesOf(list: readonly Rows[]): Piece[] {
  let to = 0;
  return list.map(({ tensor, first, count }) => {
    const row = tensor.bytes / rowsOf(tensor);
    const piece = { tensor, from: first * row, bytes: count * row, to };
    to += piece.bytes;
    return piece;
  });
}

/**
 * A vector seen as rows of one element, so that a fused bias is cut like the matrix it belongs to.
 * @internal
 */
export function asColumn(tensor: StoredTensor): StoredTensor {
  return { ...tensor, shape: [...tensor.shape, 1] };
}
