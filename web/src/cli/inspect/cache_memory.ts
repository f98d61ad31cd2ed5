// Memory of a KV cache, by element type.
import { textConfigOf } from "../../config/huggingface.js";
import { CACHE_DTYPES, type CacheDType } from "../../memory/elements.js";
import type { Ropewalk } from "../../load/runtime.js";
import type { Source } from "../source.js";

/** Memory of a KV cache. */
export interface CacheBytes {
  /** Number of tokens. */
  length: number;
  /** Bytes of wasm memory by element type. */
  bytes: Partial<Record<CacheDType, number>>;
}

/**
 * Memory of a cache of `length` tokens for each element type; undefined for a config.json that doesn't show its heads.
 */
export async function cacheBytes(rw: Ropewalk, source: Source, length: number): Promise<CacheBytes | undefined> {
  const sizes = source.info === undefined ? ofConfig(rw, source, length) : await ofModel(rw, source, length);
  return sizes === undefined ? undefined : { length, bytes: Object.fromEntries(sizes) };
}

type Sizes = readonly (readonly [CacheDType, number])[];

async function ofModel(rw: Ropewalk, { name }: Source, length: number): Promise<Sizes> {
  return Promise.all(
    CACHE_DTYPES.map(async (dtype) => {
      const { memory } = await rw.modelInfo(name, { contextLength: length, kv: { dtype } });
      return [dtype, memory.cache] as const;
    }),
  );
}

function ofConfig(rw: Ropewalk, { ropes, layersWithoutRope, config = {} }: Source, length: number): Sizes | undefined {
  const { config: values } = textConfigOf(config);
  const kvHeads = values["num_key_value_heads"] ?? values["num_attention_heads"];
  const isCompressed = values["kv_lora_rank"] !== undefined; // multi-head latent attention caches no keys of heads
  const layerRopes = ropes.flatMap(({ rope, layers }) => layers.map(() => rope));
  if (typeof kvHeads !== "number" || isCompressed || layerRopes.length === 0) return undefined;
  const headDim = layerRopes[0]!.head_dim;
  const layers = [...layerRopes, ...layersWithoutRope.map(() => null)].map((rope) => ({
    rope,
    kvHeads,
    headDim: rope?.head_dim ?? headDim,
  }));
  return CACHE_DTYPES.map((dtype) => [dtype, rw.kvCacheBytes({ layers, maxLength: length, dtype })] as const);
}
