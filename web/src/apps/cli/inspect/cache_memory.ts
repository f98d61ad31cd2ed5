// Memory of a session: of its KV cache, by element type, and of the states of recurrent layers.
import type { Dict } from "../../../core/base/dict.js";
import { RopewalkError } from "../../../core/base/errors.js";
import { textConfigOf } from "../../../core/config/huggingface.js";
import type { RopeConfig } from "../../../core/config/types.js";
import { CACHE_DTYPES, type CacheDType } from "../../../core/memory/elements.js";
import type { Ropewalk } from "../../../runtime/ropewalk/ropewalk.js";
import { widenedRope } from "../../../runtime/model/plan/cache_layers.js";
import {
  type LayerCache,
  layerCaches,
  type RecurrentLayers,
  recurrentLayers,
} from "../../../runtime/model/plan/config_ropes.js";
import { sessionStateBytes } from "../../../runtime/model/plan/checkpoints.js";
import { RECURRENT_KINDS } from "../../../runtime/model/plan/recurrent_layers.js";
import type { Source } from "../source.js";
import { hubOptions } from "../hub_options.js";

/** Memory of a KV cache. */
export interface CacheBytes {
  /** Number of tokens. */
  length: number;
  /** Bytes of wasm memory by element type. */
  bytes: Partial<Record<CacheDType, number>>;
}

/**
 * Memory of a cache of `length` tokens for each element type; undefined for a config.json that doesn't show its heads,
 * and for a model without attention.
 */
export async function cacheBytes(rw: Ropewalk, source: Source, length: number): Promise<CacheBytes | undefined> {
  if (source.info !== undefined && recurrenceOf(source).withoutAttention.length === source.info.layers.length)
    return undefined;
  const sizes = source.info === undefined ? ofConfig(rw, source, length) : await ofModel(rw, source, length);
  return sizes === undefined ? undefined : { length, bytes: Object.fromEntries(sizes) };
}

/** The recurrent layers of a model. */
export interface Recurrence extends Pick<RecurrentLayers, "kind" | "layers" | "withoutAttention" | "feedForward"> {
  /** Bytes of their states in a session of any length. */
  readonly sessionBytes: number;
}

/** The recurrent layers of a source, as far as it shows them. */
export function recurrenceOf({ info, config, ropes, layersWithoutRope }: Source): Recurrence {
  if (info === undefined) {
    const count = ropes.reduce((sum, { layers }) => sum + layers.length, layersWithoutRope.length);
    const { stateBytes, ...recurrent } = recurrentLayers(config ?? {}, count);
    return { ...recurrent, sessionBytes: sessionStateBytes(stateBytes) };
  }
  const indicesOf = (kinds: readonly string[]): number[] =>
    info.layers.flatMap(({ kind }, layer) => (kinds.includes(kind) ? [layer] : []));
  const recurrent = Object.values(RECURRENT_KINDS);
  const layers = indicesOf([...recurrent, "hybrid"]);
  const kind = (info.layers[layers[0] ?? -1]?.kind ?? null) as Recurrence["kind"];
  const feedForward = { mlp: indicesOf(["mlp"]), moe: indicesOf(["moe"]) };
  const withoutAttention = indicesOf([...recurrent, "mlp", "moe"]);
  return { kind, layers, withoutAttention, feedForward, sessionBytes: info.memory.states };
}

type Sizes = readonly (readonly [CacheDType, number])[];

/** The element types of caches whose layers store values, or don't. */
const dtypesOf = (hasValues: boolean): readonly CacheDType[] =>
  CACHE_DTYPES.filter((dtype) => hasValues || dtype !== "q4_channel");

async function ofModel(rw: Ropewalk, { name }: Source, length: number): Promise<Sizes> {
  const sizes = await Promise.all(
    CACHE_DTYPES.map(async (dtype) => {
      try {
        const { memory } = await rw.modelInfo(name, { ...(await hubOptions()), contextLength: length, kv: { dtype } });
        return [[dtype, memory.cache] as const];
      } catch (error) {
        if (error instanceof RopewalkError && error.code === "INVALID_DTYPE") return []; // not for its layers
        throw error;
      }
    }),
  );
  return sizes.flat();
}

function ofConfig(rw: Ropewalk, { ropes, layersWithoutRope, config = {} }: Source, length: number): Sizes | undefined {
  const layerRopes: (Readonly<RopeConfig> | null)[] = [];
  for (const { rope, layers } of ropes) for (const layer of layers) layerRopes[layer] = rope;
  for (const layer of layersWithoutRope) layerRopes[layer] = null;
  const caches = layerCaches(config, layerRopes.length) ?? cachesOfOthers(config, ropes, layerRopes.length);
  const layers = caches?.flatMap(({ kvHeads, headDim, hasValues }, layer) =>
    kvHeads === 0 ? [] : [{ rope: widenedRope(layerRopes[layer] ?? null, headDim), kvHeads, headDim, hasValues }],
  );
  if (layers === undefined || layers.length === 0) return undefined;
  const dtypes = dtypesOf(layers.every(({ hasValues }) => hasValues));
  return dtypes.map((dtype) => [dtype, rw.kvCacheBytes({ layers, maxLength: length, dtype })] as const);
}

/** Layers of an architecture that this package doesn't run: all have the same heads, as far as config.json shows. */
function cachesOfOthers(config: Dict, ropes: Source["ropes"], count: number): LayerCache[] | undefined {
  const { config: values } = textConfigOf(config);
  const kvHeads = values["num_key_value_heads"] ?? values["num_attention_heads"];
  const isCompressed = values["kv_lora_rank"] !== undefined; // not every model with a latent caches it
  const headDim = ropes[0]?.rope.head_dim;
  if (typeof kvHeads !== "number" || isCompressed || headDim === undefined) return undefined;
  return Array.from({ length: count }, () => ({ kvHeads, headDim, hasValues: true }));
}
