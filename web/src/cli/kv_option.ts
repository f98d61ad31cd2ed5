// The option --kv, of commands whose sessions have a cache.
import { Option } from "commander";
import { CACHE_DTYPES, type CacheDType } from "../index.node.js";

/** Flags of {@link kvOption}. */
export interface KvFlags {
  kv?: CacheDType;
}

/** Returns the option. */
export function kvOption(): Option {
  return new Option("--kv <type>", "how keys and values are stored: less memory, less exact (default: f16)").choices(
    CACHE_DTYPES,
  );
}
