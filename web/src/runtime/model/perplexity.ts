// Measures the perplexity of a model on a text.
import { optionalFunction, optionalSignal, wholeNumber } from "../../core/base/checks.js";
import type { RopeConfig } from "../../core/config/types.js";
import { fail } from "../../core/base/errors.js";
import { checkOptions } from "../../core/base/options.js";
import { type AdaptersInUse, readAdapters } from "./run/adapters_in_use.js";
import { EventLoopYielder } from "./run/event_loop.js";
import { type CacheSettings, type ModelCore, BATCH_TOKENS } from "./run/model_core.js";
import { readRopeOverrides } from "./run/read_options.js";
import {
  checkHasRope,
  inRopes,
  type ModelLayer,
  type ModelRopeOverrides,
  retunedLayers,
  ropeOf,
} from "./plan/model_plan.js";
import { PERPLEXITY_OPTIONS, type PerplexityOptions } from "./run/options.js";

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

/** Options of a measurement, read and checked. @internal */
export interface PerplexitySettings {
  readonly window: number;
  readonly stride: number;
  readonly layers: readonly ModelLayer[];
  /** What the layers' RoPEs were changed by. */
  readonly overrides: ModelRopeOverrides | undefined;
  readonly adapters: AdaptersInUse;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: PerplexityOptions["onProgress"];
}

/** Reads each option once. Throws UNKNOWN_KEY, INVALID_ARGUMENT, and as ropeConfig(). @internal */
export function readPerplexityOptions(
  options: PerplexityOptions | undefined,
  core: ModelCore,
  contextLength: number,
): PerplexitySettings {
  const { window: givenWindow, stride, rope, adapters, signal, onProgress } = checkOptions(options, PERPLEXITY_OPTIONS);
  const overrides = readRopeOverrides(rope);
  checkHasRope(core.plan.layers, overrides);
  const window = wholeNumber(givenWindow ?? contextLength, 2, core.plan.config.positions || 2 ** 24, "window");
  return {
    window,
    stride: wholeNumber(stride ?? window, 1, window, "stride"),
    layers: overrides === undefined ? core.plan.layers : retunedLayers(core.plan.layers, overrides),
    overrides,
    adapters: readAdapters(adapters, core),
    signal: optionalSignal(signal),
    onProgress: optionalFunction(onProgress, "onProgress"),
  };
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
  { window, stride, layers, overrides, adapters, signal, onProgress }: PerplexitySettings,
): Promise<Perplexity> {
  if (tokens.length < 2) fail("INVALID_ARGUMENT", "tokens", `must be at least 2 tokens (got ${tokens.length})`);
  core.checkAlive();
  const losses = new Float64Array(tokens.length).fill(NaN);
  const yielder = new EventLoopYielder();
  // losses of the tokens before `measured` are done
  for (let begin = 0, measured = 1; measured < tokens.length; begin += stride) {
    const end = Math.min(begin + window, tokens.length);
    const memory = inRopes(overrides, () => core.newMemory(cacheSettings, { length: end - begin, layers, adapters }));
    try {
      for (let first = begin; first < end; first += BATCH_TOKENS) {
        signal?.throwIfAborted();
        const last = Math.min(first + BATCH_TOKENS, end);
        core.forward(memory, tokens.slice(first, last));
        // token i predicts token i + 1; if windows don't overlap, nothing predicts the first token of a window
        const from = Math.max(first, measured - 1);
        const to = Math.min(last, end - 1);
        if (from < to) losses.set(core.losses(from - first, tokens.slice(from + 1, to + 1)), from + 1);
        onProgress?.({ done: last, total: tokens.length });
        await yielder.yieldIfDue();
      }
    } finally {
      memory.dispose();
    }
    measured = stride === window ? end + 1 : end;
  }
  signal?.throwIfAborted();
  core.checkAlive();
  const counted = losses.filter((loss) => !Number.isNaN(loss));
  const loss = counted.reduce((sum, value) => sum + value, 0) / counted.length;
  return { perplexity: Math.exp(loss), loss, losses, rope: ropeOf(layers) };
}
