// The layers of a model's cache: those that have their own keys and values.
import type { CacheLayerOptions } from "../../../core/cache/options.js";
import type { RopeConfig } from "../../../core/config/types.js";
import { cacheLayers, type ModelLayer, type ModelPlan } from "./model_plan.js";

/** A RoPE that rotates the first elements of a longer row, as that of latent attention. @internal */
export function widenedRope<Rope extends Readonly<RopeConfig> | null>(rope: Rope, headDim: number): Rope {
  if (rope === null || rope.head_dim === headDim) return rope;
  return { ...rope, head_dim: headDim, rotary_dim: rope.rotary_dim ?? rope.head_dim };
}

/**
 * The cache's layers. With latent attention, a row of a token is [rotated | latent], and keys are values.
 * @param layers - the model's layers, perhaps with other RoPEs
 * @param changed - another RoPE for a layer
 * @internal
 */
export function cacheOptions(
  plan: ModelPlan,
  layers: readonly ModelLayer[],
  changed: (rope: Readonly<RopeConfig>) => Readonly<RopeConfig> = (rope) => rope,
): CacheLayerOptions[] {
  const hasLatent = plan.config.latent.latent > 0;
  const widened = new Map<RopeConfig, Readonly<RopeConfig>>(); // layers that share a RoPE go on sharing it
  const ropeOf = (rope: Readonly<RopeConfig>, headDim: number): Readonly<RopeConfig> => {
    if (!hasLatent) return changed(rope);
    const known = widened.get(rope) ?? widenedRope(changed(rope), headDim);
    widened.set(rope, known);
    return known;
  };
  return cacheLayers(plan).map((index) => {
    const { kv_heads: kvHeads, head_dim: headDim } = plan.shapes[index]!;
    const { rope } = layers[index]!;
    return { rope: rope === null ? null : ropeOf(rope, headDim), kvHeads, headDim, hasValues: !hasLatent };
  });
}
