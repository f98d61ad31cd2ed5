import { textConfigOf } from "../../config/huggingface.js";
import { CACHE_DTYPES, type CacheDType } from "../../memory/elements.js";
import type { Ropewalk } from "../../load/runtime.js";
import type { Source } from "../source.js";

/** What keys and values of a text take. */
export interface CacheBytes {
  /** Tokens. */
  length: number;
  /** Bytes of wasm memory by element type. */
  bytes: Partial<Record<CacheDType, number>>;
}

/** What a cache of `length` tokens takes, in every element type; undefined where a config.json does not tell its heads. */
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

function ofConfig(rw: Ropewalk, { ropes, plainLayers, config = {} }: Source, length: number): Sizes | undefined {
  const { config: facts } = textConfigOf(config);
  const kvHeads = facts["num_key_value_heads"] ?? facts["num_attention_heads"];
  const isCompressed = facts["kv_lora_rank"] !== undefined; // multi-head latent attention keeps no keys of heads
  const turned = ropes.flatMap(({ rope, layers }) => layers.map(() => rope));
  if (typeof kvHeads !== "number" || isCompressed || turned.length === 0) return undefined;
  const headDim = turned[0]!.head_dim;
  const layers = [...turned, ...plainLayers.map(() => null)].map((rope) => ({
    rope,
    kvHeads,
    headDim: rope?.head_dim ?? headDim,
  }));
  return CACHE_DTYPES.map((dtype) => [dtype, rw.kvCacheBytes({ layers, maxLength: length, dtype })] as const);
}
