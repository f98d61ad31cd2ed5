// Where the heads of a tensor lie in a larger array, such as the queries in a fused buffer of queries, keys and values.
import { fail } from "../base/errors.js";
import { show } from "../base/show.js";
import { isArray } from "../base/typed_arrays.js";
import { countOf, type Extents } from "./shape.js";

/** First element of a tensor, and elements from one batch row, token or head to the next. The elements of a head are contiguous. @internal */
export interface Placement {
  offset: number;
  batch: number;
  token: number;
  head: number;
}

/** The placement of a contiguous tensor. @internal */
export function contiguousPlacement({ layout, tokens, heads, head_dim }: Extents): Placement {
  const batch = tokens * heads * head_dim;
  return layout === "bhtd"
    ? { offset: 0, batch, token: head_dim, head: tokens * head_dim }
    : { offset: 0, batch, token: heads * head_dim, head: head_dim };
}

/**
 * Reads the options `strides` and `offset` of a tensor in an array of `length` elements. Checks that its heads lie inside the array and don't overlap.
 * @internal
 */
export function readPlacement(extents: Extents, strides: unknown, offset: unknown, length: number): Placement {
  const placement = contiguousPlacement(extents);
  if (strides !== undefined) Object.assign(placement, readStrides(extents, strides));
  if (!Number.isInteger(offset) || (offset as number) < 0 || (offset as number) > length) {
    fail(
      "INVALID_SHAPE",
      "offset",
      `must be an integer from 0 to ${length}, the number of elements (got ${show(offset)})`,
    );
  }
  placement.offset = offset as number;

  if (countOf(extents) === 0) return placement;
  const { batches, tokens, heads, head_dim } = extents;
  const steps = [
    { count: batches, stride: placement.batch },
    { count: tokens, stride: placement.token },
    { count: heads, stride: placement.head },
  ].sort((a, b) => a.stride - b.stride);
  let size = head_dim; // elements from the first to the last of the dimensions so far
  for (const { count, stride } of steps) {
    if (count === 1) continue;
    if (stride < size)
      fail("INVALID_SHAPE", "strides", `overlap: a stride of ${stride} is less than ${size} elements before it`);
    size += (count - 1) * stride;
  }
  if (placement.offset + size > length) {
    const end = placement.offset + size;
    fail(
      "INVALID_SHAPE",
      strides === undefined ? "offset" : "strides",
      `end at element ${end} of an array of ${length}`,
    );
  }
  return placement;
}

function readStrides({ layout, batches, tokens, heads }: Extents, strides: unknown): Omit<Placement, "offset"> {
  const names = layout.split("").slice(0, -1);
  const given: unknown[] = [];
  if (isArray(strides)) for (let i = 0; i < strides.length && i <= names.length; i++) given.push(strides[i]);
  const valid =
    given.length === names.length && given.every((stride) => Number.isInteger(stride) && (stride as number) >= 0);
  if (!valid) {
    fail(
      "INVALID_SHAPE",
      "strides",
      `must be ${names.length} integers from 0, for ${names.join(", ")} (got ${show(strides)})`,
    );
  }
  const stride = (name: string, count: number): number => (count > 1 ? (given[names.indexOf(name)] as number) : 0);
  return { batch: stride("b", batches), token: stride("t", tokens), head: stride("h", heads) };
}

/** Heads of a tensor: `heads` heads from `head` on, of `tokens` tokens from `token` on, of batch row `batch`. @internal */
export interface HeadBlock extends Extents {
  batch: number;
  token: number;
  head: number;
}

/** Copies a block of heads to another placement. Both arrays are bytes, of elements of `size` bytes. @internal */
export function copyHeads(
  from: Uint8Array,
  fromPlacement: Placement,
  to: Uint8Array,
  toPlacement: Placement,
  block: HeadBlock,
  size: number,
): void {
  const at = ({ offset, batch, token, head }: Placement, t: number, h: number): number =>
    size * (offset + block.batch * batch + (block.token + t) * token + (block.head + h) * head);
  const { head_dim } = block;
  const headsAreAdjacent = fromPlacement.head === head_dim && toPlacement.head === head_dim;
  const tokensAreAdjacent = !headsAreAdjacent && fromPlacement.token === head_dim && toPlacement.token === head_dim;
  const [heads, headRun] = headsAreAdjacent ? [1, block.heads] : [block.heads, 1];
  const [tokens, tokenRun] = tokensAreAdjacent ? [1, block.tokens] : [block.tokens, 1];
  const bytes = size * head_dim * headRun * tokenRun;
  for (let t = 0; t < tokens; t++) {
    for (let h = 0; h < heads; h++) {
      const start = at(fromPlacement, t, h);
      to.set(from.subarray(start, start + bytes), at(toPlacement, t, h));
    }
  }
}
