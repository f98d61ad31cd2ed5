// How many tokens a RoPE supports.
import type { RopeConfig } from "../config/types.js";

/** By the factor of the scaling or by the trained length. @internal */
export function supportedLength(rope: Readonly<RopeConfig> | null, trainedLength: number): number {
  const { factor = 1, original_max_position_embeddings: original = trainedLength } = rope?.rope_scaling ?? {};
  return Math.max(trainedLength, Math.floor(factor * original));
}

/** A warning, if a context is longer than the RoPE supports. @internal */
export function lengthWarning(
  rope: Readonly<RopeConfig> | null,
  contextLength: number,
  trainedLength: number,
): string | undefined {
  const supported = supportedLength(rope, trainedLength);
  const isUnlimited = rope === null || rope.rope_scaling?.rope_type?.startsWith("dynamic");
  if (isUnlimited || contextLength <= supported) return undefined;
  const factor = Math.ceil(contextLength / trainedLength);
  return `a context of ${contextLength} tokens is longer than the ${supported} this RoPE supports; extend it with rope_type yarn and factor ${factor}`;
}
