// Rotates queries and keys.
import { trueOrFalse } from "../base/checks.js";
import { checkOptions, optionNames } from "../base/options.js";
import type { DType, ElementArray } from "../memory/elements.js";
import { codeOf } from "../memory/operand.js";
import { forEachChunk, openTensor, placeChunkPositions } from "../memory/chunks.js";
import { checkSequenceLength, lengthOf, type PositionInput, readPositions } from "../memory/positions.js";
import { codeOfRole, type Role, type RopeCore } from "./core.js";
import { countOf, type Layout } from "../memory/shape.js";
import type { Tensor } from "../memory/tensor.js";

/** Options of {@link Rope.rotate}. */
export interface RotateOptions {
  /** Order of the dimensions. */
  layout: Layout;
  /** Shape, in the order of `layout`. Required unless `x` is a Tensor that is rotated as a whole. */
  shape?: readonly number[];
  /**
   * Elements from one batch row, token and head to the next, in the order of `layout` without d: [b, t, h], [b, h, t] or [t, h]. For a tensor that is
   * part of `x`, such as the queries in a fused buffer. Nothing else in `x` changes. Default: contiguous.
   */
  strides?: readonly number[];
  /** First element of the tensor in `x`. Default: 0. */
  offset?: number;
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
  /** Where to write: as many elements as the shape has, contiguous, of x's type. Elements outside the rotary span are copied. Default: in place. */
  out?: Tensor | ElementArray;
}

const OPTIONS = optionNames<RotateOptions>("rotate()", {
  layout: true,
  shape: true,
  strides: true,
  offset: true,
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
    strides,
    offset,
    positions: input,
    axes: givenAxes,
    inverse = false,
    role: givenRole = "query",
    seqLen,
    dtype,
    out = x,
  } = checkOptions(options, OPTIONS);
  const { heap } = core;
  const tensor = openTensor(heap, core.geometry.head_dim, x, { layout, shape, strides, offset, dtype, out }, "x");
  const { extents, source, target } = tensor;
  const role = codeOfRole(givenRole);
  trueOrFalse(inverse, "inverse");
  const positions = readPositions(input, extents.batches, extents.tokens, core.axes, "positions", givenAxes);
  let sequenceLength = checkSequenceLength(seqLen);

  // From here on no code of the caller runs, so addresses stay valid.
  const { address } = core;
  if (source.address === 0 || target.address === 0 || countOf(extents) === 0) {
    // All chunks must use the same plan, and all positions must be checked before the first chunk is written.
    core.checkPositions(positions, "positions", sequenceLength);
    sequenceLength ||= lengthOf(positions);
  }
  const ids = positions.ids === undefined ? 0 : heap.idBlock(positions.ids.length);
  forEachChunk(heap, tensor, (from, to, part, chunk, stridesAddress) => {
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
      stridesAddress,
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
