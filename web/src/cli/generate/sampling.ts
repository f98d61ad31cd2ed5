import type { Command } from "commander";
import type { SamplingOptions } from "../../index.node.js";
import { anyNumber, wholeNumber } from "../options.js";

/** What {@link addSamplingOptions} reads. */
export interface SamplingFlags {
  temperature?: number;
  topK?: number;
  topP?: number;
  minP?: number;
  repetitionPenalty?: number;
  seed?: number;
}

/** Options of commands that choose tokens. */
export function addSamplingOptions(command: Command): void {
  command
    .option(
      "-t, --temperature <number>",
      "from 0, which takes the most probable token (default: what the model's files say, or 0.8)",
      anyNumber(0),
    )
    .option("--top-k <n>", "only the n most probable tokens; 0: all (default: likewise, or 40)", wholeNumber(0))
    .option(
      "--top-p <p>",
      "of those the fewest whose probabilities sum to p, above 0 and at most 1 (default: likewise, or 0.95)",
      anyNumber(0, 1),
    )
    .option(
      "--min-p <p>",
      "and whose probability is this part of the largest, 0 to 1 (default: likewise, or 0.05)",
      anyNumber(0, 1),
    )
    .option(
      "--repetition-penalty <number>",
      "above 1 makes the last 64 tokens less probable (default: likewise, or 1)",
      anyNumber(0),
    )
    .option("--seed <n>", "the same seed gives the same text (default: drawn at random, and told)", wholeNumber(0));
}

/** Sampling as it was asked for, with a seed in any case, so that a text can be had again. */
export function samplingFrom({
  temperature,
  topK,
  topP,
  minP,
  repetitionPenalty,
  seed,
}: SamplingFlags): SamplingOptions & { seed: number } {
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topK !== undefined && { topK }),
    ...(topP !== undefined && { topP }),
    ...(minP !== undefined && { minP }),
    ...(repetitionPenalty !== undefined && { repetitionPenalty }),
    seed: seed ?? Math.floor(Math.random() * 2 ** 32),
  };
}
