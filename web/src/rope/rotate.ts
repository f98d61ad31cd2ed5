// Rotates queries and keys.
import { trueOrFalse } from "../base/checks.js";
import { checkOptions, optionNames } from "../base/options.js";
import type { DType, ElementArray } from "../memory/elements.js";
import { codeOf } from "../memory/operand.js";
import { forEachChunk, openTensor, placeChunkPositions } from "../memory/chunks.js";
import { checkSequenceLength, lengthOf, type PositionInput, readPositions } from "../memory/positions.js";
import { codeOfRole, type Role, type RopeCore } from "./core.js";
import type { Layout } from "../memory/shape.js";
import type { Tensor } from "../memory/tensor.js";

/** Options of {@link Rope.rotate}. */
export interface RotateOptions {
  /** Order of the dimensions. */
  layout: Layout;
  /** Shape, in the order of `layout`. Required unless `x` is a Tensor. */
  shape?: readonly number[];
  /** Positions of the tokens. */
  positions: PositionInput;
  /** Number of axes that an array of positions has ids for: 1, or all axes of the rope. Needed only where both could be meant. */
  axes?: number;
  /** Undoes a rotation: negates angles, and divides by the attention factor and the xPos scale. Default: false. */
  inverse?: boolean;
  /** What is rotated; matters only for xPos. Default: `"query"`. */
  role?: Role;
  /** Sequence length of the plan, for types with length-dependent frequencies. Default: largest position + 1. */
  seqLen?: number;
  /** Element type of a Uint16Array: `"f16"` or `"bf16"`. */
  dtype?: DType;
  /** Where to write; same element type and length. Elements outside the rotary span are copied. Default: in place. */
  out?: Tensor | ElementArray;
}

const OPTIONS = optionNames<RotateOptions>("rotate()", {
  layout: true,
  shape: true,
  positions: true,
  axes: true,
  inverse: true,
  role: true,
  seqLen: true,
  dtype: true,
  out: true,
});

/** Rotates `x` into `options.out`, or in place. @internal */
export function rotate<X>(core: RopeCore, x: X, options: RotateOptions): X {
  const {
    layout,
    shape,
    positions: input,
    axes: givenAxes,
    inverse = false,
    role: givenRole = "query",
    seqLen,
    dtype,
    out = x,
  } = checkOptions(options, OPTIONS);
  const { heap } = core;
  const { extents, source, target } = openTensor(heap, core.geometry.head_dim, x, { layout, shape, dtype, out }, "x");
  const role = codeOfRole(givenRole);
  trueOrFalse(inverse, "inverse");
  const positions = readPositions(input, extents.batches, extents.tokens, core.axes, "positions", givenAxes);
  let sequenceLength = checkSequenceLength(seqLen);

  // From here on no code of the caller runs, so addresses stay valid.
  const { address } = core;
  if (source.address === 0 || target.address === 0 || source.length === 0) {
    // All chunks must use the same plan, and all positions must be checked before the first chunk is written.
    core.checkPositions(positions, "positions", sequenceLength);
    sequenceLength ||= lengthOf(positions);
  }
  const ids = positions.ids === undefined ? 0 : heap.idBlock(positions.ids.length);
  forEachChunk(heap, source, target, extents, (from, to, part, chunk) => {
    const p = placeChunkPositions(heap, positions, chunk, ids, sequenceLength);
    const { batches, tokens, heads, head_dim } = part;
    const status = heap.module.rope_rotate(
      address,
      from,
      to,
      codeOf.dtype(source.dtype),
      codeOf.layout(part),
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
