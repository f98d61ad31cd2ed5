// How many tokens a RoPE supports.
import type { Advised } from "../../../core/base/advice.js";
import * as advise from "../../../core/base/advice.js";
import type { RopeConfig } from "../../../core/config/types.js";
import { type ModelLayer, ropeKind } from "../plan/model_plan.js";

/** By the factor of the scaling or by the trained length. @internal */
export function supportedLength(rope: Readonly<RopeConfig> | null, trainedLength: number): number {
  const { factor = 1, original_max_position_embeddings: original = trainedLength } = rope?.rope_scaling ?? {};
  return Math.max(trainedLength, Math.floor(factor * original));
}

/**
 * A warning, if a context is longer than the RoPE of the full-attention layers supports. Others never see distances beyond their window.
 * @internal
 */
export function lengthWarning(
  layers: readonly ModelLayer[],
  contextLength: number,
  trainedLength: number,
): { problem: string; advised: Advised } | undefined {
  const rope = layers.find((layer) => ropeKind(layer) === "full_attention")?.rope ?? null;
  const supported = supportedLength(rope, trainedLength);
  const { rope_type: type = "default", original_max_position_embeddings: original = trainedLength } =
    rope?.rope_scaling ?? {};
  if (rope === null || contextLength <= supported || type.startsWith("dynamic")) return undefined;
  return {
    problem: `a context of ${contextLength} tokens is longer than the ${supported} this RoPE supports`,
    advised:
      type === "default" || type === "yarn"
        ? advise.extend({ rope_type: "yarn", factor: Math.ceil(contextLength / original) })
        : advise.other(`make it shorter, or replace the model's own scaling, ${type}`),
  };
}
