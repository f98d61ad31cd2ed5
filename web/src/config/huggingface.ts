import { fail } from "../base/errors.js";
import { isAbsent, isDict, stringAt, type Dict } from "./check.js";
import { checkSharedKind, chooseKind, type ModelRope } from "./draft.js";
import type { Family } from "./family.js";
import { familyOf } from "./find_family.js";
import { draftOf, listOf, type TextConfig } from "./huggingface_draft.js";
import { agreeing, kindsOf, layerKinds } from "./huggingface_layers.js";
import { readScaling } from "./scaling.js";
import type { Pairing, RopeScaling } from "./types.js";

/** Names under which multimodal configs keep their language model. */
const TEXT_CONFIGS = ["text_config", "llm_config", "language_config", "thinker_config"];

/** Finds the language model in a config.json: the file itself, or one of its nested configs. */
export function textConfigOf(source: Dict, path = "", outer?: string): TextConfig {
  const model_type = isAbsent(source["model_type"]) ? outer : stringAt(source["model_type"], `${path}model_type`);
  const nested = TEXT_CONFIGS.find((name) => isDict(source[name]));
  if (nested === undefined) return { config: source, path, model_type };
  return textConfigOf(source[nested] as Dict, `${path}${nested}.`, model_type);
}

/**
 * Reads the RoPE of a Hugging Face config.json, of transformers 5 (`rope_parameters`) or before (`rope_scaling`),
 * with the legacy spellings of the released models. Null counts as absent.
 *
 * @param pairing the caller's own, for families this package does not know
 * @throws UNKNOWN_FAMILY, UNKNOWN_KEY, UNSUPPORTED_ROPE_TYPE, INVALID_CONFIG, INVALID_ARGUMENT (layer_type)
 */
export function readHuggingFace(source: Dict, layer_type: string | undefined, pairing: Pairing | undefined): ModelRope {
  const text = textConfigOf(source);
  const family = familyOf("hf", text.model_type, pairing);
  refuseOtherEmbeddings(text.config);
  const dicts = ["rope_scaling", "rope_parameters"].filter((name) => !isAbsent(text.config[name]));
  const nestedName = dicts.find((name) => isByKind(text.config[name], kindsOf(text.config, family)));
  const flat = dicts.filter((name) => name !== nestedName);
  const sharedName = flat[0] ?? "rope_scaling";
  const shared = flat
    .map((name) => readScaling(text.config[name], text.path + name))
    .reduce((a, b) => agreeing(a, b, `${text.path}rope_parameters`), {});

  if (nestedName === undefined && family.layers === undefined) {
    checkSharedKind(layer_type, listOf(text.config, "layer_types"), slidingOnly(text.config, family));
    const keys = flat.length > 0 ? shared : (family.rope_scaling ?? shared);
    return { family, draft: draftOf(text, family, withDynamicNtk(keys, text.config), sharedName) };
  }
  const nested = nestedName === undefined ? {} : (text.config[nestedName] as Dict);
  const kinds = layerKinds(text, family, { nested, nestedName: nestedName ?? "rope_parameters", shared, sharedName });
  return { family, draft: chooseKind(kinds, layer_type) };
}

function isByKind(value: unknown, namesKind: (key: string) => boolean): boolean {
  return isDict(value) && Object.keys(value).some((key) => namesKind(key) && isDict(value[key]));
}

/** Whether RoPE is on the sliding layers only: EXAONE 4 without a window rotates in all of them. */
export function slidingOnly(config: Dict, family: Partial<Family>): boolean {
  return family.sliding_only === true && config["sliding_window"] !== null;
}

function refuseOtherEmbeddings(config: Dict): void {
  if (config["alibi"] === true)
    fail("INVALID_CONFIG", "alibi", "this model has ALiBi and no rotary position embedding");
  const kind = config["position_embedding_type"];
  if (typeof kind === "string" && kind !== "rope" && kind !== "rotary") {
    fail("INVALID_CONFIG", "position_embedding_type", `"${kind}" is not a rotary position embedding`);
  }
}

/**
 * Qwen v1's own spelling. Its base is 2^⌈log₂(L/M) + 1⌉ − 1 times stretched, which is transformers' dynamic scaling of
 * factor 2 with L rounded up to M times a power of two.
 */
function withDynamicNtk(keys: RopeScaling, config: Dict): RopeScaling {
  if (config["use_dynamic_ntk"] !== true || keys.rope_type !== undefined) return keys;
  return { ...keys, rope_type: "dynamic", factor: 2 };
}
