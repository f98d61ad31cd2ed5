// Memory of a KV cache in f16, by length: the numbers of a key and a value of each layer, two bytes each.
import type { ConfigRopes } from "../model/config_ropes.js";
import type { CacheMemory, LayerGroup } from "./diagnosis.js";
import { type Facts, numberOf, valueOf } from "./facts.js";

const BYTES = 2;
const LENGTHS = [4096, 8192, 32768, 131072, 262144, 1048576];

/** Undefined counts of heads mean that the file doesn't say; then there is no result. */
export function cacheMemory(
  facts: Facts,
  groups: readonly LayerGroup[],
  { layersWithoutRope }: ConfigRopes,
  length: number,
): CacheMemory | null {
  const elements = elementsOf(facts, groups[0]?.head_dim);
  const layers = [
    ...groups.flatMap((group) => group.layers.map((layer) => ({ layer, window: group.window ?? 0 }))),
    ...layersWithoutRope.map((layer) => ({ layer, window: 0 })),
  ].map(({ layer, window }) => ({ window, bytes: BYTES * (elements?.(layer) ?? NaN) }));
  const bytesPerToken = layers.reduce((sum, { bytes }) => sum + bytes, 0);
  if (layers.length === 0 || !Number.isSafeInteger(bytesPerToken)) return null;
  const bytesAt = (length: number): number =>
    layers.reduce((sum, { window, bytes }) => sum + bytes * (window > 0 ? Math.min(window, length) : length), 0);
  const lengths = [...new Set([...LENGTHS, length])].sort((a, b) => a - b);
  return { bytesPerToken, lengths: lengths.map((length) => ({ length, bytes: bytesAt(length) })) };
}

/** The elements that a layer caches for each token. */
function elementsOf(facts: Facts, rotated: number | undefined): ((layer: number) => number) | undefined {
  const latent = numberOf(facts, "kv_lora_rank", "attention.kv_lora_rank");
  // Multi-head latent attention caches one compressed vector and the rotated part of one key.
  const rope = numberOf(facts, "qk_rope_head_dim", "rope.dimension_count");
  if (latent !== undefined) return rope === undefined ? undefined : () => latent + rope;
  const heads = valueOf(facts, ["num_attention_heads", "n_head", "num_heads"], "attention.head_count");
  const keyHeads = valueOf(facts, ["num_key_value_heads", "num_kv_heads"], "attention.head_count_kv") ?? heads;
  const width = numberOf(facts, "head_dim", "attention.key_length") ?? rotated;
  const values = numberOf(facts, "v_head_dim", "attention.value_length") ?? width;
  if (width === undefined || values === undefined) return undefined;
  const headsOf = (layer: number): number =>
    Number(
      Array.isArray(keyHeads) || ArrayBuffer.isView(keyHeads) ? (keyHeads as ArrayLike<unknown>)[layer] : keyHeads,
    );
  return (layer) => headsOf(layer) * (width + values);
}
