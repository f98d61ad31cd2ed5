// The entry to this folder: ropeConfig() reads a model's files, overrideRopeConfig() changes a config.
import * as advise from "../base/advice.js";
import { type Dict, isDict } from "../base/dict.js";
import { changed, fail, RopewalkError } from "../base/errors.js";
import { checkOptions, nearest, optionNames } from "../base/options.js";
import { draftOf, finish, withDerivedLengths } from "./finished_config.js";
import { type GgufSource, readGguf } from "./gguf.js";
import { readHuggingFace } from "./huggingface.js";
import { applyOverrides, type RopeOverrides } from "./overrides.js";
import { PAIRINGS, type Pairing, type RopeConfig } from "./types.js";
import { isAbsent, oneOf, stringAt } from "./values.js";

/** What to read and what to change. */
export interface RopeConfigOptions {
  /**
   * Kind of layer, with transformers' names (`full_attention`, `sliding_attention`; DeepSeek-V4's `main` and
   * `compress`). Only needed for models whose layers differ in their RoPE.
   */
  layer_type?: string;
  /** Changes to what the model has; see {@link RopeOverrides}. */
  overrides?: RopeOverrides;
}

const OPTIONS = optionNames<RopeConfigOptions>("ropeConfig()", { layer_type: true, overrides: true });

/**
 * Reads everything that determines a model's rotation from its files: a parsed Hugging Face config.json, or the
 * metadata of a GGUF file (as `@huggingface/gguf` returns it, alone or as `{ metadata, tensors }`).
 *
 * The result is plain frozen JSON in which every key has one place: pairing, rope_theta and rotary_dim are at the top
 * level, and `rope_scaling` has its `rope_type` and only keys that this type reads. Missing values are those that
 * transformers would use. For DeepSeek-style attention, head_dim and rotary_dim are both the width of the rotated part.
 * `compat` stays `hf`, for GGUF files too: their converter has read the same config.json.
 *
 * @throws RopewalkError with the path of the key: UNKNOWN_FAMILY (name the pairing in the overrides), UNKNOWN_KEY,
 *   UNSUPPORTED_ROPE_TYPE (also for a family whose RoPE no config describes), INVALID_CONFIG, INVALID_ARGUMENT
 *   (`layer_type` is missing, or the model has no such kind)
 *
 * @example ropeConfig(await (await fetch("config.json")).json(), { overrides: { rope_scaling: { rope_type: "yarn",
 *   factor: 4 } } });
 */
export function ropeConfig(source: object, options?: RopeConfigOptions): RopeConfig {
  const { layer_type, overrides } = checkOptions(options, OPTIONS);
  if (!isDict(source)) return fail("INVALID_ARGUMENT", "source", "must be a parsed config.json or GGUF metadata");
  if (!isAbsent(layer_type)) stringAt(layer_type, "layer_type");
  const pairing = pairingOf(overrides);
  const gguf = ggufSourceOf(source);
  const draft =
    gguf === undefined
      ? readHuggingFace(source, layer_type ?? undefined, pairing, overriddenKeys(overrides))
      : readGguf(gguf, layer_type ?? undefined, pairing);
  return finish(withDerivedLengths(applyOverrides(draft, overrides)));
}

/**
 * Merges overrides into a config, by the rules of {@link RopeOverrides}. Use it to change the RoPE of a running model.
 * @throws as {@link ropeConfig}
 */
export function overrideRopeConfig(config: RopeConfig, overrides: RopeOverrides): RopeConfig {
  return finish(withDerivedLengths(applyOverrides(draftOf(config), overrides)));
}

/**
 * Calls `use`. Its errors about overrides that the caller passed as `option` name their path there: `rope.rope_theta`, not
 * `overrides.rope_theta`, and not the `rope_theta` of the config that they became.
 * @internal
 */
export function inOption<Result>(option: string, overrides: unknown, use: () => Result): Result {
  try {
    return use();
  } catch (error) {
    if (!(error instanceof RopewalkError)) throw error;
    const { field } = error;
    const own = /^overrides(?:\.|$)/.test(field)
      ? field.replace(/^overrides\.?/, "")
      : [field, field.replace(/^rope_scaling/, "rope_parameters")].find((path) => hasPath(overrides, path.split(".")));
    if (own === undefined) throw error;
    throw changed(error, { field: own === "" ? option : `${option}.${own}` });
  }
}

function hasPath(value: unknown, [key, ...rest]: readonly string[]): boolean {
  return key === undefined || (isDict(value) && Object.hasOwn(value, key) && hasPath(value[key], rest));
}

/**
 * The GGUF source in what a caller passed: metadata has an architecture, and a config.json doesn't.
 *
 * @throws UNKNOWN_KEY for a slip in the name of `tensors`
 */
export function ggufSourceOf(source: Dict): GgufSource | undefined {
  if ("general.architecture" in source) return { metadata: source };
  const { metadata, tensors } = source;
  if (!isDict(metadata) || !("general.architecture" in metadata)) return undefined;
  // Other keys are fine: @huggingface/gguf returns tensorInfos too. Without its tensors, a file may look unscaled.
  const slip = tensors === undefined ? Object.keys(source).find((key) => nearest(key, ["tensors"], 2)) : undefined;
  if (slip !== undefined) fail("UNKNOWN_KEY", slip, "isn't a key of a GGUF source", advise.spell({ name: "tensors" }));
  return { metadata, ...(isDict(tensors) && { tensors }) };
}

function overriddenKeys(overrides: unknown): ReadonlySet<string> {
  if (!isDict(overrides)) return new Set();
  const parts = [overrides, overrides["rope_scaling"], overrides["rope_parameters"]].filter(isDict);
  return new Set(parts.flatMap((part) => Object.keys(part).filter((key) => !isAbsent(part[key]))));
}

/** The pairing in overrides that nobody has checked yet. @throws INVALID_CONFIG */
export function pairingOf(overrides: unknown): Pairing | undefined {
  const pairing = isDict(overrides) ? overrides["pairing"] : undefined;
  return isAbsent(pairing) ? undefined : oneOf(pairing, "overrides.pairing", PAIRINGS);
}
