// Sampling options of `generate` and `chat`.
import type { Command } from "commander";
import type { SamplingOptions } from "../../index.node.js";
import { parseNumber, parseInteger } from "../options.js";

/** Values of the options that {@link addSamplingOptions} adds. */
export interface SamplingFlags {
  temperature?: number;
  topK?: number;
  topP?: number;
  minP?: number;
  repetitionPenalty?: number;
  seed?: number;
}

/** Adds the options for sampling tokens. */
export function addSamplingOptions(command: Command): void {
  command
    .option(
      "-t, --temperature <number>",
      "sampling temperature; 0 always picks the most probable token (default: from the model, or 0.8)",
      parseNumber(0),
    )
    .option(
      "--top-k <n>",
      "sample from the n most probable tokens; 0: all (default: from the model, or 40)",
      parseInteger(0),
    )
    .option(
      "--top-p <p>",
      "sample from the fewest tokens whose probabilities sum to p, above 0, at most 1 (default: from the model, or 0.95)",
      parseNumber(0, 1),
    )
    .option(
      "--min-p <p>",
      "drop tokens below this fraction of the largest probability, 0 to 1 (default: from the model, or 0.05)",
      parseNumber(0, 1),
    )
    .option(
      "--repetition-penalty <number>",
      "above 1, the last 64 tokens become less probable (default: from the model, or 1)",
      parseNumber(0),
    )
    .option(
      "--seed <n>",
      "random seed; the same seed gives the same text (default: random, printed after the text)",
      parseInteger(0),
    );
}

/** Sampling options from the flags, always with a seed, so that a text can be reproduced. */
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
