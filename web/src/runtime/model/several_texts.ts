// What several texts of one model share: beginnings that are read once, and a seed.
import { BY_LENGTH } from "../../core/config/rope_fields.js";
import type { LayerKind, ModelLayer } from "./plan/model_plan.js";

/** Shortest shared prefix worth copying, in tokens. @internal */
export const MIN_COPIED = 32;

/**
 * Whether a text that is read in several parts has the same keys and values, to the last bit, as one that is read at once. States of
 * recurrent layers can't go back to where texts part, and keys that are rotated again are rounded again.
 * @internal
 */
export function readsAlikeInParts({ layers }: { readonly layers: readonly ModelLayer[] }): boolean {
  const withoutState = new Set<LayerKind>(["full_attention", "sliding_attention", "mlp", "moe"]);
  return layers.every(
    ({ kind, rope }) => withoutState.has(kind) && !BY_LENGTH.includes(rope?.rope_scaling?.rope_type ?? "default"),
  );
}

/** `seed + index`, which starts again at 0 after the largest seed, 2^53 - 1. Doubles can't hold the sum before it wraps. @internal */
export function seedOfText(seed: number, index: number): number {
  const above = Number.MAX_SAFE_INTEGER - seed;
  return index <= above ? seed + index : index - above - 1;
}
