import type { DType, ElementArray } from "../memory/elements.js";
import { RopewalkError } from "../base/errors.js";
import { tensorAt } from "../memory/operand.js";
import { openTensor, passThrough, positionsOfPart } from "../memory/pass_through.js";
import { checkSequenceLength, lengthOf, type PositionInput, readPositions } from "../memory/positions.js";
import type { RopeCore } from "./core.js";
import type { Layout } from "../memory/shape.js";
import type { Tensor } from "../memory/tensor.js";

/** Where keys stand, `rope` being whatever stands for a configured rope. */
export interface Standing<R> {
  /** As in {@link RotateOptions.positions}. */
  positions: PositionInput;
  /** Length their plan is for (largest position + 1); matters to length-dependent types. */
  seqLen?: number;
  /** The rope they are rotated by, where it is another one. */
  rope?: R;
}

/** How to re-rotate. */
export interface RerotateOptions<R> {
  /** Where and by what the keys have been rotated. */
  from: Standing<R>;
  /** Where and by what they shall be. */
  to: Standing<R>;
  /** Order of the dimensions. */
  layout: Layout;
  /** Extents in that order; a Tensor has its own. */
  shape?: readonly number[];
  /** Element type of a Uint16Array. */
  dtype?: DType;
  /** Where to write (in place). */
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

  const stand = (standing: Standing<RopeCore>, field: string) => {
    const core = standing.rope ?? own;
    if (core.heap !== heap)
      throw new RopewalkError("INVALID_ARGUMENT", `${field}.rope`, "belongs to another load() of the module");
    const positions = readPositions(
      standing.positions,
      extents.batches,
      extents.tokens,
      core.axes,
      `${field}.positions`,
    );
    core.checkPositions(positions, `${field}.positions`);
    const sequenceLength = checkSequenceLength(standing.seqLen, `${field}.seqLen`) || lengthOf(positions);
    return { rope: core.address, positions, sequenceLength };
  };
  const from = stand(options.from, "from");
  const to = stand(options.to, "to");
  const fromCount = from.positions.ids?.length ?? 0;
  const ids = heap.idBlock(fromCount + (to.positions.ids?.length ?? 0));

  passThrough(heap, source, target, extents, (sourceAddress, targetAddress, block, part) => {
    const tensor = tensorAt(source.dtype, block, sourceAddress, targetAddress);
    const fromPositions = positionsOfPart(heap, from.positions, part, ids, from.sequenceLength);
    const toPositions = positionsOfPart(heap, to.positions, part, ids + fromCount * 8, to.sequenceLength);
    heap.check(heap.module.rope_rerotate(tensor, from.rope, fromPositions, to.rope, toPositions));
  });
  return out as X;
}
