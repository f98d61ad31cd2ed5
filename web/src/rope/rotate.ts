// Rotates queries and keys.
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
    // All chunks must use the same plan, and all positions must be checked before the first chunk is written.
    core.checkPositions(positions);
    sequenceLength ||= lengthOf(positions);
  }
  const ids = positions.ids === undefined ? 0 : heap.idBlock(positions.ids.length);
  forEachChunk(heap, source, target, extents, (from, to, part, chunk) => {
    const p = placeChunkPositions(heap, positions, chunk, ids, sequenceLength);
    const { batches, tokens, heads, head_dim } = part;
    const status = module.rope_rotate(
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
