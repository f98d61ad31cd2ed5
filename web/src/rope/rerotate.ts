// Moves rotated keys to other positions, or to another plan.
import type { DType, ElementArray } from "../memory/elements.js";
import { checkSameHeap, tensorAt } from "../memory/operand.js";
import { forEachChunk, openTensor, placeChunkPositions } from "../memory/chunks.js";
import { checkSequenceLength, lengthOf, type PositionInput, readPositions } from "../memory/positions.js";
import type { RopeCore } from "./core.js";
import type { Layout } from "../memory/shape.js";
import type { Tensor } from "../memory/tensor.js";

/** The rotation of keys: their positions, and the plan they are rotated with. `R` is the type of a rope. */
export interface KeyRotation<R> {
  /** As in {@link RotateOptions.positions}. */
  positions: PositionInput;
  /** Sequence length of the plan, for types with length-dependent frequencies. Default: largest position + 1. */
  seqLen?: number;
  /** The rope, if it is another one. */
  rope?: R;
}

/** Options of {@link Rope.rerotate}. */
export interface RerotateOptions<R> {
  /** The present rotation of the keys. */
  from: KeyRotation<R>;
  /** The rotation that the keys get. */
  to: KeyRotation<R>;
  /** Order of the dimensions. */
  layout: Layout;
  /** Shape, in the order of `layout`. Required unless the keys are a Tensor. */
  shape?: readonly number[];
  /** Element type of a Uint16Array: `"f16"` or `"bf16"`. */
  dtype?: DType;
  /** Where to write. Default: in place. */
  out?: Tensor | ElementArray;
}

/** @internal */
export function rerotate<X extends Tensor | ElementArray>(
  keys: X,
  options: RerotateOptions<RopeCore>,
  own: RopeCore,
): X {
  const { heap } = own;
  const { out = keys } = options;
  const { extents, source, target } = openTensor(heap, own.geometry.head_dim, keys, options, "keys");

  const check = (rotation: KeyRotation<RopeCore>, field: string) => {
    const core = rotation.rope ?? own;
    checkSameHeap(heap, core, `${field}.rope`);
    const { batches, tokens } = extents;
    const positions = readPositions(rotation.positions, batches, tokens, core.axes, `${field}.positions`);
    core.checkPositions(positions, `${field}.positions`);
    const sequenceLength = checkSequenceLength(rotation.seqLen, `${field}.seqLen`) || lengthOf(positions);
    return { rope: core.address, positions, sequenceLength };
  };
  const from = check(options.from, "from");
  const to = check(options.to, "to");
  const fromCount = from.positions.ids?.length ?? 0;
  const ids = heap.idBlock(fromCount + (to.positions.ids?.length ?? 0));

  forEachChunk(heap, source, target, extents, (sourceAddress, targetAddress, part, chunk) => {
    const tensor = tensorAt(source.dtype, part, sourceAddress, targetAddress);
    const fromPositions = placeChunkPositions(heap, from.positions, chunk, ids, from.sequenceLength);
    const toPositions = placeChunkPositions(heap, to.positions, chunk, ids + fromCount * 8, to.sequenceLength);
    heap.check(heap.module.rope_rerotate(tensor, from.rope, fromPositions, to.rope, toPositions));
  });
  return out as X;
}
