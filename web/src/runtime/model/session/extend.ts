// Finds the YaRN scaling that extends a model's context to a given length.
import * as advise from "../../../core/base/advice.js";
import type { RopeOverrides } from "../../../core/config/overrides.js";
import type { RopeConfig } from "../../../core/config/types.js";
import { fail } from "../../../core/base/errors.js";
import { overrideRopeConfig } from "../../../core/config/rope_config.js";
import { checkContext } from "./options.js";
import { checkExtensible, factorFor, supportedLength } from "./supported_length.js";
import type { SessionText } from "./text.js";

/** As Session.extend(). @internal */
export function extendText(text: SessionText, given?: number): void {
  const { config } = text.core.plan;
  if (given === undefined) checkExtensible(config, text.contextLength);
  const contextLength = checkContext(
    given ?? doubled(text.contextLength, config.positions),
    config,
    text.contextLength,
  );
  const group = text.ropes.groupOf("full_attention"); // layers with a window never see distances beyond it
  if (group !== undefined) {
    const overrides = extendedOverrides(text.ropes.main, text.core.plan.trainedLength, contextLength);
    if (overrides !== undefined) text.retune(group, overrideRopeConfig(text.ropes.requested[group]!, overrides));
  }
  text.contextLength = contextLength;
}

/** Twice a length, or all positions that the model has learned, if there are more. */
function doubled(length: number, positions: number): number {
  return length < positions ? Math.min(2 * length, positions) : 2 * length;
}

/**
 * Overrides that extend a RoPE to `contextLength` tokens: YaRN with the smallest factor that reaches it. Undefined if
 * nothing has to change: the model was trained at that length, has no RoPE, has a position map that keeps all distances within
 * the trained length, or a scaling that adapts to the length (dynamic types).
 *
 * @throws {@link RopewalkError} UNSUPPORTED_MODEL for other scaling types
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
  const isCounted = type === "yarn" || rope?.position_map; // other types have a factor that isn't a ratio of lengths, or follow it
  const supported = isCounted ? supportedLength(rope, trainedLength) : trainedLength;
  if (rope === null || contextLength <= supported || type.startsWith("dynamic")) return undefined;
  if (type !== "default" && type !== "yarn") {
    fail(
      "UNSUPPORTED_MODEL",
      "rope_scaling",
      `scaling type ${type} can't be extended automatically`,
      advise.call({ calls: ["retune", "shift"] }),
    );
  }
  return {
    rope_scaling: {
      rope_type: "yarn",
      factor: factorFor(rope, contextLength, original),
      original_max_position_embeddings: original,
    },
  };
}
