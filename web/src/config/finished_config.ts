import { fail } from "../base/errors.js";
import type { QueryTemperature, RopeConfig, RopeType } from "./types.js";

type Widths = Partial<Pick<RopeConfig, "rotary_dim" | "partial_rotary_factor">>;

/**
 * The number of rotated elements: rotary_dim, or ⌊head_dim · partial_rotary_factor⌋, or the whole head.
 *
 * @throws INVALID_CONFIG where the two disagree, or where nothing would rotate
 */
export function rotaryDimOf(
  head_dim: number,
  { rotary_dim, partial_rotary_factor: factor }: Widths,
  type: RopeType,
): number {
  // The proportional type turns the whole head; its share is that of frequencies which are not zero.
  const share = factor === undefined || type === "proportional" ? undefined : Math.trunc(head_dim * factor);
  if (share !== undefined && rotary_dim !== undefined && share !== rotary_dim) {
    fail(
      "INVALID_CONFIG",
      "rotary_dim",
      `is ${rotary_dim}, but partial_rotary_factor ${factor} of head_dim ${head_dim} is ${share}`,
    );
  }
  const width = rotary_dim ?? share ?? head_dim;
  // To wasm, 0 would mean the whole head.
  if (width === 0)
    fail("INVALID_CONFIG", rotary_dim === 0 ? "rotary_dim" : "partial_rotary_factor", "leaves no element to rotate");
  return width;
}

/**
 * Ministral 3's query temperature: every query is scaled by the number of original lengths before its position.
 *
 * @throws INVALID_CONFIG without the original length
 */
export function betaTemperature(beta: number, original: number | undefined): QueryTemperature {
  if (original === undefined) {
    return fail("INVALID_CONFIG", "original_max_position_embeddings", "is missing, and llama_4_scaling_beta needs it");
  }
  return { scale: beta, floor_scale: original, offset: 0, layers: "all" };
}
