import { codeIn } from "../base/checks.js";
import { fail } from "../base/errors.js";

/**
 * Order of a tensor's dimensions: b batch, t tokens, h heads, d head_dim (contiguous).
 * `thd` is one sequence without a batch.
 */
export const LAYOUTS = ["bthd", "bhtd", "thd"] as const;
/** One of {@link LAYOUTS}. */
export type Layout = (typeof LAYOUTS)[number];

/** A tensor's extents by name. @internal */
export interface Extents {
  layout: Layout;
  batches: number;
  tokens: number;
  heads: number;
  head_dim: number;
}

/** Checks that a shape holds positive integers. @internal */
export function checkShape(shape: unknown, field: string): readonly number[] {
  const valid =
    Array.isArray(shape) && shape.length > 0 && shape.every((extent) => Number.isInteger(extent) && extent > 0);
  if (!valid)
    fail(
      "INVALID_SHAPE",
      field,
      `must be an array of positive integers (got ${shape === undefined ? "nothing" : JSON.stringify(shape)})`,
    );
  return shape as readonly number[];
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

/** Names the extents of `shape`, given in `field`, by `layout`, and checks that they end in head_dim where that is known. @internal */
export function extentsOf(
  layout: Layout,
  shape: readonly number[],
  head_dim: number | undefined,
  field = "shape",
): Extents {
  if (shape.length !== layout.length) {
    fail(
      "INVALID_SHAPE",
      field,
      `must have ${layout.length} extents for layout ${layout} (got ${JSON.stringify(shape)})`,
    );
  }
  const extent = (name: string): number => {
    const index = layout.indexOf(name);
    return index < 0 ? 1 : shape[index]!;
  };
  const own = extent("d");
  if (own !== (head_dim ?? own))
    fail("INVALID_SHAPE", field, `must end in head_dim ${head_dim} (got ${JSON.stringify(shape)})`);
  return { layout, batches: extent("b"), tokens: extent("t"), heads: extent("h"), head_dim: own };
}

/** Part of a tensor that lies in one piece. @internal */
export interface Block extends Extents {
  /** First element in the tensor. */
  first: number;
  /** First batch and first token. */
  batch: number;
  token: number;
}

/**
 * Cuts a tensor into pieces of at most `limit` elements that lie in memory without gaps, each a tensor of the same layout.
 * @internal
 */
export function* blocksOf(extents: Extents, limit: number): Generator<Block> {
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
        };
      }
      continue;
    }
    // heads innermost: pieces that share their positions follow one another, and the core keeps their cos and sin
    const headStep = Math.max(1, Math.floor(limit / (tokens * head_dim)));
    const tokenStep = Math.min(tokens, Math.max(1, Math.floor(limit / head_dim)));
    for (let token = 0; token < tokens; token += tokenStep) {
      for (let head = 0; head < heads; head += headStep) {
        const first = base + (head * tokens + token) * head_dim;
        const count = { tokens: Math.min(tokenStep, tokens - token), heads: Math.min(headStep, heads - head) };
        yield { layout, batches: 1, ...count, head_dim, first, batch, token };
      }
    }
  }
}
