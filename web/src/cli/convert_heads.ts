import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { textConfigOf } from "../config/huggingface.js";
import { ropeConfig } from "../config/rope_config.js";
import type { RopeConfig } from "../config/types.js";
import { RopewalkError } from "../errors.js";
import { parseConfig } from "./config_file.js";

/** The heads of a model, as its weights have them. */
export interface Heads {
  /** Query heads. */
  heads: number;
  /** Key heads. */
  kvHeads: number;
  /** Elements of a head; undefined where only the weights tell. */
  headDim: number | undefined;
  rotaryDim: number | undefined;
  rotaryOffset: number;
}

/** What the options say of {@link Heads}. */
export interface HeadFlags {
  heads?: number;
  kvHeads?: number;
  headDim?: number;
  rotaryDim?: number;
  rotaryOffset?: number;
}

/**
 * The heads that options name, and for what they leave out those of the config.json beside the weights.
 * @throws {@link RopewalkError} INVALID_ARGUMENT where neither tells the number of heads; INVALID_FILE, and as ropeConfig().
 */
export async function headsOf(weights: string, flags: HeadFlags): Promise<Heads> {
  const config = await configBeside(weights);
  const rope = config === undefined ? undefined : rotated(config);
  const count = (key: string): number | undefined => (typeof config?.[key] === "number" ? config[key] : undefined);
  const heads = flags.heads ?? count("num_attention_heads");
  if (heads === undefined)
    throw new RopewalkError("INVALID_ARGUMENT", "--heads", "must be given, for no config.json beside the file tells it");
  return {
    heads,
    kvHeads: flags.kvHeads ?? (flags.heads === undefined ? count("num_key_value_heads") : undefined) ?? heads,
    headDim: flags.headDim ?? rope?.head_dim,
    rotaryDim: flags.rotaryDim ?? rope?.rotary_dim,
    rotaryOffset: flags.rotaryOffset ?? rope?.rotary_offset ?? 0,
  };
}

async function configBeside(weights: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const path = join(dirname(weights), "config.json");
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  return textConfigOf(parseConfig(path, text)).config;
}

/** The pairing is what changes, so that of the family does not matter. */
function rotated(config: object): RopeConfig {
  try {
    return ropeConfig(config, { overrides: { pairing: "half" } });
  } catch (error) {
    if (!(error instanceof RopewalkError) || error.field !== "layer_type") throw error;
    return ropeConfig(config, { layer_type: "full_attention", overrides: { pairing: "half" } });
  }
}
