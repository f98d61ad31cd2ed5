// The option --threads, of commands that run a model or measure.
import { Option } from "commander";
import { parseInteger } from "./options.js";

/** Flags of {@link threadOption}. */
export interface ThreadFlags {
  threads: number | "auto";
}

const parseNumber = parseInteger(1, 32);

/** Returns the option. */
export function threadOption(): Option {
  return new Option("--threads <n>", 'number of threads, or "auto": the fast processor cores')
    .argParser((text) => (text === "auto" ? text : parseNumber(text)))
    .default("auto");
}
