// The option --kv, of commands whose sessions have a cache.
import { Option } from "commander";
import { CACHE_DTYPES, type CacheDType } from "../../index.node.js";
import { parseName } from "./options.js";

/** Flags of {@link kvOption}. */
export interface KvFlags {
  kv?: CacheDType;
}

/** Returns the option. */
export function kvOption(): Option {
  return new Option(
    "--kv <type>",
    `how keys and values are stored: ${CACHE_DTYPES.join(", ")}; q8_0, q4_channel and q4_0 take less memory and are less exact, in this order (default: f16)`,
  ).argParser(parseName(CACHE_DTYPES));
}
