import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { knownFamily } from "../../config/family_lookup.js";
import { textConfigOf } from "../../config/huggingface.js";
import { integerOf, queryHeadsOf, type TextConfig } from "../../config/huggingface_rope.js";
import type { RopeOverrides } from "../../config/overrides.js";
import { ropeConfig } from "../../config/rope_config.js";
import type { RopeConfig } from "../../config/types.js";
import { RopewalkError } from "../../base/errors.js";
import { CLASS_DEFAULTS } from "../../model/config_reader.js";
import { parseConfig } from "../config_file.js";

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

/** A parsed config.json. */
export type ModelConfig = Readonly<Record<string, unknown>>;

/** Where the config.json of weights is. */
export function configBeside(weights: string): string {
  return join(dirname(weights), "config.json");
}

/** A config.json, if there is one. @throws {@link RopewalkError} INVALID_FILE */
export async function readConfig(path: string): Promise<ModelConfig | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  return text === undefined ? undefined : parseConfig(path, text);
}

/**
 * The heads that options name, and for what they leave out those of a config.
 * @throws {@link RopewalkError} INVALID_ARGUMENT where neither tells the number of heads; as ropeConfig().
 */
export function headsOf(config: ModelConfig | undefined, flags: HeadFlags): Heads {
  const text = config && languageModel(config);
  const rope = config && rotated(config);
  const heads = flags.heads ?? (text && queryHeadsOf(text, knownFamily("hf", text.model_type)));
  if (heads === undefined)
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      "--heads",
      "must be given, for no config.json beside the file tells it",
    );
  const kvHeads = text && flags.heads === undefined ? integerOf(text, ["num_key_value_heads"]) : undefined;
  return {
    heads,
    kvHeads: flags.kvHeads ?? kvHeads ?? heads,
    headDim: flags.headDim ?? rope?.head_dim,
    rotaryDim: flags.rotaryDim ?? rope?.rotary_dim,
    rotaryOffset: flags.rotaryOffset ?? rope?.rotary_offset ?? 0,
  };
}

/** The pairing that the weights of a model come in, where it is of a known family. @throws as ropeConfig() */
export function pairingOf(config: ModelConfig): "half" | "interleaved" | undefined {
  const { model_type } = languageModel(config);
  if (knownFamily("hf", model_type).pairing === undefined) return undefined;
  return rotated(config, {}).pairing === "half" ? "half" : "interleaved"; // interleaved_to_half is of weights that are interleaved
}

function languageModel(config: ModelConfig): TextConfig {
  const text = textConfigOf(config);
  return { ...text, config: { ...CLASS_DEFAULTS[text.model_type ?? ""], ...text.config } };
}

/** Of the model's own pairing, or of any, which need not be known to tell how much of a head turns. */
function rotated(config: ModelConfig, overrides: RopeOverrides = { pairing: "half" }): RopeConfig {
  try {
    return ropeConfig(config, { overrides });
  } catch (error) {
    if (!(error instanceof RopewalkError) || error.field !== "layer_type") throw error;
    return ropeConfig(config, { layer_type: "full_attention", overrides });
  }
}
