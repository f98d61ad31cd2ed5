import { wholeNumber } from "../base/checks.js";
import type { RopeConfig } from "../config/types.js";
import { RopewalkError } from "../base/errors.js";
import { Turns } from "./breathe.js";
import { type CacheChoice, type ModelCore, TOKENS_AT_ONCE } from "./model_core.js";
import { type ModelRopeOverrides, retunedLayers, ropeOf } from "./model_plan.js";

/** How a text is measured. */
export interface PerplexityOptions {
  /** Tokens that the model sees at a time, from 2 (its context length). */
  window?: number;
  /** Tokens by which the window moves, 1 to `window` (`window`). A smaller one gives each token more to go by, and takes longer. */
  stride?: number;
  /** Merged into the RoPE of the model for this measurement, as in `rw.model()`: several are compared without loading the weights again. */
  rope?: ModelRopeOverrides;
  /** Gives up between two pieces. */
  signal?: AbortSignal;
  /** Called after each piece. */
  onProgress?: (progress: { done: number; total: number }) => void;
}

/** How well a model foresees a text. */
export interface Perplexity {
  /** e to the mean loss. */
  perplexity: number;
  /** Mean of the losses, in nats. */
  loss: number;
  /** −ln p of each token given those before it in its window; NaN for the first, which nothing foresees. */
  losses: Float64Array;
  /** What turned the layers that see the whole context; null where none is turned. */
  rope: Readonly<RopeConfig> | null;
}

/**
 * Measures a text in windows, each read afresh, as transformers' guide to perplexity does: of each window the tokens count that the one before
 * did not reach.
 * @internal
 */
export async function perplexity(
  core: ModelCore,
  choice: CacheChoice,
  tokens: Int32Array,
  contextLength: number,
  options: PerplexityOptions,
): Promise<Perplexity> {
  const window = wholeNumber(options.window ?? contextLength, 2, 2 ** 24, "window");
  const stride = wholeNumber(options.stride ?? window, 1, window, "stride");
  if (tokens.length < 2)
    throw new RopewalkError("INVALID_ARGUMENT", "tokens", `must be at least 2 (got ${tokens.length})`);
  const layers = options.rope === undefined ? core.plan.layers : retunedLayers(core.plan.layers, options.rope);
  const losses = new Float64Array(tokens.length).fill(NaN);
  const turns = new Turns();
  for (let begin = 0, known = 1; known < tokens.length; begin += stride) {
    const end = Math.min(begin + window, tokens.length);
    const cache = core.newCache(choice, end - begin, layers);
    try {
      for (let first = begin; first < end; first += TOKENS_AT_ONCE) {
        options.signal?.throwIfAborted();
        const last = Math.min(first + TOKENS_AT_ONCE, end);
        core.forward(cache, tokens.slice(first, last));
        // token i foresees i + 1; where windows only touch, the first of the next one is foreseen by nothing
        const from = Math.max(first, known - 1);
        const to = Math.min(last, end - 1);
        if (from < to) losses.set(core.losses(from - first, tokens.slice(from + 1, to + 1)), from + 1);
        options.onProgress?.({ done: last, total: tokens.length });
        await turns.give();
      }
    } finally {
      cache.dispose();
    }
    known = stride === window ? end + 1 : end;
  }
  options.signal?.throwIfAborted();
  const counted = losses.filter((loss) => !Number.isNaN(loss));
  const loss = counted.reduce((sum, one) => sum + one, 0) / counted.length;
  return { perplexity: Math.exp(loss), loss, losses, rope: ropeOf(layers) };
}
