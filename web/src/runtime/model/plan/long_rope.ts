// LongRoPE has two lists of factors: one for texts up to the original length, one for longer texts. A text must be read
// under one list from the first token to the last, so a session that outgrows the first list reads its text again under
// the second, once. Re-rotating the cached keys isn't enough: above the lowest layer, keys and values were computed
// from states that depend on the first list.
import type { RopeConfig } from "../../../core/config/types.js";

/** Whether a text of `length` tokens uses the second list of a LongRoPE. @internal */
export function usesLongFactors(rope: Readonly<RopeConfig>, length: number): boolean {
  const { rope_type, original_max_position_embeddings } = rope.rope_scaling ?? {};
  return rope_type === "longrope" && length > (original_max_position_embeddings ?? Infinity);
}

/** A LongRoPE that uses its second list at every length. @internal */
export function withLongFactors(rope: Readonly<RopeConfig>): RopeConfig {
  const { long_factor, long_mscale } = rope.rope_scaling ?? {};
  return {
    ...rope,
    rope_scaling: {
      ...rope.rope_scaling,
      ...(long_factor && { short_factor: long_factor }),
      ...(long_mscale !== undefined && { short_mscale: long_mscale }),
    },
  };
}
