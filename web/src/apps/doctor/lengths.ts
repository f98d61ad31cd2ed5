// The lengths that a model was trained for and serves.
import { longestWithin } from "../../core/config/position_map.js";
import { hasRamp } from "../../core/config/scaling.js";
import type { RopeConfig } from "../../core/config/types.js";
import type { LayerGroup } from "./diagnosis.js";

/** The group that decides about long texts: layers that see all tokens. */
export function mainGroup(groups: readonly LayerGroup[]): LayerGroup | undefined {
  return (
    groups.find(({ kind }) => kind === "full_attention") ??
    groups.find(({ kind }) => kind === "compress") ??
    groups.find(({ window }) => window === 0 || window === null) ??
    groups[0]
  );
}

/** factor × original length, for the types whose factor is the ratio of two lengths. */
export function scaledLength({ rope_scaling }: Readonly<RopeConfig>): number | null {
  const { rope_type = "default", factor, original_max_position_embeddings: original } = rope_scaling ?? {};
  return hasRamp(rope_type) && factor !== undefined && original !== undefined ? Math.round(factor * original) : null;
}

/** The longest sequence that a config is made for; null if it doesn't say. */
export function servedLength(config: Readonly<RopeConfig>): number | null {
  const { max_position_embeddings: max, rope_scaling } = config;
  if (max !== undefined && rope_scaling?.rope_type === "dynamic_yarn")
    return Math.max(max, scaledLength(config) ?? max);
  return scaledLength(config) ?? max ?? rope_scaling?.original_max_position_embeddings ?? null;
}

/** Whether a config serves a length, with the distances that its position map leaves. */
export function serves(config: Readonly<RopeConfig>, length: number): boolean {
  const served = servedLength(config);
  return served !== null && length <= longestWithin(config.position_map, served);
}
