// Tells models apart, so that the keys and values of one aren't restored into another.
import { crc32 } from "../../../core/base/crc32.js";
import type { ModelPlan } from "../plan/model_plan.js";
import type { WeightMapping } from "./weight_mapping.js";

/**
 * How many bytes of each stored part of a weight count. Training changes nearly every weight, so a few of each tensor
 * tell two models apart, and hashing them takes no time compared with loading.
 * @internal
 */
export const SAMPLE_BYTES = 128;

/**
 * A fingerprint of a model: 8 hexadecimal digits. It's the same in every build and from every source of the same file.
 * RoPE doesn't count, because a session's RoPE can change: saved sessions contain theirs.
 * @param samples - the CRC-32 of the beginning of each stored part of a weight, in the order of the weights
 * @param mappings - the weights, of which quantized ones count with their formats
 * @internal
 */
export function fingerprintOf(
  { reader, config, layers }: ModelPlan,
  samples: readonly number[],
  mappings: readonly WeightMapping[],
): string {
  const shape = layers.map(({ kind, rope, window, hasExperts }) => [kind, rope !== null, window, hasExperts]);
  const quantized = mappings
    .filter(({ format, loaded }) => loaded.format !== format)
    .map(({ loaded }) => loaded.format);
  const parts = [reader.architecture, config, shape, samples, ...(quantized.length > 0 ? [quantized] : [])];
  const text = JSON.stringify(parts);
  return crc32(new TextEncoder().encode(text)).toString(16).padStart(8, "0");
}
