import type { DType, ElementArray } from "../memory/elements.js";
import { codeOf } from "../memory/operand.js";
import { openTensor, passThrough, positionsOfPart } from "../memory/pass_through.js";
import { checkSequenceLength, lengthOf, type PositionInput, readPositions } from "../memory/positions.js";
import { codeOfRole, type Role, type RopeCore } from "./core.js";
import type { Layout } from "../memory/shape.js";
import type { Tensor } from "../memory/tensor.js";

/** How to rotate. */
export interface RotateOptions {
  /** Order of the dimensions. */
  layout: Layout;
  /** Extents in that order; a Tensor has its own. */
  shape?: readonly number[];
  /** Where the tokens stand. */
  positions: PositionInput;
  /** Undo a rotation: angles backwards, attention factor and xPos scale divided out (false). */
  inverse?: boolean;
  /** What is rotated, for xPos (`query`). */
  role?: Role;
  /** Length to plan for, with types whose frequencies depend on it (largest position + 1). */
  seqLen?: number;
  /** Element type of a Uint16Array. */
  dtype?: DType;
  /** Where to write, of the same kind and size; elements outside the rotary span are copied (in place). */
  out?: Tensor | ElementArray;
}

/** Rotates `x` into `options.out`, or in place. @internal */
export function rotate<X extends Tensor | ElementArray>(core: RopeCore, x: X, options: RotateOptions): X {
  const { heap, address } = core;
  const { module } = heap;
  const { inverse = false, out = x } = options;
  const { extents, source, target } = openTensor(heap, core.geometry.head_dim, x, options, "x");
  const role = codeOfRole(options.role ?? "query");
  const positions = readPositions(options.positions, extents.batches, extents.tokens, core.axes, "positions");

  let sequenceLength = checkSequenceLength(options.seqLen);
  if (source.address === 0 || target.address === 0) {
    // the pieces must agree on the length, and every position be known to be good before the first piece is written
    core.checkPositions(positions);
    sequenceLength ||= lengthOf(positions);
  }
  const ids = positions.ids === undefined ? 0 : heap.idBlock(positions.ids.length);
  passThrough(heap, source, target, extents, (from, to, block, part) => {
    const p = positionsOfPart(heap, positions, part, ids, sequenceLength);
    const { batches, tokens, heads, head_dim } = block;
    const status = module.rope_rotate(
      address,
      from,
      to,
      codeOf.dtype(source.dtype),
      codeOf.layout(block),
      batches,
      tokens,
      heads,
      head_dim,
      p.offset,
      p.ids,
      p.axes,
      p.rows,
      p.sequence_length,
      role,
      inverse,
    );
    if (status !== 0) heap.check(status);
  });
  return out as X;
}
