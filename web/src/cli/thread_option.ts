// The option --threads, of commands that run a model or measure.
import { InvalidArgumentError, Option } from "commander";

/** Flags of {@link threadOption}. */
export interface ThreadFlags {
  threads: number | "auto";
}

const MOST = 32;

/** Returns the option. */
export function threadOption(): Option {
  return new Option("--threads <n>", 'number of threads, or "auto": the fast processor cores')
    .argParser((text) => {
      const value = Number(text);
      if (text === "auto") return text;
      if (text.trim() !== "" && Number.isInteger(value) && value >= 1 && value <= MOST) return value;
      throw new InvalidArgumentError(`Must be "auto" or an integer from 1 to ${MOST}.`);
    })
    .default("auto");
}
