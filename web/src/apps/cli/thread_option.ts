// The option --threads, of commands that run a model or measure.
import { InvalidArgumentError, Option } from "commander";
import { MAX_THREADS } from "../../core/load/threads.js";

/** Flags of {@link threadOption}. */
export interface ThreadFlags {
  threads: number | "auto";
}

/** Returns the option. */
export function threadOption(): Option {
  return new Option("--threads <n>", 'number of threads, or "auto": the fast processor cores')
    .argParser((text) => {
      const value = Number(text);
      if (text === "auto") return text;
      if (text.trim() !== "" && Number.isInteger(value) && value >= 1 && value <= MAX_THREADS) return value;
      throw new InvalidArgumentError(`Must be "auto" or an integer from 1 to ${MAX_THREADS}.`);
    })
    .default("auto");
}
