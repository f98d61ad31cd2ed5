// The shape of attention in each layer: heads, their size, and whose keys a layer reads.
import type { LatentConfig } from "../../../core/memory/model_fields.js";
import type { Architecture, LayerShape } from "../architectures/parts/architecture.js";
import { HEADS, HIDDEN } from "../architectures/parts/common.js";
import type { ConfigKey, ConfigReader } from "../config/config_reader.js";
import { MAX_HEAD_DIM, MAX_HEADS, MAX_WIDTH } from "../config/limits.js";

/** Shape of attention. @internal */
export interface AttentionShape {
  readonly heads: number;
  /** The largest of all layers. 1 with latent attention, whose row of a token is [rotated | latent]. */
  readonly kv_heads: number;
  /** The largest of all layers. */
  readonly head_dim: number;
  readonly latent: LatentConfig | undefined;
  /** What is different in each layer. */
  readonly own: readonly LayerShape[];
}

/** Reads the shape of `layers` layers. Throws INVALID_FILE. @internal */
export function attentionShape(reader: ConfigReader, architecture: Architecture, layers: number): AttentionShape {
  const shapeOf = architecture.layer?.(reader) ?? ((): LayerShape => ({}));
  const own = Array.from({ length: layers }, (_, layer) => shapeOf(layer));
  if (architecture.hasNoAttention) return { heads: 1, kv_heads: 1, head_dim: 1, latent: undefined, own };
  const heads = reader.integer(HEADS, undefined, 1, MAX_HEADS);
  const latent = architecture.latent?.(reader);
  if (latent !== undefined) return { heads, kv_heads: 1, head_dim: latent.rotated + latent.latent, latent, own };
  const maxHeadDim = Math.max(1, Math.min(MAX_HEAD_DIM, Math.floor(MAX_WIDTH / heads)));
  const kv_heads = largest(own, "kv_heads") ?? keyHeads(reader, architecture, heads);
  const head_dim =
    largest(own, "head_dim") ??
    reader.integer(
      ["head_dim", "attention.key_length"],
      Math.floor(reader.integer(HIDDEN, undefined, 1, MAX_WIDTH) / heads),
      1,
      maxHeadDim,
    );
  return { heads, kv_heads, head_dim, latent, own };
}

/** Whether a layer has attention: all do that aren't recurrent, unless they say otherwise. @internal */
export function hasAttention({ recurrence = "none", has_attention = recurrence === "none" }: LayerShape): boolean {
  return has_attention;
}

/** Whether a layer caches keys: it has attention, and doesn't read the keys of an earlier layer. @internal */
export function hasOwnKeys(shape: LayerShape): boolean {
  return hasAttention(shape) && (shape.keys_of ?? -1) < 0;
}

/** The largest number among those of layers; undefined if no layer has its own. @internal */
export function largest(
  own: readonly LayerShape[],
  key: "head_dim" | "kv_heads" | "feed_forward_size",
): number | undefined {
  return own.some((shape) => shape[key] !== undefined) ? Math.max(...own.map((shape) => shape[key] ?? 1)) : undefined;
}

/** Heads of keys and values: as many as of queries, or a whole fraction of them. */
function keyHeads(reader: ConfigReader, { fusedBy }: Architecture, heads: number): number {
  const key: ConfigKey = ["num_key_value_heads", "attention.head_count_kv"];
  const count = reader.integer(key, heads, 1, heads);
  if (heads % count !== 0)
    reader.refuse("INVALID_FILE", reader.find(key).path, `must divide the ${heads} heads of queries (got ${count})`);
  if (fusedBy === "head" && !reader.isGguf && count !== heads)
    reader.refuse(
      "INVALID_FILE",
      reader.find(key).path,
      `must be ${heads}, the number of heads: ${reader.architecture} stores a query, a key and a value for each (got ${count})`,
    );
  return count;
}
