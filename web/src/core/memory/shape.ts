// Layouts and shapes of tensors, and how a tensor is split into chunks.
import { codeIn } from "../base/checks.js";
import { fail } from "../base/errors.js";
import { show } from "../base/show.js";
import { isArray } from "../base/typed_arrays.js";

/**
 * Order of a tensor's dimensions: b batch, t tokens, h heads, d head_dim (contiguous).
 * `thd` is one sequence without a batch dimension.
 */
export const LAYOUTS = ["bthd", "bhtd", "thd"] as const;
/** One of {@link LAYOUTS}. */
export type Layout = (typeof LAYOUTS)[number];

/** The extents of a tensor, by name. @internal */
export interface Extents {
  layout: Layout;
  batches: number;
  tokens: number;
  heads: number;
  head_dim: number;
}

/** The most dimensions that a shape may have. */
const DIMENSIONS = 32;

/** Returns a copy of a shape, with each extent read once. Checks that they are integers from 0. @internal */
export function checkShape(shape: unknown, field: string): readonly number[] {
  const copy: number[] = [];
  if (isArray(shape)) for (let i = 0; i < shape.length && i <= DIMENSIONS; i++) copy.push(shape[i] as number);
  const valid =
    copy.length > 0 && copy.length <= DIMENSIONS && copy.every((extent) => Number.isInteger(extent) && extent >= 0);
  if (!valid)
    fail("INVALID_SHAPE", field, `must be an array of extents, which are integers from 0 (got ${show(shape)})`);
  return copy;
}

/** @internal */
export function elementCount(shape: readonly number[]): number {
  return shape.reduce((count, extent) => count * extent, 1);
}

/** @internal */
export function checkLayout(layout: unknown): Layout {
  codeIn(LAYOUTS, layout, "layout");
  return layout as Layout;
}

/** The extents of `shape` in a layout. Checks that the last one is head_dim, if that is given. Errors name `field`. @internal */
export function extentsOf(
  layout: Layout,
  shape: readonly number[],
  head_dim: number | undefined,
  field = "shape",
): Extents {
  if (shape.length !== layout.length) {
    fail("INVALID_SHAPE", field, `must have ${layout.length} dimensions for layout "${layout}" (got ${show(shape)})`);
  }
  const own = shape[shape.length - 1]!;
  if (own !== (head_dim ?? own)) fail("INVALID_SHAPE", field, `must end in head_dim ${head_dim} (got ${show(shape)})`);
  switch (layout) {
    case "bthd":
      return { layout, batches: shape[0]!, tokens: shape[1]!, heads: shape[2]!, head_dim: own };
    case "bhtd":
      return { layout, batches: shape[0]!, tokens: shape[2]!, heads: shape[1]!, head_dim: own };
    case "thd":
      return { layout, batches: 1, tokens: shape[0]!, heads: shape[1]!, head_dim: own };
  }
}

/** The number of elements of a tensor. @internal */
export function countOf({ batches, tokens, heads, head_dim }: Extents): number {
  return batches * tokens * heads * head_dim;
}

/** A contiguous part of a tensor. @internal */
export interface Chunk extends Extents {
  /** Index of its first element in the tensor. */
  first: number;
  /** Its first batch row, token and head. */
  batch: number;
  token: number;
  head: number;
}

/**
 * Splits a tensor into contiguous chunks of at most `limit` elements. Each is a tensor of the same layout. A single token (in "bhtd", of one
 * head) is never split, so it may exceed the limit.
 * @internal
 */
export function* chunksOf(extents: Extents, limit: number): Generator<Chunk> {
  const { layout, batches, tokens, heads, head_dim } = extents;
  const sequence = tokens * heads * head_dim;
  for (let batch = 0; batch < batches; batch++) {
    const base = batch * sequence;
    if (layout !== "bhtd") {
      const step = Math.max(1, Math.floor(limit / (heads * head_dim)));
      for (let token = 0; token < tokens; token += step) {
        yield {
          layout,
          batches: 1,
          tokens: Math.min(step, tokens - token),
          heads,
          head_dim,
          first: base + token * heads * head_dim,
          batch,
          token,
          head: 0,
        };
      }
      continue;
    }
    // Heads are the inner loop: successive chunks then have the same positions, and their cos and sin are computed once.
    const headStep = Math.max(1, Math.floor(limit / (tokens * head_dim)));
    const tokenStep = Math.min(tokens, Math.max(1, Math.floor(limit / head_dim)));
    for (let token = 0; token < tokens; token += tokenStep) {
      for (let head = 0; head < heads; head += headStep) {
        const first = base + (head * tokens + token) * head_dim;
        const count = { tokens: Math.min(tokenStep, tokens - token), heads: Math.min(headStep, heads - head) };
        yield { layout, batches: 1, ...count, head_dim, first, batch, token, head };
      }
    }
  }
}
