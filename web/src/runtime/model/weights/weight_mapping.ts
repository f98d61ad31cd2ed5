// Says which bytes of which stored tensor make up a weight.
import type { StoredTensor, WeightFormatName } from "../../files/model_files.js";
import { elementsOf, tensorBytes, WEIGHT_BLOCKS } from "../../../core/quantize/weight_formats.js";

/** Bytes of a stored tensor that are copied into a weight. @internal */
export interface TensorSlice {
  readonly tensor: StoredTensor;
  /** First byte, from the start of the tensor. */
  readonly from: number;
  readonly bytes: number;
  /** Target of the first byte, from the start of the weight. */
  readonly to: number;
  /** How the bytes are distributed; absent if they are copied as they are. */
  readonly picked?: PickedUnits;
}

/**
 * Some units of each group of a slice, collected by their place in the group: unit `first + k · step` of group g goes to place k · groups + g. So the
 * units of one element and groups of one row transpose a matrix, and units of a row take every other row.
 * @internal
 */
export interface PickedUnits {
  /** Bytes of a unit. */
  readonly unit: number;
  readonly groups: number;
  /** Units in a group. */
  readonly width: number;
  readonly first: number;
  readonly step: number;
  /** Units that are taken from each group. */
  readonly count: number;
}

/** The place of a weight in the core, and its shape. @internal */
export interface WeightPlace {
  /** −1 for weights outside the layers. */
  readonly layer: number;
  /** Index of the role in the core's list of matrices or vectors. */
  readonly slot: number;
  readonly expert: number;
  readonly isVector: boolean;
  /** 1 for a vector. */
  readonly rows: number;
  readonly columns: number;
  /** Added to each element of a vector. */
  readonly added: number;
}

/** A weight of the core, and the slices it's assembled from. Only assembleWeight() makes one. @internal */
export interface WeightMapping extends WeightPlace {
  readonly format: WeightFormatName;
  /** Bytes of the weight in its stored format: those of all slices together. */
  readonly bytes: number;
  /** Format in the core, and the bytes that the core reserves for a matrix. Those of the file, unless the weight is quantized. */
  readonly loaded: { readonly format: WeightFormatName; readonly bytes: number };
  /** In the order of their targets; empty for values that are not in a tensor. */
  readonly slices: readonly TensorSlice[];
  /** The rows that the slices contain, in the same order. */
  readonly parts: readonly TensorRows[];
  /** The elements of a vector that the metadata of a file has, in f32. */
  readonly values?: readonly number[];
}

/** Consecutive rows of a tensor. @internal */
export interface TensorRows {
  readonly tensor: StoredTensor;
  readonly first: number;
  readonly count: number;
  /** Of these rows, only one in each `step`: the one at `offset`. */
  readonly every?: { readonly offset: number; readonly step: number };
  /** The rows are columns of the weight: `count` of the tensor's columns from `first` on, `step` apart, become its rows. */
  readonly transposed?: { readonly first: number; readonly step: number; readonly count: number };
}

/** Reports that a tensor can't be used as the weight that the config requires. */
type Refuse = (tensor: StoredTensor, message: string) => never;

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

/** A vector as rows of one element, so that a fused bias is split like its matrix. @internal */
export function asColumn(tensor: StoredTensor): StoredTensor {
  return { ...tensor, shape: [...tensor.shape, 1] };
}

/**
 * The weight that the given rows make up when they are put one after the other. Weights are copied into wasm memory by these slices alone, so
 * this is where the sizes in a file meet the sizes in its config: all rows must be inside their tensors, be whole blocks of one format, and
 * together have the shape of the weight.
 *
 * @param refuse - throws an error that names the tensor
 * @internal
 */
export function assembleWeight(place: WeightPlace, parts: readonly TensorRows[], refuse: Refuse): WeightMapping {
  const { tensor: sample } = parts[0]!;
  const { format } = sample;
  const block = WEIGHT_BLOCKS[format];
  let to = 0;
  const slices = parts.map((part) => {
    const { tensor, first, count } = part;
    if (tensor.format !== format)
      refuse(tensor, `format must be ${format}, as that of the other parts of the same weight (got ${tensor.format})`);
    const columns = columnsOf(tensor);
    const width = part.transposed === undefined ? columns : count;
    if (!place.isVector && width !== place.columns)
      refuse(tensor, `must have ${place.columns} columns by the config (got ${width})`);
    const [begin, length] = [first * columns, count * columns];
    const isInside = first >= 0 && count > 0 && begin + length <= (elementsOf(tensor.shape) ?? 0);
    if (!isInside || !Number.isInteger(first) || !Number.isInteger(count))
      refuse(tensor, `has ${rowsOf(tensor)} rows, but the config requires rows ${first} to ${first + count - 1}`);
    if (begin % block.elements !== 0 || length % block.elements !== 0)
      refuse(tensor, `can't be split by the config at element ${begin}, inside a ${format} block of ${block.elements}`);
    const bytesOf = (elements: number): number => (elements / block.elements) * block.bytes;
    const slice = { tensor, from: bytesOf(begin), bytes: bytesOf(length), to };
    if (slice.from + slice.bytes > tensor.bytes) refuse(tensor, `has only ${tensor.bytes} bytes`);
    const picked = pickedUnits(part, columns, bytesOf, (message) => refuse(tensor, message));
    to += picked === undefined ? slice.bytes : picked.unit * picked.groups * picked.count;
    return picked === undefined ? slice : { ...slice, picked };
  });
  const bytes = tensorBytes(format, [place.rows, place.columns]);
  if (to !== bytes)
    refuse(
      sample,
      `has ${to} bytes in ${format}, but ${place.rows} × ${place.columns} by the config take ${bytes ?? "other ones"}`,
    );
  return { ...place, format, bytes, loaded: { format, bytes }, slices, parts };
}

/** The units of a part that the weight has; undefined if it has all of them in their order. */
function pickedUnits(
  { tensor, count, every, transposed }: TensorRows,
  columns: number,
  bytesOf: (elements: number) => number,
  refuse: (message: string) => never,
): PickedUnits | undefined {
  if (transposed !== undefined) {
    const { first, step, count: taken } = transposed;
    if (WEIGHT_BLOCKS[tensor.format].elements !== 1) refuse(`can't be transposed in ${tensor.format}`);
    if (first + (taken - 1) * step >= columns)
      refuse(`has ${columns} columns, but the config requires ${first + (taken - 1) * step + 1}`);
    return { unit: bytesOf(1), groups: count, width: columns, ...transposed };
  }
  if (every === undefined) return undefined;
  if (count % every.step !== 0) refuse(`has ${count} rows where the config requires a multiple of ${every.step}`);
  return {
    unit: bytesOf(columns),
    groups: count / every.step,
    width: every.step,
    first: every.offset,
    step: 1,
    count: 1,
  };
}
