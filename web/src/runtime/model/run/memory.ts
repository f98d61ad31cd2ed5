// Computes how much wasm memory a model needs before any is allocated.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import type { Heap } from "../../../core/memory/heap.js";
import { kvCacheBytes } from "../../../core/cache/core.js";
import { type CacheSettings, BATCH_TOKENS } from "./model_core.js";
import { cacheOptions } from "../plan/cache_layers.js";
import type { ModelPlan } from "../plan/model_plan.js";
import { sessionStateBytes } from "../plan/checkpoints.js";
import { stateBytes } from "../plan/recurrent_layers.js";
import type { WeightMapping } from "../weights/weight_mapping.js";

/** Wasm memory that a model needs, in bytes. */
export interface ModelMemory {
  /** Weights in the format of the file or as they are quantized, norms and biases as f32. */
  weights: number;
  /** KV cache of one session with a full context. It's allocated as tokens are added. Models that only embed have none. */
  cache: number;
  /** States of the recurrent layers of one session: two of them, and as many checkpoints as are kept by default. */
  states: number;
  /** Activations for the largest batch of prompt tokens, and the logits; of a model that only embeds, for its longest text. */
  workspace: number;
  /** Adapters that are loaded. */
  adapters: number;
}

/** Address space of 32-bit wasm. */
const ADDRESS_SPACE = 2 ** 32;

/** Memory that a model needs. @internal */
export function memoryOf(
  heap: Heap,
  plan: ModelPlan,
  mappings: readonly WeightMapping[],
  cacheSettings: CacheSettings,
  contextLength: number,
): ModelMemory {
  const { hidden_size, heads, kv_heads, head_dim, vocabulary_size } = plan.config;
  const { latent: sizes, per_layer, recurrence, multipliers } = plan.config;
  const { feed_forward_size, expert_size, shared_expert_size } = plan.config;
  const inner = Math.max(feed_forward_size, expert_size, shared_expert_size);
  const layers = cacheOptions(plan, plan.layers);
  // elements per token: four vectors of hidden size, q and the attention output, k and v, two feed-forward vectors, and
  // quantized copies of the inputs of matrix products
  const latent = heads * (sizes.plain + sizes.rotated + sizes.value) + 2 * sizes.query;
  const recurrent = 6 * (recurrence.inner + 2 * recurrence.key_heads * recurrence.key_size);
  const scaled = multipliers.attention_in !== 1 || multipliers.recurrent_in !== 1 ? hidden_size : 0;
  const perLayer = 2 * plan.config.layers * per_layer.size + (1 + 2 * per_layer.streams) * hidden_size;
  const perToken =
    6 * hidden_size +
    3 * heads * head_dim +
    2 * kv_heads * head_dim +
    recurrent +
    scaled +
    latent +
    (per_layer.size > 0 ? perLayer : 0);
  // a model that only embeds reads a text at once, but has the feed-forward vectors of a batch only
  const generates = plan.noText === undefined;
  const tokens = generates ? BATCH_TOKENS : contextLength;
  return {
    weights: mappings.reduce(
      (sum, mapping) => sum + (mapping.isVector ? 4 * mapping.columns : mapping.loaded.bytes),
      0,
    ),
    cache:
      generates && layers.length > 0
        ? kvCacheBytes(heap, { layers, maxLength: contextLength, dtype: cacheSettings.dtype }, 0)
        : 0,
    states: generates ? sessionStateBytes(stateBytes(plan.config.recurrence, plan.shapes)) : 0,
    workspace: Math.ceil(4 * (perToken * tokens + 3.5 * inner * BATCH_TOKENS) + (generates ? 4 * vocabulary_size : 0)),
    adapters: 0,
  };
}

/** Throws OUT_OF_MEMORY if a model can't fit. @internal */
export function checkFits(file: string, { weights, cache, states, workspace }: ModelMemory): void {
  const total = weights + cache + states + workspace;
  if (total <= ADDRESS_SPACE) return;
  const megabytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MB`;
  fail(
    "OUT_OF_MEMORY",
    file,
    `needs ${megabytes(total)}, more than the 4096 MB wasm can address: weights ${megabytes(weights)}, full context ${megabytes(cache)}`,
    weights + workspace > ADDRESS_SPACE
      ? advise.other("use a smaller model or a smaller quantization")
      : advise.lower({ options: ["contextLength", "kv.dtype"] }),
  );
}
