// The sizes of Mamba and Mamba-2 layers. Each model family has other keys for them in config.json, and GGUF the same for all.
import { isDict } from "../../../../core/base/dict.js";
import type { RecurrenceConfig } from "../../../../core/memory/model_fields.js";
import type { ConfigKey, ConfigReader } from "../../config/config_reader.js";
import { MAX_HEADS } from "../../config/limits.js";
import { HIDDEN } from "./common.js";
import { size } from "./recurrence_keys.js";

/** A key of config.json, and what counts if it is missing. */
type Key = readonly [key: string, missing: number];
/** Those of the inner size: the key of a factor on the hidden size, or a function that reads it. */
type Inner = Key | ((reader: ConfigReader) => number);

/** Keys of Mamba-2 in Granite, Bamba and Falcon-H1. @internal */
export const MAMBA_2_KEYS = {
  kernel: ["mamba_d_conv", 4],
  heads: ["mamba_n_heads", 128],
  groups: ["mamba_n_groups", 1],
  state: ["mamba_d_state", 256],
  inner: ["mamba_expand", 2],
} as const;

/** @internal */
export function mamba2Sizes(
  reader: ConfigReader,
  keys: Readonly<Record<"kernel" | "heads" | "groups" | "state", Key>> & { readonly inner: Inner },
): Partial<RecurrenceConfig> {
  const [heads, groups] = [keys.heads, keys.groups];
  const count = reader.integer([heads[0], "ssm.time_step_rank"], heads[1], 1, MAX_HEADS);
  const groupCount = reader.integer([groups[0], "ssm.group_count"], groups[1], 1, count);
  return {
    kernel: size(reader, [keys.kernel[0], "ssm.conv_kernel"], keys.kernel[1]),
    inner: innerSize(reader, keys.inner),
    heads: count,
    key_heads: groupCount,
    key_size: size(reader, [keys.state[0], "ssm.state_size"], keys.state[1]),
    norm_groups: groupCount,
    ...stepLimits(reader),
  };
}

/** @internal */
export function mambaSizes(
  reader: ConfigReader,
  keys: Readonly<Record<"kernel" | "state", Key>> & { readonly inner: Inner; readonly rank: string },
): Partial<RecurrenceConfig> {
  const rank: ConfigKey = [keys.rank, "ssm.time_step_rank"];
  const automatic = Math.ceil(size(reader, HIDDEN) / 16);
  const isAutomatic = reader.find(rank).value === "auto";
  return {
    kernel: size(reader, [keys.kernel[0], "ssm.conv_kernel"], keys.kernel[1]),
    inner: innerSize(reader, keys.inner),
    key_size: size(reader, [keys.state[0], "ssm.state_size"], keys.state[1]),
    step_rank: isAutomatic ? automatic : size(reader, rank, automatic),
  };
}

function innerSize(reader: ConfigReader, inner: Inner): number {
  if (reader.isGguf) return size(reader, ["", "ssm.inner_size"]);
  if (typeof inner === "function") return inner(reader);
  return Math.trunc(reader.number([inner[0], ""], inner[1]) * size(reader, HIDDEN));
}

function stepLimits(reader: ConfigReader): Partial<RecurrenceConfig> {
  const { value, path } = reader.find(["time_step_limit", ""]);
  if (value === undefined) return {};
  const limits = Array.isArray(value) ? (value as unknown[]) : [];
  const [least, largest] = limits.map((limit) => (isInfinite(limit) ? Infinity : limit));
  if (typeof least !== "number" || typeof largest !== "number" || !(least >= 0 && least <= largest))
    return reader.refuse("INVALID_FILE", path, "must be two numbers, the least and the largest step");
  return { least_step: least, largest_step: largest };
}

/** JSON has no infinity. */
function isInfinite(limit: unknown): boolean {
  return limit === null || (isDict(limit) ? limit["__float__"] : limit) === "Infinity";
}
