// Measures the perplexity of a model on a text.
import { wholeNumber } from "../base/checks.js";
import type { RopeConfig } from "../config/types.js";
import { fail } from "../base/errors.js";
import { EventLoopYielder } from "./event_loop.js";
import { type CacheSettings, type ModelCore, BATCH_TOKENS } from "./model_core.js";
import { type ModelRopeOverrides, retunedLayers, ropeOf } from "./model_plan.js";

/** Options for measuring perplexity. */
export interface PerplexityOptions {
  /** Tokens per window, from 2. Default: the model's context length. */
  window?: number;
  /**
   * Tokens between the starts of two windows, 1 to `window`. A smaller stride gives each token more context and takes
   * longer. Default: `window`.
   */
  stride?: number;
  /**
   * RoPE overrides for this measurement, as in `rw.model()`. The weights aren't loaded again, so it's cheap to compare
   * several.
   */
  rope?: ModelRopeOverrides;
  /** Aborts between two batches of 128 tokens. */
  signal?: AbortSignal;
  /** Called after each batch, with numbers of tokens. */
  onProgress?: (progress: { done: number; total: number }) => void;
}

/** How well a model predicts a text. */
export interface Perplexity {
  /** exp(`loss`). */
  perplexity: number;
  /** Mean of `losses` without NaN, in nats. */
  loss: number;
  /**
   * −ln p of each token given the tokens before it in its window. NaN for tokens without a prediction, such as the
   * first.
   */
  losses: Float64Array;
  /** RoPE of the full-attention layers in this measurement; null for a model without RoPE. */
  rope: Readonly<RopeConfig> | null;
}

/**
 * Measures a text in windows, each with an empty cache, as in the perplexity guide of transformers: a window
 * contributes the losses of the tokens that the window before it didn't reach.
 * @internal
 */
export async function perplexity(
  core: ModelCore,
  cacheSettings: CacheSettings,
  tokens: Int32Array,
  contextLength: number,
  options: PerplexityOptions,
): Promise<Perplexity> {
  const window = wholeNumber(options.window ?? contextLength, 2, 2 ** 24, "window");
  const stride = wholeNumber(options.stride ?? window, 1, window, "stride");
  if (tokens.length < 2) fail("INVALID_ARGUMENT", "tokens", `must be at least 2 tokens (got ${tokens.length})`);
  const layers = options.rope === undefined ? core.plan.layers : retunedLayers(core.plan.layers, options.rope);
  const losses = new Float64Array(tokens.length).fill(NaN);
  const yielder = new EventLoopYielder();
  // losses of the tokens before `measured` are done
  for (let begin = 0, measured = 1; measured < tokens.length; begin += stride) {
    const end = Math.min(begin + window, tokens.length);
    const cache = core.newCache(cacheSettings, end - begin, layers);
    try {
      for (let first = begin; first < end; first += BATCH_TOKENS) {
        options.signal?.throwIfAborted();
        const last = Math.min(first + BATCH_TOKENS, end);
        core.forward(cache, tokens.slice(first, last));
        // token i predicts token i + 1; if windows don't overlap, nothing predicts the first token of a window
        const from = Math.max(first, measured - 1);
        const to = Math.min(last, end - 1);
        if (from < to) losses.set(core.losses(from - first, tokens.slice(from + 1, to + 1)), from + 1);
        options.onProgress?.({ done: last, total: tokens.length });
        await yielder.yieldIfDue();
      }
    } finally {
      cache.dispose();
    }
    measured = stride === window ? end + 1 : end;
  }
  options.signal?.throwIfAborted();
  const counted = losses.filter((loss) => !Number.isNaN(loss));
  const loss = counted.reduce((sum, value) => sum + value, 0) / counted.length;
  return { perplexity: Math.exp(loss), loss, losses, rope: ropeOf(layers) };
}
