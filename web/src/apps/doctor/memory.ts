// Memory of a KV cache in f16, by length: the numbers that each layer keeps for a token, two bytes each. Recurrent layers keep
// a state instead.
import { sessionStateBytes } from "../../runtime/model/plan/checkpoints.js";
import { type ConfigRopes, layerCaches, recurrentLayers } from "../../runtime/model/plan/config_ropes.js";
import type { CacheMemory } from "./diagnosis.js";
import { type Facts, numberOf, valueOf } from "./facts.js";
import { layersOf, windowsOf } from "./layers.js";

const BYTES = 2;
const LENGTHS = [4096, 8192, 32768, 131072, 262144, 1048576];

/** Null if the file doesn't say what its layers keep. */
export function cacheMemory(facts: Facts, ropes: ConfigRopes, length: number): CacheMemory | null {
  const kept = keptElements(facts, ropes);
  const windows = windowsOf(facts, kept.length);
  const layers = kept.map((elements, layer) => ({ window: windows[layer] ?? 0, bytes: BYTES * elements }));
  const bytesPerToken = layers.reduce((sum, { bytes }) => sum + bytes, 0);
  if (layers.length === 0 || !Number.isSafeInteger(bytesPerToken)) return null;
  const bytesAt = (length: number): number =>
    layers.reduce((sum, { window, bytes }) => sum + bytes * (window > 0 ? Math.min(window, length) : length), 0);
  const lengths = [...new Set([...LENGTHS, length])].sort((a, b) => a - b);
  const { stateBytes } = recurrentLayers(facts.source, layers.length);
  return {
    bytesPerToken,
    stateBytes,
    sessionStateBytes: stateBytes === 0 ? 0 : sessionStateBytes(stateBytes),
    lengths: lengths.map((length) => ({ length, bytes: bytesAt(length) })),
  };
}

/** The elements that each layer keeps for a token: those of supported architectures as the engine allocates them. NaN if the file doesn't say. */
function keptElements(facts: Facts, ropes: ConfigRopes): number[] {
  const count = layersOf(ropes);
  const known = layerCaches(facts.source, count);
  if (known !== undefined)
    return known.map(({ kvHeads, headDim, hasValues }) => kvHeads * headDim * (hasValues ? 2 : 1));
  const elements = elementsOf(facts, ropes.ropes[0]?.rope.head_dim);
  return Array.from({ length: count }, (_, layer) => elements?.(layer) ?? NaN);
}

/** The elements that a layer of another architecture keeps for each token. */
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
