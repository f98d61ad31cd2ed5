import type { RopeOverrides } from "../config/overrides.js";
import type { RopeConfig } from "../config/types.js";
import { RopewalkError } from "../base/errors.js";

/**
 * What stretches a RoPE to `contextLength` tokens: YaRN at the smallest factor that fits. Undefined where nothing needs to change, because the model
 * was trained that long, has no RoPE, or follows the length by itself.
 *
 * @throws {@link RopewalkError} UNSUPPORTED_MODEL
 * @internal
 */
export function extendedOverrides(
  rope: Readonly<RopeConfig> | null,
  trainedLength: number,
  contextLength: number,
): RopeOverrides | undefined {
  const scaling = rope?.rope_scaling;
  const type = scaling?.rope_type ?? "default";
  const original = type === "yarn" ? (scaling?.original_max_position_embeddings ?? trainedLength) : trainedLength;
  const reached = type === "yarn" ? Math.max(trainedLength, original * (scaling?.factor ?? 1)) : trainedLength;
  if (rope === null || contextLength <= reached || type.startsWith("dynamic")) return undefined;
  if (type !== "default" && type !== "yarn") {
    throw new RopewalkError(
      "UNSUPPORTED_MODEL",
      "rope_scaling",
      `of type ${type} cannot be extended by itself; retune() to a scaling of your own, or shift`,
    );
  }
  return {
    rope_scaling: { rope_type: "yarn", factor: contextLength / original, original_max_position_embeddings: original },
  };
}
