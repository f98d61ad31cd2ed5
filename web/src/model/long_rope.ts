import type { RopeConfig } from "../config/types.js";

/**
 * Longrope has two lists of factors, for texts up to the original length and for longer ones. A model reads a text under one of them from the first
 * token to the last, so a text that outgrows the first is read again under the second, once. (Turning its keys would not do: in all layers but
 * the lowest, keys and values are made of what was read under the other list.)
 * @internal
 */
export function isLongRope(rope: Readonly<RopeConfig>): boolean {
  return rope.rope_scaling?.rope_type === "longrope";
}

/** Whether a text of a length is read under the second list. @internal */
export function isLong(rope: Readonly<RopeConfig>, length: number): boolean {
  return isLongRope(rope) && length > (rope.rope_scaling?.original_max_position_embeddings ?? Infinity);
}

/** A rope whose second list holds at every length. @internal */
export function alwaysLong(rope: Readonly<RopeConfig>): RopeConfig {
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
