import { RopewalkError } from "../base/errors.js";
import type { Heap } from "../memory/heap.js";
import { kvCacheBytes } from "../cache/core.js";
import { type CacheChoice, TOKENS_AT_ONCE } from "./model_core.js";
import type { ModelPlan } from "./model_plan.js";
import type { Placement } from "./placement.js";
import { bytesOf } from "./load_weights.js";

/** Wasm memory that a model takes, in bytes. */
export interface ModelMemory {
  /** Weights, in the format of the file; norms and biases as f32. */
  weights: number;
  /** Keys and values of one session with a full context. Taken as tokens come. */
  cache: number;
  /** What the layers work in, for the longest piece of a prompt, and the logits. */
  workspace: number;
}

/** What 32-bit wasm can address. */
const LIMIT = 2 ** 32;

/** Reckons the memory of a model before any is taken. @internal */
export function memoryOf(
  heap: Heap,
  plan: ModelPlan,
  placements: readonly Placement[],
  choice: CacheChoice,
  contextLength: number,
): ModelMemory {
  const { hidden_size, heads, kv_heads, head_dim, feed_forward_size, vocabulary_size } = plan.config;
  const layers = plan.layers.map(({ rope }) => ({ rope, kvHeads: kv_heads, headDim: head_dim }));
  // four vectors of the hidden size, q and its attention, k and v, two of the feed-forward; and the inputs of products, once more as they are quantized
  const perToken = 6 * hidden_size + 3 * heads * head_dim + 2 * kv_heads * head_dim + 3.5 * feed_forward_size;
  return {
    weights: placements.reduce(
      (sum, placement) => sum + (placement.isVector ? 4 * placement.columns : bytesOf(placement)),
      0,
    ),
    cache: kvCacheBytes(heap, { layers, maxLength: contextLength, dtype: choice.dtype }),
    workspace: Math.ceil(4 * perToken * TOKENS_AT_ONCE + 4 * vocabulary_size),
  };
}

/** Refuses what cannot fit. Throws OUT_OF_MEMORY. @internal */
export function checkFits(file: string, { weights, cache, workspace }: ModelMemory): void {
  const total = weights + cache + workspace;
  if (total <= LIMIT) return;
  const megabytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MB`;
  throw new RopewalkError(
    "OUT_OF_MEMORY",
    file,
    `needs ${megabytes(total)} of the 4096 MB that wasm can address: weights ${megabytes(weights)}, a full context ${megabytes(cache)}; ` +
      (weights + workspace > LIMIT
        ? "take a smaller model or quantization"
        : "use a smaller contextLength or a smaller kv.dtype"),
  );
}
