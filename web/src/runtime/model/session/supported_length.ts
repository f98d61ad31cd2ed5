// How many tokens a RoPE supports, and whether positions can change.
import type { Advised } from "../../../core/base/advice.js";
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import {
  largestDistance,
  longestWithin,
  mapAsOption,
  mapFor,
  mapInWords,
  windowFor,
} from "../../../core/config/position_map.js";
import type { RopeConfig } from "../../../core/config/types.js";
import type { ModelConfig } from "../../../core/memory/model_fields.js";
import { type ModelLayer, ropeKind } from "../plan/model_plan.js";

/** Positions that a RoPE supports without its position map, by the factor of the scaling or by the trained length. */
function supportedPositions(rope: Readonly<RopeConfig> | null, trainedLength: number): number {
  const { factor = 1, original_max_position_embeddings: original = trainedLength } = rope?.rope_scaling ?? {};
  return Math.max(trainedLength, Math.floor(factor * original));
}

/** By the factor of the scaling or by the trained length; Infinity if a position map bounds all distances. @internal */
export function supportedLength(rope: Readonly<RopeConfig> | null, trainedLength: number): number {
  return longestWithin(rope?.position_map, supportedPositions(rope, trainedLength));
}

/** The factor of YaRN that a context needs beside the position map, over the length that it is scaled from. @internal */
export function factorFor(rope: Readonly<RopeConfig>, contextLength: number, original: number): number {
  return (largestDistance(rope.position_map, contextLength) + 1) / original;
}

/**
 * A warning, if a context is longer than the RoPE of the full-attention layers supports. Others never see distances beyond their window.
 * @internal
 */
export function lengthWarning(
  layers: readonly ModelLayer[],
  { contextLength, trainedLength, isCausal }: { contextLength: number; trainedLength: number; isCausal: boolean },
): { problem: string; advised: Advised } | undefined {
  const rope = layers.find((layer) => ropeKind(layer) === "full_attention")?.rope ?? null;
  const supported = supportedLength(rope, trainedLength);
  const { rope_type: type = "default", original_max_position_embeddings: original = trainedLength } =
    rope?.rope_scaling ?? {};
  if (rope === null || contextLength <= supported || type.startsWith("dynamic")) return undefined;
  const { position_map } = rope;
  if (position_map) {
    const positions = supportedPositions(rope, trainedLength);
    const fitting = mapFor(position_map.type, positions, contextLength);
    return {
      problem: `${mapInWords(position_map)}: a context of ${contextLength} tokens has distances up to ${largestDistance(position_map, contextLength)}, and this RoPE supports less than ${positions}`,
      advised: advise.other(`choose numbers that fit, such as ${mapInWords(fitting)} (${mapAsOption(fitting)})`),
    };
  }
  return {
    problem: `a context of ${contextLength} tokens is longer than the ${supported} this RoPE supports`,
    advised:
      type === "default" || type === "yarn"
        ? advise.extend({
            rope_type: "yarn",
            factor: Math.ceil(factorFor(rope, contextLength, original)),
            ...(type === "default" && isCausal && { window: windowFor(trainedLength) }),
          })
        : advise.other(`make it shorter, or replace the model's own scaling, ${type}`),
  };
}

type Learned = Pick<ModelConfig, "positions">;

/** Throws UNSUPPORTED_MODEL if a text's tokens can't be moved to other positions. @internal */
export function checkMovable({ positions }: Learned): void {
  if (positions === 0) return;
  fail(
    "UNSUPPORTED_MODEL",
    "session",
    "can't be shifted: this model has learned positions, which are part of its keys",
    STOP,
  );
}

/** Throws UNSUPPORTED_MODEL for a context that has all positions that the model has learned. @internal */
export function checkExtensible({ positions }: Learned, contextLength: number): void {
  if (positions === 0 || contextLength < positions) return;
  fail(
    "UNSUPPORTED_MODEL",
    "session",
    `can't be extended: the model has learned ${positions} positions, no more`,
    STOP,
  );
}

const STOP = advise.either(advise.pass({ option: "whenFull", value: '"stop"' }), advise.call({ calls: ["rewind"] }));

/** What makes room for more tokens after `length` ones. @internal */
export function makeRoom({ positions }: Learned, length: number, contextLength: number): Advised {
  const isWhole = positions > 0 && contextLength >= positions;
  const larger = advise.raise({ option: "contextLength", ...(positions > 0 && { most: positions }) });
  const calls = advise.call({ calls: positions > 0 ? ["rewind"] : ["shift", "rewind"] });
  if (length === 0) return isWhole ? advise.other("read less: the model has learned no more positions") : larger;
  return isWhole ? calls : advise.either(calls, larger);
}
