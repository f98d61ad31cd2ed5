// Finds the heads of a model from options and its config.json.
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { knownFamily } from "../../../core/config/family_lookup.js";
import { textConfigOf } from "../../../core/config/huggingface.js";
import { integerOf, queryHeadsOf, type TextConfig } from "../../../core/config/huggingface_rope.js";
import type { RopeOverrides } from "../../../core/config/overrides.js";
import { ropeConfig } from "../../../core/config/rope_config.js";
import type { RopeConfig } from "../../../core/config/types.js";
import { RopewalkError, fail } from "../../../core/base/errors.js";
import { CLASS_DEFAULTS } from "../../../runtime/model/config/class_defaults.js";
import { parseConfig } from "../input_file.js";

/** The heads of a model. */
export interface Heads {
  /** Query heads. */
  heads: number;
  /** Key heads. */
  kvHeads: number;
  /** Elements of a head; undefined if only the weights show it. */
  headDim: number | undefined;
  rotaryDim: number | undefined;
  rotaryOffset: number;
}

/** Options for {@link Heads}. */
export interface HeadFlags {
  heads?: number;
  kvHeads?: number;
  headDim?: number;
  rotaryDim?: number;
  rotaryOffset?: number;
}

/** A parsed config.json. */
export type ModelConfig = Readonly<Record<string, unknown>>;

/** Path of the config.json in the folder of the weights. */
export function configPathOf(weights: string): string {
  return join(dirname(weights), "config.json");
}

/** Reads a config.json; undefined if there is none. @throws {@link RopewalkError} INVALID_FILE */
export async function readConfig(path: string): Promise<ModelConfig | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  return text === undefined ? undefined : parseConfig(path, text);
}

/**
 * The heads of a model from options, or else from its config.
 * @throws {@link RopewalkError} INVALID_ARGUMENT (neither has the number of heads), and as ropeConfig().
 */
export function headsOf(config: ModelConfig | undefined, flags: HeadFlags): Heads {
  const text = config && languageModel(config);
  const rope = config && ropeOf(config);
  const heads = flags.heads ?? (text && queryHeadsOf(text, knownFamily("hf", text.model_type)));
  if (heads === undefined)
    fail(
      "INVALID_ARGUMENT",
      "--heads",
      "is required, because no config.json in the same folder has the number of heads",
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

/** The pairing of a model's weights; undefined for an unknown model family. @throws as ropeConfig() */
export function pairingOf(config: ModelConfig): "half" | "interleaved" | undefined {
  const { model_type } = languageModel(config);
  if (knownFamily("hf", model_type).pairing === undefined) return undefined;
  return ropeOf(config, {}).pairing === "half" ? "half" : "interleaved"; // interleaved_to_half also has interleaved weights
}

function languageModel(config: ModelConfig): TextConfig {
  const text = textConfigOf(config);
  return { ...text, config: { ...CLASS_DEFAULTS[text.model_type ?? ""], ...text.config } };
}

/**
 * The RoPE of a model. The rotated part of a head doesn't depend on the pairing, so any pairing works for unknown
 * families.
 */
function ropeOf(config: ModelConfig, overrides: RopeOverrides = { pairing: "half" }): RopeConfig {
  try {
    return ropeConfig(config, { overrides });
  } catch (error) {
    if (!(error instanceof RopewalkError) || error.field !== "layer_type") throw error;
    return ropeConfig(config, { layer_type: "full_attention", overrides });
  }
}
