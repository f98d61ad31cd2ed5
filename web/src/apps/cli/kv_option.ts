// The option --kv, of commands whose sessions have a cache.
import { Option } from "commander";
import { CACHE_DTYPES, type CacheDType, KEY_MODES, type KeyMode } from "../../index.node.js";
import { parseName } from "./options.js";

/** Flags of {@link kvOption}. */
export interface KvFlags {
  kv?: CacheDType;
  kvKeys?: KeyMode;
}

/** Returns the option --kv. */
export function kvOption(): Option {
  return new Option(
    "--kv <type>",
    `how keys and values are stored: ${CACHE_DTYPES.join(", ")}; q8_0, q4_channel and q4_0 take less memory and are less exact, in this order (default: f16)`,
  ).argParser(parseName(CACHE_DTYPES));
}

/** Returns the option --kv-keys, of commands that can change the RoPE of a session. */
export function kvKeysOption(): Option {
  return new Option(
    "--kv-keys <how>",
    `whether keys are stored ${KEY_MODES.join(" or ")}; /retune to a position map needs raw (default: rotated, unless the RoPE needs raw)`,
  ).argParser(parseName(KEY_MODES));
}
